"""What a table may set for a hand, pinned in the hand's first event (RULES.md names and defaults)."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class SarabSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of Sarab (A2 to A7, A11). Chips are whole numbers; whether they make sense is said in `games.sarab`."""

    forced_bets: tuple[int, ...] = (10, 20, 30, 40, 60, 90, 135, 200, 325)  # SB-28; the last one stays
    deals_per_level: int = 2
    void_rule: Literal["no_voluntary_bet", "no_raise", "off"] = "no_voluntary_bet"  # A3
    void_antes: Literal["refund", "carry"] = "refund"  # A6
    void_counts_as_deal: bool = True  # A7
    raises_before_river: int = 1  # A4
    sarab_ignores_cap: bool = True  # A5
    no_fold_at_or_below: int = 50  # SB-26


class PowerCosts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each power costs, in destellos (NK-4)."""

    hidden_glance: int = 1
    sleeve_trick: int = 2
    short_anchor: int = 2
    seal_shield: int = 1


class NaikoSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of Naiko (C1, C2, C5, C9). Whether they make sense is said in `games.naiko`."""

    max_destellos: int = 3  # NK-1
    gain_per_deal: int = 1
    costs: PowerCosts = PowerCosts()
    activations_per_round: int = 3  # NK-12
    response_seconds: int = 8  # NK-34
    destellos_follow_forced_move: bool = False  # C2


class HandSettings(Struct, frozen=True, kw_only=True):
    """Settings of one poker hand. Chips are whole numbers, times in seconds.

    ``big_blind`` is the smallest bet, also in games without blinds.
    """

    game: Literal["holdem", "omaha", "naiko", "sarab"] = "holdem"
    limit: Literal["no_limit", "pot_limit"] = "no_limit"
    small_blind: int = 1
    big_blind: int = 2
    short_allins_add_up: bool = True  # B2
    show_all_in: Literal["at_showdown", "at_once"] = "at_showdown"  # HD-19
    decision_seconds: int = 20  # CL
    sarab: SarabSettings | None = None  # of that game only
    naiko: NaikoSettings | None = None  # of that game only
