"""Calls over our own HTTP/2: what is asked and what is answered, however it is cut into frames."""

import asyncio
import gzip
import itertools
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diwan.chassis.http2 import frames
from diwan.chassis.http2.connection import STREAMS_MAX, UNHEARD_SECONDS
from diwan.chassis.http2.exchange import WORD_SECONDS
from diwan.chassis.http2.frames import Error, Kind, Setting
from tests.unit.chassis.http2.line import HEADERS, MESSAGE_MAX, Line, prefixed


async def test_a_call_is_answered_with_headers_message_and_status():
    line = Line()
    line.call(1, "/echo", b"hello", ("x-more", "said"), ("x-raw-bin", "AP8"))

    messages, said = await line.answer()

    assert messages == [b"hello"]
    assert said == {"grpc-status": "0"}
    assert line.methods.calls[0].invocation_metadata == (("x-more", "said"), ("x-raw-bin", b"\x00\xff"))


async def test_everything_that_is_due_leaves_in_one_write():
    line = Line()
    await line.heard()
    before = line.transport.writes
    for number in range(20):
        line.call(1 + 2 * number, "/echo", b"%d" % number)
    heard = await line.heard()

    assert len([each for each in heard if each.kind == Kind.DATA]) == 20
    assert line.transport.writes - before == 1


@given(st.data())
@settings(deadline=None)
def test_it_is_the_same_call_however_its_bytes_are_cut(data):
    async def cut():
        line = Line(begins=False)
        whole = bytearray(frames.PREFACE + frames.settings({}))
        for stream, message in ((1, b"first"), (3, b""), (5, b"x" * 700)):
            block = line.block([*HEADERS, ("x-number", str(stream))])
            half = data.draw(st.integers(0, len(block)))
            whole += frames.frame(Kind.HEADERS, 0, stream, block[:half])
            whole += frames.frame(Kind.CONTINUATION, frames.END_HEADERS, stream, block[half:])
            body = prefixed(message)
            cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=4)))
            for begin, end in zip([0, *cuts], [*cuts, len(body)], strict=True):
                padding = data.draw(st.integers(0, 20))
                piece = bytes([padding]) + body[begin:end] + bytes(padding)
                whole += frames.frame(Kind.DATA, frames.PADDED, stream, piece)
            whole += frames.frame(Kind.DATA, frames.END_STREAM, stream, b"")
        steps = itertools.cycle(
            data.draw(st.lists(st.sampled_from([1, 2, 5, 9, 17, 100, 5000]), min_size=1, max_size=8))
        )
        at = 0
        while at < len(whole):
            step = next(steps)
            line.say(bytes(whole[at : at + step]))
            at += step
        heard = await line.heard()
        return {
            stream: [each.payload for each in heard if each.kind == Kind.DATA and each.stream == stream]
            for stream in (1, 3, 5)
        }

    answers = asyncio.run(cut())

    assert answers == {1: [prefixed(b"first")], 3: [prefixed(b"")], 5: [prefixed(b"x" * 700)]}


async def test_several_messages_in_one_frame_and_one_in_several_are_read_alike():
    line = Line()
    line.headers(1, "/talk")
    line.frame(Kind.DATA, 0, 1, prefixed(b"a") + prefixed(b"bc") + prefixed(b"def")[:6])
    line.frame(Kind.DATA, 0, 1, prefixed(b"def")[6:] + prefixed(b""))
    line.frame(Kind.DATA, frames.END_STREAM, 1)

    messages, said = await line.answer(turns=20)

    assert messages == [b"a", b"bc", b"def", b""]
    assert said["grpc-status"] == "0"


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
async def test_a_packed_message_is_unpacked(encoding, pack):
    line = Line()
    line.headers(1, "/echo", ("grpc-encoding", encoding))
    line.frame(Kind.DATA, frames.END_STREAM, 1, prefixed(pack(b"hello" * 100), packed=1))

    assert (await line.answer())[0] == [b"hello" * 100]


@pytest.mark.parametrize(
    ("message", "encoding", "status"),
    [
        pytest.param(prefixed(gzip.compress(bytes(10 * MESSAGE_MAX)), 1), "gzip", "8", id="bomb"),
        pytest.param(prefixed(b"no gzip at all", 1), "gzip", "3", id="garbage"),
        pytest.param(prefixed(b"hello", 1), "snappy", "12", id="unknown"),
        pytest.param(prefixed(b"hello", 1), "identity", "12", id="not_said"),
        pytest.param(b"\x00" + (MESSAGE_MAX + 1).to_bytes(4), "identity", "8", id="too_large"),
        pytest.param(prefixed(b"one") + prefixed(b"two"), "identity", "3", id="two_messages"),
    ],
)
async def test_a_message_that_cannot_be_taken_is_refused_and_the_connection_goes_on(message, encoding, status):
    line = Line()
    line.headers(1, "/echo", ("grpc-encoding", encoding))
    line.frame(Kind.DATA, frames.END_STREAM, 1, message)

    messages, said = await line.answer()

    assert messages == []
    assert said["grpc-status"] == status
    assert said["grpc-status-details-bin"]
    assert await line.is_alive(3)


async def test_a_unary_call_without_a_message_is_refused():
    line = Line()
    line.headers(1, "/echo", ends=True)

    assert (await line.answer())[1]["grpc-status"] == "3"


async def test_half_a_message_ends_its_stream_alone():
    line = Line()
    line.headers(1, "/echo")
    line.frame(Kind.DATA, frames.END_STREAM, 1, prefixed(b"hello")[:7])

    assert await line.reset() is Error.PROTOCOL_ERROR
    assert await line.is_alive(3)


async def test_words_of_a_status_are_written_as_the_contract_of_grpc_says():
    line = Line()
    line.headers(1, "/refuse", ends=True)

    _, said = await line.answer()

    assert said[":status"] == "200"
    assert said["grpc-status"] == "5"
    assert said["grpc-message"] == "100 %25 %D9%83%D8%B0%D9%84%D9%83"
    assert said["more-bin"] == "AP8"


async def test_a_method_that_breaks_tells_nothing_of_its_insides():
    line = Line()
    line.call(1, "/break")

    _, said = await line.answer()

    assert said["grpc-status"] == "2"
    assert "swordfish" not in str(said)


async def test_an_unknown_method_is_unimplemented():
    line = Line()
    line.call(1, "/nothing")

    assert (await line.answer())[1]["grpc-status"] == "12"


@pytest.mark.parametrize(("changed", "status"), [((":method", "GET"), "405"), (("content-type", "text/html"), "415")])
async def test_what_is_no_call_gets_an_http_status(changed, status):
    line = Line()
    fields = [changed if name == changed[0] else (name, value) for name, value in HEADERS]
    line.headers(1, fields=fields, ends=True)

    assert (await line.answer())[1][":status"] == status
    assert await line.is_alive(3)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(HEADERS[1:], id="no_method"),
        pytest.param([*HEADERS, (":path", "/echo")], id="pseudo_behind_others"),
        pytest.param([HEADERS[0], *HEADERS], id="twice"),
        pytest.param([(":protocol", "x"), *HEADERS], id="unknown_pseudo"),
        pytest.param([*HEADERS, ("X-Upper", "a")], id="upper_case"),
        pytest.param([*HEADERS, ("connection", "close")], id="of_the_connection"),
        pytest.param([*HEADERS, ("transfer-encoding", "chunked")], id="chunked"),
        pytest.param([*HEADERS[:4], ("te", "gzip"), HEADERS[5]], id="te"),
        pytest.param([*HEADERS, ("x-split", "a\r\nb: c")], id="split"),
        pytest.param([*HEADERS, ("grpc-timeout", "soon")], id="timeout"),
        pytest.param([*HEADERS, ("grpc-timeout", "123456789S")], id="long_timeout"),
        pytest.param([*HEADERS, ("x-bin", "!!!")], id="not_base64"),
        pytest.param([*HEADERS, ("", "nameless")], id="nameless"),
    ],
)
async def test_a_malformed_request_ends_its_stream_alone(fields):
    line = Line()
    line.headers(1, fields=fields, ends=True)

    assert await line.reset() is Error.PROTOCOL_ERROR
    assert line.methods.calls == []
    assert await line.is_alive(3)


async def test_too_much_metadata_is_refused_with_a_reason():
    line = Line()
    line.headers(1, "/echo", ("x-much", "y" * 9000), ends=True)

    _, said = await line.answer()

    assert said["grpc-status"] == "8"
    assert line.methods.calls == []
    assert await line.is_alive(3)


async def test_a_full_server_refuses_at_once():
    """P12."""
    line = Line(calls_max=2)
    for stream in (1, 3):
        line.call(stream, "/wait")
    line.call(5, "/echo")

    assert (await line.answer(5))[1]["grpc-status"] == "8"
    assert line.listener.calls == 2


async def test_more_calls_than_a_connection_may_have_are_refused_to_be_asked_again():
    line = Line(calls_max=5000)
    for number in range(STREAMS_MAX + 1):
        line.call(1 + 2 * number, "/wait")

    assert await line.reset(1 + 2 * STREAMS_MAX) is Error.REFUSED_STREAM
    assert line.listener.calls == STREAMS_MAX


# ---- ends -------------------------------------------------------------------------------------------------------------


async def test_a_call_that_its_caller_drops_is_cancelled():
    """A5."""
    line = Line()
    line.call(1, "/wait")
    await line.heard()
    line.frame(Kind.RST_STREAM, 0, 1, Error.CANCEL.to_bytes(4))
    heard = await line.heard()

    assert line.methods.cancelled == 1
    assert line.listener.calls == 0
    assert [each for each in heard if each.stream == 1] == []


async def test_a_line_that_is_lost_cancels_all_its_calls():
    """A5."""
    line = Line()
    for stream in (1, 3, 5):
        line.call(stream, "/wait")
    await line.heard()
    line.connection.connection_lost(None)
    await line.heard()

    assert line.methods.cancelled == 3
    assert line.listener.calls == 0


async def test_a_call_is_over_at_its_deadline_also_while_its_request_is_on_its_way():
    """A3."""
    line = Line()
    line.call(1, "/wait", b"", ("grpc-timeout", "20m"))
    line.headers(3, "/echo", ("grpc-timeout", "20m"))
    await asyncio.sleep(0.05)
    heard = await line.heard()

    assert line.answer_in(heard, 1)[1]["grpc-status"] == "4"
    assert {each.stream for each in heard if each.kind == Kind.HEADERS and each.flags & frames.END_STREAM} == {1, 3}
    assert line.methods.cancelled == 1
    assert line.listener.calls == 0


async def test_a_deadline_beyond_all_clocks_is_no_fault():
    line = Line()
    line.call(1, "/echo", b"hello", ("grpc-timeout", "99999999H"))

    assert (await line.answer())[0] == [b"hello"]


async def test_an_answer_that_comes_before_the_request_is_whole_is_followed_by_a_reset():
    line = Line()
    line.headers(1, "/refuse")
    line.frame(Kind.DATA, 0, 1, prefixed(b"first word"))
    assert (await line.answer())[1]["grpc-status"] == "5"
    await asyncio.sleep(UNHEARD_SECONDS + 0.1)

    assert await line.reset() is Error.NO_ERROR
    line.data(1, b"what was under way")
    assert await line.is_alive(3)


async def test_a_caller_who_ends_its_half_by_itself_is_not_reset():
    line = Line()
    line.headers(1, "/refuse")
    line.data(1, b"first and last word")
    await asyncio.sleep(UNHEARD_SECONDS + 0.1)

    assert await line.reset() is None


async def test_a_stream_that_is_refused_at_once_is_told_behind_its_first_word_or_soon():
    """A client whose first write meets the end of its call may report the failed write instead of our reason."""
    line = Line()
    line.headers(1, "/refuse")
    line.headers(3, "/refuse")
    assert (await line.answer(1)) == ([], None)
    line.data(1, b"first word", ends=False)
    heard = await line.heard()
    assert line.answer_in(heard, 1)[1]["grpc-status"] == "5"
    assert line.answer_in(heard, 3) == ([], None)

    await asyncio.sleep(WORD_SECONDS + 0.05)

    assert line.answer_in(await line.heard(), 3)[1]["grpc-status"] == "5"
    assert line.listener.calls == 0


async def test_the_same_block_is_read_anew_where_the_table_has_changed_since():
    line = Line()
    line.encoder.header_table_size = 80  # two entries at most: what an index means changes all the time
    numbers = [0, 0, 1, 1, 0, 2, 2, 2, 1, 0]
    for at, number in enumerate(numbers):
        line.call(1 + 2 * at, "/echo", b"", ("x-number", str(number)))

    said = [dict(call.invocation_metadata)["x-number"] for call in line.methods.calls]
    assert said == [str(number) for number in numbers]


@given(
    st.lists(st.tuples(st.sampled_from(["x-a", "x-b", "x-c"]), st.sampled_from(["1", "2", "3" * 40])), max_size=60),
    st.sampled_from([0, 40, 80, 200, 4096]),
)
def test_remembered_blocks_say_what_read_ones_say(said, table):
    async def read():
        line = Line()
        line.encoder.header_table_size = table
        for at, field in enumerate(said):
            line.call(1 + 2 * at, "/echo", b"", field)
        return [call.invocation_metadata for call in line.methods.calls]

    assert asyncio.run(read()) == [(field,) for field in said]


async def test_settings_say_what_we_take():
    line = Line()
    first = (await line.heard())[0]

    assert first.kind == Kind.SETTINGS
    pairs = {
        int.from_bytes(first.payload[at : at + 2]): int.from_bytes(first.payload[at + 2 : at + 6]) for at in (0, 6)
    }
    assert pairs[Setting.MAX_CONCURRENT_STREAMS] == STREAMS_MAX
