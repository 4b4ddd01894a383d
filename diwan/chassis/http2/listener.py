"""The port of a service: connections, the methods that calls are given to, and the end of it all."""

from __future__ import annotations

import asyncio
import resource
import secrets
import socket
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import grpc
import msgspec
import structlog
from google.protobuf.message import DecodeError

from diwan.chassis.errors import grpc_status_of
from diwan.chassis.http2.connection import Connection
from diwan.chassis.http2.exchange import Exchange
from diwan.chassis.http2.fields import SUCCESS, Metadata, trailers
from diwan.chassis.http2.frames import Error
from diwan.core.decider import Rejected

BACKLOG: Final = 1024
CONNECTIONS_MAX: Final = 16_384
"""Connections at once, however many files the process may open."""
LOOK_SECONDS: Final = 1.0
"""How often connections are looked at: silence, age, unfinished beginnings."""
CLOSE_SECONDS: Final = 10.0
"""What is on its way to a client when its connection ends is waited for no longer."""
BEGIN_SECONDS: Final = 10.0
"""A connection that has not begun by then, or not gone on in the middle of a header block, is ended."""

_log = structlog.get_logger(__name__)


class Limits(msgspec.Struct, frozen=True):
    """What the port takes. Sizes are bytes, durations seconds.

    After ``age_seconds`` (a tenth more or less, by the connection) a client is told to connect anew, so that load spreads
    after a roll-out and no stream outlives its token by more than that and ``grace_seconds``.
    """

    message_bytes_max: int
    calls_max: int
    visits_max: int = 512
    """Of all calls, those that anybody may make, without a token: they take no place from those who have one."""
    waiting_max: int = 2048
    """Of all calls, those that wait for their client to go on: to say all of its request; and as many to take the answer."""
    connections_max: int = 0
    """Then the oldest without a call makes room; 0 is three quarters of the files that the process may have open."""
    age_seconds: float = 30 * 60.0
    grace_seconds: float = 30.0


class Details(msgspec.Struct, frozen=True):
    """What a handler is looked up by, as `grpc.HandlerCallDetails`."""

    method: str
    invocation_metadata: Metadata


class Listener:
    """Serves gRPC calls on one port. Methods are added as to `grpc.aio.Server`, so that generated code can add its own."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._handlers: list[tuple[grpc.GenericRpcHandler, bool]] = []
        self._connections: dict[Connection, float] = {}
        self._connections_max = limits.connections_max or _connections_there_are_files_for()
        self._leaving: dict[Connection, float] = {}
        self._calls = 0
        self._methods: dict[Exchange, Any] = {}
        # The oldest first: calls of methods that anybody may call, calls half asked, and calls half answered.
        self._visits: dict[Exchange, None] = {}
        self._half_asked: dict[Exchange, None] = {}
        self._half_answered: dict[Exchange, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._look: asyncio.TimerHandle | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    def add_generic_rpc_handlers(self, handlers: Iterable[grpc.GenericRpcHandler]) -> None:
        """Add handlers, asked in this order for each call."""
        self._handlers.extend((each, False) for each in handlers)

    def add_handlers_for_anybody(self, handlers: Iterable[grpc.GenericRpcHandler]) -> None:
        """Add handlers that ask for no token: of their calls only ``visits_max`` are under way at once."""
        self._handlers.extend((each, True) for each in handlers)

    def add_registered_method_handlers(self, _service: str, _handlers: Mapping[str, object]) -> None:
        """Do nothing: generated code says the same thing twice."""

    @property
    def calls(self) -> int:
        """Calls under way, those included whose request has not arrived yet."""
        return self._calls

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """Listen; returns the port that was taken. Raises OSError where it cannot be had."""
        loop = asyncio.get_running_loop()
        make = partial(Connection, self, loop, self._limits.message_bytes_max)
        handshake = None if tls is None else BEGIN_SECONDS
        sock = await _bound(host, port)
        self._server = await loop.create_server(
            make, sock=sock, backlog=BACKLOG, ssl=tls, ssl_handshake_timeout=handshake
        )
        self._look = loop.call_later(LOOK_SECONDS, self._look_around)
        taken: int = self._server.sockets[0].getsockname()[1]
        return taken

    async def stop(self, seconds: float) -> None:
        """Take no new connection and no new call; let calls under way end for so many seconds, then end them."""
        if self._server is None:
            return
        self._server.close()
        if self._look is not None:
            self._look.cancel()
        for connection in self._connections:
            connection.leave()
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            pass
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=seconds)
        connections = tuple(self._connections)
        for connection in connections:
            connection.end(Error.NO_ERROR, "the server stops")
        # What was written last is on its way in the next turns of the loop; who does not read is not waited for.
        for _ in range(50):
            if not self._connections:
                break
            await asyncio.sleep(0.01)
        for connection in tuple(self._connections):
            connection.abort()

    # ---- as the connections' host -------------------------------------------------------------------------------------

    def connected(self, connection: Connection) -> None:
        """Take note of a connection, and of when it is old."""
        loop = connection.loop
        tenth = (secrets.randbelow(201) - 100) / 1000
        self._connections[connection] = loop.time() + self._limits.age_seconds * (1 + tenth)
        if len(self._connections) > self._connections_max:
            self._make_room(connection)

    def _make_room(self, newest: Connection) -> None:
        """End the oldest connection that has no call, so that whoever keeps many idle ones locks nobody out."""
        for each in self._connections:
            if each.closed_at is None and not each.exchanges and each is not newest:
                each.end(Error.NO_ERROR, "too_many_connections")
                return
        newest.end(Error.ENHANCE_YOUR_CALM, "too_many_connections")

    def disconnected(self, connection: Connection) -> None:
        """Forget a connection."""
        self._connections.pop(connection, None)
        self._leaving.pop(connection, None)

    def opened(self, exchange: Exchange) -> None:
        """Find a call's method; what streams upwards begins now, everything else when its request is there."""
        self._calls += 1
        self._idle.clear()
        self._methods[exchange] = None
        if self._calls > self._limits.calls_max:
            self.refuse(exchange, Rejected("SERVER_BUSY"))
            return
        handler = self._handler(exchange)
        if exchange.is_over:
            return
        self._methods[exchange] = handler
        exchange.awaits_word = handler is not None and handler.request_streaming
        if handler is None:
            exchange.finish(trailers(grpc.StatusCode.UNIMPLEMENTED, "Method not found!"))
            return
        exchange.serializer = handler.response_serializer
        if handler.request_streaming:
            self._run(exchange, _streamed(handler, exchange))
        else:
            self._crowd(self._half_asked, exchange, self._limits.waiting_max)

    def complete(self, exchange: Exchange) -> None:
        """Begin a call whose one request is there."""
        self._half_asked.pop(exchange, None)
        if exchange.is_over or exchange.task is not None:
            return
        handler = self._methods[exchange]
        try:
            message = exchange.only_message()
        except Rejected as refusal:
            self.refuse(exchange, refusal)
            return
        if message is None:
            self.refuse(exchange, Rejected("REQUEST_MALFORMED"))
        elif handler.response_streaming:
            self._run(exchange, _told(handler, message, exchange))
        else:
            self._run(exchange, _answered(handler, message, exchange))

    def refuse(self, exchange: Exchange, refusal: Rejected) -> None:
        """End a call with a refusal, whatever its method does."""
        status = grpc_status_of(refusal)
        task = exchange.task
        exchange.finish(trailers(status.code, status.details, status.trailing_metadata or ()))
        if task is not None:
            task.cancel()

    def lingers(self, exchange: Exchange) -> None:
        """Bear with a client that does not take the rest of an answer, but not with any number of them."""
        if exchange not in self._methods:
            return
        self._half_answered[exchange] = None
        if len(self._half_answered) > self._limits.waiting_max:
            oldest = next(iter(self._half_answered))
            oldest.connection.fail(oldest, Error.ENHANCE_YOUR_CALM)

    def left(self, exchange: Exchange) -> None:
        """Forget a call."""
        if self._methods.pop(exchange, self) is self:
            return  # It was refused before it was opened.
        for crowd in (self._visits, self._half_asked, self._half_answered):
            crowd.pop(exchange, None)
        self._calls -= 1
        if not self._calls:
            self._idle.set()

    def _handler(self, exchange: Exchange) -> Any:
        details = Details(exchange.request.path, exchange.request.metadata)
        try:
            for handlers, is_for_anybody in self._handlers:
                found = handlers.service(details)  # type: ignore[arg-type]
                if found is not None:
                    if is_for_anybody:
                        self._crowd(self._visits, exchange, self._limits.visits_max)
                    return found
        except Exception:
            # The call's fault or ours, and not that of the others on its connection.
            _log.exception("method_lookup_failed", method=exchange.request.path)
            exchange.finish(trailers(grpc.StatusCode.UNKNOWN, "the method failed"))
        return None

    def _crowd(self, crowd: dict[Exchange, None], exchange: Exchange, most: int) -> None:
        crowd[exchange] = None
        if len(crowd) > most:
            # The oldest makes room, not the newest: who asks and goes is answered whatever others hold on to.
            oldest = next(iter(crowd))
            del crowd[oldest]
            self.refuse(oldest, Rejected("SERVER_BUSY"))

    def _run(self, exchange: Exchange, work: Any) -> None:
        # Eager: most calls of a busy service reach their first wait, or their end, before the next frame is looked at.
        task = asyncio.Task(_guarded(work, exchange), loop=exchange.connection.loop, eager_start=True)
        if not task.done():
            exchange.task = task
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    # ---- what time brings ---------------------------------------------------------------------------------------------

    def _look_around(self) -> None:
        loop = asyncio.get_running_loop()
        self._look = loop.call_later(LOOK_SECONDS, self._look_around)
        now = loop.time()
        for connection, old_at in tuple(self._connections.items()):
            if connection.closed_at is not None:
                # A client that does not read what is on its way to it would keep the line, and all of that, for ever.
                if now - connection.closed_at > CLOSE_SECONDS:
                    connection.abort()
            elif now - connection.unfinished_since(now) > BEGIN_SECONDS or connection.patience.is_gone(now):
                connection.abort()
            elif connection in self._leaving:
                has_left = connection.has_heard and not connection.exchanges
                if has_left or now >= self._leaving[connection]:
                    connection.end(Error.NO_ERROR, "max_age")
            elif now >= old_at:
                connection.leave(warns=True)
                self._leaving[connection] = now + self._limits.grace_seconds
            elif connection.exchanges and connection.patience.must_ask(now):
                connection.ping()


def _connections_there_are_files_for() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return CONNECTIONS_MAX if soft == resource.RLIM_INFINITY else min(CONNECTIONS_MAX, max(soft * 3 // 4, 1))


class ForAnybody:
    """A `Listener` as generated code sees it that adds methods for which no token is asked."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def add_generic_rpc_handlers(self, handlers: Iterable[grpc.GenericRpcHandler]) -> None:
        """Add handlers, as `Listener.add_handlers_for_anybody`."""
        self._listener.add_handlers_for_anybody(handlers)

    def add_registered_method_handlers(self, _service: str, _handlers: Mapping[str, object]) -> None:
        """Do nothing: generated code says the same thing twice."""


async def _bound(host: str, port: int) -> socket.socket:
    """Return a socket for an address; ``::`` takes IPv4 as well, as it does with every gRPC server."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, *_, address = found[0]
    takes_both = family is socket.AF_INET6 and host == "::" and socket.has_dualstack_ipv6()
    return socket.create_server(address[:2], family=family, backlog=BACKLOG, dualstack_ipv6=takes_both)


async def _guarded(work: Any, exchange: Exchange) -> None:
    """Run a method; whatever it does, its call ends with one status."""
    try:
        await work
    except grpc.aio.AbortError:
        pass  # It has said why.
    except asyncio.CancelledError:
        # By the caller, the clock or the line, who know; or by us, and then the caller is told.
        exchange.finish(trailers(grpc.StatusCode.UNAVAILABLE, "the server stops"))
    except Rejected as refusal:
        # What a caller says cannot be unpacked or read, and the method is one of those that know nothing of refusals.
        status = grpc_status_of(refusal)
        exchange.finish(trailers(status.code, status.details, status.trailing_metadata or ()))
    except Exception:
        _log.exception("method_failed", method=exchange.request.path)
        exchange.finish(trailers(grpc.StatusCode.UNKNOWN, "the method failed"))


async def _answered(handler: Any, raw: bytes, exchange: Exchange) -> None:
    answer = await handler.unary_unary(_read(handler, raw), exchange)
    exchange.answer(_written(handler, answer), SUCCESS)


async def _told(handler: Any, raw: bytes, exchange: Exchange) -> None:
    await _followed(handler.unary_stream(_read(handler, raw), exchange), exchange)


async def _streamed(handler: Any, exchange: Exchange) -> None:
    await _followed(handler.stream_stream(_requests(handler, exchange), exchange), exchange)


async def _followed(answers: Any, exchange: Exchange) -> None:
    """Send what a method yields, or let it write by itself."""
    if hasattr(answers, "__aiter__"):
        async for answer in answers:
            await exchange.write(answer)
    else:
        await answers
    exchange.finish(SUCCESS)


async def _requests(handler: Any, exchange: Exchange) -> AsyncIterator[Any]:
    while (raw := await exchange.read()) is not grpc.aio.EOF:
        yield _read(handler, raw)


def _read(handler: Any, raw: bytes) -> Any:
    if handler.request_deserializer is None:
        return raw
    try:
        return handler.request_deserializer(raw)
    except DecodeError:
        raise Rejected("REQUEST_MALFORMED") from None


def _written(handler: Any, answer: Any) -> bytes:
    message: bytes = answer if handler.response_serializer is None else handler.response_serializer(answer)
    return message


def tls_of(certificate: Path, key: Path, client_authority: Path | None) -> ssl.SSLContext:
    """Return TLS as gRPC speaks it; with an authority clients must show a certificate of it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["h2"])
    if client_authority is not None:
        context.load_verify_locations(client_authority)
        context.verify_mode = ssl.CERT_REQUIRED
    return context
