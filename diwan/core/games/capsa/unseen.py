"""Deciding a hand again without the cards of seats that nothing turned up (CS-57, CS-84).

Who surrenders, and who is left alone by surrenders, shows no cards. What hangs on these alone (that there is no natural
among them, what the seat's own sets were judged to be) is then taken at the log's word; all else is decided as ever.
Only a verifier decides so, and says for which seats it did.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from diwan.core.cards import Card
from diwan.core.games.capsa.events import (
    Arrangement,
    CapsaOnlyEvent,
    DraftSaved,
    RoyaltiesDeclared,
    SetLocked,
    Standing,
)
from diwan.core.hand.events import Position, Seat

_SIZES: Final = (3, 5, 5)


class PartlySeen(dict[Position, Card]):
    """Cards as far as they were turned up, with the batch as it was recorded. A card beyond them is a LookupError."""

    def __init__(self, known: Mapping[Position, Card], recorded: Iterable[object]) -> None:
        super().__init__(known)
        self._known = known
        self._recorded = tuple(recorded)

    def __missing__(self, position: Position) -> Card:
        # The mapping of the known ones says in its own words what is missing.
        return self._known[position]

    def has_all(self, positions: Iterable[Position]) -> bool:
        """Say whether some cards are all known."""
        return all(position in self for position in positions)

    def is_usable(self, seat: Seat) -> bool:
        """Say what a complete draft of a seat was judged to be."""
        return any(event.is_usable for event in self._of(DraftSaved) if event.seat == seat)

    def set_made(self, seat: Seat, holding: tuple[Position, ...]) -> Arrangement:
        """Return the set that the server made for a seat; anything but its thirteen cards is a ValueError."""
        for event in self._of(SetLocked):
            rows = event.arrangement
            if event.seat == seat and rows is not None:
                used = [position for row in rows.rows for position in row]
                if tuple(map(len, rows.rows)) == _SIZES and sorted(used) == sorted(holding):
                    return rows
        raise ValueError(f"no set of seat {seat}'s own thirteen cards")

    def standing(self, seat: Seat) -> Standing:
        """Return what a seat's locked set was judged to be; anything else is a ValueError."""
        for event in self._of(RoyaltiesDeclared):
            for standing in event.standings:
                if standing.seat == seat and standing.status in {"set", "fouled"}:
                    return standing
        raise ValueError(f"no standing of seat {seat}'s set")

    def _of[E: CapsaOnlyEvent](self, kind: type[E]) -> list[E]:
        return [event for event in self._recorded if isinstance(event, kind)]
