"""Connections to the services: deadlines on every call, retries only where they are safe."""

import base64
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

import grpc
import stamina
from google.protobuf.message import Message

from diwan.client.errors import DiwanError, as_our_errors

type Token = str | Callable[[], str]
"""A token, or what gives one that is good now."""

CALL_SECONDS: Final = 5.0
RETRY_ATTEMPTS_MAX: Final = 8
RETRY_SECONDS_MAX: Final = 30.0

CHANNEL_OPTIONS: Final = (
    # Pages of events are larger than what clients send.
    ("grpc.max_receive_message_length", 16 * 1024 * 1024),
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.keepalive_permit_without_calls", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    # One retry scheme, ours: it knows which calls may be repeated.
    ("grpc.enable_retries", 0),
    # Each client has its own connection, also in a process that has many.
    ("grpc.use_local_subchannel_pool", 1),
)


class Channels:
    """One channel a service, opened at its first use and shared by all who call with their own tokens."""

    def __init__(self, addresses: str | Mapping[str, str], credentials: grpc.ChannelCredentials | None) -> None:
        self._addresses = addresses
        self._credentials = credentials
        self._open: dict[str, grpc.aio.Channel] = {}

    def to(self, service: str) -> grpc.aio.Channel:
        """Return the channel to a service; raises ValueError where its address was not given."""
        address = self._addresses if isinstance(self._addresses, str) else self._addresses.get(service)
        if address is None:
            raise ValueError(f"the address of {service} was not given")
        channel = self._open.get(address)
        if channel is None:
            channel = self._open[address] = (
                grpc.aio.insecure_channel(address, CHANNEL_OPTIONS)
                if self._credentials is None
                else grpc.aio.secure_channel(address, self._credentials, CHANNEL_OPTIONS)
            )
        return channel

    async def close(self) -> None:
        """Close every channel; calls under way are cancelled."""
        for channel in self._open.values():
            await channel.close()
        self._open.clear()


class Connection:
    """Calls to one service under one token."""

    def __init__(self, channel: grpc.aio.Channel, token: Token, correlation_id: str = "") -> None:
        self.channel = channel
        self._token = token
        self._correlation_id = correlation_id

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What every call carries."""
        found = (("authorization", f"Bearer {self.token()}"),)
        return (*found, ("x-correlation-id", self._correlation_id)) if self._correlation_id else found

    def token(self) -> str:
        """Return a token that is good now."""
        return self._token if isinstance(self._token, str) else self._token()

    async def unary[Q: Message, R: Message](
        self,
        method: grpc.aio.UnaryUnaryMultiCallable[Q, R],
        request: Q,
        *,
        is_repeatable: bool = True,
        seconds: float = CALL_SECONDS,
    ) -> R:
        """Call a method; raises `DiwanError`.

        ``is_repeatable``: it only reads, or it carries an id under which it takes effect once.
        """
        if not is_repeatable:
            return await self._once(method, request, seconds)
        async for attempt in stamina.retry_context(
            on=_backoff, attempts=RETRY_ATTEMPTS_MAX, timeout=RETRY_SECONDS_MAX, wait_initial=0.05, wait_max=2.0
        ):
            with attempt:
                return await self._once(method, request, seconds)
        raise AssertionError("the last attempt returns or raises")

    async def pages[Q: Message, R: Message](
        self, method: grpc.aio.UnaryUnaryMultiCallable[Q, R], request: Q
    ) -> AsyncIterator[R]:
        """Iterate over the pages of a list, from the one that the request asks for on; raises `DiwanError`."""
        following: Any = request
        while True:
            page: Any = await self.unary(method, request)
            yield page
            if not page.next_page_token:
                return
            following.page_token = page.next_page_token

    async def _once[Q: Message, R: Message](
        self, method: grpc.aio.UnaryUnaryMultiCallable[Q, R], request: Q, seconds: float
    ) -> R:
        with as_our_errors():
            return await method(request, timeout=seconds, metadata=self.metadata)


def _backoff(error: Exception) -> bool | float:
    if not isinstance(error, DiwanError) or not error.can_be_retried:
        return False
    return True if error.retry_seconds is None else error.retry_seconds


def subject_of(token: str) -> str:
    """Return the subject that a token names, unchecked: it is our own."""
    try:
        payload = token.split(".")[1]
        claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return str(claims["sub"])
    except (IndexError, KeyError, ValueError):
        raise ValueError("the token is no JWT with a subject") from None
