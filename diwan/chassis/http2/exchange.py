"""One call on one connection: its messages up and down, its status, its end.

What is public and not of `Exchange` itself is what the chassis uses of `grpc.aio.ServicerContext`, under the same names.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import deque
from collections.abc import Callable, Iterable
from struct import Struct as Layout
from typing import TYPE_CHECKING, Any, Final, NoReturn

import grpc

from diwan.chassis.http2.fields import Metadata, Request, trailers
from diwan.chassis.http2.frames import WINDOW, Error, StreamFault
from diwan.core.decider import Rejected

if TYPE_CHECKING:
    from diwan.chassis.http2.connection import Connection

_PREFIX: Final = Layout(">BI")
"""Whether a message is compressed, and its length."""
PREFIX_BYTES: Final = 5
UNREAD_BYTES_MAX: Final = WINDOW
"""More waits at the caller's end, until what came before has been read."""
MESSAGE_COST: Final = 64
"""What an unread message costs beside its bytes, so that empty ones are no way around the limit."""
WORD_SECONDS: Final = 0.1
"""How long an end waits for the first word of a caller who streams."""
_INFLATED: Final = {"gzip": 31, "deflate": 15}
"""Windows of zlib for the encodings that may be used on the way up."""


class Exchange:
    """One call. `Connection` gives it what comes and asks it for what goes; the listener runs its method.

    Nothing here is asked of another thread. Once ``is_over`` nothing more is sent, and a write waits for the
    cancellation that is on its way.
    """

    __slots__ = (
        "_credit",
        "_deadline",
        "_expiry",
        "_has_answered",
        "_held",
        "_is_cut",
        "_loop",
        "_message_max",
        "_messages",
        "_part",
        "_pending",
        "_pending_end",
        "_reader",
        "_unread",
        "_writer",
        "awaits_word",
        "connection",
        "is_ended_by_caller",
        "is_over",
        "number",
        "receive_window",
        "request",
        "send_window",
        "serializer",
        "task",
    )

    def __init__(self, connection: Connection, number: int, request: Request, message_max: int) -> None:
        self.connection = connection
        self.number = number
        self.request = request
        self.task: asyncio.Task[None] | None = None
        self.serializer: Callable[[Any], bytes] | None = None
        self.awaits_word = False
        """Of a call that streams upwards: nothing has come yet, so an end without an answer is held back for a moment."""
        self.is_ended_by_caller = self.is_over = False
        self.receive_window = WINDOW
        self.send_window = connection.out.initial_window
        self._loop = connection.loop
        self._message_max = message_max
        self._messages: deque[tuple[int, bytes]] = deque()  # packed or not, as they came
        self._part = bytearray()
        self._unread = self._credit = 0
        self._reader: asyncio.Future[None] | None = None
        self._has_answered = False
        self._pending = memoryview(b"")
        self._pending_end: bytes | None = None
        self._is_cut = False  # part of a message has been sent, and the rest waits
        self._writer: asyncio.Future[None] | None = None
        self._deadline: float | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._held: tuple[bytes, asyncio.TimerHandle] | None = None
        if request.timeout is not None:
            self._deadline = self._loop.time() + request.timeout
            self._expiry = self._loop.call_at(self._deadline, self._expired)

    # ---- what comes ---------------------------------------------------------------------------------------------------

    def received(self, payload: bytes, size: int) -> None:
        """Take in bytes of the caller's messages; ``size`` is what they cost of the window. Raises `StreamFault`."""
        self.receive_window -= size
        if self.receive_window < 0:
            raise StreamFault(Error.FLOW_CONTROL_ERROR, "more than the stream's window")
        if self.is_ended_by_caller:
            raise StreamFault(Error.STREAM_CLOSED, "data behind the end")
        self._credit += size
        if self._part:
            self._part += payload
            self._part = self._part[self._messages_in(self._part) :]
        else:
            # Almost always a frame is a message: nothing is copied twice.
            rest = self._messages_in(payload)
            if rest < len(payload):
                self._part = bytearray(payload[rest:])
        self._give_room()

    def _messages_in(self, data: bytes | bytearray) -> int:
        """Take all whole messages from some bytes; returns where the rest begins. Raises `Rejected`."""
        at, size = 0, len(data)
        while size - at >= PREFIX_BYTES:
            packed, length = _PREFIX.unpack_from(data, at)
            if length > self._message_max:
                raise Rejected("MESSAGE_TOO_LARGE", bytes=length, max=self._message_max)
            begin, end = at + PREFIX_BYTES, at + PREFIX_BYTES + length
            if size < end:
                break
            self._arrived(packed, bytes(data[begin:end]))
            at = end
        return at

    def ended(self) -> None:
        """Take note that the caller has said everything; raises `StreamFault` where half a message is left."""
        self.is_ended_by_caller = True
        self._heard_first()
        if self._part:
            raise StreamFault(Error.PROTOCOL_ERROR, "the end comes in the middle of a message")
        self._wake_reader()

    def only_message(self) -> bytes | None:
        """Return the one message of a caller who has said everything; None where it is not exactly one.

        Raises `Rejected` where it cannot be unpacked.
        """
        return self._inflated(*self._messages.popleft()) if len(self._messages) == 1 else None

    def _arrived(self, packed: int, message: bytes) -> None:
        # It waits as it came: a few bytes can be a thousand times as many, and windows count what comes.
        self._messages.append((packed, message))
        self._heard_first()
        self._unread += len(message) + MESSAGE_COST
        self._wake_reader()

    def _heard_first(self) -> None:
        """Let an end go that was held back for the caller's first word."""
        self.awaits_word = False
        if self._held is not None:
            (end, timer), self._held = self._held, None
            timer.cancel()
            self.finish(end)

    def _inflated(self, packed: int, message: bytes) -> bytes:
        if not packed:
            return message
        window = _INFLATED.get(self.request.encoding)
        if window is None:
            raise Rejected("ENCODING_UNSUPPORTED", encoding=self.request.encoding)
        inflater = zlib.decompressobj(window)
        try:
            inflated = inflater.decompress(message, self._message_max + 1)
        except zlib.error:
            raise Rejected("REQUEST_MALFORMED") from None
        if len(inflated) > self._message_max:
            raise Rejected("MESSAGE_TOO_LARGE", bytes=len(inflated), max=self._message_max)
        if not inflater.eof:
            raise Rejected("REQUEST_MALFORMED")
        return inflated

    def _give_room(self) -> None:
        """Let the caller send on where little waits to be read."""
        if self._credit * 2 < WINDOW or self.is_ended_by_caller or self.is_over or self._unread > UNREAD_BYTES_MAX:
            return
        self.receive_window += self._credit
        self.connection.give_room(self.number, self._credit)
        self._credit = 0

    def _wake_reader(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    # ---- as grpc's context --------------------------------------------------------------------------------------------

    def invocation_metadata(self) -> Metadata:
        """Return what the caller added to the call."""
        return self.request.metadata

    def peer(self) -> str:
        """Return where the caller is, as ``ipv4:host:port``."""
        return self.connection.peer

    def time_remaining(self) -> float | None:
        """Return the seconds left of the caller's deadline; None without one."""
        return None if self._deadline is None else max(0.0, self._deadline - self._loop.time())

    async def read(self) -> Any:
        """Return the caller's next message; `grpc.aio.EOF` behind the last. Raises `Rejected` for one that cannot be unpacked."""
        while not self._messages:
            if self.is_ended_by_caller:
                return grpc.aio.EOF
            self._reader = self._loop.create_future()
            await self._reader
        packed, message = self._messages.popleft()
        self._unread -= len(message) + MESSAGE_COST
        self._give_room()
        return self._inflated(packed, message)

    async def send_initial_metadata(self, _metadata: object) -> None:
        """Begin the answer; we say nothing of our own in it."""
        self._begin_answer()

    async def write(self, message: Any) -> None:
        """Send a message; returns once it has left for the caller, as far as windows and line allow."""
        raw: bytes = message if self.serializer is None else self.serializer(message)
        if self.is_over:
            await self._cancellation()
        self._begin_answer()
        if not self.connection.out.send(self, raw):
            await self._sent(_PREFIX.pack(0, len(raw)) + raw)

    async def abort(
        self, code: grpc.StatusCode, details: str = "", trailing_metadata: Iterable[tuple[str, str | bytes]] = ()
    ) -> NoReturn:
        """End the call with a status; raises what the listener takes for an answer."""
        self.finish(trailers(code, details, trailing_metadata))
        raise grpc.aio.AbortError

    async def abort_with_status(self, status: grpc.Status) -> NoReturn:
        """End the call with a status as `grpc_status` builds it."""
        await self.abort(status.code, status.details, status.trailing_metadata or ())

    # ---- what goes ----------------------------------------------------------------------------------------------------

    def _begin_answer(self) -> None:
        if not self._has_answered and not self.is_over:
            self._has_answered = True
            self.connection.out.begin_answer(self)

    def answer(self, message: bytes, end: bytes) -> None:
        """Send the one answer of a call with its end; a part that finds no room waits for it here, without a task."""
        if self.is_over:
            return
        self._begin_answer()
        if self.connection.out.send(self, message):
            self.finish(end)
            return
        self._pending_end = end
        self._pending = memoryview(_PREFIX.pack(0, len(message)) + message)
        self.connection.out.wait(self)
        if self._pending:
            self.connection.lingers(self)

    def finish(self, end: bytes) -> None:
        """Send the call's end, unless it is over already, behind a message of which part has been sent."""
        if self.is_over or self._held is not None or self._pending_end is not None:
            return  # The first word about a call's end is the last.
        if self._is_cut:
            self._pending_end = end
            self.connection.lingers(self)
            return
        if self.awaits_word and not self._has_answered:
            # A client whose first write meets the end of its call may report the failed write instead of our reason.
            self._held = (end, self._loop.call_later(WORD_SECONDS, self._heard_first))
            return
        self.connection.finish(self, end, alone=not self._has_answered)

    def push(self, room: int) -> bytes:
        """Return up to ``room`` bytes of what waits to be sent; the connection has asked for them and sends them."""
        piece = bytes(self._pending[:room])
        self._pending = self._pending[room:]
        self._is_cut = bool(self._pending)
        if not self._is_cut:
            if self._writer is not None and not self._writer.done():
                self._writer.set_result(None)
            if self._pending_end is not None:
                # Behind the piece that is on its way to being sent; until then no other word about the end is taken.
                self._loop.call_soon(self._finish_pending)
        return piece

    def _finish_pending(self) -> None:
        end, self._pending_end = self._pending_end, None
        if end is not None:
            self.finish(end)

    @property
    def has_pending(self) -> bool:
        """Whether something waits to be sent."""
        return bool(self._pending)

    async def _sent(self, message: bytes) -> None:
        self._pending = memoryview(message)
        self._writer = self._loop.create_future()
        self.connection.out.wait(self)
        try:
            await self._writer
        finally:
            self._writer = None

    async def _cancellation(self) -> None:
        await self._loop.create_future()

    # ---- its end ------------------------------------------------------------------------------------------------------

    def close(self, *, cancels: bool) -> None:
        """Be over: by the status that was sent, or by the caller, the line or the clock, which cancel the method."""
        if self.is_over:
            return
        self.is_over = True
        self._pending = memoryview(b"")
        self._pending_end = None
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        if self._held is not None:
            self._held[1].cancel()
            self._held = None
        if cancels and self.task is not None:
            self.task.cancel()

    def _expired(self) -> None:
        """End at the caller's deadline, where nobody listens any more."""
        self._expiry = None
        if self._is_cut:
            self.connection.fail(self, Error.CANCEL)
            return
        end = trailers(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")
        self.connection.finish(self, end, alone=not self._has_answered, cancels=True)
