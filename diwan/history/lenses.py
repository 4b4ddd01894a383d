"""Which cards of a hand only one seat was shown (S1, P10): a public function of the hand's events."""

from __future__ import annotations

from collections.abc import Iterable

from diwan.core.games.capsa.events import CapsaStarted, ThirteenDealt
from diwan.core.hand.events import CardGlanced, CardSwapped, HandStarted, HoleCardsDealt, Position, Seat


def own_positions(events: Iterable[object], seat: Seat) -> tuple[Position, ...]:
    """Return the positions that a seat was shown alone, in the order in which it saw them.

    Its hidden cards, in Naiko also the card it glanced at (NK-16) and the one it swapped in (NK-20). Nothing where the
    seat was not dealt in.
    """
    seen: dict[Position, None] = {}
    dealt: tuple[Seat, ...] = ()
    for event in events:
        if isinstance(event, HandStarted | CapsaStarted):
            dealt = tuple(each.seat for each in event.seats)
        for who, positions in shown_alone(event, dealt):
            if who == seat:
                seen |= dict.fromkeys(positions)
    return tuple(seen)


def shown_alone(event: object, dealt: tuple[Seat, ...]) -> tuple[tuple[Seat, tuple[Position, ...]], ...]:
    """Return what an event shows to seats alone; ``dealt`` are the seats of its hand."""
    match event:
        case HoleCardsDealt(holdings=holdings) | ThirteenDealt(holdings=holdings):
            return tuple(zip(dealt, holdings, strict=False))
        case CardGlanced(seat=who, position=position):
            return ((who, (position,)),)
        case CardSwapped(seat=who, taken=position):
            return ((who, (position,)),)
        case _:
            return ()
