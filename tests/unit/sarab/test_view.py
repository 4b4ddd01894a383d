"""What a viewer may know of a hand of Sarab, and how a log tells it (SB-28, A6)."""

import pytest
from msgspec.structs import replace

from diwan.core.hand.events import Acted, HandStarted, HandVoided
from diwan.core.redact import public_view, view
from diwan.core.view import SPECTATOR, Lens, SarabView
from diwan.history.words import describe
from diwan.wire.views import read_table_view, table_view_message
from tests.unit.sarab.play import checks, dealt
from tests.unit.table.play import Table


def table_with(hand):
    """A table whose running or last hand is this one; live tables of Sarab have the same shape."""
    table = Table()
    return replace(table.state, hand=hand.state, is_running=not hand.is_over)


def shown(hand):
    return public_view(table_with(hand), hand.cards, names={}, next_hand_id="")


def test_a_viewer_sees_the_level_and_the_carried_pot():
    hand = dealt([1000, 1000], deal_no=4, carried=40)
    assert shown(hand).hand.sarab == SarabView(
        4,
        20,
        30,
        40,
        is_void=False,
        carried_on=0,
        deals_to_next_step=1,
        is_void_unless_bet=True,
        cannot_fold=(),
    )


def test_a_viewer_sees_that_a_hand_was_void_and_what_it_leaves():
    hand = checks(dealt([1000, 1000], carried=40, void_antes="carry"), 3, 2)
    found = shown(hand).hand
    assert found.sarab == SarabView(
        1,
        10,
        10,
        40,
        is_void=True,
        carried_on=60,
        deals_to_next_step=2,
        is_void_unless_bet=False,
        cannot_fold=(),
    )
    assert (found.street, found.pot, found.decision) == ("over", 0, None)


def test_a_won_hand_leaves_nothing():
    hand = dealt([1000, 1000], carried=40).do("fold")
    assert (shown(hand).hand.sarab.is_void, shown(hand).hand.sarab.carried_on) == (False, 0)


@pytest.mark.parametrize(("deal_no", "deals"), [(1, 2), (2, 1), (3, 2), (16, 1), (17, 0), (40, 0)])
def test_a_viewer_sees_how_many_deals_the_forced_bet_lasts(deal_no, deals):
    """SB-28: 0 on the last level, which stays."""
    assert shown(dealt([1000, 1000], deal_no=deal_no)).hand.sarab.deals_to_next_step == deals


def test_a_level_with_the_same_forced_bet_is_no_step():
    hand = dealt([1000, 1000], forced_bets=(10, 10, 20))
    assert shown(hand).hand.sarab.deals_to_next_step == 4


def test_a_viewer_sees_that_the_hand_is_void_unless_somebody_bets():
    """SB-23, SB-33: until there was a bet, as long as there may be one before the river."""
    hand = checks(dealt([1000, 1000]), 2, 2)
    assert shown(hand).hand.sarab.is_void_unless_bet
    assert not shown(hand.do("bet 10")).hand.sarab.is_void_unless_bet
    assert not shown(hand.do("call")).hand.sarab.is_void_unless_bet


def test_where_a_raise_is_asked_for_a_bet_alone_saves_no_hand():
    hand = dealt([1000, 1000], void_rule="no_raise").do("bet 10")
    assert shown(hand).hand.sarab.is_void_unless_bet
    assert not shown(hand.do("raise 40")).hand.sarab.is_void_unless_bet


def test_no_hand_is_void_where_fewer_than_two_could_act_or_the_rule_is_off():
    """SB-35."""
    assert not shown(dealt([10, 1000, 10])).hand.sarab.is_void_unless_bet
    assert not shown(dealt([1000, 1000], void_rule="off")).hand.sarab.is_void_unless_bet


def test_a_viewer_sees_who_has_too_few_chips_to_be_allowed_to_fold():
    """SB-26: 50 behind at most, and some."""
    hand = dealt([60, 61, 10, 1000])
    assert shown(hand).hand.sarab.cannot_fold == (0,)


def test_the_open_decision_says_whether_sarab_may_be_played():
    """A5."""
    hand = dealt([500, 1000, 1000]).do("bet 40", "raise 100")
    decision = shown(hand).hand.decision
    assert (decision.can_sarab, decision.can_raise, decision.max_to) == (True, False, 0)
    bound = dealt([500, 1000, 1000], sarab_ignores_cap=False).do("bet 40", "raise 100")
    assert not shown(bound).hand.decision.can_sarab


@pytest.mark.parametrize("checked_rounds", [0, 1, 3])
def test_a_view_reads_back_from_its_message(checked_rounds):
    hand = checks(dealt([1000, 1000], carried=40, void_antes="carry"), checked_rounds, 2)
    state = table_with(hand)
    found = shown(hand)
    message = table_view_message(found, state.config)
    assert read_table_view(type(message).FromString(message.SerializeToString())) == found


def test_a_void_hand_shows_no_card_to_spectators():
    """SB-23: no cards are shown."""
    hand = checks(dealt([1000, 1000]), 3, 2)
    asked = []

    class Watched(dict):
        def __getitem__(self, position):
            asked.append(position)
            return super().__getitem__(position)

    found = view(table_with(hand), Watched(hand.cards), SPECTATOR, names={}, next_hand_id="")
    assert found.own_cards == {}
    assert set(asked) == set(hand.live.board)
    assert all(not seat.shown_cards for seat in found.table.seats)


def test_an_auditor_sees_the_cards_of_a_void_hand():
    hand = checks(dealt([1000, 1000]), 3, 2)
    found = view(table_with(hand), hand.cards, Lens("auditor"), names={}, next_hand_id="")
    assert {seat: len(cards) for seat, cards in found.own_cards.items()} == {0: 2, 1: 2}


def told(hand, kind):
    return [describe(event, hand.cards, 0) for event in hand.all(kind)]


def test_a_log_tells_level_sarab_and_what_a_void_hand_leaves():
    hand = dealt([500, 1000, 1000], carried=40).do("bet 40", "raise 100", "all_in")
    assert "sarab deal 1, forced bet 10, 40 carried over" in told(hand, HandStarted)[0]
    assert told(hand, Acted)[-1] == "plays Sarab: raises to 490 (adds 490), all-in"
    void = checks(dealt([1000, 1000], carried=40, void_antes="carry"), 3, 2)
    assert told(void, HandVoided) == [
        "voids the hand because nobody bet, 60 stay in the middle for the next hand (decided by the room)"
    ]
    refunded = dealt([1000, 1000], void_rule="no_raise").do("bet 10", "call", *["check"] * 4)
    assert "nobody raised, back go 20 to seat 0, 20 to seat 1" in told(refunded, HandVoided)[0]
