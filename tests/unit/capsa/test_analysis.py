"""The best-arrangement solver against plain searches over all 72,072 splits with the settlement of the core."""

import random  # noqa: TID251  (tests may use chance)
from functools import cache
from itertools import combinations, pairwise

import numpy as np
import pytest

from diwan.analysis.capsa import AgainstField, RowScores, against, against_random, best_split, row_tables
from diwan.analysis.capsa_values import CODES, row_values, splits, value_of, value_tables
from diwan.core.games.capsa.arrangement import server_arrangement
from diwan.core.games.capsa.rows import is_fouled, row_value
from diwan.core.games.capsa.royalties import row_royalty
from diwan.core.games.capsa.settings import CapsaSettings, checked
from diwan.core.games.capsa.settlement import Contestant, settle_pair


def hands_of(seed, count):
    chance = random.Random(seed)
    return [chance.sample(range(52), 13) for _ in range(count)]


def rows_of(setting):
    return setting.front, setting.middle, setting.back


@pytest.mark.parametrize("wheel", ["low", "second"])
def test_values_compare_as_rows_do(wheel):
    """CS-11 to CS-17: five-card rows and fronts on one scale."""
    chance = random.Random(5)
    tables = value_tables(wheel)
    rows = [tuple(chance.sample(range(52), size)) for size in (3, 5) for _ in range(700)]
    rows += [tuple(rank * 4 for rank in run) for run in ((12, 0, 1, 2, 3), (12, 11, 10, 9, 8), (11, 10, 9, 8, 7))]
    by_core = sorted(rows, key=lambda row: row_value(row, wheel))
    values = [value_of(row, tables) for row in by_core]

    assert values == sorted(values)
    for first, second in pairwise(by_core):
        assert (row_value(first, wheel) == row_value(second, wheel)) == (
            value_of(first, tables) == value_of(second, tables)
        )
    assert [tables.categories[value_of(row, tables)] for row in rows] == [row_value(row, wheel)[0] for row in rows]


def test_all_classes_have_a_value_of_their_own():
    """7,462 classes of five cards and 455 of three."""
    assert len(value_tables("low").categories) == 7462 + 455


def test_the_splits_are_all_there_are():
    """C(13, 3) x C(10, 5) = 72,072, each once."""
    ways = splits()
    found = set()
    for back, (middles, fronts) in enumerate(zip(ways.partners.tolist(), ways.fronts.tolist(), strict=True)):
        for middle, front in zip(middles, fronts, strict=True):
            places = [*ways.fives[back], *ways.fives[middle], *ways.threes[front]]
            assert sorted(map(int, places)) == list(range(13))
            found.add((back, middle))
    assert len(found) == 72_072


def test_values_of_all_rows_of_a_hand_are_those_of_each_row():
    [cards] = hands_of(6, 1)
    tables, ways = value_tables("low"), splits()
    five, three = row_values(cards, tables)
    for index in range(0, 1287, 13):
        assert five[index] == value_of([cards[place] for place in ways.fives[index]], tables)
    for index in range(286):
        assert three[index] == value_of([cards[place] for place in ways.threes[index]], tables)
    assert CODES.max() * 5 < 2**53


def best_by_settlement(cards, opponents, settings):
    """Return the most units that any legal split wins from the opponents, by the core's own settlement."""

    tables = (settings.royalties.front, settings.royalties.middle, settings.royalties.back)

    @cache
    def judged(row, place):
        value = row_value(row, settings.wheel)
        return value, row_royalty(value[0], tables[place]).units

    theirs = []
    for number, rows in enumerate(opponents):
        judgements = [judged(tuple(row), place) for place, row in enumerate(rows)]
        theirs.append(Contestant(number, "set", None, tuple(j[0] for j in judgements), tuple(j[1] for j in judgements)))
    best = -1000
    for back in combinations(cards, 5):
        rest = [card for card in cards if card not in back]
        for middle in combinations(rest, 5):
            front = tuple(card for card in rest if card not in middle)
            judgements = [judged(row, place) for place, row in enumerate((front, middle, back))]
            values = tuple(each[0] for each in judgements)
            if not is_fouled(*values):
                mine = Contestant(9, "set", None, values, tuple(each[1] for each in judgements))
                best = max(best, sum(settle_pair(settings, mine, each).units for each in theirs))
    return best


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"scoring": "1-6", "royalty_mode": "net"},
        {"scoring": "rows", "royalty_mode": "cancel", "wheel": "second"},
    ],
)
def test_against_known_sets_nothing_beats_the_answer(changes):
    """CS-32 to CS-46: exact units, all opponents together."""
    settings = checked(CapsaSettings(**changes))
    chance = random.Random(str(changes))
    deck = chance.sample(range(52), 52)
    opponents = [server_arrangement(deck[start : start + 13], settings.wheel) for start in (13, 26)]
    found = best_split(deck[:13], against(opponents, settings))

    assert sorted((*found.front, *found.middle, *found.back)) == sorted(deck[:13])
    assert not is_fouled(*[row_value(row, settings.wheel) for row in rows_of(found)])
    assert found.points == best_by_settlement(deck[:13], opponents, settings)


class Unbounded:
    """An objective without its bound: every back is looked at."""

    def __init__(self, objective):
        self.wheel, self.points = objective.wheel, objective.points

    def bound(self, _front, _back):
        return np.inf


@pytest.mark.parametrize("changes", [{}, {"scoring": "1-6", "wheel": "second"}, {"royalty_mode": "net"}])
def test_leaving_out_weak_backs_loses_nothing(changes):
    """The same points as a search over everything, on 150 hands."""
    objective = against_random(CapsaSettings(**changes))
    for cards in hands_of(7, 150):
        assert best_split(cards, objective).points == best_split(cards, Unbounded(objective)).points


def test_a_royalty_table_that_pays_weaker_rows_more_is_searched_rightly():
    """The bound takes each row at its best value, not at its highest."""
    values = len(value_tables("low").categories)
    tables = np.random.default_rng(3).random((3, values))
    objective = RowScores(tables, "low")
    for cards in hands_of(8, 20):
        assert best_split(cards, objective).points == best_split(cards, Unbounded(objective)).points


def test_the_answer_is_legal_and_at_least_as_good_as_the_server_s_own():
    """CS-29 is legal, not best."""
    settings = CapsaSettings()
    objective, tables = against_random(settings), value_tables("low")
    gains = []
    for cards in hands_of(9, 120):
        found = best_split(cards, objective)
        assert not is_fouled(*[row_value(row, "low") for row in rows_of(found)])
        server = [np.array([value_of(row, tables)]) for row in server_arrangement(cards, "low")]
        gains.append(found.points - float(objective.points(*server)[0]))
    assert min(gains) >= -1e-6
    assert sum(gains) / len(gains) > 0.2  # units a hand and opponent


def test_good_players_of_random_hands_break_even_among_themselves():
    """CS-60: the opponent that was learnt sets as well as we do, so the mean over many hands is near zero."""
    objective = against_random(CapsaSettings())
    points = [best_split(cards, objective).points for cards in hands_of(10, 600)]
    assert abs(sum(points) / len(points)) < 0.45


def test_row_tables_are_antisymmetric_where_nothing_but_rows_counts():
    """CS-33: against its own distribution a player expects nothing."""
    settings = checked(CapsaSettings(scoring="rows"))
    objective = against_random(settings)
    assert isinstance(objective, AgainstField)
    for mode in ("winner", "cancel", "net"):
        changed = checked(CapsaSettings(scoring="rows", royalty_mode=mode))
        field = objective.field
        assert np.allclose((row_tables(field, changed) * field.equal).sum(axis=1), 0)
