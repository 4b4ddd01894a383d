"""The server's own way to set thirteen cards (CS-29)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

from diwan.core.cards import Card, parse_cards
from diwan.core.evaluation import evaluate
from diwan.core.games.capsa.settings import Wheel

type CardRows = tuple[tuple[Card, ...], tuple[Card, ...], tuple[Card, ...]]
"""Front, middle, back."""

_WHEELS: Final = {
    parse_cards("5c 4c 3c 2c Ac"): parse_cards("As Ks Qs Js Ts"),
    parse_cards("5c 4d 3h 2s Ac"): parse_cards("As Kd Qh Js Tc"),
}
"""Rows that begin with the ace as a one, and the highest of their category."""


def server_arrangement(cards: Sequence[Card], wheel: Wheel) -> CardRows:
    """Return front, middle and back: the strongest back, then the strongest middle; never a foul.

    Among equally strong rows the one whose ascending card list comes first, cards ordered 2c 2d 2h 2s 3c ... As.
    """
    ascending = sorted(cards)
    back = _strongest(ascending, wheel)
    rest = [card for card in ascending if card not in back]
    middle = _strongest(rest, wheel)
    return tuple([card for card in rest if card not in middle]), middle, back


def _strongest(ascending: Sequence[Card], wheel: Wheel) -> tuple[Card, ...]:
    # Combinations of an ascending list come in lexicographic order, and max keeps the first of equals.
    if wheel == "low":
        return max(combinations(ascending, 5), key=evaluate)
    just_below = {evaluate(low): evaluate(high) - 0.5 for low, high in _WHEELS.items()}  # CS-16

    def strength(five: tuple[Card, ...]) -> float:
        value = evaluate(five)
        return just_below.get(value, value)

    return max(combinations(ascending, 5), key=strength)
