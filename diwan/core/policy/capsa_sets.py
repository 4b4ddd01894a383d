"""How to set thirteen cards: of all 72,072 ways the one that is expected to win most from an opponent.

What an opponent's rows look like is known from `capsa_rivals`. Rows are taken as independent of each other, so a set is
worth the sum of what its rows win and lose, and the bonuses for winning two or three of them (CS-33 to CS-37), with
royalties on both sides (CS-43). Chips and stakes play no part: they multiply everything alike.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import combinations, combinations_with_replacement
from typing import Final

from msgspec import Struct

from diwan.core.cards import Card, parse_cards
from diwan.core.evaluation import CATEGORIES, STRONGEST, category_of, evaluate
from diwan.core.games.capsa.rows import RowValue, row_value
from diwan.core.games.capsa.royalties import row_royalty
from diwan.core.games.capsa.settings import CapsaSettings, RowRoyalties, Royalties, Wheel, bonuses
from diwan.core.policy.capsa_rivals import BACKS, FRONTS, MIDDLES

type Rows = tuple[tuple[Card, ...], tuple[Card, ...], tuple[Card, ...]]
"""Front, middle, back."""

type _Places = tuple[int, ...]

_WHEELS: Final = (
    (parse_cards("5c 4c 3c 2c Ac"), parse_cards("As Ks Qs Js Ts")),
    (parse_cards("5c 4d 3h 2s Ac"), parse_cards("As Kd Qh Js Tc")),
)
_CARDS: Final = 13


class SetValue(Struct, frozen=True):
    """A set, and the units that it is expected to win from one opponent who sets too."""

    rows: Rows
    units: float


def best_set(cards: Sequence[Card], settings: CapsaSettings) -> SetValue:
    """Return the legal set of thirteen cards with the highest expectation; of equals the first that is found."""
    stakes = _stakes(settings)
    fives, fronts = _layout()
    shown = [tuple([cards[place] for place in five]) for five in fives]
    rows = _Rows(stakes, [stakes.adjusted.get(value, value) for value in map(evaluate, shown)])
    thresholds, numbers = _thresholds(), _front_values()
    best = float("-inf")
    found: tuple[_Places, int, int] = ((), 0, 0)
    for places, pairs in fronts:
        front = numbers[_front_key([cards[place] for place in places])]
        fixed, each, both = stakes.factors(stakes.front.wins[front])
        fixed += stakes.front.royalties[front]
        units, middle, back = rows.best_pair(pairs, thresholds[front], each, both)
        if fixed + units > best:
            best, found = fixed + units, (places, middle, back)
    places, middle, back = found
    return SetValue((tuple([cards[place] for place in places]), shown[middle], shown[back]), best)


def value_of_set(rows: Rows, settings: CapsaSettings) -> float:
    """Return the units that a legal set is expected to win from one opponent who sets too."""
    stakes = _stakes(settings)
    front = front_strength(rows[0])
    middle, back = [int(stakes.adjusted.get(value, value)) for value in map(evaluate, rows[1:])]
    fixed, each, both = stakes.factors(stakes.front.wins[front])
    win_middle, win_back = stakes.middle.wins[middle], stakes.back.wins[back]
    royalties = stakes.front.royalties[front] + stakes.middle.royalties[middle] + stakes.back.royalties[back]
    return fixed + each * (win_middle + win_back) + both * win_middle * win_back + royalties


class _Row(Struct, frozen=True):
    """Of one row, by its strength: how often it beats an opponent's, and what royalties it wins less what it pays."""

    wins: list[float]
    royalties: list[float]


class _Stakes(Struct, frozen=True):
    overall: int
    scoop: int
    front: _Row
    middle: _Row
    back: _Row
    adjusted: dict[int, float]  # strengths of rows that the table ranks another way (CS-16)

    def factors(self, front: float) -> tuple[float, float, float]:
        """Return what is expected with a front that wins so often: fixed, for each other row, for both together.

        Three rows of +1 or -1; the overall bonus goes to two or three wins, the scoop bonus to three.
        """
        lost = 1 - front
        fixed = 2 * front - 3 - self.overall - self.scoop * lost
        return (
            fixed,
            2 + 2 * self.overall * front + self.scoop * lost,
            2 * self.overall * (1 - 2 * front) + self.scoop * (front - lost),
        )


class _Rows:
    """All rows of five of a hand, with what each is worth in the middle and in the back."""

    def __init__(self, stakes: _Stakes, strengths: list[float]) -> None:
        self._strengths = strengths
        plain = list(map(int, strengths))
        self._middles = [(stakes.middle.wins[value], stakes.middle.royalties[value]) for value in plain]
        self._backs = [(stakes.back.wins[value], stakes.back.royalties[value]) for value in plain]

    def best_pair(self, pairs: list[tuple[int, int]], lowest: int, each: float, both: float) -> tuple[float, int, int]:
        """Return the units and the numbers of the best middle and back among pairs, the middle not below ``lowest``.

        The units are minus infinity where none is legal. This is where the time goes: 36,036 pairs a hand.
        """
        strengths, middles, backs = self._strengths, self._middles, self._backs
        best, middle, back = float("-inf"), 0, 0
        for first, second in pairs:
            high, low = (first, second) if strengths[first] >= strengths[second] else (second, first)
            if strengths[low] < lowest:
                continue
            win_middle, royalty_middle = middles[low]
            win_back, royalty_back = backs[high]
            units = each * (win_middle + win_back) + both * win_middle * win_back + royalty_middle + royalty_back
            if units > best:
                best, middle, back = units, low, high
        return best, middle, back


def _stakes(settings: CapsaSettings) -> _Stakes:
    overall, scoop = bonuses(settings)
    return _known_stakes(overall, scoop, settings.royalties, settings.royalty_mode == "net", settings.wheel)


@lru_cache(maxsize=16)
def _known_stakes(overall: int, scoop: int, royalties: Royalties, is_net: bool, wheel: Wheel) -> _Stakes:
    categories = [0, *[CATEGORIES.index(category_of(strength)) for strength in range(1, STRONGEST + 1)]]
    of_fronts = [value[0] for value in _sorted_fronts()]
    return _Stakes(
        overall,
        scoop,
        _row(of_fronts, FRONTS, royalties.front, is_net=is_net),
        _row(categories, MIDDLES, royalties.middle, is_net=is_net),
        _row(categories, BACKS, royalties.back, is_net=is_net),
        {evaluate(low): evaluate(high) - 0.5 for low, high in _WHEELS} if wheel == "second" else {},
    )


def _row(categories: Sequence[int], rivals: Sequence[int], paid: RowRoyalties, *, is_net: bool) -> _Row:
    units = [row_royalty(category, paid).units for category in categories]
    count = len(rivals)
    wins, royalties = [], []
    for strength in range(len(categories)):
        won = _share_beaten(rivals, strength, len(categories) - 1)
        better = rivals if is_net else rivals[bisect_right(rivals, strength) :]
        owed = sum([units[rival] for rival in better]) / count
        wins.append(won)
        royalties.append(units[strength] * (1 if is_net else won) - owed)
    return _Row(wins, royalties)


def _share_beaten(rivals: Sequence[int], strength: int, strongest: int) -> float:
    """Return the share of rows that a strength beats, ties counted half; between two of the rivals in proportion."""
    below, upto = bisect_left(rivals, strength), bisect_right(rivals, strength)
    if below < upto:
        return (below + upto) / 2 / len(rivals)
    lower = rivals[below - 1] if below else -1
    upper = rivals[below] if below < len(rivals) else strongest + 1
    share = (below - 0.5 + (strength - lower) / (upper - lower)) / len(rivals)
    return min(max(share, 0.0), 1.0)


@cache
def _layout() -> tuple[list[_Places], list[tuple[_Places, list[tuple[int, int]]]]]:
    """Return all rows of five as places in the hand, and for each front the pairs of such rows that it leaves."""
    fives: list[_Places] = list(combinations(range(_CARDS), 5))
    index = {five: number for number, five in enumerate(fives)}
    fronts: list[tuple[_Places, list[tuple[int, int]]]] = []
    for front in combinations(range(_CARDS), 3):
        rest = [place for place in range(_CARDS) if place not in front]
        halves: list[_Places] = [(rest[0], *others) for others in combinations(rest[1:], 4)]
        pairs = [(index[half], index[tuple([place for place in rest if place not in half])]) for half in halves]
        fronts.append((front, pairs))
    return fives, fronts


@cache
def _sorted_fronts() -> list[RowValue]:
    threes = combinations_with_replacement(range(13), 3)
    return sorted({row_value([rank * 4 for rank in three], "low") for three in threes})


@cache
def _front_values() -> dict[int, int]:
    """Number fronts by strength, by the key of their ranks."""
    numbers = {value: number for number, value in enumerate(_sorted_fronts())}
    threes = [[rank * 4 for rank in three] for three in combinations_with_replacement(range(13), 3)]
    return {_front_key(three): numbers[row_value(three, "low")] for three in threes}


def front_strength(cards: Sequence[Card]) -> int:
    """Return the number of a front among all, 0 for the weakest."""
    return _front_values()[_front_key(cards)]


def _front_key(cards: Sequence[Card]) -> int:
    first, second, third = cards
    return (1 << 2 * (first >> 2)) + (1 << 2 * (second >> 2)) + (1 << 2 * (third >> 2))


@cache
def _thresholds() -> list[int]:
    """Return for each front the weakest row of five that may stand behind it (CS-17, CS-23)."""
    strengths: dict[RowValue, int] = {}
    for ranks in combinations_with_replacement(range(13), 5):
        if max(map(ranks.count, ranks)) > 4:
            continue
        cards = [rank * 4 + ranks[:place].count(rank) for place, rank in enumerate(ranks)]
        if len({card & 3 for card in cards}) == 1:
            cards[0] += 1  # Five different ranks: no flush.
        strengths[row_value(cards, "low")] = evaluate(cards)
    values = sorted(strengths)
    return [strengths[values[bisect_left(values, front)]] for front in _sorted_fronts()]
