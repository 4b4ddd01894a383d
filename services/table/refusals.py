"""What was refused during a hand, counted and bounded: one event at its end tells of it (DESIGN 3)."""

from typing import Final

from diwan.core.hand.events import Seat
from diwan.core.table.events import RefusalCount

REASONS_PER_SEAT_MAX: Final = 16

_ABOUT_CARDS: Final = frozenset({"FOULED_SET"})
"""Reasons that say something about what a seat arranged, which is for it alone (CS-22, CS-83)."""


class Refusals:
    """Counts by seat and reason since the last hand's end."""

    def __init__(self) -> None:
        self._counts: dict[Seat, dict[str, int]] = {}

    def count(self, seat: Seat, reason: str) -> None:
        """Count one; reasons beyond the limit are left out, the number of players' ideas is not."""
        if reason in _ABOUT_CARDS:
            return
        of_seat = self._counts.setdefault(seat, {})
        if reason in of_seat or len(of_seat) < REASONS_PER_SEAT_MAX:
            of_seat[reason] = of_seat.get(reason, 0) + 1

    def counts(self) -> tuple[RefusalCount, ...]:
        """Return all counts, by seat and reason."""
        return tuple(
            RefusalCount(seat, reason, count)
            for seat, reasons in sorted(self._counts.items())
            for reason, count in sorted(reasons.items())
        )

    def forget(self) -> None:
        """Begin again, once the counts stand in the log."""
        self._counts.clear()

    def __bool__(self) -> bool:
        return bool(self._counts)
