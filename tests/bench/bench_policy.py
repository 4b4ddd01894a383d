"""What a decision of a bot costs, game by game: CPU time of `choose` over the views of whole hands played by bots.

The first decisions of a process also make the evaluator's tables; they are told apart. Times depend on the machine and
its mood; the bars leave room for a bad one. Run: ``python -m tests.bench policy``.
"""

import random  # noqa: TID251  (tests may use chance)
import statistics
import sys
import time

from diwan.core.games.capsa.settings import CapsaSettings
from diwan.core.policy import choose
from tests.property.policy_capsa import bot as capsa_bot
from tests.property.policy_capsa import capsa_start, play_capsa
from tests.property.policy_hands import bot, play_hand, sarab_start, usual_start
from tests.property.random_hands import shuffled

SEATS, HANDS = 6, 150
CAPSA_HANDS = 40
BARS_MS = {"holdem": 5, "omaha": 8, "naiko": 6, "sarab": 5, "capsa": 30}
"""For the median decision after the flop, in Capsa for setting: far from what a player would notice."""


def poker_views(game):
    chance = random.Random(1)
    for number in range(HANDS):
        stacks, button = [1000 if game == "sarab" else 200] * SEATS, number % SEATS
        start = (
            sarab_start(number, stacks, button)
            if game == "sarab"
            else usual_start(number, stacks, button, game=game, destellos=dict.fromkeys(range(SEATS), 2))
        )
        hand = play_hand(start, shuffled(chance), {seat: bot(bytes([seat]) * 32) for seat in range(SEATS)})
        yield from [(seen, seat) for seen, seat, _ in hand.moves]


def capsa_views():
    chance = random.Random(1)
    for _ in range(CAPSA_HANDS):
        start = capsa_start(chance, CapsaSettings(), 4)
        hand = play_capsa(start, shuffled(chance), {one.seat: capsa_bot() for one in start.seats})
        yield from [(seen, seat) for _, seen, seat, _ in hand.moves]


def is_dear(game, seen):
    """Whether a decision is of the kind that the bar is for."""
    if game == "capsa":
        return seen.hand.hand.decision.kind == "set" and seen.hand.own[0].draft is None
    return bool(seen.table.hand.board)


def times_ms(views):
    taken = []
    for seen, seat in views:
        began = time.process_time()
        choose(seen, seat, bytes(32))
        taken.append(1000 * (time.process_time() - began))
    return taken


def main():
    """Measure, print, and exit non-zero above a bar."""
    slow = []
    for game, bar in BARS_MS.items():
        began = time.process_time()
        views = list(capsa_views() if game == "capsa" else poker_views(game))
        played = time.process_time() - began
        every = times_ms(views)
        dear = times_ms([(seen, seat) for seen, seat in views if is_dear(game, seen)])
        middle, worst = statistics.median(dear), statistics.quantiles(dear, n=100)[-1]
        print(
            f"{game:<7} {len(views):>6} decisions, median {statistics.median(every):6.2f} ms; the dear ones "
            f"{middle:6.2f} ms, 99 of 100 below {worst:6.2f} ms (bar {bar} ms); played first in {played:.1f} s"
        )
        if middle > bar:
            slow.append(game)
    if slow:
        sys.exit(f"above the bar: {', '.join(slow)}")


if __name__ == "__main__":
    main()
