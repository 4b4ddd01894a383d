"""What holds in every hand of Sarab, and in every match (P6; SB)."""

import random  # noqa: TID251  (tests may use chance)

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.games.coins import Coins
from diwan.core.hand.commands import Act, AllIn, ExpireClock, VoidHand
from diwan.core.hand.decide import advance
from diwan.core.hand.events import Acted, BoardDealt, CardsShown, HandVoided
from diwan.core.hand.evolve import evolve
from diwan.core.hand.settings import HandSettings
from diwan.core.hand.state import EndedHand
from diwan.core.match.course import after_hand, next_deal, open_match, standings
from diwan.core.match.settings import MatchSettings
from tests.property.random_hands import NOW, legal_of, random_command, random_start, seeds, shuffled
from tests.property.sarab_hands import played_sarab, random_settings
from tests.property.test_hands import CHECKS, folded

pytestmark = pytest.mark.timeout(600)


def check_lifts(played):
    """A4, SB-32: before the river a round has one bet and so many raises as are set, sarabs apart where they may."""
    sarab = played.start.settings.sarab
    lifts, is_river = 0, False
    for event in played.events:
        if isinstance(event, BoardDealt):
            lifts, is_river = 0, event.street == "river"
        elif isinstance(event, Acted) and event.kind in {"bet", "raise"}:
            if not is_river and not (event.is_sarab and sarab.sarab_ignores_cap):
                assert lifts <= sarab.raises_before_river
            lifts += 1


def check_fold(played):
    """SB-26, SB-40: who has so little behind never folds, whoever decides for them."""
    limit = played.start.settings.sarab.no_fold_at_or_below
    for before, batch in zip(played.states[1:-1], played.batches[1:], strict=True):
        stack = before.stacks[before.actor]
        assert legal_of(before).fold == (stack > limit)
        assert not (batch[0].kind == "fold" and stack <= limit)


def check_sarab(played):
    """A5: at any own turn, unless the table binds it; then it is a raise like any other."""
    ignores_cap = played.start.settings.sarab.sarab_ignores_cap
    for state in played.states[1:-1]:
        legal = legal_of(state)
        all_in = state.bets[state.actor] + state.stacks[state.actor]
        is_call = legal.to_call == state.stacks[state.actor]
        assert legal.sarab == (ignores_cap or is_call or legal.lift is not None)
        assert legal.lift is None or legal.lift[1] == all_in


def check_void_hands(played):
    """SB-23, SB-33, SB-35, A3, told from the events alone."""
    sarab = played.start.settings.sarab
    streets = [event.street for event in played.events if isinstance(event, BoardDealt)]
    before_river = []
    for event in played.events:
        if isinstance(event, HandVoided) or (isinstance(event, BoardDealt) and event.street == "river"):
            break
        before_river.append(event)
    folded_seats = {event.seat for event in before_river if isinstance(event, Acted) and event.kind == "fold"}
    lifts = [0]
    for event in before_river:
        if isinstance(event, BoardDealt):
            lifts.append(0)
        elif isinstance(event, Acted):
            lifts[-1] += event.kind in {"bet", "raise"}
    needed = {"no_voluntary_bet": 1, "no_raise": 2, "off": 0}[sarab.void_rule]
    forced_bet = played.start.settings.big_blind
    able = [seat for seat in played.start.seats if seat.stack > forced_bet and seat.seat not in folded_seats]
    if played.ended.result == "void":
        assert streets == ["flop", "turn"]
        assert max(lifts) < needed
        assert len(able) >= 2
        check_refunds(played, sarab)
    elif "river" in streets:
        assert max(lifts) >= needed or len(able) < 2
    else:
        assert played.ended.result == "uncontested"


def check_refunds(played, sarab):
    """A6, finer point 2: everything goes back, but forced bets where they are carried; nothing is shown."""
    forced_bet = played.start.settings.big_blind
    lost = [forced_bet if sarab.void_antes == "carry" else 0 for _ in played.start.seats]
    lost = [min(seat.stack, each) for seat, each in zip(played.start.seats, lost, strict=True)]
    assert [-payoff for payoff in played.ended.payoffs] == lost
    voided = next(event for event in played.events if isinstance(event, HandVoided))
    assert voided.carried == played.start.carried + sum(lost)
    assert (set(played.ended.returned), set(played.ended.won)) == ({0}, {0})
    if played.start.settings.show_all_in == "at_showdown":
        assert not [event for event in played.events if isinstance(event, CardsShown)]


ALL = [*CHECKS, check_lifts, check_fold, check_sarab, check_void_hands]


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.__name__)
def test_in_every_hand_of_sarab(check):
    @settings(max_examples=120, deadline=None)
    @given(seed=seeds)
    def holds(seed):
        check(played_sarab(seed))

    holds()


@pytest.mark.soak
@pytest.mark.parametrize("check", ALL, ids=lambda check: check.__name__)
def test_in_a_great_many_hands_of_sarab(check):
    @settings(max_examples=20_000, deadline=None)
    @given(seed=seeds)
    def holds(seed):
        check(played_sarab(seed))

    holds()


def test_the_random_hands_come_to_every_corner():
    """The checks above would be empty without these."""
    hands = [played_sarab(seed) for seed in range(400)]
    acts = [event for hand in hands for event in hand.events if isinstance(event, Acted)]
    voids = [event for hand in hands for event in hand.events if isinstance(event, HandVoided)]
    assert {event.reason for event in voids} == {"no_voluntary_bet", "no_raise"}
    assert any(event.carried for event in voids)
    assert {event.kind for event in acts if event.is_sarab} == {"call", "bet", "raise"}
    assert any(event.kind == "call" and event.decided_by == "clock" for event in acts)
    assert {hand.ended.result for hand in hands} == {"uncontested", "showdown", "void"}
    assert all(state == hand.states[-1] for hand in hands[:20] for *_, (_, state) in [list(folded(hand))])


class SarabMatch(RuleBasedStateMachine):
    """A whole match, with legal and illegal commands in any order."""

    @initialize(seed=seeds)
    def begin(self, seed):
        self.chance = random.Random(seed)
        seats = sorted(self.chance.sample(range(9), self.chance.randint(2, 5)))
        self.sarab = replace(random_settings(self.chance), forced_bets=(5, 10, 20), deals_per_level=2)
        terms = MatchSettings(hand=HandSettings(game="sarab", sarab=self.sarab), starting_coins=Coins(stones=8))
        self.match = open_match(terms, seats, self.chance.choice(seats))
        self.total = 80 * len(seats)
        self.entered = seats
        self.state = None
        self.version = 0
        self.deals = 0

    @precondition(lambda self: self.match.winner is not None)
    @rule(seed=seeds)
    def begin_again(self, seed):
        self.begin(seed)

    def is_dealt(self):
        return self.state is not None

    @precondition(lambda self: not self.is_dealt() and self.match.winner is None)
    @rule()
    def deal(self):
        coming = next_deal(self.match)
        self.cards = shuffled(self.chance)
        base = random_start(self.chance, version=2)
        command = replace(
            base,
            settings=coming.settings,
            seats=tuple(replace(base.seats[0], seat=seat, stack=stack) for seat, stack in coming.stacks.items()),
            button=coming.button,
            big_blind_seat=None,
            dues=coming.dues,
            absent=(),
            deal_no=coming.deal_no,
            carried=coming.carried,
        )
        self.version = command.version
        self.deals += 1
        level = min((self.match.deal_no - 1) // 2, 2)
        assert coming.settings.big_blind == (5, 10, 20)[level]
        if self.sarab.void_counts_as_deal:
            assert coming.deal_no == self.deals
        self.tell(command)

    def tell(self, command):
        before = self.state
        batch, after = advance(before, command, self.cards)
        state = before if not isinstance(before, EndedHand) else None
        for event in batch:
            state = evolve(state, event)
        assert state == after
        self.version += len(batch)
        self.state = after
        if isinstance(after, EndedHand):
            self.close(after)

    def close(self, ended):
        before, self.match = self.match, after_hand(self.match, ended)
        self.state = None
        if ended.ended.result == "void":
            assert self.match.button == before.button
            assert self.match.deal_no == before.deal_no + self.sarab.void_counts_as_deal
        else:
            assert self.match.button != before.button or self.match.winner is not None
            assert self.match.button in self.match.stacks
            assert (self.match.deal_no, self.match.carried) == (before.deal_no + 1, 0)
        assert sorted(seat for seats in standings(self.match) for seat in seats) == self.entered

    @precondition(is_dealt)
    @rule()
    def act(self):
        self.tell(random_command(self.chance, self.state, self.version))

    @precondition(is_dealt)
    @rule(by=st.sampled_from(["clock", "system", "operator"]))
    def end_a_turn(self, by):
        seat = self.state.deal.seats[self.state.actor]
        self.tell(ExpireClock(seat, None, self.version, self.state.deadline_ms, by))

    @precondition(is_dealt)
    @rule()
    def play_sarab(self):
        legal = legal_of(self.state)
        command = AllIn(legal.seat, None, self.version, NOW)
        if legal.sarab:
            self.tell(command)
        else:
            self.is_refused(command)

    @precondition(is_dealt)
    @rule()
    def interrupt(self):
        stacks = dict(self.match.stacks)
        carried = self.match.carried
        self.tell(VoidHand("interrupted", self.version, NOW))
        assert (self.match.stacks, self.match.carried) == (stacks, carried)

    @precondition(is_dealt)
    @rule(kind=st.sampled_from(["check", "call", "bet", "raise", "fold"]), to=st.integers(-5, 500))
    def ask_for_anything(self, kind, to):
        """What is not offered is refused; a seat whose turn it is not gets nothing."""
        legal = legal_of(self.state)
        bounds = {"bet": legal.bet, "raise": legal.raise_to}.get(kind)
        offered = {"fold": legal.fold, "check": legal.check, "call": legal.call is not None}
        is_legal = offered[kind] if kind in offered else bounds is not None and bounds[0] <= to <= bounds[1]
        if not is_legal:
            self.is_refused(Act(legal.seat, kind, to, None, self.version, NOW))
        for seat in {*self.entered} - {legal.seat}:
            self.is_refused(Act(seat, kind, to, None, self.version, NOW))

    def is_refused(self, command):
        with pytest.raises(Rejected):
            advance(self.state, command, self.cards)

    @invariant()
    def coins_are_conserved(self):
        if self.state is None:
            stacks, middle = self.match.stacks.values(), self.match.carried
        else:
            stacks, middle = self.state.stacks, self.state.pot
        assert sum(stacks) + middle == self.total
        assert min(stacks) >= 0
        assert self.state is not None or min(stacks) > 0


SarabMatch.TestCase.settings = settings(
    max_examples=40, stateful_step_count=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestSarabMatch = SarabMatch.TestCase


@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_every_match_ends_with_one_winner(seed):
    """SB-38: the rising forced bet sees to it."""
    machine = SarabMatch()
    machine.begin(seed)
    while machine.match.winner is None:
        machine.deal()
        while machine.is_dealt():
            machine.act()
        assert machine.deals < 2000
    assert machine.match.stacks == {machine.match.winner: machine.total}
    assert next_deal(machine.match) is None
