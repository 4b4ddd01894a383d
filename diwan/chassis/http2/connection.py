"""One client's connection: frames in and out, windows both ways, and an end to whoever breaks the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, cast

from diwan.chassis.http2 import frames
from diwan.chassis.http2.blocks import GatheredBlock, WholeBlock
from diwan.chassis.http2.exchange import Exchange
from diwan.chassis.http2.fields import METADATA_BYTES_MAX, Blocks, Request, no_call
from diwan.chassis.http2.frames import ConnectionFault, Error, Kind, Setting, StreamFault
from diwan.chassis.http2.host import Host
from diwan.chassis.http2.outgoing import Outgoing
from diwan.chassis.http2.patience import Patience
from diwan.core.decider import Rejected

STREAMS_MAX: Final = 1024
"""Calls of one connection at once; more wait at the client's end, without a word."""
ROOM: Final = 1024 * 1024
"""Bytes that a client may have under way on the connection; each stream has its own, smaller room."""
UNHEARD_SECONDS: Final = 1.0
"""A caller who has its status may end its own half of the stream by itself; a write that is under way then does not fail,
and hide the status behind its failure."""

_MOVING: Final = b"moving o"


class Connection(asyncio.Protocol):
    """The server's end of one connection."""

    def __init__(self, host: Host, loop: asyncio.AbstractEventLoop, message_max: int) -> None:
        self.loop = loop
        self.peer = ""
        self.exchanges: dict[int, Exchange] = {}
        self.patience = Patience(loop.time())
        self.out = Outgoing(loop, self.patience)
        self.is_closed = False
        self.closed_at: float | None = None
        """When we ended the connection; the line itself ends when the client has taken what was on its way."""
        self.has_heard = False
        """Whether the client knows that it has to move: no call of it is under way to us any more."""
        self._began_at = loop.time()
        self._host = host
        self._message_max = message_max
        self._transport: asyncio.Transport | None = None
        self._rest = b""
        self._has_preface = self._has_settings = False
        self._blocks = Blocks()
        self._block = GatheredBlock()
        self._last = 0  # the newest stream that the client has opened
        self._accepts_to = frames.STREAM_MAX
        self._received = 0  # of the connection's room, not yet given back
        self._receive_window = ROOM
        self._unheard: set[int] = set()  # streams that are over at our end, and not yet at the client's
        self._takers: tuple[Callable[[int, int, bytes], None], ...] = (
            self._data,
            self._headers,
            self._priority,
            self._reset,
            self._settings,
            self._push_promise,
            self._ping,
            self._go_away,
            self._window_update,
            self._continuation,
        )

    # ---- asyncio's protocol -------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say our settings at once; the client's come with its preface."""
        self._transport = transport = cast("asyncio.Transport", transport)
        secured = transport.get_extra_info("ssl_object")
        if secured is not None and secured.selected_alpn_protocol() != "h2":
            self.abort()
            return
        self.out.open(transport)
        self.peer = _peer_of(transport.get_extra_info("peername"))
        self.out.put(
            frames.settings(
                {
                    Setting.MAX_CONCURRENT_STREAMS: STREAMS_MAX,
                    Setting.MAX_HEADER_LIST_SIZE: METADATA_BYTES_MAX,
                }
            )
        )
        self.out.put(frames.window_update(0, ROOM - frames.WINDOW))
        self._host.connected(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of everything that the connection held."""
        self.is_closed = True
        for exchange in tuple(self.exchanges.values()):
            self._close(exchange, cancels=True)
        self.out.shut()
        self._host.disconnected(self)

    def eof_received(self) -> None:
        """Whoever says nothing more hears nothing more: HTTP/2 knows no half of a connection."""
        self.close()

    def pause_writing(self) -> None:
        """The line takes no more."""
        self.out.pause()

    def resume_writing(self) -> None:
        """The line takes more."""
        self.out.resume()

    def data_received(self, data: bytes) -> None:
        """Take frames in as they come, whole ones at once."""
        if self.is_closed:
            return
        self.patience.heard(self.loop.time())
        if self._rest:
            data = self._rest + data
        try:
            self._rest = data[self._taken(data) :]
        except ConnectionFault as fault:
            self.end(fault.error, fault.why)

    def _taken(self, data: bytes) -> int:
        at, size = 0, len(data)
        if not self._has_preface:
            begun = data[: len(frames.PREFACE)]
            if not frames.PREFACE.startswith(begun):
                raise ConnectionFault(Error.PROTOCOL_ERROR, "this is no HTTP/2")
            if len(begun) < len(frames.PREFACE):
                return 0
            self._has_preface, at = True, len(frames.PREFACE)
        while size - at >= frames.HEAD_BYTES and not self.is_closed:
            high, low, kind, flags, stream = frames.HEAD.unpack_from(data, at)
            length = high << 16 | low
            if length > frames.PAYLOAD_MAX:
                raise ConnectionFault(Error.FRAME_SIZE_ERROR, "a frame is longer than we take")
            end = at + frames.HEAD_BYTES + length
            if end > size:
                break
            self._take(kind, flags, stream & frames.STREAM_MAX, data[at + frames.HEAD_BYTES : end])
            at = end
        return at

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if not self._has_settings:
            if kind != Kind.SETTINGS or flags & frames.ACK:
                raise ConnectionFault(Error.PROTOCOL_ERROR, "a connection begins with settings")
            self._has_settings = True
        if self._block.is_open != (kind == Kind.CONTINUATION):
            raise ConnectionFault(Error.PROTOCOL_ERROR, "a header block is in one piece")
        if kind >= len(self._takers):
            self.patience.bother(self.loop.time())
            return
        try:
            self._takers[kind](flags, stream, payload)
        except StreamFault as fault:
            self._fail(stream, fault.error)

    # ---- frames in ----------------------------------------------------------------------------------------------------

    def _data(self, flags: int, stream: int, payload: bytes) -> None:
        size = len(payload)
        self._receive_window -= size
        if self._receive_window < 0:
            raise ConnectionFault(Error.FLOW_CONTROL_ERROR, "more than the connection's window")
        self._received += size
        if self._received * 2 >= ROOM:
            self.out.put(frames.window_update(0, self._received))
            self._receive_window += self._received
            self._received = 0
        if not stream or stream > self._last:
            raise ConnectionFault(Error.PROTOCOL_ERROR, "data of no stream")
        data = frames.unpadded(flags, payload)
        is_last = flags & frames.END_STREAM
        if not data and not is_last:
            self.patience.bother(self.loop.time())
        exchange = self.exchanges.get(stream)
        if exchange is not None:
            self._hear(exchange, data, size, is_last=bool(is_last))
        if is_last:
            self._unheard.discard(stream)

    def _hear(self, exchange: Exchange, data: bytes, size: int, *, is_last: bool) -> None:
        try:
            exchange.received(data, size)
        except Rejected as refusal:
            self._host.refuse(exchange, refusal)
            return
        if is_last:
            exchange.ended()
            self._host.complete(exchange)

    def _headers(self, flags: int, stream: int, payload: bytes) -> None:
        if not stream & 1:
            raise ConnectionFault(Error.PROTOCOL_ERROR, "a client's streams have odd numbers")
        self._block_ends(self._block.begin(flags, stream, payload, self.loop.time()))

    def _continuation(self, flags: int, stream: int, payload: bytes) -> None:
        self._block_ends(self._block.go_on(flags, stream, payload))

    def _block_ends(self, whole: WholeBlock | None) -> None:
        if whole is None:
            return
        stream, block, is_last = whole
        if stream > self._last:
            self._last = stream
            self._open(stream, block, is_last=is_last)
            return
        self._blocks.skip(block)
        exchange = self.exchanges.get(stream)
        if exchange is None:
            self.patience.bother(self.loop.time())
        else:
            if not is_last or exchange.is_ended_by_caller:
                raise StreamFault(Error.PROTOCOL_ERROR, "headers in the middle of a stream")
            exchange.ended()
            self._host.complete(exchange)
        if is_last:
            self._unheard.discard(stream)

    def _open(self, stream: int, block: bytes, *, is_last: bool) -> None:
        try:
            request = self._blocks.request(block)
        except StreamFault as fault:
            self._fail(stream, fault.error)
            return
        if stream > self._accepts_to:
            return
        if len(self.exchanges) >= STREAMS_MAX:
            self._fail(stream, Error.REFUSED_STREAM)
            return
        if request.http_status:
            self.out.put(frames.headers(stream, no_call(request.http_status), self.out.payload_max, ends_stream=True))
            if not is_last:
                self.out.put(frames.reset(stream, Error.NO_ERROR))
            return
        self._begin(stream, request, is_last=is_last)

    def _begin(self, stream: int, request: Request, *, is_last: bool) -> None:
        exchange = self.exchanges[stream] = Exchange(self, stream, request, self._message_max)
        if request.bytes > METADATA_BYTES_MAX:
            exchange.is_ended_by_caller = is_last
            self._host.refuse(exchange, Rejected("METADATA_TOO_LARGE", bytes=request.bytes, max=METADATA_BYTES_MAX))
            return
        self._host.opened(exchange)
        if is_last and not exchange.is_over:
            exchange.ended()
            self._host.complete(exchange)

    def _priority(self, _flags: int, stream: int, payload: bytes) -> None:
        self.patience.bother(self.loop.time())
        if not stream:
            raise ConnectionFault(Error.PROTOCOL_ERROR, "priority of no stream")
        if len(payload) != 5:
            raise ConnectionFault(Error.FRAME_SIZE_ERROR, "a priority has five bytes")

    def _reset(self, _flags: int, stream: int, payload: bytes) -> None:
        if not stream or stream > self._last:
            raise ConnectionFault(Error.PROTOCOL_ERROR, "a stream ends that never began")
        if len(payload) != 4:
            raise ConnectionFault(Error.FRAME_SIZE_ERROR, "a reset has four bytes")
        self.patience.bother(self.loop.time())
        self._unheard.discard(stream)
        exchange = self.exchanges.get(stream)
        if exchange is not None:
            self._close(exchange, cancels=True)

    def _settings(self, flags: int, stream: int, payload: bytes) -> None:
        if stream:
            raise ConnectionFault(Error.PROTOCOL_ERROR, "settings are the connection's")
        if flags & frames.ACK:
            if payload:
                raise ConnectionFault(Error.FRAME_SIZE_ERROR, "an acknowledgement says nothing else")
            return
        self.patience.bother(self.loop.time())
        wanted = frames.settings_of(payload)
        self.out.payload_max = wanted.get(Setting.MAX_FRAME_SIZE, self.out.payload_max)
        # Only the last of a frame's thousands: each changes all streams there are.
        window = wanted.get(Setting.INITIAL_WINDOW_SIZE, self.out.initial_window)
        if window != self.out.initial_window:
            self.out.set_initial_window(window, tuple(self.exchanges.values()))
        self.out.put(frames.frame(Kind.SETTINGS, frames.ACK, 0, b""))

    def _push_promise(self, _flags: int, _stream: int, _payload: bytes) -> None:
        raise ConnectionFault(Error.PROTOCOL_ERROR, "clients promise nothing")

    def _ping(self, flags: int, stream: int, payload: bytes) -> None:
        if stream:
            raise ConnectionFault(Error.PROTOCOL_ERROR, "pings are the connection's")
        if len(payload) != 8:
            raise ConnectionFault(Error.FRAME_SIZE_ERROR, "a ping has eight bytes")
        if flags & frames.ACK:
            self.has_heard = self.has_heard or payload == _MOVING
            return
        self.patience.pinged(self.loop.time(), has_calls=bool(self.exchanges))
        self.out.put(frames.frame(Kind.PING, frames.ACK, 0, payload))

    def _go_away(self, _flags: int, stream: int, _payload: bytes) -> None:
        if stream:
            raise ConnectionFault(Error.PROTOCOL_ERROR, "the end is the connection's")

    def _window_update(self, _flags: int, stream: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise ConnectionFault(Error.FRAME_SIZE_ERROR, "a window update has four bytes")
        more = int.from_bytes(payload) & frames.WINDOW_MAX
        if not stream:
            self.out.widen(more)
            return
        if stream > self._last:
            raise ConnectionFault(Error.PROTOCOL_ERROR, "a window of no stream")
        exchange = self.exchanges.get(stream)
        if exchange is None:
            return
        exchange.send_window += more
        if not more or exchange.send_window > frames.WINDOW_MAX:
            raise StreamFault(Error.FLOW_CONTROL_ERROR if more else Error.PROTOCOL_ERROR, "no such window")
        if exchange.has_pending:
            self.out.wait(exchange)

    # ---- what calls ask of it -----------------------------------------------------------------------------------------

    def finish(self, exchange: Exchange, end: bytes, *, alone: bool, cancels: bool = False) -> None:
        """Send a call's end, and let it go; ``alone`` where nothing was sent before."""
        self.out.end_answer(exchange, end, alone=alone)
        if not exchange.is_ended_by_caller:
            self._unheard.add(exchange.number)
            self.loop.call_later(UNHEARD_SECONDS, self._hear_no_more, exchange.number)
        self._close(exchange, cancels=cancels)

    def fail(self, exchange: Exchange, error: Error) -> None:
        """End a call without a status."""
        try:
            self._fail(exchange.number, error)
        except ConnectionFault as fault:
            self.end(fault.error, fault.why)

    def lingers(self, exchange: Exchange) -> None:
        """Take note that a call's end waits for what comes before it."""
        self._host.lingers(exchange)

    def give_room(self, stream: int, size: int) -> None:
        """Let the client send so many bytes more on a stream."""
        self.out.put(frames.window_update(stream, size))

    def _hear_no_more(self, stream: int) -> None:
        """Tell a caller who still speaks that nobody hears it."""
        if stream in self._unheard:
            self._unheard.discard(stream)
            if not self.is_closed:
                self.out.put(frames.reset(stream, Error.NO_ERROR))

    def _fail(self, stream: int, error: Error) -> None:
        if not stream:
            raise ConnectionFault(error, "what belongs to a stream names it")
        self.patience.bother(self.loop.time())
        self.out.put(frames.reset(stream, error))
        exchange = self.exchanges.get(stream)
        if exchange is not None:
            self._close(exchange, cancels=True)

    def _close(self, exchange: Exchange, *, cancels: bool) -> None:
        if self.exchanges.pop(exchange.number, None) is None:
            return
        self.out.forget(exchange)
        exchange.close(cancels=cancels)
        self._host.left(exchange)

    # ---- its end ------------------------------------------------------------------------------------------------------

    def unfinished_since(self, now: float) -> float:
        """Return when the client began what it has not finished: its first settings, or a header block; else ``now``."""
        if not self._has_settings:
            return self._began_at
        return self._block.since if self._block.is_open else now

    def ping(self) -> None:
        """Ask whether anybody is there."""
        self.out.put(frames.frame(Kind.PING, 0, 0, bytes(8)))

    def leave(self, *, warns: bool = False) -> None:
        """Let no new call begin; with ``warns`` those that are under way to us still do, until ``has_heard``."""
        last = frames.STREAM_MAX if warns else self._last
        self._accepts_to = min(self._accepts_to, last)
        self.out.put(frames.go_away(last, Error.NO_ERROR, "moving on"))
        if warns:
            self.out.put(frames.frame(Kind.PING, 0, 0, _MOVING))

    def end(self, error: Error, why: str) -> None:
        """Say why, and end the connection with everything on it."""
        if self.is_closed:
            return
        self.out.put(frames.go_away(min(self._last, self._accepts_to), error, why))
        self.out.flush()
        self.close()

    def close(self) -> None:
        """End the connection once what is due has been sent."""
        self.is_closed = True
        if self.closed_at is None:
            self.closed_at = self.loop.time()
        self.out.shut()
        for exchange in tuple(self.exchanges.values()):
            self._close(exchange, cancels=True)
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """End the connection at once."""
        self.is_closed = True
        if self._transport is not None:
            self._transport.abort()


def _peer_of(name: object) -> str:
    if isinstance(name, tuple) and len(name) == 2:
        return f"ipv4:{name[0]}:{name[1]}"
    return f"ipv6:[{name[0]}]:{name[1]}" if isinstance(name, tuple) and name else "unknown"
