"""Every way of betting a tiny hand of Sarab to its end, counted and compared with an enumerator written apart."""

import pytest

from diwan.core.games import GAMES
from diwan.core.hand.betting import legal_actions
from diwan.core.hand.commands import Act, AllIn
from diwan.core.hand.decide import advance
from diwan.core.hand.state import EndedHand
from tests.unit.hand.hands import deck
from tests.unit.sarab.play import start

CARDS = deck("")
FORCED = 2


def count_ours(state, memo):
    """Number of ways to go on; what differs in the past only is counted once. Sarab is a way of its own."""
    if isinstance(state, EndedHand):
        return 1
    key = (
        state.stacks,
        state.bets,
        state.unfolded,
        state.lifts,
        state.answered,
        state.actor,
        state.street,
        state.most_lifts,
    )
    if key not in memo:
        legal = legal_actions(GAMES["sarab"], state)
        commands = [Act(legal.seat, "fold", 0, None, 0, 0)] if legal.fold else []
        commands += [Act(legal.seat, "check", 0, None, 0, 0)] if legal.check else []
        commands += [Act(legal.seat, "call", 0, None, 0, 0)] if legal.call else []
        commands += [AllIn(legal.seat, None, 0, 0)] if legal.sarab else []
        for kind, bounds in (("bet", legal.bet), ("raise", legal.raise_to)):
            if bounds:
                commands += [Act(legal.seat, kind, to, None, 0, 0) for to in range(bounds[0], bounds[1] + 1)]
        memo[key] = sum(count_ours(advance(state, command, CARDS)[1], memo) for command in commands)
    return memo[key]


class Enumerator:
    """Counts by its own words: a queue of who is still to speak, refilled by every lift.

    Seats are numbered from the button's left. ``spoke`` tells at what price a seat spoke last in this round.
    """

    def __init__(self, stacks, raises=1, free=True, no_fold=0, void="no_voluntary_bet", adds_up=True):
        self.behind = tuple(max(stack - FORCED, 0) for stack in stacks)
        self.raises, self.free, self.no_fold, self.void, self.adds_up = raises, free, no_fold, void, adds_up
        self.memo = {}

    def count(self):
        return self.round(self.behind, frozenset(range(len(self.behind))), 0, most=0)

    def round(self, left, alive, number, most):
        able = tuple(seat for seat in sorted(alive) if left[seat])
        if number == 4 or len(able) < 2:
            return 1
        return self.speak(left, (0,) * len(left), alive, able, 0, FORCED, {}, 0, number, most)

    def speak(self, *now):
        *plain, spoke, lifts, number, most = now
        key = (*plain, tuple(sorted(spoke.items())), lifts, number, most)
        if key not in self.memo:
            self.memo[key] = self.ways(*now)
        return self.memo[key]

    def ways(self, left, bets, alive, queue, price, step, spoke, lifts, number, most):
        if len(alive) == 1:
            return 1
        if not queue:
            most = max(most, lifts)
            is_void = number == 2 and self.is_void(alive, most)
            return 1 if is_void else self.round(left, alive, number + 1, most)
        seat, rest = queue[0], queue[1:]
        rivals = [other for other in alive if other != seat and left[other]]
        if not rivals and bets[seat] >= max(bets[other] for other in alive):
            return self.speak(left, bets, alive, rest, price, step, spoke, lifts, number, most)
        same = (price, step, {**spoke, seat: price}, lifts, number, most)
        stays = self.speak(*self.put(left, bets, seat, min(price - bets[seat], left[seat])), alive, rest, *same)
        total = stays  # check or call
        if left[seat] > self.no_fold:
            total += self.speak(left, bets, alive - {seat}, rest, price, step, spoke, lifts, number, most)
        top = bets[seat] + left[seat]
        may_lift = bool(rivals) and self.may_raise(seat, price, step, spoke)
        may_lift = may_lift and (number == 3 or lifts <= self.raises) and top > price
        lifted = (alive, price, step, spoke, lifts, number, most)
        if top <= price:
            total += stays  # Sarab that is a call
        elif self.free or may_lift:
            total += self.lift(left, bets, seat, top, *lifted)
        if may_lift:
            for to in range(price + 1, top + 1):
                if to - price >= step or to == top:
                    total += self.lift(left, bets, seat, to, *lifted)
        return total

    def lift(self, left, bets, seat, to, alive, price, step, spoke, lifts, number, most):
        is_full = to - price >= step
        order = [(seat + one) % len(left) for one in range(1, len(left))]
        queue = tuple(other for other in order if other in alive and left[other])
        told = {seat: to} if is_full and not self.adds_up else {**spoke, seat: to}
        step = max(step, to - price)
        put = self.put(left, bets, seat, to - bets[seat])
        return self.speak(*put, alive, queue, to, step, told, lifts + 1, number, most)

    def is_void(self, alive, most):
        needed = {"no_voluntary_bet": 1, "no_raise": 2, "off": 0}[self.void]
        return most < needed and sum(self.behind[seat] > 0 for seat in alive) >= 2

    def may_raise(self, seat, price, step, spoke):
        return seat not in spoke or (self.adds_up and price - spoke[seat] >= step)

    def put(self, left, bets, seat, chips):
        return (
            tuple(stack - chips * (other == seat) for other, stack in enumerate(left)),
            tuple(bet + chips * (other == seat) for other, bet in enumerate(bets)),
        )


def ours(stacks, raises=1, free=True, no_fold=0, void="no_voluntary_bet", adds_up=True):
    command = start(
        stacks,
        button=len(stacks) - 1,
        forced_bets=(FORCED,),
        raises_before_river=raises,
        sarab_ignores_cap=free,
        no_fold_at_or_below=no_fold,
        void_rule=void,
        short_allins_add_up=adds_up,
    )
    return count_ours(advance(None, command, CARDS)[1], {})


TABLES = [[3, 3], [5, 4], [8, 8], [10, 7], [2, 9], [1, 1], [4, 4, 4], [6, 4, 5], [2, 6, 5], [6, 3, 8], [3, 2, 5, 4]]


@pytest.mark.parametrize("stacks", TABLES, ids=str)
@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"raises": 0},
        {"raises": 2, "free": False},
        {"free": False},
        {"no_fold": 3},
        {"void": "off"},
        {"void": "no_raise"},
        {"adds_up": False},
        {"adds_up": False, "free": False, "void": "no_raise", "no_fold": 1, "raises": 0},
    ],
    ids=str,
)
def test_as_many_ways_to_bet_as_the_enumerator_counts(stacks, rules):
    """SB-24 to SB-35 with every setting that shapes the betting."""
    assert ours(stacks, **rules) == Enumerator(stacks, **rules).count()


def test_known_numbers_stay_what_they_are():
    """A change of the rules that both programs followed by mistake would show here.

    The first by hand, one chip behind each: facing it 3 ways (fold, call, Sarab), so a round is 1 fold, 2 openings
    with 3 answers, and after a check 1 fold, 2 openings with 3 answers, and the next round: 14 more. Three rounds, and
    checking them all is void: 3 x 14 + 1.
    """
    assert {tuple(stacks): ours(stacks) for stacks in TABLES[:4]} == KNOWN


KNOWN = {(3, 3): 43, (5, 4): 52, (8, 8): 2551, (10, 7): 1905}
