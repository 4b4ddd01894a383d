"""Pot-limit Omaha: hold'em with four own cards, of which exactly two count (OM-1 to OM-5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from diwan.core.cards import Card
from diwan.core.evaluation import evaluate_omaha
from diwan.core.games.holdem import Holdem


class Omaha(Holdem):
    """How Omaha differs from hold'em; that it is pot-limit is in its settings, where everybody can read it."""

    name: ClassVar[str] = "omaha"
    hole_cards: ClassVar[int] = 4
    limits: ClassVar[Sequence[Literal["no_limit", "pot_limit"]]] = ("pot_limit",)

    def strength(self, hole: Sequence[Card], board: Sequence[Card]) -> int:
        """Return the strength of the best five cards: two own and three shared ones (OM-2)."""
        return evaluate_omaha(hole, board)
