"""A tournament in lines: before entering, above a table, at its end."""

import pytest

from diwan.api.event.v1 import tournament_pb2
from diwan.api.tournament.v1 import lobby_pb2, view_pb2
from diwan.cli.play.tour_text import change_lines, condition_lines, ending_lines, is_settled, standing_lines
from diwan.cli.play.words import Words

NOW = 1_000_000
WORDS = Words("en", "holdem")


def level(number, big, **said):
    return view_pb2.LevelView(level_no=number, small_blind=big // 2, big_blind=big, **said)


def view(**said):
    fields = {"name": "Evening", "entries": 6, "players_left": 5, "pool": 600, "phase": "playing", "tables": 1}
    return view_pb2.TournamentView(**{**fields, "level": level(2, 40)} | said)


def out(**said):
    return view_pb2.OwnEntry(status="out", **said)


CONDITIONS = lobby_pb2.TournamentConditions(
    game="holdem",
    limit="no_limit",
    players_min=6,
    players_max=6,
    entry=100,
    fee=10,
    starting_stack=1500,
    has_bots=True,
    bots_up_to=5,
    decision_seconds=20,
    ladder=tournament_pb2.TournamentLadder(
        levels=[{"small_blind": 10, "big_blind": 20, "duration_ms": 360_000}, {"small_blind": 20, "big_blind": 40}]
    ),
    payouts=[{"entries_min": 1, "shares": [100_000]}, {"entries_min": 4, "shares": [70_000, 30_000]}],
)


def test_conditions_name_price_field_chips_levels_clock_and_the_prizes_of_this_field():
    told = "\n".join(condition_lines("Sit & Go 6", CONDITIONS, WORDS))

    assert "Sit & Go 6, Hold'em, no-limit, 6 players, 1,500 tournament chips each, bots fill up to 5 places" in told
    assert "Entry: 110, of which 100 for prizes and 10 for the house" in told
    assert "levels of 6:00: 10/20 20/40, 20 s a decision" in told
    assert "from 4 entries on: 70 30 %" in told
    assert "from 1 entries" not in told


def test_conditions_of_a_spin_tell_how_often_each_multiplier_is_drawn():
    spin = lobby_pb2.TournamentConditions()
    spin.CopyFrom(CONDITIONS)
    del spin.payouts[:]
    spin.fee = 0
    spin.multipliers.add(times=2, weight=3, weights=4, pool=200, shares=[100_000])
    told = "\n".join(condition_lines("Spin", spin, WORDS))

    assert "Entry: 100, all of it for prizes" in told
    assert "2 times the entry to win, 3 times in 4: 200, shared 100 %" in told


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ({"level": level(2, 40, ends_at_ms=NOW + 61_000), "next_level": level(3, 60)}, "level 2: 20/40 · then 30/60 in 1:01"),
        ({"next_level": level(3, 60, ante=60)}, "then 30/60+60"),
        ({"level": level(2, 40, is_break=True, ends_at_ms=NOW + 5_000)}, "break, 0:05 left"),
        ({"next_break_at_ms": NOW + 600_000}, "break in 10:00"),
        ({"tables": 3}, "table 2 of 3"),
        ({"average_stack": 1800}, "average 1,800"),
        ({"is_hand_for_hand": True, "is_paused": True}, "hand for hand · paused"),
        ({"level": None, "players_left": 1, "entries": 1}, "1 entered"),
        ({}, "5 of 6 left"),
    ],
)  # fmt: skip
def test_it_stands_in_a_line(said, line):
    (told,) = standing_lines(view(**said), view_pb2.OwnEntry(table_no=2), WORDS, NOW)

    assert line in told


@pytest.mark.parametrize(
    ("before", "now", "lines"),
    [
        ({}, {}, []),
        ({"level": level(1, 20)}, {}, ["Level 2 begins: 20/40, from the next hand on."]),
        ({"level": None}, {"level": level(1, 20)}, ["The tournament begins. Level 1: 10/20."]),
        ({"players_left": 2}, {"players_left": 1}, []),
        ({}, {"players_left": 3}, ["3 of 6 players are left."]),
        ({"level": None, "entries": 2}, {"level": None, "entries": 3}, ["Players entered: 3."]),
        ({}, {"level": level(2, 40, is_break=True)}, ["A break begins."]),
        ({}, {"multiplier": 3, "pool": 300}, ["The multiplier is 3: there are 300 to win."]),
        ({}, {"is_paused": True}, ["The tournament is paused."]),
        ({"is_paused": True}, {}, ["The tournament goes on."]),
        ({}, {"is_hand_for_hand": True},
         ["Hand for hand from now on: tables wait for each other until somebody goes out."]),
    ],
)  # fmt: skip
def test_what_changes_is_told(before, now, lines):
    assert change_lines(view(**before), view(**now), WORDS) == lines


@pytest.mark.parametrize(
    ("said", "own", "lines"),
    [
        ({}, out(place=1, place_last=1, prize=420), ["You win the tournament, first of 6!", "Your prize: 420 chips, for your wallet."]),
        ({}, out(place=4, place_last=4), ["You are out: place 4 of 6.", "No prize at this place."]),
        ({}, out(place=2, place_last=3, prize=90),
         ["You are out: places 2 to 3 of 6, shared.", "Your prize: 90 chips, for your wallet."]),
        ({"cancelled": "too_few"}, None, ["The tournament is called off: too few have entered. Entries go back."]),
        ({}, None, ["The tournament is over."]),
    ],
)  # fmt: skip
def test_it_ends_with_place_and_prize_or_why_it_was_called_off(said, own, lines):
    assert ending_lines(view(**said), own, WORDS) == lines


def test_it_is_settled_for_a_player_when_place_and_prizes_are_known():
    assert not is_settled(None, None)
    assert not is_settled(view(), out(place=5))
    assert not is_settled(view(prizes=[70, 30]), view_pb2.OwnEntry(status="playing"))
    assert is_settled(view(prizes=[70, 30]), out(place=5))
    assert is_settled(view(phase="finished"), view_pb2.OwnEntry(status="playing"))
