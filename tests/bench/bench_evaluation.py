"""Evaluation beside its peers, compiled ones: eval7 for seven cards and estimates, phevaluator for Omaha.

Contestants take turns in every round of one run, each on the same random hands; time is the processor's, since other
work on the machine would count otherwise. The peers get what they take fastest: eval7 its card objects, phevaluator
numbers. Run: ``python -m tests.bench evaluation``.
"""

import random  # noqa: TID251  (tests may use chance)
import statistics
import time
from functools import partial

import eval7
import numpy as np
from phevaluator import Card, evaluate_omaha_cards

from diwan.analysis.equity import equity
from diwan.analysis.evaluation import evaluate_batch, evaluate_omaha_batch
from diwan.core.cards import format_card
from diwan.core.evaluation import evaluate, evaluate_omaha, prepare_omaha

BARS = {
    "seven cards, one call": (0.9, 1.2),
    "seven cards, batch of a million": (28, 40),
    "Omaha, one call": (2, 3),
    "Omaha, batch of a million": (40, 55),
    "Monte-Carlo, one opponent": (0.45, 0.9),
}
CALLS, BATCH, DEALS = 40_000, 1_000_000, 1_000_000
EVERY_HAND = "22+, A2+, K2+, Q2+, J2+, T2+, 92+, 82+, 72+, 62+, 52+, 42+, 32+"
CARDS = [eval7.Card(format_card(card)) for card in range(52)]


def rate(work, count) -> float:
    started = time.thread_time()
    work()
    return count / (time.thread_time() - started)


def each(function, hands):
    for hand in hands:
        function(hand)


def each_apart(function, hands):
    for hand in hands:
        function(*hand)


class Contest:
    """The same hands in every contestant's own form."""

    def __init__(self) -> None:
        deck = np.tile(np.arange(52, dtype=np.uint8), (BATCH, 1))
        self.batch = np.random.default_rng(7).permuted(deck, axis=1)[:, :9]
        self.seven = np.ascontiguousarray(self.batch[:, :7])
        self.holes, self.boards = (np.ascontiguousarray(part) for part in (self.batch[:, :4], self.batch[:, 4:]))
        some = self.batch[:CALLS].tolist()
        self.tuples = [tuple(hand[:7]) for hand in some]
        self.eval7 = [[CARDS[card] for card in hand[:7]] for hand in some]
        self.omaha = [(tuple(hand[:4]), tuple(hand[4:])) for hand in some]
        self.phevaluator = [tuple(hand[4:] + hand[:4]) for hand in some]
        self.objects = [tuple(map(Card, hand)) for hand in self.phevaluator]
        self.aces = [CARDS[51], CARDS[50]]
        self.range = eval7.HandRange(EVERY_HAND)

    def round(self, seed: int) -> dict[str, tuple[float, float]]:
        """Return ours and the peer's rate for each figure."""
        peer = rate(lambda: each(eval7.evaluate, self.eval7), CALLS)
        one = rate(lambda: each(evaluate, self.tuples), CALLS)
        many = rate(lambda: evaluate_batch(self.seven), BATCH)
        omaha_peer = rate(lambda: each_apart(evaluate_omaha_cards, self.phevaluator), CALLS)
        omaha_one = rate(lambda: each_apart(evaluate_omaha, self.omaha), CALLS)
        omaha_many = rate(lambda: evaluate_omaha_batch(self.holes, self.boards), BATCH)
        dealt = rate(lambda: equity((51, 50), (), 1, DEALS, seed), DEALS)
        dealt_peer = rate(lambda: eval7.py_hand_vs_range_monte_carlo(self.aces, self.range, [], DEALS), DEALS)
        rates = [(one, peer), (many, peer), (omaha_one, omaha_peer), (omaha_many, omaha_peer), (dealt, dealt_peer)]
        objects = rate(lambda: each_apart(evaluate_omaha_cards, self.objects), CALLS)
        return dict(zip([*BARS, "with its cards"], [*rates, (objects, omaha_peer)], strict=True))

    def check(self) -> None:
        """Ours and the peers must order the hands alike, or nothing is compared."""
        chance = random.Random(1)
        for _ in range(2_000):
            a, b = chance.sample(range(CALLS), 2)
            peers = eval7.evaluate(self.eval7[a]) - eval7.evaluate(self.eval7[b])
            assert (peers > 0) == (evaluate(self.tuples[a]) > evaluate(self.tuples[b]))
            lower = evaluate_omaha_cards(*self.phevaluator[a]) - evaluate_omaha_cards(*self.phevaluator[b])
            assert (lower < 0) == (evaluate_omaha(*self.omaha[a]) > evaluate_omaha(*self.omaha[b]))


def main(rounds: int = 5) -> None:
    """Print medians and ratios, and what a bot's estimate takes."""
    contest = Contest()
    prepare_omaha()
    contest.check()
    contest.round(0)
    figures = [contest.round(seed) for seed in range(1, rounds + 1)]
    print(f"{rounds} rounds, {CALLS:,} calls, batches of {BATCH:,}; million a second, median (lowest-highest ratio)")
    for name, (bar, aim) in BARS.items():
        ours, peers = ([one[name][side] for one in figures] for side in (0, 1))
        ratios = sorted(own / other for own, other in zip(ours, peers, strict=True))
        medians = f"ours {statistics.median(ours) / 1e6:6.2f}   peer {statistics.median(peers) / 1e6:6.2f}"
        found = f"ratio {statistics.median(ratios):5.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})"
        print(f"{name:32} {medians}   {found}   bar {bar}, aim {aim}")
    objects = statistics.median(one["with its cards"][0] for one in figures)
    print(f"phevaluator given its own card objects instead of numbers: {objects / 1e6:.2f}")
    for opponents, limit in ((1, 4), (5, 8)):
        print(f"10,000 deals against {opponents}: {estimate_ms(opponents):.2f} ms   bar {limit} ms")


def estimate_ms(opponents: int) -> float:
    """The time of a bot's estimate, tables made."""
    runs = [partial(equity, (51, 50), (), opponents, 10_000, seed) for seed in range(9)]
    return statistics.median(1e3 / rate(run, 1) for run in runs)


if __name__ == "__main__":
    main()
