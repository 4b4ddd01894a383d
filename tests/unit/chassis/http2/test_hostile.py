"""Clients that mean harm, or share a connection with such: one caller's words never stand for another's, and none costs much."""

import asyncio
import gzip

import grpc
import hpack
import pytest
from grpc_health.v1 import health, health_pb2_grpc
from hypothesis import given
from hypothesis import strategies as st

from diwan.chassis.http2 import fields, frames, listener, patience
from diwan.chassis.http2.connection import STREAMS_MAX
from diwan.chassis.http2.fields import Blocks
from diwan.chassis.http2.frames import ConnectionFault, Error, Kind, Setting, StreamFault
from diwan.chassis.http2.listener import Limits, Listener
from diwan.chassis.http2.outgoing import UNSENT_HIGH
from tests.unit.chassis.http2.line import HEADERS, MESSAGE_MAX, Line, prefixed

CLOSES = frames.END_HEADERS | frames.END_STREAM
PLAIN = fields.encoded((name, value.encode()) for name, value in HEADERS)
"""What every call says, in a block that enters nothing in a table."""
NEWEST = bytes([0x80 | 62])
"""The field that was entered last, whatever it is."""


def indexed(name, value):
    return b"\x40" + bytes([len(name)]) + name + bytes([len(value)]) + value


async def test_a_malformed_request_leaves_no_callers_words_to_the_next():
    """Callers behind one proxy share a table: what it enters for a request that is no request counts as well."""
    line = Line()
    start = PLAIN
    amal, badr = indexed(b"authorization", b"amal"), indexed(b"authorization", b"badr")
    line.frame(Kind.HEADERS, frames.END_HEADERS, 1, start + amal)
    line.data(1, b"")
    line.frame(Kind.HEADERS, frames.END_HEADERS, 3, start + NEWEST)
    line.data(3, b"")
    line.frame(Kind.HEADERS, CLOSES, 5, start + indexed(b"grpc-timeout", b"soon") + badr)
    line.frame(Kind.HEADERS, frames.END_HEADERS, 7, start + NEWEST)
    line.data(7, b"")

    said = [dict(call.invocation_metadata)["authorization"] for call in line.methods.calls]
    assert said == ["amal", "amal", "badr"]


def block_parts():
    """Draw the parts of header blocks as any encoder may write them, over few names and few values."""
    names = st.sampled_from([b"a", b"authorization", b"grpc-timeout", b"te", b"b-bin", b"Bad"])
    values = st.sampled_from([b"1", b"amal", b"badr", b"\xff", b"x" * 50, b"y" * 4100])
    literal = st.builds(
        lambda form, name, value: form + text(name) + text(value),
        st.sampled_from([b"\x40", b"\x00", b"\x10"]),
        names,
        values,
    )
    of_table = st.integers(62, 67).map(lambda at: bytes([0x80 | at]))
    named = st.builds(lambda at, value: bytes([0x40 | at]) + text(value), st.sampled_from([62]), values)
    return st.one_of(literal, of_table, of_table, named)


def text(value):
    size = len(value)
    return (bytes([size]) if size < 127 else b"\x7f" + hpack.hpack.encode_integer(size, 7)[1:]) + value


SIZES = st.sampled_from([b"", b"", b"", b"\x20", b"\x3f\x45", b"\x3f\xe1\x1f", b"\x20\x3f\xe1\x1f"])


@given(
    st.lists(st.tuples(SIZES, st.lists(block_parts(), max_size=2).map(b"".join)), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=30),
)
def test_whatever_is_remembered_says_what_a_reader_without_memory_says(blocks, order):
    """Any blocks in any order, good and malformed, tables that grow, shrink and overflow, trailers in between."""
    told, truth = Blocks(), Blocks()
    for at, is_trailer in order:
        sizes, parts = blocks[at % len(blocks)]
        block = sizes + PLAIN + parts
        outcomes = []
        for each in (told, truth):
            if each is truth:
                each._forget()
            try:
                outcomes.append(each.skip(block) if is_trailer else each.request(block))
            except (StreamFault, ConnectionFault) as fault:
                outcomes.append((type(fault), fault.error))
        assert outcomes[0] == outcomes[1]
        if isinstance(outcomes[0], tuple) and outcomes[0][0] is ConnectionFault:
            return


async def test_what_is_no_text_ends_its_own_stream():
    line = Line()
    line.call(1, "/wait")
    line.frame(Kind.HEADERS, CLOSES, 3, line.block([*HEADERS, (b"x-name", b"\xe9")]))

    assert await line.reset(3) is Error.PROTOCOL_ERROR
    assert await line.is_alive(5)


async def test_remembered_blocks_cost_a_bounded_memory():
    """A byte of a block can stand for a field of 4 KiB, and sixty-four bytes for as many fields."""
    line = Line()
    line.headers(1, "/echo", ("x-much", "y" * 3000), ends=True)
    for number in range(200):
        stream = 3 + 2 * number
        line.headers(stream, "/echo", *[("x-much", "y" * 3000)] * (1 + number % 60), ends=True)

    known = line.connection._blocks._known
    assert known
    assert sum(len(block) + request.bytes for block, request in known.items()) <= fields.REMEMBERED_BYTES_MAX


@pytest.mark.parametrize("path", ["/echo", "/wait", "/talk", "/refuse"])
async def test_packed_messages_wait_as_they_came(path):
    """A stream's window of packed zeros is a thousand windows unpacked: unread they stay packed."""
    line = Line()
    bomb = prefixed(gzip.compress(bytes(MESSAGE_MAX)), packed=1)
    line.headers(1, path, ("grpc-encoding", "gzip"))
    line.methods.talk = line.methods.wait
    exchange = line.connection.exchanges.get(1)
    line.frame(Kind.DATA, 0, 1, bomb * 60)

    if exchange is not None:
        assert sum(len(message) for _, message in exchange._messages) <= 60 * len(bomb)
    assert await line.is_alive(3)


async def test_a_packed_stream_is_unpacked_message_by_message():
    line = Line()
    line.headers(1, "/talk", ("grpc-encoding", "gzip"))
    line.frame(Kind.DATA, 0, 1, prefixed(gzip.compress(b"one"), packed=1) + prefixed(b"two"))
    first, _ = await line.answer()
    line.frame(Kind.DATA, 0, 1, prefixed(b"no gzip", packed=1))

    rest, said = await line.answer()
    assert first + rest == [b"one", b"two"]
    assert said["grpc-status"] == "3"
    assert line.listener.calls == 0


@pytest.mark.parametrize("path", ["/echo", "/talk"])
async def test_a_packed_message_that_is_cut_short_is_none(path):
    line = Line()
    line.headers(1, path, ("grpc-encoding", "gzip"))
    line.frame(Kind.DATA, frames.END_STREAM, 1, prefixed(gzip.compress(b"a hundred chips" * 50)[:-9], packed=1))

    messages, said = await line.answer()
    assert messages == []
    assert said["grpc-status"] == "3"


async def test_a_frame_of_thousands_of_settings_changes_the_streams_once(monkeypatch):
    line = Line()
    for number in range(STREAMS_MAX // 2):
        line.call(1 + 2 * number, "/wait")
    changes = []
    change = line.connection.out.set_initial_window
    monkeypatch.setattr(
        line.connection.out, "set_initial_window", lambda *said: (changes.append(said[0]), change(*said))
    )
    one = b"".join(Setting.INITIAL_WINDOW_SIZE.to_bytes(2) + value.to_bytes(4) for value in (1, 2**31 - 1, 70_000))
    line.frame(Kind.SETTINGS, 0, 0, one * 900)

    assert changes == [70_000]
    assert {each.send_window for each in line.connection.exchanges.values()} == {70_000}


async def test_trailers_of_streams_that_are_over_are_borne_for_a_while(monkeypatch):
    monkeypatch.setattr(patience, "BOTHERS_A_SECOND", 0)
    line = Line()
    line.call(1)
    for _ in range(patience.BOTHERS_MAX + 1):
        line.headers(1, ends=True)

    assert await line.end() == (Error.ENHANCE_YOUR_CALM, "too_many_frames")


async def test_answers_of_one_turn_fill_the_line_no_further_than_others():
    """P12: a thousand small requests in one reading may have large answers, and the windows may be without bounds."""
    line = Line(begins=False)
    line.say(
        frames.PREFACE + frames.settings({Setting.INITIAL_WINDOW_SIZE: 2**31 - 1}) + frames.window_update(0, 2**30)
    )

    def writes(data):
        line.transport.unsent += len(data)
        if line.transport.unsent > UNSENT_HIGH:
            line.connection.pause_writing()

    line.transport.write = writes
    for number in range(1000):
        line.call(1 + 2 * number, "/sized", b"16000")

    for _ in range(5):
        await asyncio.sleep(0)

    assert line.transport.unsent < 2 * UNSENT_HIGH + 1000 * 100


async def test_the_first_word_about_an_end_is_the_last_also_while_it_waits():
    line = Line(begins=False)
    line.say(frames.PREFACE + frames.settings({Setting.INITIAL_WINDOW_SIZE: 20}))
    line.headers(1, "/talk")
    line.data(1, b"a" * 50, ends=False)
    first = await line.heard()
    line.say(
        frames.frame(Kind.DATA, 0, 1, b"\x00\xff\xff\xff\xff")  # a message that is far too large
        + frames.window_update(1, 1000)
    )

    messages, said = line.answer_in(first + await line.heard(), 1)
    assert messages == [b"a" * 50]
    assert said["grpc-status"] == "8"


async def test_who_looks_a_method_up_in_vain_breaks_its_call_alone(monkeypatch):
    line = Line()
    line.call(1, "/wait")
    find = line.methods.service

    def breaks(details):
        if details.method == "/trap":
            raise RecursionError
        return find(details)

    monkeypatch.setattr(line.methods, "service", breaks)
    line.call(3, "/trap")

    assert (await line.answer(3))[1]["grpc-status"] == "2"
    assert line.listener.calls == 1
    assert await line.is_alive(5)


@pytest.mark.parametrize("content", ["application/grpc-web", "application/grpcx", "application/grpc-web+proto"])
async def test_what_only_begins_like_grpc_is_another_language(content):
    line = Line()
    line.headers(1, fields=[(name, content if name == "content-type" else value) for name, value in HEADERS], ends=True)
    (heard,) = [each for each in await line.heard() if each.kind == Kind.HEADERS]

    assert dict(line.decoder.decode(heard.payload))[":status"] == "415"


async def test_who_is_shown_out_and_does_not_read_is_let_go(monkeypatch):
    """What is on its way to a client that never takes it would be kept as long as its host answers for it."""
    monkeypatch.setattr(listener, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(listener, "CLOSE_SECONDS", 0.2)
    server = Listener(Limits(message_bytes_max=MESSAGE_MAX, calls_max=100))
    Line(listener=server)
    port = await server.start("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
    writer.transport.pause_reading()
    wide = frames.settings({Setting.INITIAL_WINDOW_SIZE: 2**31 - 1}) + frames.window_update(0, 2**30)
    block = hpack.Encoder()
    writer.write(frames.PREFACE + wide)
    for number in range(600):
        stream = 1 + 2 * number
        said = block.encode([(name, "/sized" if name == ":path" else value) for name, value in HEADERS])
        writer.write(frames.frame(Kind.HEADERS, frames.END_HEADERS, stream, said))
        writer.write(frames.frame(Kind.DATA, frames.END_STREAM, stream, prefixed(b"16000")))
    async with asyncio.timeout(5):
        while not any(each.out._is_full for each in server._connections):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    writer.write(frames.frame(Kind.PUSH_PROMISE, 0, 1, b""))
    async with asyncio.timeout(5):
        while len(server._connections) > 1:  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    writer.close()
    del reader
    await server.stop(0.1)


async def test_who_holds_on_to_what_anybody_may_call_takes_no_place_from_callers():
    """P12: a watch of health needs no token; the oldest makes room for a probe, and callers have places of their own."""
    line = Line(listener=Listener(Limits(message_bytes_max=MESSAGE_MAX, calls_max=10, visits_max=3)))
    public = Line(begins=False).methods
    line.listener.add_handlers_for_anybody([Renamed(public)])
    for number in range(8):
        line.call(1 + 2 * number, "/anybody/wait")
    _, said = await line.answer(1)

    assert said["grpc-status"] == "8"
    assert line.listener.calls == 3
    assert public.cancelled == 5
    line.call(101, "/anybody/echo", b"probe")
    assert (await line.answer(101))[0] == [b"probe"]
    assert await line.is_alive(103)
    for number in range(8):
        line.frame(Kind.RST_STREAM, 0, 1 + 2 * number, bytes(4))
    assert line.listener.calls == 0
    assert not line.listener._visits


class Renamed(grpc.GenericRpcHandler):
    """The same methods under a name of their own."""

    def __init__(self, methods):
        self.methods = methods

    def service(self, details):
        if not details.method.startswith("/anybody"):
            return None
        return self.methods.service(listener.Details(details.method.removeprefix("/anybody"), ()))


@pytest.mark.parametrize("half", ["asked", "answered", "refused", "cut"])
async def test_calls_that_their_clients_do_not_go_on_with_take_no_place_from_others(half):
    """P12: one token is enough to ask by halves, or to open no window for answers, thousands of times."""
    line = Line(listener=Listener(Limits(message_bytes_max=MESSAGE_MAX, calls_max=10, waiting_max=3)))
    window = {"asked": 100, "answered": 0, "refused": 10, "cut": 10}[half]
    line.say(frames.settings({Setting.INITIAL_WINDOW_SIZE: window}))
    for number in range(30):
        stream = 1 + 2 * number
        if half == "asked":
            line.headers(stream, "/echo")
        elif half == "refused":
            line.headers(stream, "/talk")
            line.data(stream, b"a" * 50, ends=False)
            await line.heard()
            line.frame(Kind.DATA, 0, stream, b"\x00\xff\xff\xff\xff")
        else:
            line.call(stream, "/echo", b"a" * 50)
        await line.heard()

    assert line.listener.calls == 3
    line.say(frames.settings({Setting.INITIAL_WINDOW_SIZE: 1000}))
    assert await line.is_alive(1001)
    for number in range(30):
        line.frame(Kind.RST_STREAM, 0, 1 + 2 * number, bytes(4))
    assert line.listener.calls == 0
    assert not line.listener._half_asked
    assert not line.listener._half_answered


async def test_who_keeps_many_idle_connections_locks_nobody_out():
    """P12: the oldest without a call makes room; where all have calls, the newest is shown out."""
    server = Listener(Limits(message_bytes_max=MESSAGE_MAX, calls_max=100, connections_max=4))
    busy = Line(listener=server)
    busy.call(1, "/wait")
    idle = [Line(listener=server) for _ in range(3)]
    newest = Line(listener=server)

    assert await newest.is_alive(1)
    assert await idle[0].end() == (Error.NO_ERROR, "too_many_connections")
    assert idle[0].transport.is_closed
    idle[0].connection.connection_lost(None)
    assert await busy.is_alive(3)
    for each in (*idle[1:], newest):
        each.call(11, "/wait")
    late = Line(listener=server)
    assert await late.end() == (Error.ENHANCE_YOUR_CALM, "too_many_connections")
    assert await newest.is_alive(13)


async def test_what_a_generated_method_cannot_read_is_refused_with_a_reason(capsys):
    """Of a fault of the caller no trace is written: anybody may ask for health, and fill disks with it."""
    line = Line()
    health_pb2_grpc.add_HealthServicer_to_server(health.aio.HealthServicer(), line.listener)
    line.call(1, "/grpc.health.v1.Health/Check", b"\xff" * 20)

    assert (await line.answer(1))[1]["grpc-status"] == "3"
    line.call(5, "/grpc.health.v1.Health/Watch", b"\xff" * 20)
    assert (await line.answer(5))[1]["grpc-status"] == "3"
    assert "method_failed" not in capsys.readouterr().out


@pytest.mark.parametrize("size", [b"\x20", b"\x3f\xe1\x1f"], ids=["none", "whole"])
async def test_a_table_changes_its_size_only_so_often(size):
    line = Line()
    line.frame(Kind.HEADERS, frames.END_HEADERS, 1, size * 2 + PLAIN)
    line.data(1, b"hello")
    assert (await line.answer(1))[0] == [b"hello"]
    line.frame(Kind.HEADERS, frames.END_HEADERS, 3, size * 5000 + PLAIN)

    assert (await line.end())[0] is Error.COMPRESSION_ERROR
