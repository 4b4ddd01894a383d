"""Button and blinds from hand to hand, with players who come, go and sit out (B5, finer point 11, RULES 'joining')."""

import random  # noqa: TID251  (tests may use chance)
from itertools import pairwise

import pytest
from hypothesis import given, settings

from diwan.core.hand.events import Due
from diwan.core.table.button import Contender, Spots, first_hand_positions, next_hand_positions
from tests.property.random_hands import seeds

SMALL, BIG = 5, 10


def clockwise(start, end):
    """How many seats left of ``start`` the seat ``end`` is."""
    return (end - start) % 9


def live_posts(positions):
    return [due.seat for due in positions.dues if due.kind in {"small_blind", "big_blind"}]


class Room:
    """A table at which players sit down, bust, sit out and return by chance."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        seats = self.chance.sample(range(9), self.chance.randint(2, 9))
        self.standing = dict.fromkeys(seats, "playing")
        self.positions = first_hand_positions(self.chance.randrange(9), seats, SMALL, BIG)
        self.contenders = [Contender(seat) for seat in sorted(seats)]

    def change(self):
        for seat in range(9):
            if seat not in self.standing and self.chance.random() < 0.1:
                self.standing[seat] = self.chance.choice(["newcomer", "returner"])
            elif seat in self.standing and self.chance.random() < 0.1:
                del self.standing[seat]

    def next_hand(self):
        """Play on; returns whether there was a hand."""
        self.change()
        self.contenders = [
            Contender(seat, standing, self.chance.random() < 0.3) for seat, standing in sorted(self.standing.items())
        ]
        self.chance.shuffle(self.contenders)
        following = next_hand_positions(self.positions.spots, self.contenders, SMALL, BIG)
        if following is None:
            return False
        self.positions = following
        self.standing |= dict.fromkeys(following.dealt_in, "playing")
        return True


def hands(seed, count=30):
    """Pairs of (the spots before, who contended, the positions)."""
    room = Room(seed)
    for _ in range(count):
        before = room.positions.spots
        if room.next_hand():
            yield before, room.contenders, room.positions
        else:
            assert len(room.contenders) < 2


@settings(max_examples=200, deadline=None)
@given(seed=seeds)
def test_the_big_blind_goes_to_the_next_player_and_misses_nobody(seed):
    for before, contenders, positions in hands(seed):
        seats = [each.seat for each in contenders]
        expected = min(seats, key=lambda seat: clockwise(before.big_blind + 1, seat))
        assert positions.spots.big_blind == expected
        assert positions.spots.big_blind != before.big_blind  # nobody has it twice running
        assert positions.spots.big_blind in positions.dealt_in


@settings(max_examples=200, deadline=None)
@given(seed=seeds)
def test_button_small_blind_and_big_blind_stand_in_this_order(seed):
    for before, _, positions in hands(seed):
        spots = positions.spots
        if len(positions.dealt_in) == 2:  # HD-7
            assert spots.button == spots.small_blind == next(s for s in positions.dealt_in if s != spots.big_blind)
        else:
            assert 0 < clockwise(spots.button, spots.small_blind) < clockwise(spots.button, spots.big_blind)
            assert spots.small_blind == before.big_blind


@settings(max_examples=200, deadline=None)
@given(seed=seeds)
def test_everybody_who_plays_is_dealt_in_and_owes_what_is_due(seed):
    for _, contenders, positions in hands(seed):
        spots = positions.spots
        standing = {each.seat: each for each in contenders}
        playing = {seat for seat, each in standing.items() if each.standing == "playing"}
        assert set(positions.dealt_in) <= set(standing)
        assert len(positions.dealt_in) >= 2
        assert playing <= set(positions.dealt_in)
        posts = live_posts(positions)
        assert len(posts) == len(set(posts))
        assert Due(spots.big_blind, "big_blind", BIG) in positions.dues
        assert (positions.small_blind_seat is None) == (spots.small_blind not in positions.dealt_in)
        if positions.small_blind_seat is not None:
            assert positions.dues[0] == Due(spots.small_blind, "small_blind", SMALL)
        is_afresh = len(playing) < 2
        for seat in set(positions.dealt_in) - playing - {spots.big_blind}:
            assert is_afresh or standing[seat].posts
            if not is_afresh:
                assert Due(seat, "big_blind", BIG) in positions.dues
                assert (Due(seat, "dead_blind", SMALL) in positions.dues) == (standing[seat].standing == "returner")
                # Nobody comes in between the button and the big blind.
                assert clockwise(spots.big_blind, seat) <= clockwise(spots.big_blind, spots.button)


@settings(max_examples=100, deadline=None)
@given(seed=seeds)
def test_at_a_table_that_stays_the_same_everything_moves_one_seat_a_hand(seed):
    chance = random.Random(seed)
    seats = sorted(chance.sample(range(9), chance.randint(3, 9)))
    button = chance.choice(seats)
    positions = first_hand_positions(button, seats, SMALL, BIG)
    contenders = [Contender(seat) for seat in seats]
    rounds = [positions.spots]
    for _ in range(2 * len(seats)):
        positions = next_hand_positions(positions.spots, contenders, SMALL, BIG)
        rounds.append(positions.spots)
    following = dict(pairwise([*seats, seats[0]]))
    for one, two in pairwise(rounds):
        assert two.button == following[one.button] == one.small_blind
        assert two.big_blind == following[one.big_blind]


def test_somebody_who_waits_is_dealt_in_when_the_big_blind_comes():
    spots = Spots(0, 1, 2)
    contenders = [Contender(0), Contender(1), Contender(2), Contender(3), Contender(5, "newcomer")]
    first = next_hand_positions(spots, contenders, SMALL, BIG)
    assert first.dealt_in == (0, 1, 2, 3)
    second = next_hand_positions(first.spots, contenders, SMALL, BIG)
    assert second.dealt_in == (0, 1, 2, 3, 5)
    assert second.spots == Spots(2, 3, 5)
    assert second.dues == (Due(3, "small_blind", SMALL), Due(5, "big_blind", BIG))


def test_a_newcomer_posts_the_big_blind_and_a_returner_the_small_one_dead_as_well():
    spots = Spots(0, 1, 2)
    contenders = [
        Contender(0),
        Contender(1),
        Contender(2),
        Contender(3),
        Contender(5, "newcomer", posts=True),
        Contender(7, "returner", posts=True),
    ]
    positions = next_hand_positions(spots, contenders, SMALL, BIG)
    assert positions.dues == (
        Due(2, "small_blind", SMALL),
        Due(3, "big_blind", BIG),
        Due(5, "big_blind", BIG),
        Due(7, "dead_blind", SMALL),
        Due(7, "big_blind", BIG),
    )


def test_the_button_goes_to_the_empty_seat_of_a_dead_small_blind():
    """Finer point 11."""
    spots = Spots(0, 1, 2)
    players = [Contender(seat) for seat in (0, 1, 3, 4)]
    dead_small = next_hand_positions(spots, players, SMALL, BIG)
    assert (dead_small.spots, dead_small.small_blind_seat) == (Spots(1, 2, 3), None)
    dead_button = next_hand_positions(dead_small.spots, players, SMALL, BIG)
    assert dead_button.spots == Spots(2, 3, 4)


def test_a_third_player_who_posts_between_two_gets_the_button():
    """Heads-up seats 0 and 4; seat 2 posts while seat 0 has the big blind next: the button cannot stay on it."""
    spots = Spots(0, 0, 4)
    contenders = [Contender(0), Contender(2, "newcomer", posts=True), Contender(4)]
    positions = next_hand_positions(spots, contenders, SMALL, BIG)
    assert positions.spots == Spots(2, 4, 0)
    assert positions.dealt_in == (0, 2, 4)


def test_where_only_one_played_the_table_begins_afresh():
    spots = Spots(0, 0, 4)
    contenders = [Contender(4), Contender(6, "newcomer"), Contender(8, "newcomer")]
    positions = next_hand_positions(spots, contenders, SMALL, BIG)
    assert positions.dealt_in == (4, 6, 8)
    assert positions.spots == Spots(0, 4, 6)  # a dead button, where the last small blind was
    assert len(positions.dues) == 2


@pytest.mark.parametrize("seats", [[], [3]])
def test_fewer_than_two_seats_play_no_hand(seats):
    assert next_hand_positions(Spots(0, 1, 2), [Contender(seat) for seat in seats], SMALL, BIG) is None
    assert first_hand_positions(0, seats, SMALL, BIG) is None


def test_heads_up_the_button_posts_the_small_blind_from_the_first_hand_on():
    """HD-7; a button drawn onto an empty seat moves to a player."""
    assert first_hand_positions(3, [1, 5], SMALL, BIG).spots == Spots(1, 1, 5)
    assert first_hand_positions(5, [1, 5], SMALL, BIG).spots == Spots(5, 5, 1)
