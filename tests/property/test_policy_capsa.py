"""Capsa's policy: sets are legal and the best there are, hands end, and setting with care wins."""

import random  # noqa: TID251  (tests may use chance)
import statistics
from bisect import bisect_left, bisect_right
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from diwan.core.evaluation import evaluate
from diwan.core.games.capsa.naturals import find_natural
from diwan.core.games.capsa.rows import is_fouled, row_value
from diwan.core.games.capsa.settings import CapsaSettings, PairUnit, SurrenderTerms, naturals_of
from diwan.core.policy import (
    CallAnswer,
    CapsaSeen,
    ReserveMove,
    SetRows,
    StakeAnswer,
    StakeOffer,
    Style,
    choose,
    style_of,
)
from diwan.core.policy.capsa_rivals import BACKS, FRONTS, MIDDLES
from diwan.core.policy.capsa_sets import best_set, front_strength, value_of_set
from diwan.core.policy.style import MIDDLE
from tests.property.policy_capsa import (
    SERVER,
    bot,
    capsa_start,
    careless,
    hidden_permuted,
    play_capsa,
    seen_by,
    setter,
    units_won,
)
from tests.property.test_capsa import capsa_settings

RULES = CapsaSettings()
pytestmark = pytest.mark.timeout(600)
seeds = st.integers(0, 2**48)


def shuffled(chance):
    return dict(enumerate(chance.sample(range(52), 52)))


@settings(max_examples=40, deadline=None)
@given(rules=capsa_settings(), seed=seeds)
def test_every_decision_is_accepted_and_every_hand_ends(rules, seed):
    """Given any settings, two to four bots and careless players, then the core refuses nothing and nobody fouls."""
    chance = random.Random(seed)
    start = capsa_start(chance, rules)
    players = {one.seat: bot(style_of(f"bot:{chance.random()}")) for one in start.seats}
    players[start.seats[0].seat] = setter(careless(chance), chance.choice(["play", "surrender"] if rules.surrender.allowed else ["play"]))  # fmt: skip

    hand = play_capsa(start, shuffled(chance), players)

    assert sum(hand.state.ended.payoffs) == 0
    assert "fouled" not in {standing.status for standing in hand.state.last.standings}


@settings(max_examples=25, deadline=None)
@given(rules=capsa_settings(), seed=seeds)
def test_a_bot_saves_its_set_as_a_draft_and_locks_it(rules, seed):
    """CS-20, CS-28: given a bot that sets, then its draft is the set that it locks."""
    chance = random.Random(seed)
    start = capsa_start(chance, rules)
    players = {one.seat: bot() for one in start.seats}

    hand = play_capsa(start, shuffled(chance), players)

    for seat in players:
        sets = [move for *_, mover, move in hand.moves if mover == seat and isinstance(move, SetRows)]
        assert [move.is_final for move in sets] in ([], [False, True])
        assert len({move.rows for move in sets}) <= 1


@settings(max_examples=25, deadline=None)
@given(rules=capsa_settings(), seed=seeds)
def test_what_is_hidden_from_a_seat_and_who_plays_change_nothing(rules, seed):
    """S2, F10: given any decision, when hidden cards are dealt another way to other people, then the move is the same."""
    chance = random.Random(seed)
    start, cards = capsa_start(chance, rules), shuffled(chance)
    hand = play_capsa(start, cards, {one.seat: bot() for one in start.seats})

    for state, _, seat, move in hand.moves:
        seen = seen_by(state, hidden_permuted(chance, cards, state, seat), seat)
        others = tuple(
            [replace(each, player=f"other-{each.seat}", is_bot=True, stack=1) for each in seen.hand.hand.seats]
        )
        seen = replace(seen, hand=replace(seen.hand, hand=replace(seen.hand.hand, seats=others)))
        assert bot()(seen, seat) == move


@pytest.mark.parametrize("wheel", ["low", "second"])
def test_the_set_is_the_best_of_all_legal_ones(wheel):
    """Given thirteen cards with a wheel among them, when every split is looked at, then none is worth more."""
    rules = replace(RULES, wheel=wheel)
    chance = random.Random(7)
    cards = [0, 5, 10, 15, 48, *chance.sample(range(16, 48), 8)]
    worth = []
    for back in combinations(cards, 5):
        rest = [card for card in cards if card not in back]
        for middle in combinations(rest, 5):
            rows = (tuple([card for card in rest if card not in middle]), middle, back)
            if not is_fouled(*[row_value(row, wheel) for row in rows]):
                worth.append(value_of_set(rows, rules))

    found = best_set(cards, rules)

    assert found.units == pytest.approx(max(worth))
    assert found.units == pytest.approx(value_of_set(found.rows, rules))


@pytest.mark.soak
def test_opponents_are_taken_for_such_who_set_like_this():
    """The rows in `capsa_rivals` are those of the policy itself: each quarter of them holds a quarter of its rows."""
    chance = random.Random(11)
    sets = []
    while len(sets) < 400:
        cards = chance.sample(range(52), 13)
        if find_natural(cards, naturals_of(RULES), "low") is None:
            front, middle, back = best_set(cards, RULES).rows
            sets.append((front_strength(front), evaluate(middle), evaluate(back)))

    for row, rivals in enumerate((FRONTS, MIDDLES, BACKS)):
        strengths = sorted(each[row] for each in sets)
        for quarter in (1, 2, 3):
            rival = rivals[16 * quarter]
            # Many rows are equal, so a strength stands for a span of shares.
            span = [cut(strengths, rival) / len(sets) for cut in (bisect_left, bisect_right)]
            assert span[0] - 0.07 <= quarter / 4 <= span[1] + 0.07


@pytest.mark.soak
@pytest.mark.parametrize("players", [2, 4])
def test_it_wins_from_careless_players_and_from_the_servers_arrangement(players):
    """Given some hundred hands, then what is won per hand lies clearly above zero (CS-29 is legal, not good)."""
    rules = replace(RULES, naturals=())
    chance = random.Random(players)
    for other, hands, margins in ((setter(careless(chance)), 60, 5), (SERVER, 220, 3)):
        won = units_won(bot(), other, hands, players, rules, players)
        assert statistics.mean(won) > margins * statistics.stdev(won) / len(won) ** 0.5


class TestSurrender:
    def answers(self, hands, rules):
        """Whether each set was played, with what it was expected to win."""
        chance = random.Random(2)
        for _ in range(hands):
            start = capsa_start(chance, rules, 2)
            hand = play_capsa(start, shuffled(chance), {one.seat: bot() for one in start.seats})
            for _, seen, _, move in hand.moves:
                if isinstance(move, CallAnswer) and not any(seat.answer for seat in seen.hand.hand.seats):
                    rows = seen.hand.own[0].locked
                    yield move.answer, value_of_set((rows.front, rows.middle, rows.back), rules)

    def test_only_what_is_expected_to_lose_more_than_the_price_is_given_up(self):
        """CS-53: given a price of two units, then sets expected to lose more are surrendered, and no others."""
        rules = replace(RULES, surrender=SurrenderTerms(allowed=True, price=2))

        answers = list(self.answers(70, rules))

        assert {answer for answer, units in answers if units < -2} == {"surrender"}
        assert {answer for answer, units in answers if units >= -2} == {"play"}

    def test_it_is_rare_by_the_default_price(self):
        answers = [answer for answer, _ in self.answers(50, RULES)]

        assert answers.count("surrender") < 0.03 * len(answers)


class TestStakes:
    def answer(self, unit, stack=5000, style=MIDDLE, other=2):
        """Seat 0 among seats 0, 2 and 3, at a table of unit 10."""
        seen = CapsaSeen(
            settings=replace(RULES, unit=10),
            seats=(0, 2, 3),
            stack=stack,
            stack_max=5000,
            offers=(StakeOffer(other, unit),),
        )
        return choose(seen, 0, bytes(32), style)

    def test_a_modest_stake_is_accepted_and_a_wild_one_refused(self):
        """CS-62: given a table of unit 10, then 30 is fine for a middling bot and 50 is not."""
        assert self.answer(30) == StakeAnswer(2, 30, is_accepted=True)
        assert self.answer(50) == StakeAnswer(2, 50, is_accepted=False)

    def test_a_stake_is_refused_that_would_tie_up_the_stack(self):
        """CS-65: given 28 units at most, then unit 30 against one and 10 against another reserve 1,120 chips."""
        assert self.answer(30, stack=2240) == StakeAnswer(2, 30, is_accepted=True)
        assert self.answer(30, stack=2239) == StakeAnswer(2, 30, is_accepted=False)

    def test_loose_bots_play_higher_and_who_offers_does_not_matter(self):
        assert self.answer(39, style=Style(looseness=130, aggression=100)) == StakeAnswer(2, 39, is_accepted=True)
        assert self.answer(30, other=3) == StakeAnswer(3, 30, is_accepted=True)


class TestReserve:
    def move(self, stack, stack_max=5000, pairs=()):
        seen = CapsaSeen(
            settings=replace(RULES, unit=10, pair_units=pairs), seats=(0, 2, 3), stack=stack, stack_max=stack_max
        )
        return choose(seen, 0, bytes(32))

    def test_a_stack_that_covers_the_reserve_asks_for_nothing(self):
        """CS-65: two opponents at unit 10 and 28 units at most."""
        assert self.move(560) is None

    def test_a_stack_below_it_is_filled_up(self):
        assert self.move(559) == ReserveMove("top_up", 5000 - 559)

    def test_where_that_is_not_enough_a_dear_stake_is_given_up_and_then_the_seat(self):
        pair = PairUnit(0, 3, 30)

        assert self.move(559, 1000, (pair,)) == StakeAnswer(3, 30, is_accepted=False)
        assert self.move(559, 559) == ReserveMove("stand_up", 0)

    def test_nothing_of_it_happens_during_a_hand(self):
        chance = random.Random(1)
        start, cards = capsa_start(chance, replace(RULES, naturals=()), 3), shuffled(chance)
        seat = start.seats[0].seat
        hand = play_capsa(start, cards, {one.seat: bot() for one in start.seats})
        state, _, mover, _ = hand.moves[-1]
        other = next(each.seat for each in start.seats if each.seat != mover)
        seen = replace(seen_by(state, cards, other), seats=(seat, other), stack=0)

        assert choose(seen, other, bytes(32)) is None
