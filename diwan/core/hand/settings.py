"""What a table may set for a hand, pinned in the hand's first event (RULES.md names and defaults)."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class HandSettings(Struct, frozen=True, kw_only=True):
    """Settings of one poker hand. Chips are whole numbers, times in seconds."""

    game: Literal["holdem"] = "holdem"
    limit: Literal["no_limit", "pot_limit"] = "no_limit"
    small_blind: int = 1
    big_blind: int = 2
    short_allins_add_up: bool = True  # B2
    show_all_in: Literal["at_showdown", "at_once"] = "at_showdown"  # HD-19
    decision_seconds: int = 20  # CL
