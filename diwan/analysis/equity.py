"""What a hold'em hand is worth against random ones: a great many deals, drawn and compared on arrays.

Cards are drawn in small groups (an opponent's two, the board's three and two) of which all combinations stand in tables,
as a sum of codes and as a set of cards; a group that meets a card already drawn is drawn again, alone, so that every deal
stays equally likely. A deal's shared cards are added up once for all players.

The draws come from a seed of the caller's and are for estimates only: cards at a table come from `diwan.core.fairness`.
They are uniform but for the rounding of 32 random bits, less than one part in 200,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from diwan.analysis.tables import SUIT_BITS, Strengths, codes, strengths_by_rank_set, strengths_by_ranks, suits_of
from diwan.core.cards import DECK, Card
from diwan.core.evaluation import RANK_KEYS
from diwan.core.limits import SEATS_MAX

_CHUNK: Final = 1 << 14
_BOARD: Final = 5
_BOARD_GROUPS: Final[tuple[tuple[int, ...], ...]] = ((), (1,), (2,), (3,), (2, 2), (3, 2))
"""How missing board cards are drawn, by their number."""
_DIGITS: Final = np.uint32((1 << SUIT_BITS) - 1)
_RANKS: Final = 13
# Each card as one bit, the ranks of a suit side by side.
_SETS: Final = np.array([1 << (_RANKS * (card & 3) + (card >> 2)) for card in DECK], dtype=np.uint64)


class Equity(Struct, frozen=True):
    """The outcome of so many deals: how many were won alone, how many shared, and the share of the pot, 0 to 1."""

    deals: int
    won: int
    tied: int
    share: float


def equity(hole: Sequence[Card], board: Sequence[Card], opponents: int, deals: int, seed: int) -> Equity:
    """Return what two cards win on average from opponents with random hands, the rest of the board being random too.

    The same seed gives the same answer. Raises ValueError for cards that are none, given twice or too many, and for
    numbers of opponents or deals that make no sense.
    """
    _require(hole, board, opponents, deals)
    deal = _Deal(hole, board, seed)
    won = tied = 0
    share = 0.0
    for begin in range(0, deals, _CHUNK):
        deal.shuffle(min(_CHUNK, deals - begin))
        own = deal.own_strengths()
        best, level = deal.opponent_strengths(), np.uint8(1)
        rivals: NDArray[np.uint8] | np.uint8 = level
        for _ in range(opponents - 1):
            other = deal.opponent_strengths()
            rivals = np.where(other > best, level, rivals + (other == best))
            best = np.maximum(best, other)
        is_tied = own == best
        here = int(np.count_nonzero(own > best))
        won += here
        tied += int(np.count_nonzero(is_tied))
        share += here + float(np.sum(is_tied / (np.float64(1) + rivals)))
    return Equity(deals, won, tied, share / deals)


class _Groups(NamedTuple):
    """All combinations of so many of the cards that are left."""

    sets: NDArray[np.uint64]
    codes: NDArray[np.uint32]


class _Deal:
    """A chunk of deals, one card group after the other."""

    def __init__(self, hole: Sequence[Card], board: Sequence[Card], seed: int) -> None:
        self._bits = np.random.SFC64(seed)
        self._left = np.array([card for card in DECK if card not in hole and card not in board])
        self._by_size: dict[int, _Groups] = {}
        self._hole = _added(hole)
        self._board = _added(board)
        self._missing = _BOARD_GROUPS[_BOARD - len(board)]
        self._used: NDArray[np.uint64]
        self._shared: _Groups

    def shuffle(self, count: int) -> None:
        """Begin so many new deals: the board first."""
        sets = np.full(count, self._board.sets, dtype=np.uint64)
        sums = np.full(count, self._board.codes, dtype=np.uint32)
        for size in self._missing:
            more = self._draw(size, sets)
            sets |= more.sets
            sums += more.codes
        self._shared = _Groups(sets, sums)
        self._used = sets.copy()

    def own_strengths(self) -> Strengths:
        """Return the strengths of the hand that is known."""
        return _strengths(self._shared.sets | self._hole.sets, self._shared.codes + self._hole.codes)

    def opponent_strengths(self) -> Strengths:
        """Deal one more opponent in and return the strengths of its hands."""
        hand = self._draw(2, self._used)
        self._used |= hand.sets
        return _strengths(self._shared.sets | hand.sets, self._shared.codes + hand.codes)

    def _draw(self, size: int, used: NDArray[np.uint64]) -> _Groups:
        groups = self._groups(size)
        places = self._random_places(len(used), len(groups.sets))
        sets = np.take(groups.sets, places, mode="clip")
        rows = np.flatnonzero((sets & used) > 0)
        while len(rows):
            places[rows] = again = self._random_places(len(rows), len(groups.sets))
            sets[rows] = drawn = groups.sets[again]
            rows = rows[(drawn & used[rows]) > 0]
        return _Groups(sets, np.take(groups.codes, places, mode="clip"))

    def _random_places(self, count: int, size: int) -> NDArray[np.int64]:
        """Return numbers below ``size``, from 32 random bits each."""
        raw = self._bits.random_raw((count + 1) // 2).view(np.uint32)[:count]
        return (raw.astype(np.int64) * size) >> 32

    def _groups(self, size: int) -> _Groups:
        if size not in self._by_size:
            cards = self._left[_combinations(len(self._left), size)]
            sums = codes(RANK_KEYS).single[cards].sum(axis=0, dtype=np.uint32)
            self._by_size[size] = _Groups(np.bitwise_or.reduce(_SETS[cards], axis=0), sums)
        return self._by_size[size]


@lru_cache(maxsize=16)
def _combinations(of: int, size: int) -> NDArray[np.intp]:
    """Return all choices, one a column."""
    return np.ascontiguousarray(np.array(list(combinations(range(of), size)), dtype=np.intp).T)


def _added(cards: Sequence[Card]) -> _Groups:
    """Return known cards as one group; its members are arrays of no dimension."""
    chosen = np.array(cards, dtype=np.intp)
    sums = codes(RANK_KEYS).single[chosen].sum(dtype=np.uint32, keepdims=True)
    return _Groups(np.bitwise_or.reduce(_SETS[chosen], keepdims=True), sums)


def _strengths(sets: NDArray[np.uint64], sums: NDArray[np.uint32]) -> Strengths:
    """Return the strengths of seven cards each."""
    made = np.take(strengths_by_ranks(7), (sums >> SUIT_BITS).astype(np.intp), mode="clip")
    suits = np.take(suits_of(7, 5), (sums & _DIGITS).astype(np.intp), mode="clip")
    rows = np.flatnonzero(suits > 0)
    of_suit = sets[rows] >> (_RANKS * (suits[rows] - 1).astype(np.uint64)) & np.uint64((1 << _RANKS) - 1)
    made[rows] = strengths_by_rank_set()[of_suit.astype(np.intp)]
    return made


def _require(hole: Sequence[Card], board: Sequence[Card], opponents: int, deals: int) -> None:
    known = [*hole, *board]
    if len(hole) != 2 or len(board) > _BOARD or len(set(known)) != len(known) or not set(known) <= set(DECK):
        raise ValueError(f"{list(hole)} and {list(board)} are no two cards and a board of different cards")
    if not 0 < opponents < SEATS_MAX or deals <= 0:
        raise ValueError(f"{opponents} opponents and {deals} deals make no estimate")
