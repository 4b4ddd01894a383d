"""Who can be dealt in: nobody can lose more than they hold (CS-65)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from diwan.core.games.capsa.settings import CapsaSettings, most_units, stake_of
from diwan.core.games.capsa.view import Chips, Seat


class Shortage(Struct, frozen=True):
    """A seat that is dealt out, with what it would have needed: reason RESERVE_TOO_SMALL."""

    seat: Seat
    stack: Chips
    reserve: Chips


def reserve_of(settings: CapsaSettings, seat: Seat, seats: Iterable[Seat]) -> Chips:
    """Return R of CS-65: the most chips that a seat can lose against all others in one hand."""
    stakes = sum([stake_of(settings, seat, other) for other in seats if other != seat])
    return stakes * most_units(settings)


def dealt_in(
    settings: CapsaSettings, stacks: Mapping[Seat, Chips], button: Seat
) -> tuple[tuple[Seat, ...], tuple[Shortage, ...]]:
    """Return who is dealt in, by seat, and who is not and why; fewer than two make no hand.

    With each seat less the others need less. So one goes at a time, the one that lacks most; of equals the one that
    would have been dealt to last.
    """
    seats = sorted(stacks, key=lambda seat: (seat <= button, seat))
    shortages: list[Shortage] = []
    while True:
        short = [
            Shortage(seat, stacks[seat], reserve)
            for seat in seats
            if stacks[seat] < (reserve := reserve_of(settings, seat, seats))
        ]
        if not short:
            return tuple(sorted(seats)), tuple(shortages)
        worst = max(reversed(short), key=lambda each: each.reserve - each.stack)
        shortages.append(worst)
        seats.remove(worst.seat)
