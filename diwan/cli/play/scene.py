"""What one seat sees at a moment: everything that is drawn, and everything that is typed is read against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from diwan.client import SeatStream
from diwan.client.messages import (
    Decision,
    PowerOffer,
    PrivateView,
    ResponseWindow,
    SeatView,
    TableView,
    game_of,
)
from diwan.core.cards import Card


class Scene(NamedTuple):
    """The newest view of a table, one's own seat, and what only it knows. ``now_ms`` is the table's time."""

    table: TableView
    seat: int | None = None
    private: PrivateView | None = None
    now_ms: int = 0
    away: frozenset[int] = frozenset()
    """Seats whose players have lost their connection."""

    @property
    def game(self) -> str:
        """The game of the table."""
        return game_of(self.table)

    @property
    def own(self) -> SeatView | None:
        """Our seat."""
        return next((seat for seat in self.table.seats if seat.seat == self.seat), None)

    @property
    def cards(self) -> tuple[Card, ...]:
        """Our cards of the hand in view, in the order of the deal; the first is number 1 for whoever types."""
        private = self.private
        if private is None or private.hand_id != self.table.hand.hand_id:
            return ()
        return tuple(reveal.card for reveal in private.reveals)

    @property
    def decision(self) -> Decision | None:
        """The open decision, if it is ours."""
        hand = self.table.hand
        return hand.decision if hand.HasField("decision") and hand.decision.seat == self.seat else None

    @property
    def window(self) -> ResponseWindow | None:
        """The response window of a Short Anchor, if it is ours to answer."""
        naiko = self.table.hand.naiko
        return naiko.window if naiko.HasField("window") and naiko.window.seat == self.seat else None

    @property
    def offers(self) -> Sequence[PowerOffer]:
        """Naiko's powers as they stand for us."""
        return [offer for offer in self.table.hand.naiko.powers if offer.seat == self.seat]

    def seconds_to(self, deadline_ms: int) -> int:
        """Return the whole seconds that are left; 0 where the deadline is over."""
        return max(0, -(-(deadline_ms - self.now_ms) // 1000))


def scene_of(stream: SeatStream, now_ms: int) -> Scene | None:
    """Return what a seat's stream has shown last; None before its first view."""
    table = stream.table
    return None if table is None else Scene(table, stream.seat, stream.private, now_ms, away_of(stream))


def away_of(stream: SeatStream) -> frozenset[int]:
    """Return the seats whose players are not there, as far as the table has told it."""
    told = () if stream.presence is None else stream.presence.seats
    return frozenset(each.seat for each in told if each.disconnected_since_ms and not each.is_connected)
