"""The best arrangement of thirteen cards: NumPy over all 72,072 splits beside plain loops with the one-call evaluator.

Both maximise the same stand-in, the sum of the three rows' strengths, over the same hands in alternating rounds, and
must find the same maximum. The loops do what a program around a fast evaluator does: value each of the 1,287 rows once,
then look at every front with every pair of rows that it leaves. Absolute rates depend on the machine and its mood.
Run: ``python -m tests.bench capsa``.
"""

import random  # noqa: TID251  (tests may use chance)
import statistics
import sys
import time
from itertools import combinations

import numpy as np

from diwan.analysis.capsa import RowScores, against, against_random, best_split
from diwan.analysis.capsa_values import value_of, value_tables
from diwan.core.evaluation import evaluate
from diwan.core.games.capsa.arrangement import server_arrangement
from diwan.core.games.capsa.settings import CapsaSettings

BAR, AIM = 4, 12
ROUNDS, HANDS = 5, 60


def pairs_by_front():
    """For each front the pairs of rows of five that it leaves, as indices; half of 72,072, as a back is the stronger."""
    fives = list(combinations(range(13), 5))
    index = {five: number for number, five in enumerate(fives)}
    table = []
    for front in combinations(range(13), 3):
        rest = [place for place in range(13) if place not in front]
        first = rest[0]
        halves = [five for five in combinations(rest, 5) if first in five]
        table.append([(index[five], index[tuple(p for p in rest if p not in five)]) for five in halves])
    return fives, list(combinations(range(13), 3)), table


class Loops:
    """The peer: plain Python around `evaluate`."""

    def __init__(self):
        self.fives, self.fronts, self.pairs = pairs_by_front()
        tables = value_tables("low")
        self.value = {}
        for cards in combinations(range(52), 3):
            self.value.setdefault(tuple(sorted(card >> 2 for card in cards)), value_of(cards, tables))
        self.of_strength = self._values_of_strengths(tables)

    @staticmethod
    def _values_of_strengths(tables):
        chance, values = random.Random(0), [0] * 7463
        for ranks in combinations(range(13), 5):
            for suits in ((0,) * 5, (0, 0, 0, 0, 1)):
                row = [rank * 4 + suit for rank, suit in zip(ranks, suits, strict=True)]
                values[evaluate(row)] = value_of(row, tables)
        while not all(values[1:]):
            row = chance.choices(range(13), k=5)
            if max(map(row.count, row)) < 5:
                cards = [rank * 4 + row[:place].count(rank) for place, rank in enumerate(row)]
                values[evaluate(cards)] = max(value_of(cards, tables), values[evaluate(cards)])
        return values

    def best(self, cards):
        """Return the largest sum of row strengths of a legal split."""
        of_strength = self.of_strength
        five = [of_strength[evaluate([cards[place] for place in places])] for places in self.fives]
        best = 0
        for places, pairs in zip(self.fronts, self.pairs, strict=True):
            front = self.value[tuple(sorted([cards[place] >> 2 for place in places]))]
            for a, b in pairs:
                x, y = five[a], five[b]
                if x < y:
                    x, y = y, x
                if y >= front:
                    total = x + y + front
                    best = max(best, total)
        return best


def timed(function, hands):
    started = time.perf_counter()
    found = [function(cards) for cards in hands]
    return len(hands) / (time.perf_counter() - started), found


def report(name, rates):
    middle = statistics.median(rates)
    print(f"{name:<44} {middle:>8,.0f} arrangements/s  ({min(rates):,.0f}-{max(rates):,.0f})")
    return middle


def main():
    """Measure, print, and exit non-zero below the bar or where the two find different maxima."""
    chance = random.Random(2)
    deals = [chance.sample(range(52), 52) for _ in range(HANDS)]
    hands = [deck[:13] for deck in deals]
    values = len(value_tables("low").categories)
    strengths = RowScores(np.stack([np.arange(values)] * 3), "low")
    settings = CapsaSettings()
    started = time.perf_counter()
    random_opponent = against_random(settings)
    print(f"learning a random opponent took {time.perf_counter() - started:.2f} s")
    loops = Loops()
    known = [against([server_arrangement(deck[i : i + 13], "low") for i in (13, 26, 39)], settings) for deck in deals]

    rates = {"loops": [], "strengths": [], "random": [], "known": []}
    ratios = []
    for _ in range(ROUNDS):
        loop_rate, expected = timed(loops.best, hands)
        rate, found = timed(lambda cards: best_split(cards, strengths).points, hands)
        if found != expected:
            sys.exit("the two searches differ")
        rates["loops"].append(loop_rate)
        rates["strengths"].append(rate)
        ratios.append(rate / loop_rate)
        rates["random"].append(timed(lambda cards: best_split(cards, random_opponent), hands)[0])
        rates["known"].append(timed(lambda pair: best_split(*pair), list(zip(hands, known, strict=True)))[0])

    report("plain loops, one-call evaluator", rates["loops"])
    report("NumPy, sum of row strengths", rates["strengths"])
    report("NumPy, points against a random opponent", rates["random"])
    report("NumPy, points against three known sets", rates["known"])
    ratio = statistics.median(ratios)
    print(f"NumPy / loops, same objective: {ratio:.1f} ({min(ratios):.1f}-{max(ratios):.1f}); bar {BAR}, aim {AIM}")
    if ratio < BAR:
        sys.exit("below the bar")


if __name__ == "__main__":
    main()
