"""Which five cards make a hand that is shown: what tells two pairs apart from two other pairs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final

from diwan.core.cards import Card, rank_of, suit_of

_OF_COUNTS: Final = {
    (4, 1): "four_of_a_kind",
    (3, 2): "full_house",
    (3, 1, 1): "three_of_a_kind",
    (2, 2, 1): "two_pair",
    (2, 1, 1, 1): "pair",
}
_ACE: Final = 12
_WHEEL_AS_DEALT: Final = (_ACE, 3, 2, 1, 0)
_WHEEL: Final = (3, 2, 1, 0, _ACE)


def best_five(held: Sequence[Card], board: Sequence[Card], category: str, *, is_omaha: bool = False) -> list[Card]:
    """Return the best five cards of a category that the table has named, as one reads them; none where there are none.

    Omaha: exactly two of those held count.
    """
    if is_omaha:
        sets = [(*two, *three) for two in combinations(held, 2) for three in combinations(board, 3)]
    else:
        sets = list(combinations((*held, *board), 5))
    fitting = [(_in_order(five), five) for five in sets if _category(five) == category]
    if not fitting:
        return []
    ranks, five = max(fitting)
    return sorted(five, key=lambda card: (ranks.index(rank_of(card)), -suit_of(card)))


def _category(five: Iterable[Card]) -> str:
    cards = tuple(five)
    ranks = _in_order(cards)
    is_flush = len({suit_of(card) for card in cards}) == 1
    is_straight = len(set(ranks)) == len(ranks) and (ranks[0] - ranks[-1] == len(ranks) - 1 or ranks == _WHEEL)
    if is_straight and is_flush:
        return "royal_flush" if ranks[-1] == _ACE - 4 else "straight_flush"
    if is_flush or is_straight:
        return "flush" if is_flush else "straight"
    return _OF_COUNTS.get(tuple(sorted(Counter(ranks).values(), reverse=True)), "high_card")


def _in_order(cards: Iterable[Card]) -> tuple[int, ...]:
    """Return ranks, the commonest first, then the highest; the ace of a wheel is its lowest."""
    counts = Counter(map(rank_of, cards))
    ranks = tuple(
        rank for rank, count in sorted(counts.items(), key=lambda one: (-one[1], -one[0])) for _ in range(count)
    )
    return _WHEEL if ranks == _WHEEL_AS_DEALT else ranks
