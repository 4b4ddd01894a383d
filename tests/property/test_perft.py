"""Every way of betting a tiny hand to its end, counted and compared with an enumerator written apart from the engine.

The counterpart of chess programs' perft: random hands seldom meet the corner that one more or one fewer sequence shows.
"""

import pytest

from diwan.core.hand.betting import legal_actions
from diwan.core.hand.commands import Act
from diwan.core.hand.decide import advance
from diwan.core.hand.state import EndedHand
from tests.property.random_hands import game_of
from tests.unit.hand.hands import deck, start

CARDS = deck("")


def count_ours(state, memo):
    """Number of ways to go on; what differs in the past only is counted once."""
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
        state.gathered,
    )
    if key not in memo:
        legal = legal_actions(game_of(state), state)
        actions = [("fold", 0)] if legal.fold else []
        actions += [("check", 0)] if legal.check else []
        actions += [("call", 0)] if legal.call else []
        for kind, bounds in (("bet", legal.bet), ("raise", legal.raise_to)):
            actions += [(kind, to) for to in range(bounds[0], bounds[1] + 1)] if bounds else []
        memo[key] = sum(
            count_ours(advance(state, Act(legal.seat, kind, to, None, 0, 0), CARDS)[1], memo) for kind, to in actions
        )
    return memo[key]


class Enumerator:
    """Counts by its own words: a queue of who is still to speak, refilled by every raise.

    Seats are numbered from the button's left, so the last is the button; two blinds, no antes.
    """

    def __init__(self, stacks, small, big, *, is_pot_limit, adds_up):
        self.start = stacks
        self.small, self.big = small, big
        self.is_pot_limit, self.adds_up = is_pot_limit, adds_up
        self.memo = {}

    def count(self):
        seats = len(self.start)
        poster = {0: self.big, 1: self.small} if seats == 2 else {0: self.small, 1: self.big}
        bets = tuple(min(stack, poster.get(seat, 0)) for seat, stack in enumerate(self.start))
        left = tuple(stack - bet for stack, bet in zip(self.start, bets, strict=True))
        first = (poster_of_big := max(poster, key=poster.get)) + 1
        order = [(first + step) % seats for step in range(seats)]
        assert order[-1] == poster_of_big
        speakers = tuple(seat for seat in order if left[seat])
        return self.speak(left, bets, frozenset(range(seats)), speakers, self.big, self.big, {}, 0)

    def street(self, left, alive, number):
        """A new betting round, or the showdown."""
        able = [seat for seat in sorted(alive) if left[seat]]
        if number == 4 or len(able) < 2:
            return 1
        return self.speak(left, (0,) * len(left), alive, tuple(able), 0, self.big, {}, number)

    def speak(self, left, bets, alive, queue, price, step, spoke, number):
        key = (left, bets, alive, queue, price, step, tuple(sorted(spoke.items())), number)
        if key not in self.memo:
            self.memo[key] = self.ways(left, bets, alive, queue, price, step, spoke, number)
        return self.memo[key]

    def ways(self, left, bets, alive, queue, price, step, spoke, number):
        if len(alive) == 1:
            return 1
        if not queue:
            return self.street(left, alive, number + 1)
        seat, rest = queue[0], queue[1:]
        rivals = [other for other in alive if other != seat and left[other]]
        if not rivals and bets[seat] >= max(bets[other] for other in alive):
            return self.speak(left, bets, alive, rest, price, step, spoke, number)
        owed = min(price - bets[seat], left[seat])
        told = {**spoke, seat: price}
        total = self.speak(left, bets, alive - {seat}, rest, price, step, spoke, number)  # fold
        total += self.speak(*self.put(left, bets, seat, owed), alive, rest, price, step, told, number)  # check or call
        if not rivals or not self.may_raise(seat, price, step, spoke):
            return total
        for to in range(price + 1, bets[seat] + left[seat] + 1):
            is_all_in = to == bets[seat] + left[seat]
            is_full = to - price >= step
            if (is_full or is_all_in) and to <= self.cap(left, bets, seat, price, step):
                order = [(seat + one) % len(left) for one in range(1, len(left))]
                queue = tuple(other for other in order if other in alive and left[other])
                told = {**spoke, seat: to}
                if is_full and not self.adds_up:
                    told = {seat: to}  # judged alone, a full raise lets everybody else speak as if anew
                more = max(step, to - price) if is_full else step
                total += self.speak(*self.put(left, bets, seat, to - bets[seat]), alive, queue, to, more, told, number)
        return total

    def may_raise(self, seat, price, step, spoke):
        if seat not in spoke:
            return True
        return self.adds_up and price - spoke[seat] >= step

    def cap(self, left, bets, seat, price, step):
        if not self.is_pot_limit:
            return 10**9
        in_the_middle = sum(self.start) - sum(left)
        return max(in_the_middle + (price - bets[seat]) + price, price + step)

    def put(self, left, bets, seat, chips):
        return (
            tuple(stack - chips * (other == seat) for other, stack in enumerate(left)),
            tuple(bet + chips * (other == seat) for other, bet in enumerate(bets)),
        )


TABLES = [
    [2, 2],
    [3, 5],
    [6, 6],
    [9, 4],
    [1, 7],
    [7, 1],
    [3, 3, 3],
    [5, 3, 4],
    [2, 6, 5],
    [6, 2, 5],
    [6, 1, 6],
    [3, 2, 4, 5],
]


@pytest.mark.parametrize(
    ("game", "limit"), [("holdem", "no_limit"), ("holdem", "pot_limit"), ("omaha", "pot_limit")], ids=str
)
@pytest.mark.parametrize("adds_up", [True, False])
@pytest.mark.parametrize("stacks", TABLES, ids=str)
def test_as_many_ways_to_bet_as_the_enumerator_counts(stacks, adds_up, game, limit):
    command = start(
        stacks,
        button=len(stacks) - 1,
        small_blind=1,
        big_blind=2,
        game=game,
        limit=limit,
        short_allins_add_up=adds_up,
    )
    _, state = advance(None, command, CARDS)
    ours = count_ours(state, {})
    other = Enumerator(tuple(stacks), 1, 2, is_pot_limit=limit == "pot_limit", adds_up=adds_up)
    assert ours == other.count()


def test_known_numbers_stay_what_they_are():
    """A change of the rules that both programs followed by mistake would show here."""
    counts = {}
    for stacks in TABLES[:4]:
        _, state = advance(None, start(stacks, button=1, small_blind=1, big_blind=2), CARDS)
        counts[tuple(stacks)] = count_ours(state, {})
    assert counts == KNOWN


KNOWN = {(2, 2): 2, (3, 5): 33, (6, 6): 233, (9, 4): 65}
