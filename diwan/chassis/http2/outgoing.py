"""What a connection sends: all that is due in one turn of the loop in one write, as windows and line allow."""

from __future__ import annotations

import asyncio
from struct import Struct as Layout
from typing import Final

from diwan.chassis.http2 import frames
from diwan.chassis.http2.exchange import PREFIX_BYTES, Exchange
from diwan.chassis.http2.fields import ANSWER
from diwan.chassis.http2.frames import ConnectionFault, Error, Kind
from diwan.chassis.http2.patience import Patience

UNSENT_HIGH: Final = 256 * 1024
"""So much unsent, and writes wait; a quarter of it, and they go on."""
UNSENT_MAX: Final = 1024 * 1024
"""So much unsent, and nothing more is read from this client: every request would make it more."""

_MESSAGE: Final = Layout(">BHBBIBI")
"""A frame's head and a message's prefix."""


class Outgoing:
    """The way to one client. ``payload_max`` and ``initial_window`` are as the client has set them."""

    def __init__(self, loop: asyncio.AbstractEventLoop, patience: Patience) -> None:
        self.payload_max = frames.PAYLOAD_MAX
        self.initial_window = self._window = frames.WINDOW
        self._loop = loop
        self._patience = patience
        self._transport: asyncio.Transport | None = None
        self._is_full = self._is_deaf = self._is_shut = False
        self._waiting: dict[Exchange, None] = {}
        self._due: list[bytes] = []
        self._due_bytes = 0

    def open(self, transport: asyncio.Transport) -> None:
        """Take the line."""
        self._transport = transport
        transport.set_write_buffer_limits(high=UNSENT_HIGH, low=UNSENT_HIGH // 4)

    def shut(self) -> None:
        """Send nothing more of any call."""
        self._is_shut = True
        self._waiting.clear()

    # ---- messages -----------------------------------------------------------------------------------------------------

    def send(self, exchange: Exchange, message: bytes) -> bool:
        """Send a whole message at once; False where there is no room for it, and nothing was sent."""
        size = PREFIX_BYTES + len(message)
        if (
            size > exchange.send_window
            or size > self._window
            or size > self.payload_max
            or self._is_full
            or self._is_shut
        ):
            return False
        exchange.send_window -= size
        self._window -= size
        self._patience.sent()
        head = _MESSAGE.pack(size >> 16, size & 0xFFFF, Kind.DATA, 0, exchange.number, 0, len(message))
        self.put(head + message)
        return True

    def wait(self, exchange: Exchange) -> None:
        """Send what a call has pending as windows and line allow, all calls in turns."""
        self._waiting[exchange] = None
        self.go_on()

    def forget(self, exchange: Exchange) -> None:
        """Send nothing more of what a call has pending."""
        self._waiting.pop(exchange, None)

    def begin_answer(self, exchange: Exchange) -> None:
        """Send what comes before a call's messages."""
        self._patience.sent()
        self.put(frames.headers(exchange.number, ANSWER, self.payload_max, ends_stream=False))

    def end_answer(self, exchange: Exchange, end: bytes, *, alone: bool) -> None:
        """Send what comes behind a call's messages; ``alone`` where nothing was sent before."""
        self._patience.sent()
        self.put(frames.headers(exchange.number, ANSWER + end if alone else end, self.payload_max, ends_stream=True))

    def go_on(self) -> None:
        """Send what waits, a frame of each in turn."""
        while self._waiting and self._window > 0 and not self._is_full and not self._is_shut:
            exchange = next(iter(self._waiting))
            del self._waiting[exchange]
            room = min(exchange.send_window, self._window, self.payload_max)
            if room <= 0 or not exchange.has_pending:
                continue  # Its own window calls it back.
            piece = exchange.push(room)
            exchange.send_window -= len(piece)
            self._window -= len(piece)
            self._patience.sent()
            self.put(frames.frame(Kind.DATA, 0, exchange.number, piece))
            if exchange.has_pending:
                self._waiting[exchange] = None

    # ---- windows ------------------------------------------------------------------------------------------------------

    def widen(self, more: int) -> None:
        """Take note of room on the connection; raises `ConnectionFault`."""
        self._window += more
        if not more:
            raise ConnectionFault(Error.PROTOCOL_ERROR, "a window grows by something")
        if self._window > frames.WINDOW_MAX:
            raise ConnectionFault(Error.FLOW_CONTROL_ERROR, "a window beyond all windows")
        self.go_on()

    def set_initial_window(self, value: int, exchanges: tuple[Exchange, ...]) -> None:
        """Take note of the room that every stream begins with, which changes that of those there are."""
        if value > frames.WINDOW_MAX:
            raise ConnectionFault(Error.FLOW_CONTROL_ERROR, "a window beyond all windows")
        change, self.initial_window = value - self.initial_window, value
        for exchange in exchanges:
            exchange.send_window += change
            if exchange.send_window > frames.WINDOW_MAX:
                raise ConnectionFault(Error.FLOW_CONTROL_ERROR, "a window beyond all windows")
            if exchange.has_pending:
                self._waiting[exchange] = None
        self.go_on()

    # ---- the line -----------------------------------------------------------------------------------------------------

    def pause(self) -> None:
        """The line takes no more: messages wait."""
        self._is_full = True

    def resume(self) -> None:
        """The line takes more."""
        self._is_full = False
        if self._is_deaf and self._transport is not None and not self._is_shut:
            self._is_deaf = False
            self._transport.resume_reading()
        self.go_on()

    def put(self, data: bytes) -> None:
        """Send bytes with all that is due in this turn of the loop."""
        if not self._due:
            self._loop.call_soon(self.flush)
        self._due.append(data)
        self._due_bytes += len(data)
        if self._due_bytes > UNSENT_HIGH:
            # The line has to say that it is full while there is something left to hold back.
            self.flush()

    def flush(self) -> None:
        """Send what is due now."""
        if not self._due or self._transport is None:
            return
        data = self._due[0] if len(self._due) == 1 else b"".join(self._due)
        self._due.clear()
        self._due_bytes = 0
        if self._transport.is_closing():
            return
        self._transport.write(data)
        if self._is_full and not self._is_deaf and self._transport.get_write_buffer_size() > UNSENT_MAX:
            self._is_deaf = True
            self._transport.pause_reading()
