"""A connection over our own HTTP/2: windows, patience, its end; and what breaks the protocol (RFC 9113)."""

import asyncio
import contextlib

import grpc
import hpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diwan.chassis.http2 import frames, listener, patience
from diwan.chassis.http2.connection import ROOM
from diwan.chassis.http2.frames import Error, Kind, Setting
from diwan.chassis.http2.listener import Limits, Listener
from diwan.chassis.http2.outgoing import UNSENT_MAX
from tests.unit.chassis.http2.line import HEADERS, MESSAGE_MAX, Line, prefixed

REQUEST = hpack.Encoder().encode(HEADERS)
CLOSES = frames.END_HEADERS | frames.END_STREAM


def raw(kind, flags, stream, payload=b""):
    return frames.frame(kind, flags, stream, payload)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        pytest.param(raw(Kind.DATA, 0, 0, b"x"), Error.PROTOCOL_ERROR, id="data_of_the_connection"),
        pytest.param(raw(Kind.DATA, 0, 1, b"x"), Error.PROTOCOL_ERROR, id="data_of_no_stream"),
        pytest.param(raw(Kind.HEADERS, CLOSES, 2, REQUEST), Error.PROTOCOL_ERROR, id="even_stream"),
        pytest.param(raw(Kind.HEADERS, CLOSES, 0, REQUEST), Error.PROTOCOL_ERROR, id="headers_of_the_connection"),
        pytest.param(raw(Kind.HEADERS, CLOSES, 1, b"\xff\xff\xff\xff"), Error.COMPRESSION_ERROR, id="no_index"),
        pytest.param(raw(Kind.HEADERS, CLOSES, 1, b"\x3f\xe1\xff\x7f"), Error.COMPRESSION_ERROR, id="table_too_large"),
        pytest.param(raw(Kind.HEADERS, CLOSES | frames.PADDED, 1, b"\x09abc"), Error.PROTOCOL_ERROR, id="padding"),
        pytest.param(raw(Kind.HEADERS, CLOSES | frames.PRIORITY, 1, b"abc"), Error.FRAME_SIZE_ERROR, id="no_priority"),
        pytest.param(
            raw(Kind.HEADERS, 0, 1, REQUEST) + raw(Kind.PING, 0, 0, bytes(8)), Error.PROTOCOL_ERROR, id="in_between"
        ),
        pytest.param(
            raw(Kind.HEADERS, 0, 1, REQUEST) + raw(Kind.CONTINUATION, frames.END_HEADERS, 3),
            Error.PROTOCOL_ERROR,
            id="continuation_of_another",
        ),
        pytest.param(raw(Kind.CONTINUATION, frames.END_HEADERS, 1), Error.PROTOCOL_ERROR, id="continuation_of_nothing"),
        pytest.param(
            raw(Kind.HEADERS, 0, 1, b"") + raw(Kind.CONTINUATION, 0, 1) * 20,
            Error.ENHANCE_YOUR_CALM,
            id="endless_block",
        ),
        pytest.param(
            raw(Kind.HEADERS, 0, 1, bytes(16_000)) + raw(Kind.CONTINUATION, 0, 1, bytes(16_384)) * 2,
            Error.ENHANCE_YOUR_CALM,
            id="large_block",
        ),
        pytest.param(raw(Kind.PRIORITY, 0, 0, bytes(5)), Error.PROTOCOL_ERROR, id="priority_of_the_connection"),
        pytest.param(raw(Kind.PRIORITY, 0, 1, bytes(4)), Error.FRAME_SIZE_ERROR, id="short_priority"),
        pytest.param(raw(Kind.RST_STREAM, 0, 1, bytes(4)), Error.PROTOCOL_ERROR, id="reset_of_no_stream"),
        pytest.param(raw(Kind.SETTINGS, 0, 1), Error.PROTOCOL_ERROR, id="settings_of_a_stream"),
        pytest.param(raw(Kind.SETTINGS, 0, 0, bytes(5)), Error.FRAME_SIZE_ERROR, id="half_a_setting"),
        pytest.param(raw(Kind.SETTINGS, frames.ACK, 0, bytes(6)), Error.FRAME_SIZE_ERROR, id="wordy_ack"),
        pytest.param(frames.settings({Setting.ENABLE_PUSH: 2}), Error.PROTOCOL_ERROR, id="push"),
        pytest.param(
            frames.settings({Setting.INITIAL_WINDOW_SIZE: 2**31}), Error.FLOW_CONTROL_ERROR, id="window_of_streams"
        ),
        pytest.param(frames.settings({Setting.MAX_FRAME_SIZE: 100}), Error.PROTOCOL_ERROR, id="small_frames"),
        pytest.param(frames.settings({Setting.MAX_FRAME_SIZE: 2**24}), Error.PROTOCOL_ERROR, id="large_frames"),
        pytest.param(raw(Kind.PUSH_PROMISE, 0, 1, bytes(8)), Error.PROTOCOL_ERROR, id="promise"),
        pytest.param(raw(Kind.PING, 0, 1, bytes(8)), Error.PROTOCOL_ERROR, id="ping_of_a_stream"),
        pytest.param(raw(Kind.PING, 0, 0, bytes(7)), Error.FRAME_SIZE_ERROR, id="short_ping"),
        pytest.param(raw(Kind.GOAWAY, 0, 1, bytes(8)), Error.PROTOCOL_ERROR, id="end_of_a_stream"),
        pytest.param(raw(Kind.WINDOW_UPDATE, 0, 0, bytes(4)), Error.PROTOCOL_ERROR, id="window_by_nothing"),
        pytest.param(raw(Kind.WINDOW_UPDATE, 0, 0, bytes(3)), Error.FRAME_SIZE_ERROR, id="short_window"),
        pytest.param(frames.window_update(0, 2**31 - 1), Error.FLOW_CONTROL_ERROR, id="window_overflows"),
        pytest.param(frames.window_update(9, 1), Error.PROTOCOL_ERROR, id="window_of_no_stream"),
        pytest.param(b"\x00\x40\x01" + bytes(6) + bytes(0x4001), Error.FRAME_SIZE_ERROR, id="long_frame"),
    ],
)
async def test_who_breaks_the_protocol_is_told_and_the_connection_ends(said, error):
    line = Line()
    line.say(said)

    ended = await line.end()

    assert ended is not None
    assert ended[0] is error
    assert line.transport.is_closed
    line.call(1001)
    assert await line.heard() == []


@pytest.mark.parametrize(
    "said",
    [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00", frames.PREFACE + raw(Kind.PING, 0, 0, bytes(8))],
)
async def test_who_does_not_begin_as_http2_begins_is_shown_out(said):
    line = Line(begins=False)
    line.say(said)

    assert (await line.end())[0] is Error.PROTOCOL_ERROR
    assert line.transport.is_closed


@pytest.mark.parametrize(
    ("said", "error"),
    [
        pytest.param(raw(Kind.WINDOW_UPDATE, 0, 1, bytes(4)), Error.PROTOCOL_ERROR, id="by_nothing"),
        pytest.param(frames.window_update(1, 2**31 - 1), Error.FLOW_CONTROL_ERROR, id="overflow"),
        pytest.param(raw(Kind.HEADERS, frames.END_HEADERS, 1, REQUEST), Error.PROTOCOL_ERROR, id="headers_again"),
        pytest.param(raw(Kind.DATA, 0, 1, prefixed(b"more")), Error.STREAM_CLOSED, id="behind_the_end"),
    ],
)
async def test_a_fault_of_a_stream_ends_that_stream_alone(said, error):
    line = Line()
    line.call(1, "/wait")
    await line.heard()
    line.say(said)

    assert await line.reset() is error
    assert line.methods.cancelled == 1
    assert await line.is_alive(3)


async def test_what_nobody_knows_is_ignored():
    line = Line()
    line.say(raw(0xFA, 0xFF, 77, b"of the future"))
    line.say(frames.frame(Kind.SETTINGS, 0, 0, b"\x00\x99" + bytes(4)))
    line.frame(Kind.GOAWAY, 0, 0, bytes(8))
    line.frame(Kind.PRIORITY, 0, 7, bytes(5))

    assert await line.is_alive(1)


async def test_a_ping_is_answered_and_settings_are_acknowledged():
    line = Line()
    line.frame(Kind.PING, 0, 0, b"12345678")
    heard = await line.heard()

    assert raw(Kind.SETTINGS, frames.ACK, 0) in bytes(line.transport.written)
    assert [each.payload for each in heard if each.kind == Kind.PING] == [b"12345678"]


# ---- windows ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 400), min_size=1, max_size=30), st.integers(0, 60))
@settings(max_examples=60)
def test_an_answer_arrives_whole_however_narrow_the_windows_are(grants, initial):
    async def received():
        line = Line(begins=False)
        line.say(frames.PREFACE + frames.settings({Setting.INITIAL_WINDOW_SIZE: initial}))
        line.call(1, "/sized", b"1000")
        line.call(3, "/many", b"3")
        sent, heard = {1: 0, 3: 0}, []
        allowed = {1: initial, 3: initial}
        for grant in [*grants, 2000]:
            for stream in (1, 3):
                line.say(frames.window_update(stream, grant))
                allowed[stream] += grant
            now = await line.heard(12)
            heard += now
            for each in now:
                if each.kind == Kind.DATA:
                    sent[each.stream] += len(each.payload)
            assert all(sent[stream] <= allowed[stream] for stream in (1, 3))
        return [
            [
                b"".join(each.payload for each in heard if each.kind == Kind.DATA and each.stream == stream),
                sum(
                    each.kind == Kind.HEADERS and bool(each.flags & frames.END_STREAM) and each.stream == stream
                    for each in heard
                ),
            ]
            for stream in (1, 3)
        ]

    one, three = asyncio.run(received())

    assert one == [prefixed(bytes(1000)), 1]
    assert three == [prefixed(b"x" * 100) * 3, 1]


async def test_the_connections_window_is_shared_in_turns():
    line = Line()
    for stream in (1, 3, 5):
        line.call(stream, "/sized", b"60000")
    first = [each for each in await line.heard() if each.kind == Kind.DATA]
    assert sum(len(each.payload) for each in first) <= frames.WINDOW

    line.say(frames.window_update(0, 200_000))
    rest = [each for each in await line.heard() if each.kind == Kind.DATA]

    assert [each.stream for each in rest][:4] in ([3, 5, 3, 5], [5, 3, 5, 3])
    assert sum(len(each.payload) for each in [*first, *rest]) == 3 * 60_005


async def test_a_window_that_shrinks_below_nothing_holds_until_it_has_grown_again():
    line = Line()
    line.call(1, "/many", b"2")
    await line.heard()
    line.headers(3, "/talk")
    line.data(3, b"a" * 1000, ends=False)
    await line.heard()
    line.say(frames.settings({Setting.INITIAL_WINDOW_SIZE: 10}))
    line.data(3, b"b" * 100, ends=False)
    assert [each for each in await line.heard() if each.kind == Kind.DATA] == []
    line.say(frames.window_update(3, 5000))

    assert sum(len(each.payload) for each in await line.heard() if each.kind == Kind.DATA) == 105


async def test_a_call_that_is_refused_in_the_middle_of_a_message_ends_behind_it():
    line = Line(begins=False)
    line.say(frames.PREFACE + frames.settings({Setting.INITIAL_WINDOW_SIZE: 20}))
    line.headers(1, "/talk")
    line.data(1, b"a" * 50, ends=False)
    first = await line.heard()
    line.frame(Kind.DATA, 0, 1, b"\x00\xff\xff\xff\xff")  # a message that is far too large
    first += await line.heard()
    assert [each for each in first if each.flags & frames.END_STREAM and each.stream] == []
    line.say(frames.window_update(1, 1000))

    messages, said = line.answer_in(first + await line.heard(), 1)
    assert messages == [b"a" * 50]
    assert said["grpc-status"] == "8"
    assert line.listener.calls == 0


async def test_who_sends_more_than_a_streams_window_loses_the_stream():
    line = Line()
    line.headers(1, "/wait")
    line.frame(Kind.DATA, 0, 1, b"\x00\x00\x01\xf0\x00" + bytes(16_000))
    for _ in range(6):
        line.frame(Kind.DATA, 0, 1, bytes(16_000))
    # As much as one message needs is given.
    assert await line.reset() is None
    line.connection.exchanges[1].receive_window = 100
    line.frame(Kind.DATA, 0, 1, bytes(101))

    assert await line.reset() is Error.FLOW_CONTROL_ERROR
    assert await line.is_alive(3)


async def test_messages_that_nobody_reads_wait_at_the_callers_end():
    """A5: what a caller may send ahead is bounded, until it has been read."""
    line = Line()
    line.say(frames.settings({Setting.INITIAL_WINDOW_SIZE: 0}))  # its first answer waits, so nothing more is read
    line.headers(3, "/talk")
    sent = granted = 0
    granted += frames.WINDOW
    while sent + 1005 <= granted and sent < 10 * frames.WINDOW:
        line.data(3, b"z" * 1000, ends=False)
        sent += 1005
        granted += sum(
            int.from_bytes(each.payload)
            for each in await line.heard(2)
            if each.kind == Kind.WINDOW_UPDATE and each.stream == 3
        )

    assert sent < 3 * frames.WINDOW


async def test_the_connections_room_is_given_back_as_it_is_used():
    line = Line()
    line.headers(1, "/refuse")
    for _ in range(200):
        line.frame(Kind.DATA, 0, 1, bytes(16_000)) if 1 not in line.connection.exchanges else line.data(
            1, b"x", ends=False
        )
    updates = [each for each in await line.heard() if each.kind == Kind.WINDOW_UPDATE and each.stream == 0]

    assert len(updates) > 3
    assert await line.is_alive(3)


async def test_who_sends_more_than_the_connections_room_is_shown_out():
    line = Line()
    line.headers(1, "/refuse", ends=True)
    line.connection._receive_window = 1000
    line.frame(Kind.DATA, 0, 1, bytes(1001))

    assert (await line.end())[0] is Error.FLOW_CONTROL_ERROR
    assert ROOM > frames.WINDOW


# ---- a slow line ------------------------------------------------------------------------------------------------------


async def test_a_full_line_holds_messages_back_and_at_last_the_reading():
    """P12, A5: who asks and does not read costs a bounded buffer."""
    line = Line()
    line.connection.pause_writing()
    line.transport.unsent = UNSENT_MAX + 1
    line.call(1, "/echo", b"hello")
    heard = await line.heard()

    assert [each for each in heard if each.kind == Kind.DATA] == []
    assert line.transport.is_deaf

    line.transport.unsent = 0
    line.connection.resume_writing()
    assert line.answer_in(await line.heard(), 1)[0] == [b"hello"]
    assert not line.transport.is_deaf


# ---- patience ---------------------------------------------------------------------------------------------------------


async def test_too_many_pings_end_the_connection_and_an_answer_makes_up_for_them():
    line = Line()
    line.call(1, "/wait")
    for number in range(40):
        line.frame(Kind.PING, 0, 0, bytes(8))
        if number % 2:
            assert await line.is_alive(3 + 2 * number)
    for _ in range(patience.STRIKES_MAX + 2):
        line.frame(Kind.PING, 0, 0, bytes(8))

    assert await line.end() == (Error.ENHANCE_YOUR_CALM, "too_many_pings")


@pytest.mark.parametrize("nuisance", ["reset", "settings", "empty", "priority", "unknown", "malformed"])
async def test_frames_that_cost_us_and_say_nothing_are_borne_for_a_while(nuisance, monkeypatch):
    """A6: rapid resets and floods of the like."""
    monkeypatch.setattr(patience, "BOTHERS_A_SECOND", 0)
    line = Line()
    line.call(1, "/wait")
    for number in range(patience.BOTHERS_MAX + 200):
        stream = 3 + 2 * number
        match nuisance:
            case "reset":
                line.call(stream, "/wait")
                line.frame(Kind.RST_STREAM, 0, stream, bytes(4))
            case "settings":
                line.say(frames.settings({}))
            case "empty":
                line.frame(Kind.DATA, 0, 1)
            case "priority":
                line.frame(Kind.PRIORITY, 0, 1, bytes(5))
            case "unknown":
                line.frame(0x42, 0, 0)
            case "malformed":
                line.headers(stream, fields=HEADERS[1:], ends=True)
        if line.transport.is_closed:
            break
    await line.heard()

    assert line.transport.is_closed
    assert line.listener.calls == 0


async def test_a_thousand_watchers_that_leave_at_once_are_no_nuisance():
    line = Line()
    for _ in range(2):
        streams = [line.connection._last + 2 + 2 * number - (line.connection._last == 0) for number in range(1000)]
        for stream in streams:
            line.call(stream, "/wait")
        await line.heard()
        for stream in streams:
            line.frame(Kind.RST_STREAM, 0, stream, bytes(4))

    assert await line.is_alive(streams[-1] + 2)


# ---- time -------------------------------------------------------------------------------------------------------------


async def served(monkeypatch, **limits):
    """Return a listener on a port that looks around all the time."""
    monkeypatch.setattr(listener, "LOOK_SECONDS", 0.02)
    server = Listener(Limits(message_bytes_max=MESSAGE_MAX, calls_max=100, **limits))
    Line(listener=server)
    return server, await server.start("127.0.0.1", 0)


@contextlib.asynccontextmanager
async def connected(port, begun=b""):
    """Connect; yields what reads until the server closes, which returns what it said."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(begun)
    said = bytearray()

    async def all_said(seconds=2.0):
        with contextlib.suppress(ConnectionResetError):
            async with asyncio.timeout(seconds):
                while more := await reader.read(1000):
                    said.extend(more)
        return bytes(said)

    try:
        yield writer, all_said
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


def opened(path):
    """Return the beginning of a connection with one open call."""
    block = hpack.Encoder().encode([(name, path if name == ":path" else value) for name, value in HEADERS])
    return frames.PREFACE + frames.settings({}) + raw(Kind.HEADERS, frames.END_HEADERS, 1, block)


@pytest.mark.parametrize(
    "begun",
    [
        pytest.param(b"", id="silence"),
        pytest.param(frames.PREFACE[:10], id="half_a_preface"),
        pytest.param(frames.PREFACE + frames.settings({}) + raw(Kind.HEADERS, 0, 1, REQUEST[:5]), id="half_a_block"),
    ],
)
async def test_who_begins_and_does_not_go_on_is_shown_out(monkeypatch, begun):
    monkeypatch.setattr(listener, "BEGIN_SECONDS", 0.1)
    server, port = await served(monkeypatch)
    async with connected(port, begun) as (_, all_said):
        await all_said()  # It ends, or this times out.
    await server.stop(0.1)


async def test_a_client_with_calls_that_says_nothing_is_asked_and_then_given_up(monkeypatch):
    monkeypatch.setattr(patience, "PING_AFTER_SECONDS", 0.1)
    monkeypatch.setattr(patience, "ANSWER_SECONDS", 0.1)
    server, port = await served(monkeypatch)
    async with connected(port, opened("/talk")) as (_, all_said):
        said = await all_said()

    assert raw(Kind.PING, 0, 0, bytes(8)) in said
    assert server.calls == 0
    await server.stop(0.1)


async def test_a_client_that_answers_is_kept(monkeypatch):
    monkeypatch.setattr(patience, "PING_AFTER_SECONDS", 0.1)
    monkeypatch.setattr(patience, "ANSWER_SECONDS", 0.2)
    server, port = await served(monkeypatch)
    async with connected(port, opened("/talk")) as (writer, all_said):
        for _ in range(20):
            await asyncio.sleep(0.05)
            writer.write(raw(Kind.PING, frames.ACK, 0, bytes(8)))
        assert server.calls == 1
        writer.write(raw(Kind.DATA, frames.END_STREAM, 1, prefixed(b"the last word")))
        with contextlib.suppress(TimeoutError):
            await all_said(0.2)
        assert server.calls == 0
    await server.stop(0.1)


async def test_an_old_connection_is_told_to_move_and_ends_with_its_last_call(monkeypatch):
    server, port = await served(monkeypatch, age_seconds=0.1, grace_seconds=5.0)
    async with connected(port, opened("/talk")) as (writer, all_said):
        await asyncio.sleep(0.4)
        assert server.calls == 1
        writer.write(raw(Kind.PING, frames.ACK, 0, b"moving o"))
        writer.write(raw(Kind.DATA, frames.END_STREAM, 1, prefixed(b"the last word")))
        said = await all_said()

    moved = said.index(frames.go_away(frames.STREAM_MAX, Error.NO_ERROR, "moving on"))
    assert moved < said.index(prefixed(b"the last word"))
    await server.stop(0.1)


async def test_an_old_connection_stays_until_its_client_knows(monkeypatch):
    """A call that was under way when the client was told is answered, however long its way is (RFC 9113 section 6.8)."""
    server, port = await served(monkeypatch, age_seconds=0.1, grace_seconds=5.0)
    async with connected(port, frames.PREFACE + frames.settings({})) as (writer, all_said):
        await asyncio.sleep(0.4)
        writer.write(raw(Kind.HEADERS, frames.END_HEADERS, 1, REQUEST))
        writer.write(raw(Kind.DATA, frames.END_STREAM, 1, prefixed(b"late")))
        writer.write(raw(Kind.PING, frames.ACK, 0, b"moving o"))
        said = await all_said()

    assert said.index(frames.go_away(frames.STREAM_MAX, Error.NO_ERROR, "moving on")) < said.index(prefixed(b"late"))
    assert said.endswith(frames.go_away(1, Error.NO_ERROR, "max_age"))
    await server.stop(0.1)


async def test_no_call_fails_because_connections_grow_old(monkeypatch):
    server, port = await served(monkeypatch, age_seconds=0.1, grace_seconds=5.0)
    ages = []
    monkeypatch.setattr(
        server, "connected", lambda connection: (ages.append(connection), Listener.connected(server, connection))
    )
    until = asyncio.get_running_loop().time() + 1.5

    async def calls(method):
        count = 0
        while asyncio.get_running_loop().time() < until:
            count += 1
            assert await method(b"%d" % count, timeout=10) == b"%d" % count
        return count

    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        counts = await asyncio.gather(*(calls(channel.unary_unary("/echo")) for _ in range(8)))

    assert min(counts) > 0
    assert len(ages) >= 3
    await server.stop(0.1)


async def test_stopping_ends_what_does_not_end_by_itself_and_says_so(monkeypatch):
    server, port = await served(monkeypatch)
    begun = opened("/wait") + raw(Kind.DATA, frames.END_STREAM, 1, prefixed(b""))
    async with connected(port, begun) as (_, all_said):
        async with asyncio.timeout(2):
            while not server.calls:  # noqa: ASYNC110  (a listener tells nobody)
                await asyncio.sleep(0.01)
        await server.stop(0.2)
        said = await all_said()

    assert b"grpc-status\x0214" in said
    with pytest.raises(OSError, match=r"111|refused"):
        await asyncio.open_connection("127.0.0.1", port)


# ---- anything at all --------------------------------------------------------------------------------------------------


@given(st.binary(max_size=300), st.randoms(use_true_random=False))
@settings(max_examples=150)
def test_no_bytes_break_anything_but_their_own_connection(garbage, chance):
    """A4: frames of all kinds, true and false, over open calls; whatever they do, another connection is served."""

    async def attacked():
        victim = Line()
        victim.call(1, "/wait")
        victim.headers(3, "/talk")
        for _ in range(chance.randrange(40)):
            payload = chance.choice([b"", garbage, bytes(4), bytes(8), REQUEST, prefixed(garbage), b"\x00\x00\x00\x01"])
            kind, flags = chance.randrange(12), chance.choice([0, 1, 4, 5, 8, 0x20, 0x2D, 0xFF])
            victim.say(raw(kind, flags, chance.choice([0, 1, 3, 5, 7, 2, 2**31 - 1]), payload[:16_384]))
        victim.say(garbage)
        await victim.heard(8)
        other = Line(listener=victim.listener)
        alive = await other.is_alive(1)
        victim.connection.connection_lost(None)
        await other.heard()
        return alive, victim.listener.calls

    assert asyncio.run(attacked()) == (True, 0)
