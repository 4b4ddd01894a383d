"""What holds in every hand, however it is played (P6, DESIGN 3)."""

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.hand.betting import legal_actions
from diwan.core.hand.commands import Act, AllIn, ExpireClock, StartHand, VoidHand
from diwan.core.hand.decide import advance, decide
from diwan.core.hand.events import Acted, BoardDealt, CardsShown, HandVoided, PotAwarded, TurnBegan
from diwan.core.hand.evolve import evolve
from diwan.core.hand.inverse import command_of
from diwan.core.hand.outcome import outcome_digest
from diwan.core.hand.rules import CURRENT_RULES_VERSION
from diwan.core.hand.state import EndedHand, LiveHand
from tests.property.random_hands import Played, game_of, is_all_in_legal, seeds

pytestmark = pytest.mark.timeout(600)


class RecordingCards(dict):
    """Cards that note which positions were read."""

    def __init__(self, cards):
        super().__init__(cards)
        self.read = set()

    def __getitem__(self, position):
        self.read.add(position)
        return super().__getitem__(position)


def folded(played):
    """Every event with the state after it."""
    state = None
    for event in played.events:
        state = evolve(state, event)
        yield event, state


def revealed_by(events):
    return {p for event in events if isinstance(event, BoardDealt | CardsShown) for p in event.positions}


def check_chips(played):
    """No chip appears or vanishes at any event, and nobody is ever below zero."""
    total = sum(seat.stack for seat in played.start.seats) + played.start.carried
    carried_on = 0
    for event, state in folded(played):
        live = state.last if isinstance(state, EndedHand) else state
        carried_on += event.carried if isinstance(event, HandVoided) else 0
        assert sum(live.stacks) + live.pot + carried_on == total
        assert min(*live.stacks, *live.bets, live.gathered) >= 0
    assert played.last.pot == 0
    assert sum(played.ended.payoffs) == played.start.carried - carried_on


def check_end(played):
    """What the end says agrees with what happened."""
    ended, start = played.ended, played.start
    stacks = tuple(seat.stack for seat in start.seats)
    assert ended.payoffs == tuple(after - before for after, before in zip(ended.stacks, stacks, strict=True))
    pots = [event for event in played.events if isinstance(event, PotAwarded)]
    assert sum(ended.won) == sum(pot.amount for pot in pots)
    for pot in pots:
        assert sum(share.amount for share in pot.shares) == pot.amount
        assert {share.seat for share in pot.shares} <= set(pot.eligible)
        amounts = [share.amount for share in pot.shares]
        if start.rules_version == CURRENT_RULES_VERSION:
            assert max(amounts) - min(amounts) <= 1
    assert ended.digest == outcome_digest(played.last, ended.result, played.cards)


def check_replay(played):
    """Any prefix folds to the state that was decided upon; every act decides its batch again, from revealed cards."""
    state = None
    version = played.start.version
    revealed = {}
    for command, batch, before, after in zip(
        played.commands, played.batches, played.states[:-1], played.states[1:], strict=True
    ):
        assert state == before
        revealed |= {position: played.cards[position] for position in revealed_by(batch)}
        again = command_of(batch[0], version)
        assert decide(state, again, revealed) == batch
        if isinstance(command, StartHand | Act) and getattr(command, "turn", 1) is not None:
            assert again == normalised(command, batch[0])
        assert all(command_of(event, version) is None for event in batch[1:])
        for event in batch:
            state = evolve(state, event)
            version += 1
            if isinstance(event, TurnBegan):
                assert event.turn == version
        assert state == after


def normalised(command, act):
    """An action as its event tells it: totals of calls, checks and folds are filled in."""
    return replace(command, to=act.to) if isinstance(act, Acted) else command


def check_law(played):
    """DESIGN 3: whatever decide reads of the deck is revealed to all by the end of the same batch."""
    revealed = set()
    for command, batch, before in zip(played.commands, played.batches, played.states[:-1], strict=True):
        cards = RecordingCards(played.cards)
        assert decide(before, command, cards) == batch
        revealed |= revealed_by(batch)
        assert cards.read <= revealed


def probes(state):
    """Amounts around every bound."""
    actor = state.actor
    legal = legal_actions(game_of(state), state)
    marks = {0, 1, max(state.bets), state.bets[actor] + state.stacks[actor], *(legal.lift or ())}
    marks |= {legal.pot_to or 0}
    return sorted({mark + by for mark in marks for by in (-1, 0, 1)})


def check_legal(played):
    """What is offered is accepted, and nothing else is; whoever is not asked is refused."""
    for state in played.states[1:-1]:
        legal = legal_actions(game_of(state), state)
        assert legal.seat == state.deal.seats[state.actor]
        offered = {"fold": legal.fold, "check": legal.check, "call": legal.call is not None}
        for kind, is_offered in offered.items():
            assert is_accepted(state, Act(legal.seat, kind, 0, state.turn, 0, 0), played.cards) == is_offered
        for kind, bounds in (("bet", legal.bet), ("raise", legal.raise_to)):
            for to in probes(state):
                is_offered = bounds is not None and bounds[0] <= to <= bounds[1]
                assert is_accepted(state, Act(legal.seat, kind, to, state.turn, 0, 0), played.cards) == is_offered
        all_in = AllIn(legal.seat, state.turn, 0, 0)
        assert is_accepted(state, all_in, played.cards) == is_all_in_legal(state, legal)
        if state.window is None:
            assert (legal.check, legal.call is None) == (not legal.to_call, not legal.to_call)
        for other in state.deal.seats:
            if other != legal.seat:
                assert not is_accepted(state, Act(other, "fold", 0, state.turn, 0, 0), played.cards)


def is_accepted(state, command, cards):
    try:
        decide(state, command, cards)
    except Rejected:
        return False
    return True


def check_void(played):
    """H9: whenever a hand is ended from outside, everybody has again what it began with."""
    for state in played.states[1:-1]:
        _, after = advance(state, VoidHand("interrupted", 0, 0), played.cards)
        assert after.last.stacks == tuple(seat.stack for seat in played.start.seats)
        assert (after.last.pot, after.ended.result) == (0, "void")


def check_clock(played):
    """H7: of the player and the clock at the same instant one counts, whichever comes first; the other is told why."""
    for state in played.states[1:-1]:
        if state.window is not None:  # Naiko: nobody's turn runs while an Anchor's target is asked
            continue
        seat, turn, at = state.deal.seats[state.actor], state.turn, state.deadline_ms
        legal = legal_actions(game_of(state), state)
        kind = "check" if legal.check else "call"
        player, clock = Act(seat, kind, 0, turn, 0, at), ExpireClock(seat, turn, 0, at)
        for first, second in ((player, clock), (clock, player)):
            events, after = advance(state, first, played.cards)
            assert [event.turn for event in events if isinstance(event, Acted)] == [turn]
            with pytest.raises(Rejected) as refused:
                decide(after, second, played.cards)
            over = isinstance(after, EndedHand)
            assert refused.value.reason == ("HAND_OVER" if over else "STALE_TURN")
        early = replace(clock, now_ms=at - 1)
        assert not is_accepted(state, early, played.cards)
        assert not is_accepted(state, replace(player, now_ms=at + 1), played.cards)


def check_suits(played):
    """Suits have no order: renaming them changes no result."""
    cards = {position: card ^ 3 for position, card in played.cards.items()}
    state = None
    for command in played.commands:
        _, state = advance(state, command, cards)
    assert replace(state.ended, digest=b"") == replace(played.ended, digest=b"")


CHECKS = [check_chips, check_end, check_replay, check_law, check_legal, check_void, check_clock, check_suits]


@pytest.mark.parametrize("game", ["holdem", "omaha"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_in_every_hand(check, game):
    @settings(max_examples=150, deadline=None)
    @given(seed=seeds)
    def holds(seed):
        check(Played(seed, game=game))

    holds()


@pytest.mark.soak
@pytest.mark.parametrize("game", ["holdem", "omaha"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_in_a_great_many_hands(check, game):
    @settings(max_examples=40_000, deadline=None)
    @given(seed=seeds)
    def holds(seed):
        check(Played(seed, game=game))

    holds()


@settings(max_examples=100, deadline=None)
@given(seed=seeds)
def test_an_event_without_its_hand_is_a_value_error(seed):
    played = Played(seed)
    for event in played.events[1:]:
        for state in (None, played.states[-1]):
            with pytest.raises(ValueError, match="no hand in play"):
                evolve(state, event)


@settings(max_examples=100, deadline=None)
@given(seed=seeds)
def test_versions_of_the_rules_differ_in_odd_chips_only(seed):
    """B4: version 1 gave all of them to one winner, version 2 deals them out."""
    one = Played(seed, version=1)
    two = Played(seed, version=2)
    assert [type(event) for event in one.events] == [type(event) for event in two.events]
    pots = [
        [(pot.amount, pot.eligible, sum(share.odd for share in pot.shares)) for pot in each.last.pots]
        for each in (one, two)
    ]
    assert pots[0] == pots[1]
    assert all(isinstance(state, LiveHand) for state in one.states[1:-1])
