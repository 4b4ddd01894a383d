"""Omaha: how it differs from hold'em (OM-1 to OM-5)."""

import pytest

from diwan.core.decider import Rejected
from diwan.core.games.omaha import Omaha
from diwan.core.hand.betting import legal_actions
from diwan.core.hand.events import CardsShown, HoleCardsDealt
from tests.unit.hand.hands import Hand, deck, start


def omaha(stacks, cards=None, **settings):
    return Hand(start(stacks, game="omaha", limit="pot_limit", **settings), cards)


def lift(hand):
    return legal_actions(Omaha(), hand.state).lift


def test_four_cards_go_to_everybody_one_at_a_time():
    """OM-1."""
    hand = omaha([100, 100, 100])
    assert hand.all(HoleCardsDealt) == [HoleCardsDealt(((2, 5, 8, 11), (0, 3, 6, 9), (1, 4, 7, 10)))]


def test_the_first_raise_is_at_most_the_pot():
    """OM-4, E-OM-2: blinds 5/10: to 35; after it the next to 120, the small blind to 115."""
    hand = omaha([1000] * 5)
    assert lift(hand) == (20, 35)
    hand.do("raise 35")
    assert lift(hand) == (60, 120)
    hand.do("fold", "fold")
    assert lift(hand) == (60, 115)


def test_an_opening_bet_is_at_most_the_pot():
    """E-OM-3: flop pot 60: at most 60, after it the next to 240."""
    hand = omaha([1000, 1000, 1000]).do("raise 20", "call", "call")
    assert lift(hand) == (10, 60)
    hand.do("bet 60")
    assert lift(hand) == (120, 240)


def test_an_all_in_above_the_pot_is_refused_and_a_short_one_is_not():
    """E-OM-3, HD-14."""
    hand = omaha([1000, 1000, 120]).do("raise 20", "call", "call", "bet 60")
    assert hand.refused(hand.command("all_in")) is None
    hand = omaha([1000, 1000, 1000])
    assert hand.refused(hand.command("all_in")) == "AMOUNT_TOO_LARGE"


def test_two_own_cards_count_at_showdown():
    """OM-2: seat 1's seven and eight make a straight with three of the board, seat 0's aces a pair."""
    hand = omaha([100, 100], deck("2cAh2dAd7h3c8c3dThJdQsKs9c")).do("call", "check", *["check"] * 6)
    categories = {showing.seat: showing.category for showing in hand.all(CardsShown)}
    assert categories == {1: "straight", 0: "pair"}
    assert hand.ended.payoffs == (-10, 10)


def test_no_limit_is_no_omaha():
    """OM-1."""
    with pytest.raises(Rejected, match="SETTING_INVALID setting=limit"):
        Hand(start([100, 100], game="omaha"))
