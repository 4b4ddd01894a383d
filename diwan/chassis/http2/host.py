"""What a connection asks of whoever runs its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from diwan.core.decider import Rejected

if TYPE_CHECKING:
    from diwan.chassis.http2.connection import Connection
    from diwan.chassis.http2.exchange import Exchange


class Host(Protocol):
    """Who runs the calls of a connection."""

    def opened(self, exchange: Exchange) -> None:
        """A call has begun; its messages follow."""

    def complete(self, exchange: Exchange) -> None:
        """A caller has said everything."""

    def refuse(self, exchange: Exchange, refusal: Rejected) -> None:
        """A call is to end with a refusal."""

    def lingers(self, exchange: Exchange) -> None:
        """A call's end waits for the client to take what comes before it."""

    def left(self, exchange: Exchange) -> None:
        """A call is over."""

    def connected(self, connection: Connection) -> None:
        """A connection is there."""

    def disconnected(self, connection: Connection) -> None:
        """A connection is gone."""
