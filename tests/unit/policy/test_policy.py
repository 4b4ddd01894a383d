"""A bot's policy: sensible, different from name to name, and the same for the same view and chance."""

from __future__ import annotations

import random  # noqa: TID251  (tests may use chance)
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from diwan.core.cards import parse_cards
from diwan.core.policy import Chance, Choice, Options, Situation, Style, style_of
from diwan.core.policy.betting import bet
from diwan.core.policy.holdem import HOLDEM
from diwan.core.policy.starting import percent_better
from tests.unit.policy.simulated import play_hand, styled, uniform

MIDDLE = styled(Style(100, 100))


def choose(situation: Situation, chance: Chance) -> Choice:
    return bet(situation, chance, Style(100, 100), HOLDEM)


stacks_of_players = st.lists(st.integers(1, 600), min_size=2, max_size=9)


def facing(own: str, board: str = "", *, pot: int, call: int, stack: int = 200) -> Situation:
    """Heads-up, out of position; a call of 0 stands for a free check."""
    cards = parse_cards(board)
    street = {0: "preflop", 3: "flop", 4: "turn", 5: "river"}[len(cards)]
    return Situation(
        own_cards=parse_cards(own),
        board=cards,
        street=street,
        big_blind=2,
        pot=pot,
        own_bet=0,
        own_stack=stack,
        opponents=1,
        acting_later=1,
        reachable=call + stack,
        options=Options(
            can_fold=True,
            can_check=not call,
            can_call=call > 0,
            call_amount=call,
            can_bet=not call,
            can_raise=call > 0,
            min_to=2 * call or 2,
            max_to=stack,
        ),
    )


def kinds_chosen(situation: Situation, times: int = 200) -> dict[str, int]:
    chance = random.Random(5)
    kinds = [choose(situation, chance.randrange).kind for _ in range(times)]
    return {kind: kinds.count(kind) for kind in set(kinds)}


class TestLegality:
    @settings(max_examples=150, deadline=None)
    @given(stacks_of_players, st.integers(0, 2**32), st.sampled_from(["no_limit", "pot_limit"]), st.text(max_size=8))
    def test_every_choice_is_one_of_the_legal_actions(self, stacks, seed, limit, name):
        """Given any stacks and a table of bots and erratic players, when hands are played, then nothing is refused."""
        players = [uniform if place % 3 == 2 else styled(style_of(f"{name}{place}")) for place in range(len(stacks))]

        played = play_hand(players, stacks, seed % len(stacks), random.Random(seed), limit)

        for situation, choice in played.choices:
            options = situation.options
            assert {
                "fold": options.can_fold,
                "check": options.can_check,
                "call": options.can_call,
                "bet": options.can_bet,
                "raise": options.can_raise,
            }[choice.kind]
            if choice.kind in {"bet", "raise"}:
                assert options.min_to <= choice.to <= options.max_to
            else:
                assert choice.to == 0
        assert sum(played.payoffs) == 0

    @settings(max_examples=100, deadline=None)
    @given(stacks_of_players, st.integers(0, 2**32))
    def test_betting_rounds_end_soon(self, stacks, seed):
        """Given bots alone and stacks up to 300 big blinds, then nobody decides more than eight times in a round."""
        players = [styled(style_of(f"bot:{seed}-{place}")) for place in range(len(stacks))]

        played = play_hand(players, stacks, seed % len(stacks), random.Random(seed))

        assert max(played.rounds, default=0) <= 8 * len(stacks)

    def test_a_bot_that_may_not_fold_calls(self):
        """Given a game in which a fold is not allowed, when the hand is worthless, then it calls."""
        situation = facing("7c 2d", "As Ah Kd Kc Qs", pot=300, call=150, stack=150)
        forced = replace(situation, options=replace(situation.options, can_fold=False, can_raise=False))

        assert choose(forced, random.Random(1).randrange) == Choice("call")

    def test_other_than_two_own_cards_are_refused(self):
        situation = replace(facing("As Kd", pot=3, call=1), own_cards=parse_cards("As Kd Qc Jh"))

        with pytest.raises(ValueError, match="two own cards"):
            choose(situation, random.Random(1).randrange)


class TestSameAgain:
    @settings(max_examples=30, deadline=None)
    @given(st.integers(0, 2**32))
    def test_same_view_and_same_chance_make_the_same_choice(self, seed):
        played = play_hand([MIDDLE] * 4, [200] * 4, 0, random.Random(seed))

        for situation, _ in played.choices:
            first = choose(situation, random.Random(seed).randrange)
            assert choose(situation, random.Random(seed).randrange) == first

    def test_a_style_follows_from_the_name_and_differs_between_names(self):
        styles = {style_of(f"bot:amal-{number:02}") for number in range(20)}

        assert style_of("bot:amal-01") == style_of("bot:amal-01")
        assert len(styles) > 15
        assert all(75 <= style.looseness <= 130 and 70 <= style.aggression <= 130 for style in styles)


class TestSense:
    def test_starting_hands_are_ordered(self):
        in_order = ["As Ad", "Ks Kd", "As Ks", "As Kd", "Ts Td", "9s 8s", "Ks 9d", "7s 2d"]

        percents = [percent_better(*parse_cards(text)) for text in in_order]

        assert percents == sorted(percents)
        assert percents[0] < 1
        assert percents[-1] > 90

    def test_aces_are_never_folded_before_the_flop(self):
        """Nor is seven-deuce ever played against a raise that it would have to pay in full."""
        assert "fold" not in kinds_chosen(facing("As Ad", pot=60, call=40))
        assert kinds_chosen(facing("7s 2d", pot=60, call=40)) == {"fold": 200}

    def test_the_nuts_are_raised_and_nothing_is_mostly_folded(self):
        nuts = kinds_chosen(facing("As Ks", "Qs Js Ts 2d 3c", pot=80, call=40))
        nothing = kinds_chosen(facing("2c 7d", "As Ks Qs Js 9h", pot=80, call=40))

        assert nuts["raise"] > 100
        assert set(nuts) <= {"raise", "call"}
        assert nothing["fold"] > 180

    def test_a_free_check_is_never_folded(self):
        assert "fold" not in kinds_chosen(facing("2c 7d", "As Ks Qs Js 9h", pot=80, call=0))

    def test_a_weak_hand_bluffs_now_and_then(self):
        """So that a bet does not give away what is held."""
        kinds = kinds_chosen(facing("2c 7d", "As Ks Qs Js 9h", pot=80, call=0), times=1000)

        assert 20 < kinds["bet"] < 200

    def test_who_is_committed_moves_all_in(self):
        chance = random.Random(1)
        choices = [choose(facing("As Ad", "Ah 7c 2d", pot=160, call=40, stack=90), chance.randrange) for _ in range(50)]

        assert {choice.to for choice in choices if choice.kind == "raise"} == {90}

    @pytest.mark.parametrize("seats", [2, 6])
    def test_it_beats_a_player_who_acts_at_random(self, seats):
        """Given one bot among uniform random players, then over some thousand hands it wins beyond doubt."""
        deal = random.Random(seats)
        won = []
        for number in range(5000):
            place = number % seats
            players = [MIDDLE if other == place else uniform for other in range(seats)]
            payoffs = play_hand(players, [200] * seats, number // seats % seats, deal).payoffs
            won.append(payoffs[place])

        margin = 3 * statistics.stdev(won) / len(won) ** 0.5
        assert statistics.mean(won) > margin


class TestSecrecy:
    def test_cards_do_not_appear_where_a_situation_is_printed(self):
        assert "own_cards" not in repr(facing("As Ad", pot=3, call=1))
