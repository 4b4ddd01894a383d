"""Histories that PokerKit writes of its own random hands, through our rules (HD, OM): they must agree."""

import random  # noqa: TID251  (tests may use chance)
import warnings

import pytest
from hypothesis import given, settings
from pokerkit import HandHistory, NoLimitTexasHoldem, PotLimitOmahaHoldem

from diwan.core.hand.betting import price_of
from diwan.core.hand.rules import CURRENT_RULES_VERSION
from diwan.history.phh import Verdict, check_hand, export_hand, read_documents
from tests.property.random_hands import Played, seeds
from tests.property.test_pokerkit import AUTOMATIONS

pytestmark = pytest.mark.timeout(3600)
SHOW = True  # all hands are shown (HD-19), so the peer must not muck


def random_history(seed, game):
    """A hand that PokerKit played, or None where its known differences from our rules (SOURCES.md) could matter."""
    chance = random.Random(seed)
    seats = chance.randint(2, 9)
    big = chance.choice([2, 5, 10, 20])
    small, ante = chance.randint(1, big - 1), chance.choice([0, 0, chance.randint(1, big)])
    largest = chance.choice([4, 10, 60]) * big
    stacks = tuple(chance.randint(2 * big + ante + 1, 2 * big + ante + largest) for _ in range(seats))
    blinds = [small, big] + [2 * big if seats > 3 and chance.random() < 0.2 else 0] + [0] * 6
    made = game(AUTOMATIONS, True, ante, tuple(blinds[:seats]), big)  # noqa: FBT003  (its way)
    state = made(stacks, seats)
    while state.status:
        _step(chance, state)
        if any(0 < stack < big for stack in state.stacks if state.status):
            return None  # Short all-ins: exceptions 2 and 5.
    history = HandHistory.from_game_state(made, state, finishing_stacks=list(state.stacks))
    return history, _is_split(state)


def _step(chance, state):
    if state.can_deal_hole():
        state.deal_hole()
    elif state.can_burn_card():
        state.burn_card("??")
    elif state.can_deal_board():
        state.deal_board()
    elif state.can_show_or_muck_hole_cards():
        state.show_or_muck_hole_cards(SHOW)
    elif state.checking_or_calling_amount and chance.random() < 0.2:
        state.fold()
    elif chance.random() < 0.3 and state.can_complete_bet_or_raise_to():
        low = state.min_completion_betting_or_raising_to_amount
        high = state.max_completion_betting_or_raising_to_amount
        state.complete_bet_or_raise_to(chance.choice([low, low, high, chance.randint(low, high)]))
    else:
        state.check_or_call()


def _is_split(state):
    """Whether a pot was divided: odd chips go elsewhere there (exceptions 3 and 4)."""
    return sum(payoff > 0 for payoff in state.payoffs) > 1


def agrees(seed, game):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it warns of cards that it would not deal itself
        made = random_history(seed, game)
    if made is None:
        return
    history, is_split = made
    found = check_hand(read_documents(history.dumps())[0].fields)
    assert found.verdict is Verdict.AGREES or (is_split and found.where.startswith("finishing_stacks")), found


@settings(max_examples=80, deadline=None)
@given(seed=seeds)
def test_histories_of_holdem_that_pokerkit_writes_agree(seed):
    agrees(seed, NoLimitTexasHoldem)


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_histories_of_omaha_that_pokerkit_writes_agree(seed):
    """OM-1 to OM-4."""
    agrees(seed, PotLimitOmahaHoldem)


def is_for_pokerkit(hand):
    """Whether its known differences from our rules stay out: 1 short posts, 3 and 4 shared pots, 5 raises past all."""
    dues = hand.start.dues
    is_short = any(seat.stack <= sum(due.amount for due in dues if due.seat == seat.seat) for seat in hand.start.seats)
    blinds = {due.amount for due in dues if due.kind in {"small_blind", "big_blind"}}
    is_even = len(hand.start.seats) == 2 and len(blinds) == 1  # it lets the other seat begin then
    shared = any(len(pot.shares) > 1 for pot in hand.last.pots)
    return not (is_short or is_even or shared or any(map(_is_past_all, hand.states[1:-1], hand.commands[1:])))


def _is_past_all(state, command):
    """A raise although nobody else can put in more than the price."""
    others = [
        bet + stack
        for place, (bet, stack) in enumerate(zip(state.bets, state.stacks, strict=True))
        if place != state.actor and state.unfolded >> place & 1 and stack
    ]
    return getattr(command, "kind", "raise") in {"bet", "raise"} and max(others, default=0) <= price_of(state)


def written_and_read(seed, game):
    """Export a random hand and read it with PokerKit, and with our own reader; returns whether PokerKit could follow."""
    hand = Played(seed, game=game, limit="no_limit" if game == "holdem" else "pot_limit")
    made = export_hand(hand.events, hand.cards)
    fields = read_documents(made.text)[0].fields
    if (
        not any(due.kind == "dead_blind" for due in hand.start.dues)
        and hand.start.rules_version == CURRENT_RULES_VERSION
    ):
        assert check_hand(fields).verdict is Verdict.AGREES, made.text
    if not is_for_pokerkit(hand):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it warns of folds that cost nothing
        *_, last = HandHistory.loads(made.text)
    assert not last.status
    assert list(last.stacks) == fields["finishing_stacks"], made.text
    return True


@settings(max_examples=100, deadline=None)
@given(seed=seeds)
def test_hands_of_holdem_are_read_by_pokerkit_as_they_were_written(seed):
    written_and_read(seed, "holdem")


@settings(max_examples=50, deadline=None)
@given(seed=seeds)
def test_hands_of_omaha_are_read_by_pokerkit_as_they_were_written(seed):
    written_and_read(seed, "omaha")


def test_many_of_the_random_hands_are_for_pokerkit():
    """Or the comparison would be empty."""
    assert sum(written_and_read(seed, "holdem") for seed in range(100)) > 15


@pytest.mark.soak
@settings(max_examples=20_000, deadline=None)
@given(seed=seeds)
def test_a_great_many_hands_go_out_and_come_in_alike(seed):
    for game, peer in (("holdem", NoLimitTexasHoldem), ("omaha", PotLimitOmahaHoldem)):
        written_and_read(seed, game)
        agrees(seed, peer)
