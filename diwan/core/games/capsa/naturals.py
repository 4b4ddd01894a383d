"""Special hands of thirteen cards that win at once (CS-67 to CS-81)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations, combinations_with_replacement
from typing import Final

from msgspec import Struct

from diwan.core.cards import Card
from diwan.core.games.capsa.arrangement import CardRows
from diwan.core.games.capsa.rows import RowValue, row_value, straight_top
from diwan.core.games.capsa.settings import NaturalAward, NaturalKind, Wheel

_RED: Final = frozenset({1, 2})
_THREE_ROWS: Final = frozenset({"three_flushes", "three_straights", "three_straight_flushes"})
type PartTest = Callable[[Sequence[Card]], bool]


class Natural(Struct, frozen=True):
    """A natural that a hand holds. Keys of the same kind compare as the hands do; equal keys are a tie (CS-79)."""

    award: NaturalAward
    tie_key: tuple[RowValue, ...]
    rows: CardRows | None  # the best division, of kinds that are one (CS-77)


def find_natural(cards: Sequence[Card], awards: Sequence[NaturalAward], wheel: Wheel) -> Natural | None:
    """Return the highest listed kind that thirteen cards fit (CS-78), or None."""
    for award in awards:
        if _TESTS[award.kind](cards):
            if award.kind in _THREE_ROWS:
                rows = best_division(cards, award.kind, wheel)
                return Natural(award, _rows_key(rows, award.kind, wheel), rows)
            return Natural(award, ((0, _pair_ranks(cards)),) if award.kind in _PAIRED else (), None)
    return None


def best_division(cards: Sequence[Card], kind: NaturalKind, wheel: Wheel) -> CardRows:
    """Return the division with the highest back, then middle, then front, by which a kind of three rows is compared."""
    return max(_divisions(sorted(cards), _PARTS[kind]), key=lambda rows: _rows_key(rows, kind, wheel))


def _divisions(ascending: Sequence[Card], is_part: PartTest) -> Iterator[CardRows]:
    for back in combinations(ascending, 5):
        if not is_part(back):
            continue
        rest = [card for card in ascending if card not in back]
        for front in combinations(rest, 3):
            if is_part(front):
                middle = tuple([card for card in rest if card not in front])
                if is_part(middle):
                    yield front, middle, back


def _rows_key(rows: CardRows, kind: NaturalKind, wheel: Wheel) -> tuple[RowValue, ...]:
    front, middle, back = rows
    falling = tuple(sorted([card >> 2 for card in front], reverse=True))
    # Fronts of three straights compare by their top card, fronts of three flushes by all ranks (CS-77).
    front_key = falling if kind == "three_flushes" else (straight_top(falling, wheel),)
    return row_value(back, wheel), row_value(middle, wheel), (0, front_key)


def _is_suited(cards: Sequence[Card]) -> bool:
    return len({card & 3 for card in cards}) == 1


def _is_straight(cards: Sequence[Card]) -> bool:
    falling = sorted({card >> 2 for card in cards}, reverse=True)
    return len(falling) == len(cards) and straight_top(falling, "low") > 0


def _is_straight_flush(cards: Sequence[Card]) -> bool:
    return _is_suited(cards) and _is_straight(cards)


_PARTS: Final[dict[str, PartTest]] = {
    "three_flushes": _is_suited,
    "three_straights": _is_straight,
    "three_straight_flushes": _is_straight_flush,
}


def _rank_counts(cards: Sequence[Card]) -> Counter[int]:
    return Counter([card >> 2 for card in cards])


def _is_three_flushes(cards: Sequence[Card]) -> bool:
    suits = tuple(sorted(Counter([card & 3 for card in cards]).values(), reverse=True))
    return suits in {(5, 5, 3), (8, 5), (10, 3), (13,)}


def _is_three_straights(cards: Sequence[Card]) -> bool:
    return sum([8 ** (card >> 2) for card in cards]) in _three_straights_keys()


@cache
def _three_straights_keys() -> frozenset[int]:
    """Rank counts, in digits of base 8, of all hands that divide into straights of 5, 5 and 3 cards."""
    fives, threes = _straight_keys(5), _straight_keys(3)
    return frozenset(a + b + c for a, b in combinations_with_replacement(fives, 2) for c in threes)


def _straight_keys(size: int) -> list[int]:
    runs = [range(low, low + size) for low in range(14 - size)]
    wheel = [12, *range(size - 1)]
    return [sum([8**rank for rank in run]) for run in (wheel, *runs)]


def _is_three_straight_flushes(cards: Sequence[Card]) -> bool:
    return (
        _is_three_flushes(cards)
        and _is_three_straights(cards)
        and next(_divisions(sorted(cards), _is_straight_flush), None) is not None
    )


def _pair_ranks(cards: Sequence[Card]) -> tuple[int, ...]:
    """Ranks of all pairs, downwards; quads are two pairs, trips one (CS-74)."""
    counts = _rank_counts(cards)
    return tuple([rank for rank in sorted(counts, reverse=True) for _ in range(counts[rank] // 2)])


def _is_six_pairs(cards: Sequence[Card]) -> bool:
    return len(_pair_ranks(cards)) == 6


def _count_of(cards: Sequence[Card], ranks: range) -> int:
    return sum([card >> 2 in ranks for card in cards])


def _red_cards(cards: Sequence[Card]) -> int:
    return sum([card & 3 in _RED for card in cards])


_PAIRED: Final = frozenset({"six_pairs", "five_pairs_trips"})
_TESTS: Final[dict[str, PartTest]] = {
    "dragon": lambda cards: len(_rank_counts(cards)) == 13,
    "suited_dragon": _is_suited,
    "three_flushes": _is_three_flushes,
    "three_straights": _is_three_straights,
    "three_straight_flushes": _is_three_straight_flushes,
    "six_pairs": _is_six_pairs,
    "five_pairs_trips": lambda cards: _is_six_pairs(cards) and 3 in _rank_counts(cards).values(),
    "four_trips": lambda cards: sum([count >= 3 for count in _rank_counts(cards).values()]) == 4,
    "one_colour_13": lambda cards: _red_cards(cards) in {0, 13},
    "one_colour_12": lambda cards: _red_cards(cards) in {1, 12},
    "twelve_royals": lambda cards: _count_of(cards, range(9, 13)) >= 12,
    "all_high": lambda cards: _count_of(cards, range(6, 13)) == 13,
    "all_low": lambda cards: _count_of(cards, range(7)) == 13,
    "no_faces": lambda cards: _count_of(cards, range(9, 12)) == 0,
}
