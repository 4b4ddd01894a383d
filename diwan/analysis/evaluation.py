"""The exact strengths of a great many hands at once: those of `diwan.core.evaluation`, some forty times as many a second.

Cards come as arrays of numbers 0 to 51, a hand a row. The work goes chunk by chunk through buffers that stay in the
processor's cache: codes are looked up, two cards at a time, and added, the sums looked up in the tables; the few hands
with a flush are looked at once more. An array of uint8 in C order is read where it lies, any other is copied.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from diwan.analysis.tables import (
    SUIT_BITS,
    Codes,
    OmahaTables,
    Strengths,
    codes,
    omaha_tables,
    rank_sets,
    strengths_by_rank_set,
    strengths_by_ranks,
    suits_of,
)
from diwan.core.cards import DECK
from diwan.core.evaluation import OMAHA_KEYS, RANK_KEYS

type Cards = NDArray[np.integer[Any]]
type Bytes = NDArray[np.uint8]

_CHUNK: Final = 1 << 15
_DIGITS: Final = np.uint32((1 << SUIT_BITS) - 1)


def evaluate_batch(cards: Cards) -> Strengths:
    """Return the strengths of hands of five to seven cards, of shape (hands, cards), as `evaluate` gives them.

    Raises ValueError for another shape or for what is no card; a card given twice in a hand is the caller's fault.
    """
    _require_cards(cards, (5, 6, 7))
    size = cards.shape[1]
    by_ranks, suits = strengths_by_ranks(size), suits_of(size, 5)
    made = np.empty(len(cards), dtype=np.uint16)
    buffers = _Buffers.of(min(len(cards), _CHUNK))
    for begin in range(0, len(cards), _CHUNK):
        chunk, out = _as_bytes(cards[begin : begin + _CHUNK]), made[begin : begin + _CHUNK]
        index, flags = buffers.at[: len(out)], buffers.flags[: len(out)]
        sums = buffers.add_up(chunk, codes(RANK_KEYS))
        np.right_shift(sums, SUIT_BITS, out=index, casting="unsafe")
        np.take(by_ranks, index, out=out, mode="clip")
        np.bitwise_and(sums, _DIGITS, out=index, casting="unsafe")
        np.take(suits, index, out=flags, mode="clip")
        rows = np.flatnonzero(flags > 0)
        out[rows] = strengths_by_rank_set()[_rank_sets(chunk, rows, flags[rows] - 1)]
    return made


def evaluate_omaha_batch(holes: Cards, boards: Cards) -> Strengths:
    """Return the strengths of Omaha hands (OM-2) as `evaluate_omaha` gives them: shapes (hands, 4) and (hands, 5).

    Raises ValueError for other shapes or for what is no card; a card given twice is the caller's fault.
    """
    _require_cards(holes, (4,))
    _require_cards(boards, (5,))
    if len(holes) != len(boards):
        raise ValueError(f"{len(holes)} holdings and {len(boards)} boards do not belong together")
    tables = omaha_tables()
    made = np.empty(len(holes), dtype=np.uint16)
    own, shared = (_Buffers.of(min(len(holes), _CHUNK)) for _ in range(2))
    for begin in range(0, len(holes), _CHUNK):
        hole, board = (_as_bytes(array[begin : begin + _CHUNK]) for array in (holes, boards))
        _evaluate_omaha_chunk(tables, hole, board, own, shared, made[begin : begin + _CHUNK])
    return made


def _evaluate_omaha_chunk(
    tables: OmahaTables, hole: Bytes, board: Bytes, own: _Buffers, shared: _Buffers, out: Strengths
) -> None:
    count = len(out)
    index, more = shared.at[:count], own.at[:count]
    own_sums, shared_sums = own.add_up(hole, codes(OMAHA_KEYS)), shared.add_up(board, codes(OMAHA_KEYS))
    np.right_shift(shared_sums, SUIT_BITS, out=index, casting="unsafe")
    np.take(tables.begins, index, out=shared.places[:count], mode="clip")
    np.right_shift(own_sums, SUIT_BITS, out=more, casting="unsafe")
    np.take(tables.places, more, out=own.places[:count], mode="clip")
    np.add(shared.places[:count], own.places[:count], out=index, casting="unsafe")
    np.take(tables.rows, index, out=out, mode="clip")
    suits = shared.flags[:count]
    np.bitwise_and(shared_sums, _DIGITS, out=index, casting="unsafe")
    np.take(tables.suits, index, out=suits, mode="clip")
    np.multiply(suits, 1 << SUIT_BITS, out=index, dtype=np.int64)
    np.bitwise_and(own_sums, _DIGITS, out=more, casting="unsafe")
    index += more
    rows = np.flatnonzero(np.take(tables.flushes, index, mode="clip"))
    suit = suits[rows] - 1
    begins = tables.suited_begins[_rank_sets(board, rows, suit)]
    out[rows] = np.maximum(out[rows], tables.suited_rows[begins + tables.suited_places[_rank_sets(hole, rows, suit)]])


class _Buffers(NamedTuple):
    at: NDArray[np.intp]
    sums: NDArray[np.uint32]
    more: NDArray[np.uint32]
    places: NDArray[np.int32]
    flags: NDArray[np.uint8]

    @classmethod
    def of(cls, size: int) -> _Buffers:
        return cls(
            np.empty(size, np.intp),
            np.empty(size, np.uint32),
            np.empty(size, np.uint32),
            np.empty(size, np.int32),
            np.empty(size, np.uint8),
        )

    def add_up(self, cards: Bytes, of: Codes) -> NDArray[np.uint32]:
        """Return the sums of a chunk's codes; they stand in a buffer until the next call."""
        count, size = cards.shape
        index, sums, more = self.at[:count], self.sums[:count], self.more[:count]
        out = sums
        for column in range(0, size - 1, 2):
            index[:] = _neighbours(cards, column)
            np.take(of.double, index, out=out, mode="clip")
            if column:
                sums += more
            out = more
        if size % 2:
            index[:] = cards[:, -1]
            np.take(of.single, index, out=more, mode="clip")
            sums += more
        return sums


def _as_bytes(cards: Cards) -> Bytes:
    return np.ascontiguousarray(cards, dtype=np.uint8)


def _neighbours(cards: Bytes, column: int) -> NDArray[np.uint16]:
    """Return the cards of a column and the next one as one number of 16 bits, where they lie."""
    count, size = cards.shape
    return np.ndarray(count, "<u2", cards, column, (size,))


def _rank_sets(cards: Bytes, rows: NDArray[np.intp], suits: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """Return the ranks of some hands' cards of one suit each, as sets."""
    single, double = rank_sets()
    size = cards.shape[1]
    begins = suits.astype(np.intp)
    offsets = begins * (len(double) // 4)
    sets = double.take(offsets + _neighbours(cards, 0)[rows], mode="clip")
    for column in range(2, size - 1, 2):
        sets |= double.take(offsets + _neighbours(cards, column)[rows], mode="clip")
    if size % 2:
        sets |= single.take(begins * len(DECK) + cards[rows, -1], mode="clip")
    return sets


def _require_cards(cards: Cards, sizes: tuple[int, ...]) -> None:
    if cards.ndim != 2 or cards.shape[1] not in sizes or cards.dtype.kind not in "iu":
        raise ValueError(f"an array of {cards.dtype} of shape {cards.shape} holds no hands of {sizes} cards")
    if cards.size and not 0 <= int(cards.min()) <= int(cards.max()) < 52:
        raise ValueError("a card is a number 0 to 51")
