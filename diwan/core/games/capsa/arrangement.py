"""The server's own way to set thirteen cards (CS-29)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from diwan.core.cards import Card
from diwan.core.games.capsa.rows import row_value
from diwan.core.games.capsa.settings import Wheel

type CardRows = tuple[tuple[Card, ...], tuple[Card, ...], tuple[Card, ...]]
"""Front, middle, back."""


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
    return max(combinations(ascending, 5), key=lambda five: row_value(five, wheel))
