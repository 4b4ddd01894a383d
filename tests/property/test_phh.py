"""Histories that PokerKit writes of its own random hands, through our rules (HD, OM): they must agree."""

import random  # noqa: TID251  (tests may use chance)
import warnings

import pytest
from hypothesis import given, settings
from pokerkit import HandHistory, NoLimitTexasHoldem, PotLimitOmahaHoldem

from diwan.history.phh import Verdict, check_hand, read_documents
from tests.property.random_hands import seeds
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


@settings(max_examples=150, deadline=None)
@given(seed=seeds)
def test_histories_of_holdem_that_pokerkit_writes_agree(seed):
    agrees(seed, NoLimitTexasHoldem)


@settings(max_examples=80, deadline=None)
@given(seed=seeds)
def test_histories_of_omaha_that_pokerkit_writes_agree(seed):
    """OM-1 to OM-4."""
    agrees(seed, PotLimitOmahaHoldem)
