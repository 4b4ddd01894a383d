"""How strong a row is (CS-6 to CS-17): a category and a list of ranks, compared in that order; suits never count.

Python compares the pairs as the rules do, a front with a five-card row too: with everything equal so far the shorter
list is the lower one (CS-17).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from diwan.core.cards import Card
from diwan.core.evaluation import CATEGORIES
from diwan.core.games.capsa.settings import Wheel

type RowValue = tuple[int, tuple[int, ...]]
"""Index in `CATEGORIES`, then what decides within it; straights by twice their top rank, so that a wheel fits between."""

HIGH_CARD, PAIR, TWO_PAIR, TRIPS, STRAIGHT, FLUSH, FULL_HOUSE, QUADS, STRAIGHT_FLUSH, ROYAL_FLUSH = range(10)

_SHAPES: Final = {
    (1, 1, 1, 1, 1): HIGH_CARD,
    (2, 1, 1, 1): PAIR,
    (2, 2, 1): TWO_PAIR,
    (3, 1, 1): TRIPS,
    (3, 2): FULL_HOUSE,
    (4, 1): QUADS,
    (1, 1, 1): HIGH_CARD,
    (2, 1): PAIR,
    (3,): TRIPS,
}
_ACE: Final = 12
_BELOW_ACE_HIGH: Final = 2 * _ACE - 1


def row_value(cards: Sequence[Card], wheel: Wheel) -> RowValue:
    """Return the strength of a row of five cards, or of the front's three, where straights and flushes do not count."""
    ranks = [card >> 2 for card in cards]
    counts = sorted([(ranks.count(rank), rank) for rank in set(ranks)], reverse=True)
    category = _SHAPES[tuple([count for count, _ in counts])]
    deciding = tuple([rank for _, rank in counts])
    if category or len(cards) == 3:
        return category, deciding
    top = straight_top(deciding, wheel)
    is_flush = len({card & 3 for card in cards}) == 1
    if top:
        if not is_flush:
            return STRAIGHT, (top,)
        return (ROYAL_FLUSH if top == 2 * _ACE else STRAIGHT_FLUSH), (top,)
    return (FLUSH if is_flush else HIGH_CARD), deciding


def straight_top(ranks: Sequence[int], wheel: Wheel) -> int:
    """Return twice the top rank of consecutive falling ranks, three or five; 0 where they are none (CS-15, CS-16)."""
    size = len(ranks)
    if ranks[0] - ranks[-1] == size - 1:
        return 2 * ranks[0]
    if ranks[0] == _ACE and ranks[1] == size - 2:  # The ace opens 5-4-3-2-A, and 3-2-A among three cards.
        return _BELOW_ACE_HIGH if wheel == "second" else 2 * ranks[1]
    return 0


def is_fouled(front: RowValue, middle: RowValue, back: RowValue) -> bool:
    """Say whether a set is a foul: back, middle and front must not rise in that order; equal rows are legal (CS-25)."""
    return not back >= middle >= front


def category_name(value: RowValue) -> str:
    """Return the name of a row's category by the scenario format."""
    return CATEGORIES[value[0]]
