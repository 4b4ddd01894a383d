"""The exact strength of five to seven cards, and of Omaha hands, one hand a call (HD-20, HD-22, HD-23, OM-2).

A card's code holds a key for its rank and a 3-bit counter for its suit. Adding codes adds both: the sum names the multiset
of ranks and shows whether five cards share a suit. The tables behind the sums (16 MB) are made at the first call, in about
a third of a second.

In Omaha ranks and suits are looked up apart. A board's ranks have a row of strengths, one a multiset of the hand's four
ranks; rows are made as boards come up, in some 0.2 ms each, so that no table stands still for the 6,175 of them (22 MB).
"""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate, combinations, combinations_with_replacement
from operator import itemgetter
from typing import Any, Final, NamedTuple

from diwan.core.cards import DECK, Card

type _Pick = itemgetter[Any]

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
RANK_KEYS: Final = (0, 1, 5, 22, 98, 453, 2031, 8698, 22854, 83661, 262349, 636345, 1479181)
_CODES: Final = tuple((RANK_KEYS[card >> 2] << _SUIT_BITS) | (1 << (3 * (card & 3))) for card in DECK)

# Suit with five or more cards, plus one, for each setting of the four counters; 0 where there is none.
_FLUSH_SUITS: Final = bytes(
    next((suit + 1 for suit in range(4) if counters >> (3 * suit) & 7 >= 5), 0) for counters in range(1 << _SUIT_BITS)
)
_STRAIGHTS: Final = (
    0b1_0000_0000_1111,
    *(0b1_1111 << rank for rank in range(9)),
)  # sets of ranks, one bit each (HD-23)
_BY_SEVEN_RANKS: Final = array("H")
_BY_FEWER_RANKS: Final[dict[int, dict[int, int]]] = {}
_BY_FLUSH_RANKS: Final[dict[int, int]] = {}
_CATEGORY_ENDS: Final[list[int]] = []

# For Omaha the same with smaller keys: the least of which five, none more than four times, have a sum of their own.
OMAHA_KEYS: Final = (0, 1, 5, 22, 94, 312, 992, 2422, 5624, 12522, 19998, 43258, 79415)
_OMAHA_CODES: Final = tuple((OMAHA_KEYS[card >> 2] << _SUIT_BITS) | (1 << (3 * (card & 3))) for card in DECK)
# Where the counter of the suit with three or more cards stands, plus one, for each setting of the board's counters.
_FLUSH_BOARDS: Final = tuple(
    next((3 * suit + 1 for suit in range(4) if counters >> (3 * suit) & 7 >= 3), 0)
    for counters in range(1 << _SUIT_BITS)
)
_OMAHA_PLACES: Final[list[int]] = []  # by the key of four own ranks: their place in every row
_OMAHA_BEGINS: Final[list[int]] = []  # by the key of five board ranks: where their row begins
_OMAHA_ROWS: Final = array("H")  # strengths, 0 until the board comes up
_RANK_BITS: Final = tuple(tuple(1 << (card >> 2) if card & 3 == suit else 0 for card in DECK) for suit in range(4))
_TOP_TWO: Final[list[int]] = []  # of a set of ranks, one bit each
_TOP_THREE: Final[list[int]] = []
_HOLDS_STRAIGHT: Final[list[bool]] = []

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


def evaluate_omaha(hole: Sequence[Card], board: Sequence[Card]) -> int:
    """Return the strength of the best hand of exactly two of four own cards and three of three to five shared ones (OM-2).

    Strengths are those of `evaluate`. Raises ValueError for other numbers of cards.
    """
    try:
        a, b, c, d = hole
        e, f, g, h, i = board
        codes = _OMAHA_CODES
        own = codes[a] + codes[b] + codes[c] + codes[d]
        shared = codes[e] + codes[f] + codes[g] + codes[h] + codes[i]
        strength = _OMAHA_ROWS[_OMAHA_BEGINS[shared >> _SUIT_BITS] + _OMAHA_PLACES[own >> _SUIT_BITS]]
    except (LookupError, ValueError):
        return _evaluate_omaha_slowly(hole, board)
    if not strength:
        return _evaluate_omaha_slowly(hole, board)
    shift = _FLUSH_BOARDS[shared & _SUITS]
    if shift and own >> (shift - 1) & 7 >= 2:
        return max(strength, _omaha_flush(shift // 3, hole, board))
    return strength


def prepare_omaha() -> None:
    """Make the rows of all boards, in one to two seconds: for whoever evaluates a great many random hands."""
    for ranks in _multisets(5):
        _make_omaha_row(ranks[::-1])


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
    return sum(RANK_KEYS[rank] for rank in ranks)


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
        larger[key] = max([smaller[key - RANK_KEYS[rank]] for rank in set(ranks)])
    return larger


def _evaluate_omaha_slowly(hole: Sequence[Card], board: Sequence[Card]) -> int:
    """What has no row: a board for the first time, or none of five cards, which only bots' guesses look at."""
    if len(hole) != 4 or not 3 <= len(board) <= 5:
        raise ValueError(f"{len(hole)} own and {len(board)} shared cards are no Omaha hand")
    if len(board) < 5:
        return max([evaluate((*own, *shared)) for own in combinations(hole, 2) for shared in combinations(board, 3)])
    for cards in (hole, board):
        if len(set(cards)) != len(cards) or not set(cards) <= set(DECK):
            raise ValueError(f"{list(cards)} are no different cards")
    _make_omaha_row(sorted([card >> 2 for card in board]))
    return evaluate_omaha(hole, board)


def _omaha_flush(suit: int, hole: Sequence[Card], board: Sequence[Card]) -> int:
    """Return the strength of the best flush: the highest two and three, unless others make a straight."""
    bits = _RANK_BITS[suit]
    a, b, c, d = hole
    e, f, g, h, i = board
    own = bits[a] | bits[b] | bits[c] | bits[d]
    shared = bits[e] | bits[f] | bits[g] | bits[h] | bits[i]
    if not _HOLDS_STRAIGHT[own | shared]:
        return _BY_FLUSH_RANKS[_TOP_TWO[own] | _TOP_THREE[shared]]
    pairs = combinations([bits[card] for card in hole if bits[card]], 2)
    triples = list(combinations([bits[card] for card in board if bits[card]], 3))
    return max([_BY_FLUSH_RANKS[sum(pair) + sum(triple)] for pair in pairs for triple in triples])


def _make_omaha_row(ranks: Sequence[int]) -> None:
    """Fill in the strengths of all holdings with a board: of pairs first, from them of threes, from them of fours."""
    tables = _omaha_tables()
    triples = [tables.pairs_with[triple] for triple in set(combinations(ranks, 3))]
    of_pairs = list(map(max, *triples))
    of_threes = list(map(max, *[pick(of_pairs) for pick in tables.threes]))
    abc, abd = [pick(of_threes) for pick in tables.fours]
    begin = _OMAHA_BEGINS[_omaha_key(ranks)]
    row = array("H", map(max, abc, abd, tables.last_pairs(of_pairs)))
    _OMAHA_ROWS[begin : begin + len(row)] = row


class _OmahaTables(NamedTuple):
    """What rows are made from. Pairs, threes and fours are multisets of ranks in rising order."""

    pairs_with: dict[tuple[int, ...], list[int]]  # three board ranks -> strength with each pair
    threes: tuple[_Pick, ...]  # for each three: its pairs
    fours: tuple[_Pick, ...]  # for each four abcd: the threes abc and abd, which hold every pair but cd
    last_pairs: _Pick  # and that


@cache
def _omaha_tables() -> _OmahaTables:
    _build_tables()
    pairs, threes, fours = [sorted(ranks[::-1] for ranks in _multisets(size)) for size in (2, 3, 4)]
    best_of_five = _BY_FEWER_RANKS[5]
    keys = [_key(pair) for pair in pairs]
    # Five of a rank are in no deck; what stands there is never looked up, so any number will do.
    pairs_with = {three: [best_of_five.get(_key(three) + key, 0) for key in keys] for three in threes}
    _index_omaha(fours)
    for ranks in range(1 << 13):
        falling = [1 << rank for rank in range(12, -1, -1) if ranks >> rank & 1]
        _TOP_TWO.append(sum(falling[:2]))
        _TOP_THREE.append(sum(falling[:3]))
        _HOLDS_STRAIGHT.append(any(ranks & straight == straight for straight in _STRAIGHTS))
    return _OmahaTables(
        pairs_with,
        tuple([_pick(pairs, [(three[i], three[j]) for three in threes]) for i, j in ((0, 1), (0, 2), (1, 2))]),
        tuple([_pick(threes, [(a, b, last) for a, b, *rest in fours for last in rest[i : i + 1]]) for i in (0, 1)]),
        _pick(pairs, [(c, d) for _, _, c, d in fours]),
    )


def _pick(of: list[tuple[int, ...]], wanted: list[tuple[int, ...]]) -> _Pick:
    places = {ranks: place for place, ranks in enumerate(of)}
    return itemgetter(*[places[ranks] for ranks in wanted])


def _index_omaha(fours: Sequence[tuple[int, ...]]) -> None:
    """Lay out the rows, side by side; a key that no cards have leads behind the last."""
    boards = _multisets(5)
    size = len(boards) * len(fours)
    largest = 4 * OMAHA_KEYS[-1] + OMAHA_KEYS[-2]
    _OMAHA_PLACES[:] = _OMAHA_BEGINS[:] = [size] * (largest + 1)
    for place, four in enumerate(fours):
        _OMAHA_PLACES[_omaha_key(four)] = place
    for number, ranks in enumerate(boards):
        _OMAHA_BEGINS[_omaha_key(ranks)] = number * len(fours)
    _OMAHA_ROWS.frombytes(bytes(_OMAHA_ROWS.itemsize * size))


def _omaha_key(ranks: Iterable[int]) -> int:
    return sum([OMAHA_KEYS[rank] for rank in ranks])
