"""Policies of bots, game by game: what they decide is accepted, hands end, and they win from players without a plan."""

import random  # noqa: TID251  (tests may use chance)
import statistics
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from diwan.core.cards import parse_card
from diwan.core.games.naiko.carousel import destellos_of
from diwan.core.policy import AnchorAnswer, PowerUse, choose, style_of
from tests.property.naiko_hands import random_naiko_start
from tests.property.policy_hands import (
    asked,
    bot,
    deck_with,
    erratic,
    hidden_permuted,
    play_hand,
    played_to,
    sarab_start,
    seen_by,
    usual_start,
    won_against_erratic,
)
from tests.property.random_hands import random_start, seeds, shuffled
from tests.property.sarab_hands import random_sarab_start

STARTS = {
    "holdem": lambda chance: random_start(chance, game="holdem"),
    "omaha": lambda chance: random_start(chance, game="omaha"),
    "naiko": random_naiko_start,
    "sarab": random_sarab_start,
}
HANDS = settings(max_examples=60, deadline=None)
pytestmark = pytest.mark.timeout(600)


def usual(game, seats):
    if game == "sarab":
        return lambda number, button: sarab_start(number, [300] * seats, button)
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


@pytest.mark.parametrize("game", STARTS)
@HANDS
@given(seed=seeds)
def test_every_decision_is_accepted_and_every_hand_ends(game, seed):
    """Given any seats, stacks, antes and settings, when bots and erratic players play, then the core refuses nothing."""
    chance = random.Random(seed)
    start = STARTS[game](chance)

    hand = play_hand(start, shuffled(chance), players_of(start, seed))

    assert len(hand.ended.payoffs) == len(start.seats)


@pytest.mark.parametrize("game", STARTS)
@settings(max_examples=20, deadline=None)
@given(seed=seeds, secret=st.binary(min_size=32, max_size=32))
def test_what_is_hidden_from_a_seat_changes_nothing(game, seed, secret):
    """S2: given any decision, when all cards that the seat does not see are dealt another way, then its move is the same."""
    chance = random.Random(seed)
    start, cards = STARTS[game](chance), shuffled(chance)
    hand = play_hand(start, cards, players_of(start, seed))

    for (seen, seat, _), state in chance.sample(
        list(zip(hand.moves, hand.states, strict=True)), min(8, len(hand.moves))
    ):
        others = seen_by(state, hidden_permuted(chance, cards, seen, seat), seat)
        assert choose(others, seat, secret) == choose(seen, seat, secret)


@pytest.mark.parametrize("game", STARTS)
@HANDS
@given(seed=seeds)
def test_who_plays_changes_nothing(game, seed):
    """F10: given the same hand with other players, people for bots, then every move of a bot is the same."""
    chance = random.Random(seed)
    start = STARTS[game](chance)
    renamed = tuple(replace(one, player=f"other-{one.seat}", is_bot=not one.is_bot) for one in start.seats)
    cards = shuffled(chance)

    first = play_hand(start, cards, players_of(start, seed))
    second = play_hand(replace(start, seats=renamed), cards, players_of(start, seed))

    assert [move for *_, move in first.moves] == [move for *_, move in second.moves]


@pytest.mark.parametrize(
    ("game", "seats", "hands"),
    [
        ("omaha", 2, 1500),
        ("omaha", 6, 1500),
        ("naiko", 2, 1500),
        ("naiko", 6, 1500),
        ("sarab", 2, 2500),
        ("sarab", 6, 5000),
    ],
)
def test_a_policy_wins_from_players_without_a_plan(game, seats, hands):
    """Given one bot among players who act at random, when some thousand hands are played, then it wins beyond doubt."""
    check_sense(won_against_erratic(usual(game, seats), seats, hands, seed=1))


class TestPowersOfNaiko:
    def session(self, players, hands, seed):
        """Hands of one table, destellos carried on (NK-3); yields every hand."""
        chance = random.Random(seed)
        destellos = {}
        for number in range(hands):
            start = usual_start(number, [200] * len(players), number % len(players), game="naiko", destellos=destellos)
            hand = play_hand(start, shuffled(chance), dict(enumerate(players)))
            destellos = destellos_of(hand.last)
            yield hand

    def test_they_are_used_as_often_as_destellos_allow_and_each_of_them_is(self):
        """Given six bots and a destello a deal each, then one deal in three or so sees a power of each."""
        used = Counter()
        for hand in self.session([bot(bytes([place]) * 32) for place in range(6)], 400, seed=3):
            used.update(
                move.power if isinstance(move, PowerUse) else move.answer
                for *_, move in hand.moves
                if isinstance(move, PowerUse | AnchorAnswer)
            )

        answers = {"seal_shield": used["seal_shield"], "pass": used.pop("pass")}
        assert 0.2 < used.total() / (400 * 6) < 0.7
        assert min(used[power] for power in ("hidden_glance", "sleeve_trick", "short_anchor", "seal_shield")) >= 15
        assert min(answers.values()) >= 15

    def test_a_trick_throws_the_card_that_is_in_the_way(self):
        """NK-20: given an ace with a three, when the Trick is used, then the ace stays; good pairs stay whole."""
        assert {self.first_move("Ac 3d", secret) for secret in range(20)} == {
            PowerUse("sleeve_trick", None, parse_card("3d"))
        }
        assert "sleeve_trick" not in {getattr(self.first_move("Qc Qd", secret), "power", "") for secret in range(20)}

    def first_move(self, own, secret):
        """Heads-up on the button, before the flop, with destellos for everything."""
        first, second = own.split()
        cards = deck_with({1: first, 3: second})
        state = played_to(usual_start(0, [200, 200], 0, game="naiko", destellos={0: 3, 1: 3}), cards, [])
        return bot(bytes([secret]) * 32)(seen_by(state, cards, 0), 0)

    def test_what_was_seen_of_the_deck_is_used(self):
        """NK-16: given a flush draw on the turn against a bet, then the river that was looked at settles the matter."""
        made, missed = [{self.facing_a_bet("Ah 5h", river, secret) for secret in range(20)} for river in ("2h", "2c")]

        assert "fold" not in made
        assert missed == {"fold"}

    def facing_a_bet(self, own, river, secret):
        """Return what is done on the turn after a Glance, four to a flush, facing a bet of the pot."""
        first, second = own.split()
        cards = deck_with({1: first, 3: second, 4: f"Kh 9h 4c 7s {river}"})
        start = usual_start(0, [200, 200], 0, game="naiko", destellos={0: 3, 1: 3})
        checked = [("call", 0), *[("check", 0)] * 3]
        state = played_to(start, cards, [*checked, ("bet", 4), PowerUse("hidden_glance")])
        return bot(bytes([secret]) * 32)(seen_by(state, cards, 0), 0).kind


class TestSarab:
    def facing(self, own, board, acts, stacks=(1000, 1000), rule="no_voluntary_bet"):
        """Return what seat 0, the button and last to act, does after some acts, by twenty secrets; deal 1, forced bet 10."""
        first, second = own.split()
        cards = deck_with({1: first, 3: second, 4: board})
        start = sarab_start(0, list(stacks), 0)
        rules = replace(start.settings, sarab=replace(start.settings.sarab, void_rule=rule))
        state = played_to(replace(start, settings=rules), cards, acts)
        assert asked(state) == 0
        return Counter(bot(bytes([secret]) * 32)(seen_by(state, cards, 0), 0).kind for secret in range(20))

    def test_who_is_ahead_does_not_let_the_hand_be_void(self):
        """SB-23: given a turn that everybody checked, then a good hand is bet, and a poor one goes back to its owner."""
        checked = [("check", 0)] * 5

        good = self.facing("Ah Kd", "Ac 9h 4c 7s 2d", checked)
        poor = self.facing("3h 2d", "Ac Kh Qc 9s 5d", checked)

        assert good["bet"] >= 16
        assert poor["check"] >= 16

    def test_where_a_call_would_leave_the_hand_void_more_hands_raise(self):
        """A3: given the rule `no_raise` and a bet on the turn, then a fair hand that would call raises instead."""
        acts = [*[("check", 0)] * 4, ("bet", 10)]

        usual, strict = [
            self.facing("Ah 9d", "Kc 9h 4c 7s 2d", acts, rule=rule) for rule in ("no_voluntary_bet", "no_raise")
        ]

        assert strict["raise"] >= usual["raise"] + 5

    def test_where_raising_is_closed_a_great_hand_plays_sarab(self):
        """A5: given a bet and a raise on the flop, a made full house and a middling pot, then not all is left to a call."""
        acts = [("check", 0), ("check", 0), ("check", 0), ("bet", 60), ("raise", 200)]

        kinds = self.facing("9h 9d", "9c 4h 4c 7s 2d", acts, stacks=(500, 500))

        assert kinds["sarab"] >= 10
        assert set(kinds) <= {"sarab", "call"}

    def test_with_fifty_or_less_behind_nobody_folds(self):
        """SB-26: given nothing worth a chip and 40 behind, when somebody bets, then the choice is call or sarab."""
        acts = [("check", 0), ("check", 0), ("bet", 200)]

        kinds = self.facing("3h 2d", "Ac Kh Qc 9s 5d", acts, stacks=(50, 1000))

        assert set(kinds) <= {"call", "sarab"}
