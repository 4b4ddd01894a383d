"""What stands between the wire and a servicer's method, the same for every method of the house.

Requests arrive as bytes and are read here, so that garbage is refused with a reason; answers leave as bytes, so that
a stream can write what was serialised once for many. In this order: is there room, is there a deadline, who calls and
may they, can the message be read. Then the method, then exactly one way out for every kind of failure.
"""

import asyncio
import re
import secrets
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager
from itertools import count
from typing import Any, Final

import grpc
import msgspec
import structlog
from google.protobuf.message import DecodeError, Message

from diwan.chassis.access import Caller, Role, Rule, permit
from diwan.chassis.auth import Authenticator
from diwan.chassis.errors import grpc_status_of
from diwan.chassis.http2.exchange import Exchange
from diwan.chassis.logging import CORRELATION
from diwan.chassis.metrics import MethodMetrics
from diwan.chassis.pump import Pump, Source
from diwan.core.decider import Rejected
from diwan.core.hashing import request_hash

MESSAGE_BYTES_MAX: Final = 64 * 1024
UNARY_SECONDS_MAX: Final = 5.0
STREAMS_OF_MANY: Final = 256
"""Roles that speak for many people may have so many times the streams of a player."""

AUTHORIZATION: Final = "authorization"
CORRELATION_ID: Final = "x-correlation-id"

_CORRELATION_ID: Final = re.compile(r"[A-Za-z0-9._:/-]{1,64}").fullmatch

# A call that brings no id gets the process's own name and a number: nothing rests on its being hard to guess.
_PROCESS: Final = secrets.token_hex(4)
_NUMBERS: Final = count(1)

type Context = Exchange
type Unary = Callable[[Any, Call], Awaitable[Message]]
type Stream = Callable[[Any, Call], AsyncGenerator[bytes | Message | Source, None]]

_log = structlog.get_logger(__name__)


class Call(msgspec.Struct, frozen=True):
    """What a servicer's method knows of its call besides the request."""

    method: str
    """The full gRPC name, ``/package.Service/Method``."""
    correlation_id: str
    authenticated: Caller | None
    """None on a public method that was called without a token."""

    @property
    def caller(self) -> Caller:
        """Who calls; raises `Rejected` with UNAUTHENTICATED where nobody said."""
        if self.authenticated is None:
            raise Rejected("UNAUTHENTICATED")
        return self.authenticated

    def request_hash(self, request: Message) -> bytes:
        """Return what the request's id is bound to: the same id with other content is a conflict."""
        return request_hash(self.method, request.SerializeToString(deterministic=True))


class Gate:
    """Counts what is under way, limits it, and ends it when the server stops.

    Every call stands ``with`` it: entering raises `Rejected` with SERVICE_DRAINING or SERVER_BUSY.
    """

    def __init__(self, *, calls_max: int, streams_per_caller_max: int) -> None:
        self.is_draining = False
        self._calls_max = calls_max
        self._streams_max = streams_per_caller_max
        self._calls = 0
        self._streams: set[asyncio.Task[Any]] = set()
        self._streams_of: Counter[str] = Counter()
        self._ending: set[asyncio.Task[Any]] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def in_flight(self) -> int:
        """Calls and streams under way."""
        return self._calls

    def __enter__(self) -> None:
        if self.is_draining:
            raise Rejected("SERVICE_DRAINING")
        if self._calls >= self._calls_max:
            raise Rejected("SERVER_BUSY")
        self._calls += 1
        self._idle.clear()

    def __exit__(self, *_: object) -> None:
        self._calls -= 1
        if not self._calls:
            self._idle.set()

    @contextmanager
    def stream(self, caller: Caller | None) -> Iterator[None]:
        """Count a caller's stream; raises `Rejected` with TOO_MANY_STREAMS."""
        name = "" if caller is None else f"{caller.role}/{caller.subject}"
        alone = caller is None or caller.role in {Role.PLAYER, Role.BOT}
        most = self._streams_max if alone else self._streams_max * STREAMS_OF_MANY
        if self._streams_of[name] >= most:
            raise Rejected("TOO_MANY_STREAMS", max=most)
        task = _current_task()
        self._streams_of[name] += 1
        self._streams.add(task)
        try:
            yield
        finally:
            self._streams.discard(task)
            self._streams_of[name] -= 1
            if not self._streams_of[name]:
                del self._streams_of[name]

    def has_ended(self, task: asyncio.Task[Any]) -> bool:
        """Tell whether a stream was ended by draining, not by its caller."""
        return task in self._ending

    async def drain(self, seconds: float) -> int:
        """Take nothing new, end every stream with SERVICE_DRAINING, wait for the rest; returns what is still left."""
        self.is_draining = True
        self._ending.update(self._streams)
        for task in self._ending:
            task.cancel()
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            _log.warning("calls_left_at_the_end_of_draining", calls=self._calls)
        return self._calls


def _current_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("a call runs in a task")
    return task


class Outcome:
    """How a call ended: told to the caller, counted and logged once."""

    __slots__ = ("caller", "code", "correlation_id", "received", "rejected", "sent")

    def __init__(self) -> None:
        self.code = grpc.StatusCode.OK
        self.rejected: Rejected | None = None
        self.caller: Caller | None = None
        self.correlation_id = ""
        self.received = 0
        self.sent = 0


class MethodHandler:
    """One method as grpc calls it. ``method`` is the servicer's coroutine or async generator function."""

    def __init__(
        self,
        *,
        name: str,
        kind: str,
        rule: Rule,
        request_class: type[Message],
        method: Unary | Stream,
        authenticator: Authenticator,
        gate: Gate,
        logs_all: bool = True,
    ) -> None:
        self.name = name
        self.kind = kind
        self._rule = rule
        self._parse: Callable[[bytes], Message] = request_class.FromString
        self._method: Callable[[Any, Call], Any] = method
        self._authenticator = authenticator
        self._gate = gate
        self._logs_all = logs_all
        _, service, short = name.split("/")
        self._metrics = MethodMetrics(kind, service, short)

    async def unary(self, raw: bytes, context: Context) -> bytes:
        """Answer a unary call."""
        outcome, began = self._begun()
        try:
            with self._gate:
                return await self._answered(raw, context, outcome)
        except BaseException as error:
            raise await self._failed(error, context, outcome) from None
        finally:
            self._ended(context, outcome, began)

    def is_welcome(self, metadata: Iterable[tuple[str, str | bytes]]) -> bool:
        """Tell from a call's first bytes whether its token may hold.

        grpc calls `unary` and `server_stream` once the request has arrived. A caller without a token who never sends
        one would hold a place until the connection grows old: such a call is given to `unwelcome` instead.
        """
        if self._rule.is_public:
            return True
        authorization = next((str(value) for key, value in metadata if key == AUTHORIZATION), None)
        try:
            self._authenticator.recognised(authorization)
        except Rejected:
            return False
        return True

    async def unwelcome(self, _requests: object, context: Context) -> None:
        """Refuse a call before its request has arrived (A3)."""
        outcome, began = self._begun()
        try:
            await self._admitted(context, outcome)
            permit(self._rule, None)
        except BaseException as error:
            raise await self._failed(error, context, outcome) from None
        finally:
            self._ended(context, outcome, began)

    async def server_stream(self, raw: bytes, context: Context) -> None:
        """Answer a call with a stream of answers."""
        await self._streamed(context, lambda outcome: self._read(raw, outcome))

    async def bidi_stream(self, _requests: object, context: Context) -> None:
        """Answer a stream with a stream."""
        await self._streamed(context, lambda outcome: self._read_all(context, outcome))

    async def _answered(self, raw: bytes, context: Context, outcome: Outcome) -> bytes:
        remaining = context.time_remaining()
        if remaining is None:
            raise Rejected("DEADLINE_REQUIRED")
        call = await self._admitted(context, outcome)
        request = self._read(raw, outcome)
        if remaining > UNARY_SECONDS_MAX:
            # grpc ends the call at the caller's deadline; what lies beyond ours is ended here (A3).
            async with asyncio.timeout(UNARY_SECONDS_MAX):
                response = await self._method(request, call)
        else:
            response = await self._method(request, call)
        outcome.sent = 1
        self._metrics.sent.inc()
        answer: bytes = response.SerializeToString()
        return answer

    async def _streamed(self, context: Context, read: Callable[[Outcome], Any]) -> None:
        outcome, began = self._begun()
        try:
            with self._gate:
                call = await self._admitted(context, outcome)
                with self._gate.stream(call.authenticated), self._metrics.streams.track_inprogress():
                    await self._written(self._method(read(outcome), call), context, outcome)
        except BaseException as error:
            raise await self._failed(error, context, outcome) from None
        finally:
            self._ended(context, outcome, began)

    async def _written(
        self, messages: AsyncGenerator[bytes | Message | Source, None], context: Context, outcome: Outcome
    ) -> None:
        def written() -> None:
            outcome.sent += 1
            self._metrics.sent.inc()

        # Closed here and now, not when it is collected: what a stream holds is let go with its caller (A5).
        async with aclosing(messages):
            async for message in messages:
                if isinstance(message, Source):
                    # First and by itself: a stream that is cut while its first message is being written would send it
                    # twice, which grpc refuses, and then never tell the caller why.
                    await context.send_initial_metadata(())
                    await Pump(message, context.write, written).run()
                else:
                    await context.write(message if isinstance(message, bytes) else message.SerializeToString())
                    written()

    def _begun(self) -> tuple[Outcome, float]:
        self._metrics.started.inc()
        return Outcome(), time.perf_counter()

    async def _admitted(self, context: Context, outcome: Outcome) -> Call:
        authorization = correlation_id = None
        for key, value in context.invocation_metadata() or ():
            if key == AUTHORIZATION:
                if authorization is not None:
                    # Whoever stands before us may have looked at the other one.
                    raise Rejected("UNAUTHENTICATED", why="more than one token")
                authorization = str(value)
            elif key == CORRELATION_ID and isinstance(value, str) and _CORRELATION_ID(value):
                correlation_id = value
        outcome.correlation_id = correlation_id or f"{_PROCESS}{next(_NUMBERS):08x}"
        CORRELATION.set(outcome.correlation_id)
        if authorization is not None or not self._rule.is_public:
            outcome.caller = await self._authenticator.authenticate(authorization)
        permit(self._rule, outcome.caller)
        return Call(self.name, outcome.correlation_id, outcome.caller)

    def _read(self, raw: bytes, outcome: Outcome) -> Message:
        if len(raw) > MESSAGE_BYTES_MAX:
            raise Rejected("MESSAGE_TOO_LARGE", bytes=len(raw), max=MESSAGE_BYTES_MAX)
        try:
            request = self._parse(raw)
        except DecodeError:
            raise Rejected("REQUEST_MALFORMED") from None
        outcome.received += 1
        self._metrics.received.inc()
        return request

    async def _read_all(self, context: Context, outcome: Outcome) -> AsyncIterator[Message]:
        while (raw := await context.read()) is not grpc.aio.EOF:
            yield self._read(raw, outcome)

    async def _failed(self, error: BaseException, context: Context, outcome: Outcome) -> BaseException:
        """Return what is to be raised: cancellation as it is, everything else as the call's one status."""
        if isinstance(error, asyncio.CancelledError):
            if not self._gate.has_ended(_current_task()):
                outcome.code = grpc.StatusCode.CANCELLED
                return error
            _current_task().uncancel()
            error = Rejected("SERVICE_DRAINING")
        elif not isinstance(error, Exception):
            outcome.code = grpc.StatusCode.INTERNAL
            return error
        rejected = outcome.rejected = _refusal(error, self.name)
        status = grpc_status_of(rejected)
        outcome.code = status.code
        try:
            await context.abort_with_status(status)
        except grpc.aio.AbortError as aborted:
            return aborted

    def _ended(self, context: Context, outcome: Outcome, began: float) -> None:
        seconds = time.perf_counter() - began
        self._metrics.ended(outcome.code, seconds)
        if outcome.code is grpc.StatusCode.OK and not self._logs_all:
            return
        _log.info(
            "call",
            method=self.name,
            code=outcome.code.name,
            reason=outcome.rejected.reason if outcome.rejected else None,
            ms=round(seconds * 1000, 2),
            caller=outcome.caller.subject if outcome.caller else None,
            role=outcome.caller.role if outcome.caller else None,
            received=outcome.received,
            sent=outcome.sent,
            peer=context.peer(),
        )


def _refusal(error: Exception, method: str) -> Rejected:
    match error:
        case Rejected():
            return error
        case TimeoutError():
            return Rejected("DEADLINE_EXCEEDED")
        case _:
            # What went wrong is for us to read; the caller gets a number to name it by.
            incident = secrets.token_hex(6)
            _log.error("call_failed", incident=incident, method=method, exc_info=error)
            return Rejected("INTERNAL", incident=incident)
