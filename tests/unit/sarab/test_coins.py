"""Coins for display (SB-3, SB-4, SB-39)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diwan.core.games.coins import STARTING_COINS, VALUES, Coins, coins_of
from diwan.core.games.sarab import forced_bet_of
from diwan.core.hand.settings import SarabSettings


def test_the_starting_set_is_worth_a_thousand():
    """SB-4, E-SB-1: 4 x 100 + 5 x 50 + 10 x 25 + 10 x 10; it is data, not the fewest coins for 1,000."""
    assert Coins(dinars=4, dirhams=5, fils=10, stones=10) == STARTING_COINS
    assert STARTING_COINS.value == 1000
    assert coins_of(1000).coins == Coins(dinars=10)


@pytest.mark.parametrize(
    ("amount", "coins", "rest"),
    [
        (0, Coins(), 0),
        (5, Coins(), 5),
        (9, Coins(), 9),
        (15, Coins(stones=1), 5),
        (30, Coins(stones=3), 0),
        (47, Coins(fils=1, stones=2), 2),
        (80, Coins(dirhams=1, stones=3), 0),
        (135, Coins(dinars=1, fils=1, stones=1), 0),
        (325, Coins(dinars=3, fils=1), 0),
        (130, Coins(dinars=1, stones=3), 0),
        (107, Coins(dirhams=1, fils=1, stones=3), 2),
        (1_000_000_000_002, Coins(dinars=10_000_000_000), 2),
    ],
)
def test_an_amount_is_paid_with_the_fewest_coins_and_the_rest_is_named(amount, coins, rest):
    """RULES.md: 30 = 3 x 10, not 25 and a rest; 5 -> 5; 47 -> 45 and 2; SB-39."""
    found = coins_of(amount)
    assert (found.coins, found.rest) == (coins, rest)


def test_every_step_of_the_schedule_can_be_paid_in_coins():
    """SB-39."""
    for deal in range(1, 20):
        assert coins_of(forced_bet_of(SarabSettings(), deal)).rest == 0


def test_no_other_choice_of_coins_pays_more_or_needs_fewer():
    """Against the textbook table: fewest coins for every sum up to a thousand."""
    fewest = {0: 0}
    for amount in range(1, 1001):
        ways = [fewest[amount - value] + 1 for value in VALUES if amount - value in fewest]
        if ways:
            fewest[amount] = min(ways)
    for amount in range(1001):
        found = coins_of(amount)
        best = max(sum_ for sum_ in fewest if sum_ <= amount)
        assert (found.coins.value, sum(found.coins.counts)) == (best, fewest[best]), amount


@given(amount=st.integers(0, 2**53))
def test_coins_and_rest_are_the_amount(amount):
    found = coins_of(amount)
    assert found.coins.value + found.rest == amount
    assert 0 <= found.rest < 10
    assert min(found.coins.counts) >= 0


def test_a_negative_amount_has_no_coins():
    with pytest.raises(ValueError, match="-1"):
        coins_of(-1)
