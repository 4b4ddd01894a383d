"""The tables behind the batches: strengths by sums of rank keys, and by sets of ranks of one suit.

They say the same as `diwan.core.evaluation`, which fills them, and are made at the first use of each kind: seven cards
in a tenth of a second and 16 MB, Omaha in about a second and 30 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations, combinations_with_replacement
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from diwan.core.cards import DECK, Card
from diwan.core.evaluation import OMAHA_KEYS, RANK_KEYS, evaluate

type Strengths = NDArray[np.uint16]
type Ranks = tuple[int, ...]
type _Five = Callable[[Sequence[Ranks], Sequence[Ranks]], Strengths]

# A code of 32 bits: the rank key, below it a digit to the base of 8 that counts the suit. The digits of three suits tell
# the fourth.
SUIT_BITS: Final = 9
_SUIT_DIGITS: Final = (0, 1, 8, 64)
_RANK_SETS: Final = 1 << 13


class Codes(NamedTuple):
    """What adding up needs: codes of single cards, and of two whose numbers stand in the bytes of one of 16 bits."""

    single: NDArray[np.uint32]
    double: NDArray[np.uint32]


@cache
def codes(keys: tuple[int, ...]) -> Codes:
    """Return the codes with these rank keys."""
    single = np.array([keys[card >> 2] << SUIT_BITS | _SUIT_DIGITS[card & 3] for card in DECK], dtype=np.uint32)
    double = np.zeros((len(DECK), 256), dtype=np.uint32)
    double[:, : len(DECK)] = np.add.outer(single, single)
    return Codes(single, double.reshape(-1))


class RankSets(NamedTuple):
    """The ranks of cards of one suit, one bit each, 0 for cards of other suits: of single cards, and of two as above.

    Index: the suit times the length of a suit's part, plus the card or the two.
    """

    single: NDArray[np.uint16]
    double: NDArray[np.uint16]


@cache
def rank_sets() -> RankSets:
    """Return the sets of ranks."""
    single = np.array(
        [[1 << (card >> 2) if card & 3 == suit else 0 for card in DECK] for suit in range(4)], dtype=np.uint16
    )
    double = np.zeros((4, len(DECK), 256), dtype=np.uint16)
    double[:, :, : len(DECK)] = single[:, :, None] | single[:, None, :]
    return RankSets(single.reshape(-1), double.reshape(-1))


@cache
def strengths_by_ranks(size: int) -> Strengths:
    """Return the strengths without flushes of so many cards, 5 to 7, by the sum of their rank keys."""
    multisets = list(rank_multisets(size))
    keys = [sum(RANK_KEYS[rank] for rank in ranks) for ranks in multisets]
    table = np.zeros(max(keys) + 1, dtype=np.uint16)
    table[keys] = [evaluate(_unsuited(ranks)) for ranks in multisets]
    return table


@cache
def strengths_by_rank_set() -> Strengths:
    """Return the strength of five to seven cards of one suit by the set of their ranks; 0 for other sets."""
    table = np.zeros(_RANK_SETS, dtype=np.uint16)
    for size in (5, 6, 7):
        for ranks in combinations(range(13), size):
            table[sum(1 << rank for rank in ranks)] = evaluate([rank * 4 for rank in ranks])
    return table


@cache
def suits_of(cards: int, least: int) -> NDArray[np.uint8]:
    """Return, by the suit digits of so many cards, the suit that at least so many have, plus one; 0 without one."""
    table = np.zeros(1 << SUIT_BITS, dtype=np.uint8)
    for suits in combinations_with_replacement(range(4), cards):
        often = [suit for suit in range(4) if suits.count(suit) >= least]
        table[sum(_SUIT_DIGITS[suit] for suit in suits)] = often[0] + 1 if often else 0
    return table


def rank_multisets(size: int) -> Iterator[Ranks]:
    """Yield the rank multisets that four suits can hold, in rising order."""
    for ranks in combinations_with_replacement(range(13), size):
        if not any(ranks[i] == ranks[i + 4] for i in range(size - 4)):
            yield ranks


def _unsuited(ranks: Ranks) -> list[Card]:
    """Different cards of these ranks, no five of one suit."""
    return [rank * 4 + place % 4 for place, rank in enumerate(ranks)]


class OmahaTables(NamedTuple):
    """Strengths of holding against board: by multisets of ranks, and by sets of ranks of one suit.

    ``begins`` and ``places`` are by sums of rank keys, the suited ones by rank sets; a strength stands at the sum.
    """

    rows: Strengths
    begins: NDArray[np.int32]
    places: NDArray[np.int32]
    suited_rows: Strengths
    suited_begins: NDArray[np.int32]
    suited_places: NDArray[np.int32]
    suits: NDArray[np.uint8]  # of a board, plus one, by its suit digits; 0 where no three share one
    flushes: NDArray[np.bool_]  # whether there is a flush, by that number and, below it, a holding's suit digits


@cache
def omaha_tables() -> OmahaTables:
    """Return the tables for Omaha, made at the first call."""
    boards, holdings = list(rank_multisets(5)), list(rank_multisets(4))
    rows = _rows(boards, holdings, _five_by_ranks)
    suited_boards = [ranks for size in (3, 4, 5) for ranks in combinations(range(13), size)]
    suited_holdings = [ranks for size in (2, 3, 4) for ranks in combinations(range(13), size)]
    suited = _rows(suited_boards, suited_holdings, _five_suited)
    return OmahaTables(
        rows,
        _places([_omaha_key(ranks) for ranks in boards], len(holdings)),
        _places([_omaha_key(ranks) for ranks in holdings]),
        suited,
        _places([_set_of(ranks) for ranks in suited_boards], len(suited_holdings)),
        _places([_set_of(ranks) for ranks in suited_holdings]),
        suits_of(5, 3),
        _flushes(),
    )


def _flushes() -> NDArray[np.bool_]:
    table = np.zeros((5, 1 << SUIT_BITS), dtype=np.bool_)
    for suits in combinations_with_replacement(range(4), 4):
        for suit in range(4):
            table[suit + 1, sum(_SUIT_DIGITS[one] for one in suits)] = suits.count(suit) >= 2
    return table.reshape(-1)


def _omaha_key(ranks: Ranks) -> int:
    return sum(OMAHA_KEYS[rank] for rank in ranks)


def _set_of(ranks: Ranks) -> int:
    return sum(1 << rank for rank in ranks)


def _places(keys: Sequence[int], width: int = 1) -> NDArray[np.int32]:
    table = np.zeros(max(keys) + 1, dtype=np.int32)
    table[keys] = np.arange(len(keys), dtype=np.int32) * width
    return table


def _five_by_ranks(triples: Sequence[Ranks], pairs: Sequence[Ranks]) -> Strengths:
    keys = [[sum(RANK_KEYS[rank] for rank in (*triple, *pair)) for pair in pairs] for triple in triples]
    # Five of a rank are in no deck: beyond the table, and whatever stands there is never looked up.
    return np.take(strengths_by_ranks(5), keys, mode="clip")


def _five_suited(triples: Sequence[Ranks], pairs: Sequence[Ranks]) -> Strengths:
    return np.take(strengths_by_rank_set(), [[_set_of(triple) | _set_of(pair) for pair in pairs] for triple in triples])


def _rows(boards: Sequence[Ranks], holdings: Sequence[Ranks], five: _Five) -> Strengths:
    """Return for each board the best strengths with each holding, all rows in one: three of the board, two of the hand."""
    triples = sorted({triple for board in boards for triple in combinations(board, 3)})
    pairs = sorted({pair for holding in holdings for pair in combinations(holding, 2)})
    with_pairs = _best_of(five(triples, pairs), _chosen(boards, triples, 3))
    return np.ascontiguousarray(_best_of(with_pairs.T, _chosen(holdings, pairs, 2)).T).reshape(-1)


def _chosen(hands: Sequence[Ranks], parts: Sequence[Ranks], size: int) -> NDArray[np.intp]:
    """Return for each hand the places of its parts, some more than once where there are fewer."""
    place = {part: number for number, part in enumerate(parts)}
    found = [[place[part] for part in combinations(hand, size)] for hand in hands]
    most = max(map(len, found))
    return np.array([(row * most)[:most] for row in found], dtype=np.intp)


def _best_of(strengths: Strengths, chosen: NDArray[np.intp]) -> Strengths:
    """Return for each row of ``chosen`` the greatest of those rows of ``strengths``."""
    best = strengths[chosen[:, 0]]
    for column in range(1, chosen.shape[1]):
        np.maximum(best, strengths[chosen[:, column]], out=best)
    return best
