"""The exact strength of five to seven cards, one hand a call (HD-20, HD-22, HD-23).

A card's code holds a key for its rank and a 3-bit counter for its suit. Adding codes adds both: the sum names the multiset
of ranks and shows whether five cards share a suit. The tables behind the sums (16 MB) are made at the first call, in about
a third of a second.
"""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate, combinations, combinations_with_replacement
from typing import Final

from diwan.core.cards import DECK, Card

CATEGORIES: Final = (
    "high_card",
    "pair",
    "two_pair",
    "three_of_a_kind",
    "straight",
    "flush",
    "full_house",
    "four_of_a_kind",
    "straight_flush",
    "royal_flush",
)
STRONGEST: Final = 7462
"""The number of classes of five cards, and the strength of a royal flush."""

_SUIT_BITS: Final = 12
_SUITS: Final = (1 << _SUIT_BITS) - 1
# Seven of these numbers, none more than four times, have a sum that no other seven have: the keys of K. Shackleton's
# SpecialKEval. A test counts the sums.
_RANK_KEYS: Final = (0, 1, 5, 22, 98, 453, 2031, 8698, 22854, 83661, 262349, 636345, 1479181)
_CODES: Final = tuple((_RANK_KEYS[card >> 2] << _SUIT_BITS) | (1 << (3 * (card & 3))) for card in DECK)

# Suit with five or more cards, plus one, for each setting of the four counters; 0 where there is none.
_FLUSH_SUITS: Final = bytes(
    next((suit + 1 for suit in range(4) if counters >> (3 * suit) & 7 >= 5), 0) for counters in range(1 << _SUIT_BITS)
)
_BY_SEVEN_RANKS: Final = array("H")
_BY_FEWER_RANKS: Final[dict[int, dict[int, int]]] = {}
_BY_FLUSH_RANKS: Final[dict[int, int]] = {}
_CATEGORY_ENDS: Final[list[int]] = []

_SHAPES: Final = {
    (1, 1, 1, 1, 1): 0,
    (2, 1, 1, 1): 1,
    (2, 2, 1): 2,
    (3, 1, 1): 3,
    (3, 2): 6,
    (4, 1): 7,
}


def evaluate(cards: Sequence[Card]) -> int:
    """Return the strength of the best five of five to seven cards, 1 (weakest) to 7462.

    Equal strength is a tie. Raises ValueError for another number of cards; a card given twice is the caller's fault.
    """
    try:
        if len(cards) != 7:
            return _evaluate_fewer(cards)
        # The usual case, without a loop.
        a, b, c, d, e, f, g = cards
        total = _CODES[a] + _CODES[b] + _CODES[c] + _CODES[d] + _CODES[e] + _CODES[f] + _CODES[g]
        if _FLUSH_SUITS[total & _SUITS]:
            return _flush_strength(total, cards)
        return _BY_SEVEN_RANKS[total >> _SUIT_BITS]
    except LookupError:
        if _BY_SEVEN_RANKS:
            raise ValueError(f"{list(cards)} are no five to seven different cards") from None
    _build_tables()
    return evaluate(cards)


def category_of(strength: int) -> str:
    """Return the category's name (`CATEGORIES`) of a strength."""
    _build_tables()
    return CATEGORIES[bisect_right(_CATEGORY_ENDS, strength - 1)]


def _evaluate_fewer(cards: Sequence[Card]) -> int:
    total = sum([_CODES[card] for card in cards])
    if _FLUSH_SUITS[total & _SUITS] and len(cards) < 7:
        return _flush_strength(total, cards)
    return _BY_FEWER_RANKS[len(cards)][total >> _SUIT_BITS]


def _flush_strength(total: int, cards: Sequence[Card]) -> int:
    suit = _FLUSH_SUITS[total & _SUITS] - 1
    ranks = 0
    for rank in [card >> 2 for card in cards if card & 3 == suit]:
        ranks |= 1 << rank
    return _BY_FLUSH_RANKS[ranks]


@cache
def _build_tables() -> None:
    plain = {ranks: _class_of(ranks, is_flush=False) for ranks in _multisets(5)}
    suited = {ranks: _class_of(ranks, is_flush=True) for ranks in combinations(range(12, -1, -1), 5)}
    classes = {kind: number for number, kind in enumerate(sorted({*plain.values(), *suited.values()}), 1)}
    ends = Counter(category for category, _ in classes)
    _CATEGORY_ENDS[:] = accumulate(ends[category] for category in range(len(CATEGORIES)))
    _fill_flushes({ranks: classes[kind] for ranks, kind in suited.items()})
    _fill_ranks({_key(ranks): classes[kind] for ranks, kind in plain.items()})


def _class_of(ranks: tuple[int, ...], *, is_flush: bool) -> tuple[int, tuple[int, ...]]:
    """Category and deciding ranks of five ranks in falling order."""
    counts = sorted(((ranks.count(rank), rank) for rank in set(ranks)), reverse=True)
    kickers = tuple(rank for _, rank in counts)
    category = _SHAPES[tuple(count for count, _ in counts)]
    if category:
        return category, kickers
    if kickers == (12, 3, 2, 1, 0):  # HD-23: the ace begins A-2-3-4-5 as a one.
        kickers = (3, 2, 1, 0, -1)
    if kickers[0] - kickers[4] == 4:
        straight = 9 if kickers[0] == 12 else 8
        return (straight if is_flush else 4), kickers[:1]
    return (5 if is_flush else 0), kickers


def _multisets(size: int) -> list[tuple[int, ...]]:
    """Rank multisets that four suits can hold, in falling order."""
    falling = combinations_with_replacement(range(12, -1, -1), size)
    return [ranks for ranks in falling if not any(ranks[i] == ranks[i + 4] for i in range(size - 4))]


def _key(ranks: Iterable[int]) -> int:
    return sum(_RANK_KEYS[rank] for rank in ranks)


def _fill_flushes(best_of_five: dict[tuple[int, ...], int]) -> None:
    values = {sum(1 << rank for rank in ranks): strength for ranks, strength in best_of_five.items()}
    for size in (6, 7):
        for ranks in combinations(range(13), size):
            mask = sum(1 << rank for rank in ranks)
            values[mask] = max(values[mask ^ (1 << rank)] for rank in ranks)
    _BY_FLUSH_RANKS.update(values)


def _fill_ranks(best_of_five: dict[int, int]) -> None:
    best_of_six = _add_a_card(6, best_of_five)
    best_of_seven = _add_a_card(7, best_of_six)
    table = array("H", bytes(2 * (1 + max(best_of_seven))))
    for key, strength in best_of_seven.items():
        table[key] = strength
    _BY_FEWER_RANKS.update({5: best_of_five, 6: best_of_six})
    _BY_SEVEN_RANKS[:] = table


def _add_a_card(size: int, smaller: dict[int, int]) -> dict[int, int]:
    """Return the best strength of every multiset of ``size`` ranks from those with a card less."""
    larger: dict[int, int] = {}
    for ranks in _multisets(size):
        key = _key(ranks)
        larger[key] = max([smaller[key - _RANK_KEYS[rank]] for rank in set(ranks)])
    return larger
