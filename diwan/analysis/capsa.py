"""The best way to set thirteen cards: the most points against a random opponent, or against opponents that are known.

The search goes over all 72,072 splits and is exact for its objective. Backs are taken strongest first; as soon as no
weaker back can reach the best split found, however well the other rows did, the rest is left out.

An objective adds up what each row brings by itself (units of the row, royalties) and what the rows bring together
(overall and scoop bonus). Broken royalties (CS-48) and one royalty per player (CS-42) are not weighed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from diwan.analysis.capsa_values import Indices, ValueTables, row_values, splits, value_of, value_tables
from diwan.core.cards import Card
from diwan.core.games.capsa.arrangement import CardRows
from diwan.core.games.capsa.royalties import row_royalty
from diwan.core.games.capsa.settings import CapsaSettings, Wheel, bonuses

type Floats = NDArray[np.float32]

_BACKS: Final = 96
"""Backs looked at in one go: two hands of three need no more."""
_FIELD_HANDS: Final = 1500
_FIELD_SEED: Final = 13


class Split(Struct, frozen=True):
    """A way to set thirteen cards, and what it is worth in expected units of all opponents together.

    Less than minus the price of a surrender speaks for surrendering (CS-53).
    """

    front: tuple[Card, ...]
    middle: tuple[Card, ...]
    back: tuple[Card, ...]
    points: float


class Objective(Protocol):
    """What is to be made as large as possible, in the values of `capsa_values`."""

    wheel: Wheel

    def points(self, front: Indices, middle: Indices, back: Indices) -> Floats:
        """Return the points of splits, given as arrays of row values."""
        ...

    def bound(self, front: int, back: int) -> float:
        """Return what no split exceeds whose front and back, and so its middle too, are at most these values."""
        ...


class RowScores:
    """Points that each row brings by itself: a table a row, by value. The plainest objective."""

    def __init__(self, tables: NDArray[np.floating], wheel: Wheel) -> None:
        self.wheel: Wheel = wheel
        self._rows = tables.astype(np.float32)
        self._tops = np.maximum.accumulate(self._rows, axis=1)

    def points(self, front: Indices, middle: Indices, back: Indices) -> Floats:
        """See `Objective`."""
        rows = self._rows
        points: Floats = rows[0].take(front) + rows[1].take(middle) + rows[2].take(back)
        return points

    def bound(self, front: int, back: int) -> float:
        """See `Objective`: each row at its best."""
        return float(self._tops[0, front] + self._tops[1, back] + self._tops[2, back])


class AgainstField(RowScores):
    """One opponent of whom only the distribution of each row is known; the rows are taken as independent."""

    def __init__(self, field: RowCounts, settings: CapsaSettings) -> None:
        super().__init__(row_tables(field, settings), settings.wheel)
        self.field = field
        self._wins = field.below.astype(np.float32)
        self._losses = (1 - field.below - field.equal).astype(np.float32)
        self._overall, self._scoop = bonuses(settings)

    def points(self, front: Indices, middle: Indices, back: Indices) -> Floats:
        """See `Objective`."""
        points = super().points(front, middle, back)
        if self._overall or self._scoop:
            points += self._together(self._wins, front, middle, back)
            points -= self._together(self._losses, front, middle, back)
        return points

    def bound(self, front: int, back: int) -> float:
        """See `Objective`: chances only rise with a row's value."""
        top, value = np.array([front]), np.array([back])
        wins = self._together(self._wins, top, value, value)
        losses = self._together(self._losses, top, value, value)
        return super().bound(front, back) + float(wins[0] - losses[0])

    def _together(self, chances: Floats, front: Indices, middle: Indices, back: Indices) -> Floats:
        """Chance of taking two or three rows times the overall bonus, and of all three times the scoop bonus."""
        a, b, c = chances[0].take(front), chances[1].take(middle), chances[2].take(back)
        both = a * b
        three = both * c
        bonus: Floats = three * np.float32(self._scoop)
        if self._overall:
            bonus += (both + (a + b) * c - 2 * three) * np.float32(self._overall)
        return bonus


class AgainstSets(RowScores):
    """Opponents whose sets are known: exact units, of all of them together."""

    def __init__(self, sets: Sequence[CardRows], settings: CapsaSettings) -> None:
        tables = value_tables(settings.wheel)
        self._sets = [[value_of(row, tables) for row in rows] for rows in sets]
        field = RowCounts(np.array(self._sets, dtype=np.int64), len(tables.categories))
        super().__init__(row_tables(field, settings) * len(sets), settings.wheel)
        self._overall, self._scoop = bonuses(settings)

    def points(self, front: Indices, middle: Indices, back: Indices) -> Floats:
        """See `Objective`."""
        points = super().points(front, middle, back)
        for theirs in self._sets:
            points += self._together(theirs, front, middle, back)
        return points

    def bound(self, front: int, back: int) -> float:
        """See `Objective`."""
        top, value = np.array([front]), np.array([back])
        together = [float(self._together(each, top, value, value)[0]) for each in self._sets]
        return super().bound(front, back) + sum(together)

    def _together(self, theirs: Sequence[int], front: Indices, middle: Indices, back: Indices) -> Floats:
        won = np.zeros(middle.shape, dtype=np.int8)
        lost = won.copy()
        for mine, value in zip((front, middle, back), theirs, strict=True):
            won += mine > value
            lost += mine < value
        overall = (won >= 2).astype(np.float32) - (lost >= 2)
        scoop = (won == 3).astype(np.float32) - (lost == 3)
        result: Floats = overall * np.float32(self._overall) + scoop * np.float32(self._scoop)
        return result


class RowCounts:
    """How often an opponent's front, middle and back have each value; arrays of 3 x values, as shares of all hands."""

    def __init__(self, sets: NDArray[np.int64], values: int) -> None:
        """``sets`` has a line a hand: the values of front, middle and back."""
        counts = np.stack([np.bincount(sets[:, row], minlength=values) for row in range(3)])
        self.equal: NDArray[np.float64] = counts / len(sets)
        self.below: NDArray[np.float64] = np.cumsum(self.equal, axis=1) - self.equal


def row_tables(field: RowCounts, settings: CapsaSettings) -> NDArray[np.float64]:
    """Return the expected units of each row by itself against an opponent: 3 x values (CS-33, CS-43 to CS-45)."""
    mine = royalty_units(settings)
    theirs = field.equal * mine
    lost = theirs.sum(axis=1, keepdims=True) - np.cumsum(theirs, axis=1)  # of rows that beat this value
    units = field.below - (1 - field.below - field.equal)
    match settings.royalty_mode:
        case "winner":
            return units + mine * field.below - lost
        case "net":
            return units + mine - theirs.sum(axis=1, keepdims=True)
        case "cancel":
            plain = field.equal * (mine == 0)
            plain_below = np.cumsum(plain, axis=1) - plain
            return units + np.where(mine > 0, mine * plain_below, -lost)


def royalty_units(settings: CapsaSettings) -> NDArray[np.float64]:
    """Return the royalty of every value in front, middle and back: 3 x values."""
    categories = value_tables(settings.wheel).categories
    table = settings.royalties
    rows = [
        np.array([row_royalty(category, paid).units for category in range(10)], dtype=np.float64)[categories]
        for paid in (table.front, table.middle, table.back)
    ]
    return np.stack(rows)


def best_split(cards: Sequence[Card], objective: Objective) -> Split:
    """Return the legal set of thirteen cards with the most points; of equals any, but always the same."""
    tables = value_tables(objective.wheel)
    points, back, choice = _search(cards, objective, tables)
    ways = splits()
    middle, front = ways.partners[back, choice], ways.fronts[back, choice]
    front_cards, middle_cards, back_cards = [
        tuple([cards[place] for place in places.tolist()])
        for places in (ways.threes[front], ways.fives[middle], ways.fives[back])
    ]
    return Split(front_cards, middle_cards, back_cards, points)


def _search(cards: Sequence[Card], objective: Objective, tables: ValueTables) -> tuple[float, int, int]:
    """Return points, row of `splits` for the back, and column for middle and front."""
    five, three = row_values(cards, tables)
    ways = splits()
    order = np.argsort(-five, kind="stable")
    best, best_back, best_choice = -np.inf, 0, 0
    front_top = int(three.max())
    for start in range(0, len(order), _BACKS):
        strongest = int(five[order[start]])
        if objective.bound(min(front_top, strongest), strongest) <= best:
            break
        rows = order[start : start + _BACKS]
        back = five.take(rows)[:, None]
        middle = five.take(ways.partners.take(rows, axis=0))
        front = three.take(ways.fronts.take(rows, axis=0))
        points = objective.points(front, middle, back)
        points[(middle > back) | (front > middle)] = -np.inf
        top = int(points.argmax())
        value = float(points.flat[top])
        if value > best:
            best, best_back, best_choice = value, int(rows[top // 56]), top % 56
    return best, best_back, best_choice


def against(sets: Sequence[CardRows], settings: CapsaSettings) -> Objective:
    """Return the objective against opponents whose sets are known, front, middle and back each."""
    return AgainstSets(sets, settings)


def against_random(settings: CapsaSettings) -> Objective:
    """Return the objective against an opponent with random cards who sets them well.

    What such an opponent holds is learnt at the first call by playing: from server-like sets in two rounds, always the
    same hands, in about a second; kept for the scoring, royalties and wheel of the table.
    """
    overall, scoop = bonuses(settings)
    return _learnt(
        CapsaSettings(
            scoring="custom",
            overall_bonus=overall,
            scoop_bonus=scoop,
            royalties=settings.royalties,
            royalty_mode=settings.royalty_mode,
            wheel=settings.wheel,
        )
    )


@lru_cache(maxsize=16)
def _learnt(settings: CapsaSettings) -> Objective:
    tables = value_tables(settings.wheel)
    values = len(tables.categories)
    chance = np.random.default_rng(_FIELD_SEED)
    hands = [chance.permutation(52)[:13].tolist() for _ in range(_FIELD_HANDS)]
    # To begin with the back counts most, then the middle, as where the strongest rows are taken in turn (CS-29).
    ranks = np.arange(values) / values
    objective: Objective = RowScores(np.stack([ranks / 4, ranks, 2 * ranks]), settings.wheel)
    for _ in range(2):
        sets = np.array([_values_set(hand, objective, tables) for hand in hands], dtype=np.int64)
        objective = AgainstField(RowCounts(sets, values), settings)
    return objective


def _values_set(cards: Sequence[Card], objective: Objective, tables: ValueTables) -> tuple[int, int, int]:
    split = best_split(cards, objective)
    front, middle, back = [value_of(row, tables) for row in (split.front, split.middle, split.back)]
    return front, middle, back
