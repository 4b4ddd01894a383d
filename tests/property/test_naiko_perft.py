"""Every way of playing a tiny hand of Naiko to its end, powers included, counted beside an enumerator written apart."""

from typing import NamedTuple

import pytest

from diwan.core.games.naiko.rules import targets
from diwan.core.hand.betting import legal_actions
from diwan.core.hand.commands import Act, AnswerAnchor, UsePower
from diwan.core.hand.decide import advance
from diwan.core.hand.settings import NaikoSettings
from diwan.core.hand.state import EndedHand
from tests.property.random_hands import game_of
from tests.unit.games.naiko import ANCHOR, GLANCE, NO_GLANCE, NO_SHIELD, NO_TRICK, SHIELD, TRICK, naiko_start
from tests.unit.hand.hands import deck

CARDS = deck("")
COSTS = {GLANCE: 1, TRICK: 2, ANCHOR: 2, SHIELD: 1}


def commands(state):
    """Everything that is offered, as commands."""
    if state.window is not None:
        asked = state.deal.seats[state.window.target]
        return [AnswerAnchor(asked, answer, None, 0, 0) for answer in ("seal_shield", "pass")]
    legal = legal_actions(game_of(state), state)
    ways = [Act(legal.seat, "fold", 0, None, 0, 0)] if legal.fold else []
    ways += [Act(legal.seat, "check", 0, None, 0, 0)] if legal.check else []
    ways += [Act(legal.seat, "call", 0, None, 0, 0)] if legal.call else []
    for kind, bounds in (("bet", legal.bet), ("raise", legal.raise_to)):
        ways += [Act(legal.seat, kind, to, None, 0, 0) for to in range(bounds[0], bounds[1] + 1)] if bounds else []
    for power in legal.powers:
        aims = {
            GLANCE: [(None, None)],
            TRICK: [(None, position) for position in state.holdings[state.actor]],
            ANCHOR: [(target, None) for target in targets(state)],
        }[power]
        ways += [UsePower(legal.seat, power, *aim, None, 0, 0) for aim in aims]
    return ways


def count_ours(state, memo):
    """Number of ways to go on; what differs in the past only is counted once."""
    if isinstance(state, EndedHand):
        return 1
    used = frozenset(
        (made.place, made.power, made.street, made.answered, made.target, made.is_anchored)
        for made in state.naiko.activations
    )
    key = (
        (state.stacks, state.bets, state.unfolded, state.lifts, state.answered, state.actor, state.street),
        (state.naiko.destellos, state.naiko.shielded, state.naiko.window is None, used),
    )
    if key not in memo:
        memo[key] = sum(count_ours(advance(state, command, CARDS)[1], memo) for command in commands(state))
    return memo[key]


class Round(NamedTuple):
    """A betting round in the enumerator's words: a queue of who is still to speak, refilled by every raise."""

    left: tuple[int, ...]
    bets: tuple[int, ...]
    alive: frozenset
    queue: tuple[int, ...]
    price: int
    step: int
    spoke: tuple  # at what price each seat spoke last, None before it did
    number: int  # 0 is before the flop
    purse: tuple[int, ...]
    used: frozenset  # of (seat, power)
    activations: int = 0
    aimed: frozenset = frozenset()
    held: frozenset = frozenset()
    has_played: bool = False  # a power, on this turn


class Enumerator:
    """Seats are numbered from the button's left, so the last is the button; blinds 1 and 2, nothing else."""

    def __init__(self, stacks, carousel, purse, most):
        self.start, self.carousel, self.purse, self.most = stacks, carousel, purse, most
        self.memo = {}

    def count(self):
        seats = len(self.start)
        poster = {0: 2, 1: 1} if seats == 2 else {0: 1, 1: 2}
        bets = tuple(min(stack, poster.get(seat, 0)) for seat, stack in enumerate(self.start))
        left = tuple(stack - bet for stack, bet in zip(self.start, bets, strict=True))
        first = max(poster, key=poster.get) + 1
        queue = tuple(seat for seat in ((first + step) % seats for step in range(seats)) if left[seat])
        nobody = (None,) * seats
        return self.ways(Round(left, bets, frozenset(range(seats)), queue, 2, 2, nobody, 0, self.purse, frozenset()))

    def ways(self, at):
        if at not in self.memo:
            self.memo[at] = self.new_ways(at)
        return self.memo[at]

    def new_ways(self, at):
        if len(at.alive) == 1:
            return 1
        if not at.queue:
            return self.next_round(at)
        seat = at.queue[0]
        rivals = [other for other in at.alive if other != seat and at.left[other]]
        if not rivals and at.bets[seat] >= max(at.bets[other] for other in at.alive):
            return self.ways(at._replace(queue=at.queue[1:], has_played=False))
        return self.acts(at, seat, rivals) + self.powers(at, seat)

    def next_round(self, at):
        able = tuple(seat for seat in sorted(at.alive) if at.left[seat])
        if at.number == 3 or len(able) < 2:
            return 1
        seats = len(at.left)
        return self.ways(
            Round(at.left, (0,) * seats, at.alive, able, 0, 2, (None,) * seats, at.number + 1, at.purse, at.used)
        )

    def acts(self, at, seat, rivals):
        done = at._replace(queue=at.queue[1:], has_played=False)
        total = self.ways(done._replace(alive=at.alive - {seat}))
        owed = min(at.price - at.bets[seat], at.left[seat])
        total += self.ways(self.put(done, seat, owed, at.price))
        has_right = at.spoke[seat] is None or at.price - at.spoke[seat] >= at.step
        if not rivals or not has_right:
            return total
        for to in range(at.price + 1, at.bets[seat] + at.left[seat] + 1):
            is_full = to - at.price >= at.step
            if (is_full or to == at.bets[seat] + at.left[seat]) and to <= self.cap(at, seat):
                seats = len(at.left)
                after = ((seat + one) % seats for one in range(1, seats))
                queue = tuple(other for other in after if other in at.alive and at.left[other])
                step = to - at.price if is_full else at.step
                lifted = self.put(done, seat, to - at.bets[seat], to)
                total += self.ways(lifted._replace(queue=queue, price=to, step=step))
        return total

    def cap(self, at, seat):
        if seat not in at.held:
            return 10**9
        middle = sum(self.start) - sum(at.left)
        return max(middle + (at.price - at.bets[seat]) + at.price, at.price + at.step)

    def put(self, at, seat, chips, price):
        changed = [list(at.left), list(at.bets), list(at.spoke)]
        changed[0][seat] -= chips
        changed[1][seat] += chips
        changed[2][seat] = price
        left, bets, spoke = map(tuple, changed)
        return at._replace(left=left, bets=bets, spoke=spoke)

    def powers(self, at, seat):
        if at.has_played or at.activations >= self.most:
            return 0
        total = 0
        for power in (GLANCE, TRICK, ANCHOR):
            is_there = power in self.carousel and (seat, power) not in at.used and at.purse[seat] >= COSTS[power]
            if is_there:
                paid = self.pay(at, seat, power)._replace(activations=at.activations + 1, has_played=True)
                total += self.after(power, paid, seat)
        return total

    def after(self, power, at, seat):
        if power == GLANCE:
            return self.ways(at) if at.number < 3 else 0
        if power == TRICK:
            return 2 * self.ways(at) if at.number == 0 and at.spoke[seat] is None else 0
        total = 0
        for target in at.alive - {seat}:
            if not at.left[target] or at.spoke[target] is not None or target in at.aimed:
                continue
            aimed = at._replace(aimed=at.aimed | {target})
            total += self.ways(aimed._replace(held=at.held | {target}))
            can_answer = (
                SHIELD in self.carousel and (target, SHIELD) not in at.used and at.purse[target] >= COSTS[SHIELD]
            )
            if can_answer:
                total += self.ways(self.pay(aimed, target, SHIELD))
        return total

    def pay(self, at, seat, power):
        purse = list(at.purse)
        purse[seat] -= COSTS[power]
        return at._replace(purse=tuple(purse), used=at.used | {(seat, power)})


@pytest.mark.parametrize("carousel", [NO_SHIELD, NO_TRICK, NO_GLANCE], ids=["no shield", "no trick", "no glance"])
@pytest.mark.parametrize(
    ("stacks", "purse", "most"),
    [
        ((3, 5), (3, 3), 3),
        ((9, 7), (2, 3), 2),
        ((8, 8), (2, 3), 3),
        ((1, 7), (3, 1), 3),
        ((3, 3, 2), (3, 2, 1), 2),
        ((2, 5, 4), (1, 3, 2), 1),
    ],
    ids=str,
)
def test_as_many_ways_to_play_as_the_enumerator_counts(stacks, purse, most, carousel):
    command = naiko_start(
        list(stacks),
        carousel,
        list(purse),
        NaikoSettings(activations_per_round=most),
        button=len(stacks) - 1,
        small_blind=1,
        big_blind=2,
    )
    _, state = advance(None, command, CARDS)
    assert count_ours(state, {}) == Enumerator(stacks, carousel, purse, most).count()
