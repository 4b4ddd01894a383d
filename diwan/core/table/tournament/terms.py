"""What is settled for a tournament's table when it is opened; whether it makes sense is said in `levels`."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diwan.core.hand.events import Chips, Seat

type AnteKind = Literal["each", "big_blind"]
"""Who pays the ante: everybody, or the big blind alone for everybody, after the blind (RP-11)."""


class BlindLevel(Struct, frozen=True, kw_only=True):
    """One level of the ladder. It lasts ``duration_ms`` of the clock, or ``hands`` dealt at the table; the other is 0.

    ``ante`` is the whole ante of whoever pays one. ``break_after_ms`` of the clock follow the level, in which no hand
    begins. The last level stays, whatever its length. In Sarab ``small_blind`` is 0 and ``big_blind`` the forced bet.
    """

    small_blind: Chips
    big_blind: Chips
    ante: Chips = 0
    ante_kind: AnteKind = "each"
    duration_ms: int = 0
    hands: int = 0
    break_after_ms: int = 0


class TournamentTerms(Struct, frozen=True, kw_only=True):
    """Whose table it is and the whole ladder, so that play goes on without the tournament (DESIGN 8).

    ``table_no`` is how players know the table. ``clock_base_ms`` is when the clock of the ladder stood at nothing; with 0
    it has not begun, and no hand starts before it is set. ``first_button`` is the button's seat at the first hand where a
    draw of the tournament decided it; in Sarab the table draws it itself (A1).
    """

    tournament_id: str
    levels: tuple[BlindLevel, ...]
    table_no: int = 1
    clock_base_ms: int = 0
    first_button: Seat | None = None
