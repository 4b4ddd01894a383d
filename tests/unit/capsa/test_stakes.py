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
    command_of,
    decide,
    evolve,
)

SEATED = frozenset({0, 1, 2})
NOW = 1_800_000_000_000


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
    offered = after(ProposeStake(1, 0, 100, NOW))
    assert offered.pair_units == ()
    assert decide(offered, AcceptStake(0, 1, 100, NOW), SEATED) == (StakeAgreed(0, 1, 100, NOW),)
    assert after(ProposeStake(1, 0, 100, NOW), AcceptStake(0, 1, 100, NOW)).pair_units == (PairUnit(0, 1, 100),)


def test_nobody_accepts_an_own_offer_or_one_that_has_changed():
    offered = after(ProposeStake(1, 0, 100, NOW), ProposeStake(1, 0, 200, NOW))
    assert refusal(offered, AcceptStake(1, 0, 200, NOW)) == "NOT_ASKED"
    assert refusal(offered, AcceptStake(0, 1, 100, NOW)) == "NOT_ASKED"
    assert refusal(offered, AcceptStake(2, 1, 200, NOW)) == "NOT_ASKED"


def test_an_agreement_stays_while_another_is_offered():
    agreed = (ProposeStake(1, 0, 100, NOW), AcceptStake(0, 1, 100, NOW))
    assert after(*agreed, ProposeStake(0, 1, 5, NOW)).pair_units == (PairUnit(0, 1, 100),)
    assert after(*agreed, ProposeStake(0, 1, 5, NOW), AcceptStake(1, 0, 5, NOW)).pair_units == (PairUnit(0, 1, 5),)


def test_either_may_end_it_and_leaving_ends_all_of_a_seat():
    agreed = (ProposeStake(1, 0, 100, NOW), AcceptStake(0, 1, 100, NOW), ProposeStake(2, 0, 7, NOW))
    assert after(*agreed, EndStake(0, 1, NOW)).pair_units == ()
    assert decide(after(*agreed), LeaveStakes(0, NOW), SEATED) == (
        StakeEnded(0, 1, "left", NOW),
        StakeEnded(0, 2, "left", NOW),
    )
    assert after(*agreed, LeaveStakes(0, NOW)) == PairStakes()
    assert decide(after(*agreed), LeaveStakes(2, NOW), SEATED) == (StakeEnded(2, 0, "left", NOW),)


def test_what_makes_no_pair_or_no_stake_is_refused():
    assert refusal(PairStakes(), ProposeStake(0, 3, 5, NOW)) == "NOT_SEATED"
    assert refusal(PairStakes(), ProposeStake(1, 1, 5, NOW)) == "SETTING_INVALID"
    assert refusal(PairStakes(), ProposeStake(0, 1, 0, NOW)) == "SETTING_INVALID"
    assert refusal(PairStakes(), EndStake(0, 1, NOW)) == "NOT_ASKED"
    assert decide(PairStakes(), ProposeStake(0, 1, 5, NOW), SEATED) == (StakeProposed(0, 1, 5, NOW),)


def test_every_act_leads_back_to_its_command():
    """The inverse: verification asks the rules again at every act; what ends by leaving is an outcome."""
    state = after(ProposeStake(1, 0, 100, NOW))
    for command in (ProposeStake(0, 2, 5, NOW), AcceptStake(0, 1, 100, NOW), EndStake(0, 1, NOW)):
        (event,) = decide(state, command, SEATED)
        assert command_of(event) == command
    (left,) = decide(state, LeaveStakes(1, NOW), SEATED)
    assert command_of(left) is None
