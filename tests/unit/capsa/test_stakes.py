"""Stakes of pairs: one proposes, the other accepts, leaving ends them (CS-62)."""

import pytest

from diwan.core.decider import Rejected
from diwan.core.games.capsa.settings import PairUnit
from diwan.core.games.capsa.stakes import (
    AcceptStake,
    EndStake,
    LeaveStakes,
    PairStakes,
    ProposeStake,
    StakeAgreed,
    StakeEnded,
    StakeProposed,
    decide,
    evolve,
)

SEATED = frozenset({0, 1, 2})


def after(*commands):
    state = PairStakes()
    for command in commands:
        for event in decide(state, command, SEATED):
            state = evolve(state, event)
    return state


def refusal(state, command):
    with pytest.raises(Rejected) as caught:
        decide(state, command, SEATED)
    return caught.value.reason


def test_an_offer_counts_only_when_it_is_accepted():
    offered = after(ProposeStake(1, 0, 100))
    assert offered.pair_units == ()
    assert decide(offered, AcceptStake(0, 1, 100), SEATED) == (StakeAgreed(0, 1, 100),)
    assert after(ProposeStake(1, 0, 100), AcceptStake(0, 1, 100)).pair_units == (PairUnit(0, 1, 100),)


def test_nobody_accepts_an_own_offer_or_one_that_has_changed():
    offered = after(ProposeStake(1, 0, 100), ProposeStake(1, 0, 200))
    assert refusal(offered, AcceptStake(1, 0, 200)) == "NOT_ASKED"
    assert refusal(offered, AcceptStake(0, 1, 100)) == "NOT_ASKED"
    assert refusal(offered, AcceptStake(2, 1, 200)) == "NOT_ASKED"


def test_an_agreement_stays_while_another_is_offered():
    agreed = (ProposeStake(1, 0, 100), AcceptStake(0, 1, 100))
    assert after(*agreed, ProposeStake(0, 1, 5)).pair_units == (PairUnit(0, 1, 100),)
    assert after(*agreed, ProposeStake(0, 1, 5), AcceptStake(1, 0, 5)).pair_units == (PairUnit(0, 1, 5),)


def test_either_may_end_it_and_leaving_ends_all_of_a_seat():
    agreed = (ProposeStake(1, 0, 100), AcceptStake(0, 1, 100), ProposeStake(2, 0, 7))
    assert after(*agreed, EndStake(0, 1)).pair_units == ()
    assert decide(after(*agreed), LeaveStakes(0), SEATED) == (StakeEnded(0, 1, "left"), StakeEnded(0, 2, "left"))
    assert after(*agreed, LeaveStakes(0)) == PairStakes()
    assert decide(after(*agreed), LeaveStakes(2), SEATED) == (StakeEnded(0, 2, "left"),)


def test_what_makes_no_pair_or_no_stake_is_refused():
    assert refusal(PairStakes(), ProposeStake(0, 3, 5)) == "NOT_SEATED"
    assert refusal(PairStakes(), ProposeStake(1, 1, 5)) == "SETTING_INVALID"
    assert refusal(PairStakes(), ProposeStake(0, 1, 0)) == "SETTING_INVALID"
    assert refusal(PairStakes(), EndStake(0, 1)) == "NOT_ASKED"
    assert decide(PairStakes(), ProposeStake(0, 1, 5), SEATED) == (StakeProposed(0, 1, 5),)
