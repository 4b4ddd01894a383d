"""Levels and breaks by time and by hands (TR-3, TDA R23)."""

from diwan.core.tournament.ladders import LevelPoint, next_break_ms, point_at, point_of_hands, with_level_length
from diwan.core.tournament.settings import Break, Ladder, Level

MINUTE = 60_000
LADDER = Ladder(
    tuple(Level(step, 2 * step, duration_ms=10 * MINUTE) for step in (10, 20, 30)), breaks=(Break(2, 5 * MINUTE),)
)
HANDS = Ladder(tuple(Level(0, bet, hands=2) for bet in (10, 20, 30)), "hands")


def test_a_level_ends_to_the_millisecond_and_the_last_one_never():
    assert point_at(LADDER, 10 * MINUTE - 1) == LevelPoint(1, is_break=False, ends_ms=10 * MINUTE)
    assert point_at(LADDER, 10 * MINUTE) == LevelPoint(2, is_break=False, ends_ms=20 * MINUTE)
    assert point_at(LADDER, 10**12) == LevelPoint(3, is_break=False, ends_ms=None)


def test_before_the_first_hand_the_first_level_is_in_force():
    assert point_at(LADDER, -5000).level_no == 1


def test_a_break_stands_between_two_levels_and_has_the_number_of_the_one_before():
    assert point_at(LADDER, 20 * MINUTE) == LevelPoint(2, is_break=True, ends_ms=25 * MINUTE)
    assert point_at(LADDER, 25 * MINUTE) == LevelPoint(3, is_break=False, ends_ms=None)


def test_the_next_break_is_told_until_it_has_begun():
    assert next_break_ms(LADDER, 0) == 20 * MINUTE
    assert next_break_ms(LADDER, 20 * MINUTE) == 20 * MINUTE
    assert next_break_ms(LADDER, 20 * MINUTE + 1) is None


def test_levels_by_hands_step_with_the_hand_after():
    """SB-28: a step every two deals; the last one stays."""
    assert [point_of_hands(HANDS, played).level_no for played in range(7)] == [1, 1, 2, 2, 3, 3, 3]


def test_a_multiplier_may_stretch_every_level():
    stretched = with_level_length(LADDER, 7)

    assert {level.duration_ms for level in stretched.levels} == {7}
    assert with_level_length(LADDER, 0) is LADDER
