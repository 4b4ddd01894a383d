"""One object to talk to the house with."""

from collections.abc import Mapping
from functools import cached_property
from typing import Self

import grpc

from diwan.client.connection import Channels, Connection, Token, subject_of
from diwan.client.others import Audit, Bots, Feed
from diwan.client.tables import Tables
from diwan.client.tournaments import Tournaments
from diwan.client.wallet import Wallet


class DiwanClient:
    """The services under one token. Use it as ``async with connect(...) as client``."""

    def __init__(
        self, channels: Channels, token: Token, *, correlation_id: str = "", owns_channels: bool = True
    ) -> None:
        self._channels = channels
        self._token = token
        self._correlation_id = correlation_id
        self._owns_channels = owns_channels

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections, unless they belong to the client that this one was made from."""
        if self._owns_channels:
            await self._channels.close()

    def with_token(self, token: Token) -> "DiwanClient":
        """Return a client that calls under another token over the same connections, which stay this one's."""
        return DiwanClient(self._channels, token, correlation_id=self._correlation_id, owns_channels=False)

    @property
    def subject(self) -> str:
        """Whom the token names: for a player, the player id."""
        return subject_of(self._token if isinstance(self._token, str) else self._token())

    def connection(self, service: str) -> Connection:
        """Return the connection to a service by its name."""
        return Connection(self._channels.to(service), self._token, self._correlation_id)

    @cached_property
    def tables(self) -> Tables:
        """The table service."""
        return Tables(self.connection("table"))

    @cached_property
    def wallet(self) -> Wallet:
        """The wallet service."""
        return Wallet(self.connection("wallet"))

    @cached_property
    def tournaments(self) -> Tournaments:
        """The tournament service."""
        return Tournaments(self.connection("tournament"))

    @cached_property
    def audit(self) -> Audit:
        """The audit service."""
        return Audit(self.connection("audit"))

    @cached_property
    def bots(self) -> Bots:
        """The bots service."""
        return Bots(self.connection("bots"))

    def feed(self, service: str) -> Feed:
        """Return the feed of a service."""
        return Feed(self.connection(service))


def connect(
    address: str | Mapping[str, str],
    token: Token,
    *,
    correlation_id: str = "",
    credentials: grpc.ChannelCredentials | None = None,
) -> DiwanClient:
    """Return a client; nothing is sent before the first call.

    ``address``: ``host:port`` of a service or gateway, or one for each service by name ("table", "wallet",
    "tournament", "audit", "bots"). ``token``: a token, or a function that gives one that is good now. ``credentials`` for TLS.
    """
    return DiwanClient(Channels(address, credentials), token, correlation_id=correlation_id)
