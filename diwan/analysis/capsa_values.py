"""Strengths of all rows that thirteen cards can make, in a few array operations.

A value is a small integer: the place of a row in the list of all rows of three and of five cards, weakest first. Values
compare as the rows do (CS-11 to CS-17), a front with a middle too; equal values are equal rows.

Rank keys are the greedy sequence in which any five ranks, none five times, have a sum of their own. So the sum of five
keys names the ranks, and counters above it (three bits a suit) show a flush: one product of a 0/1 matrix with thirteen
codes gives all 1,287 rows, one table lookup their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations, combinations_with_replacement
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from diwan.core.cards import Card
from diwan.core.games.capsa.rows import RowValue, row_value
from diwan.core.games.capsa.settings import Wheel

type Indices = NDArray[np.intp]

RANK_KEYS: Final = (0, 1, 5, 22, 94, 312, 992, 2422, 5624, 12522, 19998, 43258, 79415)
_RANK_BITS: Final = 19  # five keys stay below 2**19
_FLUSH: Final = 1 << _RANK_BITS

CODES: Final = np.array(
    [RANK_KEYS[card >> 2] + (1 << (_RANK_BITS + 3 * (card & 3))) for card in range(52)], dtype=np.float64
)
"""Additive code of each card; sums of thirteen stay exact in a float."""


class ValueTables(NamedTuple):
    """From sums of codes to values, under one reading of the wheel."""

    five: NDArray[np.int16]  # by sum of rank keys; five suited cards behind `_FLUSH`
    three: NDArray[np.int16]  # by sum of rank keys
    categories: NDArray[np.int8]  # of each value, index in `CATEGORIES`


@cache
def value_tables(wheel: Wheel) -> ValueTables:
    """Return the tables, made at the first call (some tens of milliseconds)."""
    fives = {key: row_value(cards, wheel) for key, cards in _five_card_rows()}
    threes = {_key(ranks): row_value(_unsuited(ranks), wheel) for ranks in combinations_with_replacement(range(13), 3)}
    ordered: list[RowValue] = sorted({*fives.values(), *threes.values()})
    number = {value: place for place, value in enumerate(ordered)}
    five = np.zeros(2 * _FLUSH, dtype=np.int16)
    three = np.zeros(max(threes) + 1, dtype=np.int16)
    for key, value in fives.items():
        five[key] = number[value]
    for key, value in threes.items():
        three[key] = number[value]
    return ValueTables(five, three, np.array([category for category, _ in ordered], dtype=np.int8))


class Splits(NamedTuple):
    """All ways to divide thirteen places. Rows of `partners` and `fronts` belong to the backs in the order of `fives`."""

    fives: Indices  # 1287 x 5 places
    threes: Indices  # 286 x 3 places
    in_five: NDArray[np.float64]  # 1287 x 13, 1 where a place belongs to the row
    in_three: NDArray[np.float64]  # 286 x 13
    partners: Indices  # 1287 x 56: the middles that a back leaves, as rows of `fives`
    fronts: Indices  # 1287 x 56: what is left then, as rows of `threes`


@cache
def splits() -> Splits:
    """Return the 72,072 splits, made at the first call."""
    fives = np.array(list(combinations(range(13), 5)), dtype=np.intp)
    threes = np.array(list(combinations(range(13), 3)), dtype=np.intp)
    in_five, in_three = _membership(fives), _membership(threes)
    places = 1 << np.arange(13)
    five_at = np.zeros(1 << 13, dtype=np.intp)
    three_at = np.zeros(1 << 13, dtype=np.intp)
    five_masks = places[fives].sum(axis=1)
    five_at[five_masks] = np.arange(len(fives))
    three_at[places[threes].sum(axis=1)] = np.arange(len(threes))
    left = np.array([[place for place in range(13) if place not in five] for five in fives.tolist()], dtype=np.intp)
    middles = left[:, np.array(list(combinations(range(8), 5)))]  # 1287 x 56 x 5
    middle_masks = places[middles].sum(axis=2)
    front_masks = (1 << 13) - 1 - five_masks[:, None] - middle_masks
    return Splits(fives, threes, in_five, in_three, five_at[middle_masks], three_at[front_masks])


def row_values(cards: Sequence[Card], tables: ValueTables) -> tuple[Indices, Indices]:
    """Return the values of the 1,287 rows of five and the 286 fronts, in the order of `splits`."""
    ways = splits()
    codes = CODES[list(cards)]
    sums = (ways.in_five @ codes).astype(np.int64)
    flushes = _FLUSH_OFFSET.take(sums >> _RANK_BITS)
    five = tables.five.take(flushes + (sums & (_FLUSH - 1)))
    three = tables.three.take((ways.in_three @ codes).astype(np.int64) & (_FLUSH - 1))
    return five.astype(np.intp), three.astype(np.intp)  # what NumPy looks up by without converting


def value_of(cards: Sequence[Card], tables: ValueTables) -> int:
    """Return the value of one row of three or five cards."""
    total = int(CODES[list(cards)].sum())
    key = total & (_FLUSH - 1)
    if len(cards) == 3:
        return int(tables.three[key])
    return int(tables.five[key + _FLUSH_OFFSET[total >> _RANK_BITS]])


_FLUSH_OFFSET: Final = np.zeros(1 << 12, dtype=np.int64)
_FLUSH_OFFSET[[5 << (3 * suit) for suit in range(4)]] = _FLUSH


def _membership(rows: Indices) -> NDArray[np.float64]:
    matrix = np.zeros((len(rows), 13))
    np.put_along_axis(matrix, rows, 1.0, axis=1)
    return matrix


def _five_card_rows() -> list[tuple[int, tuple[Card, ...]]]:
    """Key and an example of every class of five cards."""
    plain = [ranks for ranks in combinations_with_replacement(range(13), 5) if ranks[0] != ranks[4]]
    suited = [tuple([rank * 4 for rank in ranks]) for ranks in combinations(range(13), 5)]
    rows = [(_key(ranks), _unsuited(ranks)) for ranks in plain]
    return rows + [(_FLUSH + _key([card >> 2 for card in cards]), cards) for cards in suited]


def _key(ranks: Sequence[int]) -> int:
    return sum([RANK_KEYS[rank] for rank in ranks])


def _unsuited(ranks: Sequence[int]) -> tuple[Card, ...]:
    """Return different cards of these ranks that are no flush."""
    suits = [ranks[:place].count(rank) for place, rank in enumerate(ranks)]
    if not any(suits):
        suits[-1] = 1
    return tuple([rank * 4 + suit for rank, suit in zip(ranks, suits, strict=True)])
