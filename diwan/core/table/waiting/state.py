"""The line for a seat as the fold of its events."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.hand.events import Seat
from diwan.core.table.waiting.events import SeatHeld, SeatWanted, WaitEnded, WaitingEvent


class Waiter(Struct, frozen=True):
    """A person in line; ``seat`` is kept for it until ``until_ms``, None while none is."""

    player: str
    seat: Seat | None = None
    until_ms: int = 0


class Line(Struct, frozen=True):
    """Everybody who waits, the first one first."""

    waiters: tuple[Waiter, ...] = ()

    def of(self, player: str) -> Waiter | None:
        """Return where a player stands."""
        for waiter in self.waiters:
            if waiter.player == player:
                return waiter
        return None

    @property
    def held(self) -> frozenset[Seat]:
        """The seats that are kept."""
        return frozenset([waiter.seat for waiter in self.waiters if waiter.seat is not None])


def evolve(line: Line, event: WaitingEvent) -> Line:
    """Return the line after one more event."""
    match event:
        case SeatWanted():
            return Line((*line.waiters, Waiter(event.player)))
        case SeatHeld():
            held = [
                replace(each, seat=event.seat, until_ms=event.until_ms) if each.player == event.player else each
                for each in line.waiters
            ]
            return Line(tuple(held))
        case WaitEnded():
            return Line(tuple([each for each in line.waiters if each.player != event.player]))
