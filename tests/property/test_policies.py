"""Policies of bots, game by game: what they decide is accepted, hands end, and they win from players without a plan."""

import random  # noqa: TID251  (tests may use chance)
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from diwan.core.policy import choose, style_of
from tests.property.policy_hands import (
    bot,
    erratic,
    hidden_permuted,
    play_hand,
    seen_by,
    usual_start,
    won_against_erratic,
)
from tests.property.random_hands import random_start, seeds, shuffled

HANDS = settings(max_examples=60, deadline=None)
pytestmark = pytest.mark.timeout(600)


def usual(game, seats):
    return lambda number, button: usual_start(number, [200] * seats, button, game=game)


def players_of(start, seed, share_of_erratic=0.3):
    """Bots of different styles, and some players whom nothing explains."""
    chance = random.Random(seed)
    return {
        one.seat: erratic(chance)
        if chance.random() < share_of_erratic
        else bot(chance.randbytes(32), style_of(f"bot:{chance.random()}"))
        for one in start.seats
    }


def check_sense(won, margins=3):
    """A mean above zero by so many standard errors."""
    assert statistics.mean(won) > margins * statistics.stdev(won) / len(won) ** 0.5


@pytest.mark.parametrize("game", ["holdem", "omaha"])
@HANDS
@given(seed=seeds)
def test_every_decision_is_accepted_and_every_hand_ends(game, seed):
    """Given any seats, stacks, antes and settings, when bots and erratic players play, then the core refuses nothing."""
    chance = random.Random(seed)
    start = random_start(chance, game=game)

    hand = play_hand(start, shuffled(chance), players_of(start, seed))

    assert sum(hand.ended.payoffs) == 0


@pytest.mark.parametrize("game", ["holdem", "omaha"])
@settings(max_examples=20, deadline=None)
@given(seed=seeds, secret=st.binary(min_size=32, max_size=32))
def test_what_is_hidden_from_a_seat_changes_nothing(game, seed, secret):
    """S2: given any decision, when all cards that the seat does not see are dealt another way, then its move is the same."""
    chance = random.Random(seed)
    start, cards = random_start(chance, game=game), shuffled(chance)
    hand = play_hand(start, cards, players_of(start, seed))

    for (seen, seat, _), state in chance.sample(
        list(zip(hand.moves, hand.states, strict=True)), min(8, len(hand.moves))
    ):
        others = seen_by(state, hidden_permuted(chance, cards, seen, seat), seat)
        assert choose(others, seat, secret) == choose(seen, seat, secret)


@pytest.mark.parametrize("game", ["holdem", "omaha"])
@HANDS
@given(seed=seeds)
def test_who_plays_changes_nothing(game, seed):
    """F10: given the same hand with other players, people for bots, then every move of a bot is the same."""
    chance = random.Random(seed)
    start = random_start(chance, game=game)
    renamed = tuple(replace(one, player=f"other-{one.seat}", is_bot=not one.is_bot) for one in start.seats)
    cards = shuffled(chance)

    first = play_hand(start, cards, players_of(start, seed))
    second = play_hand(replace(start, seats=renamed), cards, players_of(start, seed))

    assert [move for *_, move in first.moves] == [move for *_, move in second.moves]


@pytest.mark.parametrize(("game", "seats", "hands"), [("omaha", 2, 1500), ("omaha", 6, 1500)])
def test_a_policy_wins_from_players_without_a_plan(game, seats, hands):
    """Given one bot among players who act at random, when some thousand hands are played, then it wins beyond doubt."""
    check_sense(won_against_erratic(usual(game, seats), seats, hands, seed=1))
