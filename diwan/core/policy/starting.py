"""How good two starting cards are: their place among all 1,326 pairs by Bill Chen's formula.

The formula gives points for the higher card, for pairs and suited cards, and takes some off for gaps. We use it only
to order the 169 classes, so its rounding is left out.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations
from typing import Final

from diwan.core.cards import DECK, Card, rank_of, suit_of

_ACE, _QUEEN = 12, 10
# Twice the points, to stay with whole numbers: A 10, K 8, Q 7, J 6, below that half the pips.
_TWICE_POINTS: Final[tuple[int, ...]] = (*range(2, 11), 12, 14, 16, 20)
_TWICE_GAP: Final = (0, 2, 4, 8, 10)


def twice_chen(first: Card, second: Card) -> int:
    """Return twice the Chen points of two cards, unrounded."""
    low, high = sorted((rank_of(first), rank_of(second)))
    points = _TWICE_POINTS[high]
    if low == high:
        return max(2 * points, 10)
    gap = high - low - 1
    points -= _TWICE_GAP[min(gap, 4)]
    if suit_of(first) == suit_of(second):
        points += 4
    if gap <= 1 and high < _QUEEN:
        points += 2
    return points


@cache
def _percents() -> dict[int, float]:
    """Share of pairs, in percent, that are better than each number of points, ties counted half."""
    counts = Counter(twice_chen(first, second) for first, second in combinations(DECK, 2))
    total, better = sum(counts.values()), 0
    percents = {}
    for points in sorted(counts, reverse=True):
        percents[points] = 100 * (better + counts[points] / 2) / total
        better += counts[points]
    return percents


def percent_better(first: Card, second: Card) -> float:
    """Return how many of all pairs are better, in percent: near 0 for aces, near 100 for seven-deuce."""
    return _percents()[twice_chen(first, second)]
