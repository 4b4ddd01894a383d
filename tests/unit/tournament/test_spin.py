"""The Spin's multiplier (F1): integer weights, a mean of exactly 3, drawn as the published table says."""

from collections import Counter
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diwan.core.fairness import draw
from diwan.core.tournament.settings import SHARE_UNIT, Multiplier
from diwan.core.tournament.spin import (
    LABEL,
    MULTIPLIERS,
    draw_line,
    has_mean,
    largest_difference,
    splits,
    weights_of,
)
from tests.property.tournament_sim import TOURNAMENT_ID

CHI_SQUARE_LIMIT = 29.88
"""What chance stays below in 9,999 of 10,000 series, with 7 degrees of freedom."""


def test_the_mean_is_exactly_three_by_arithmetic():
    """The whole is 100,000: so a line's weight is its frequency per 100,000 games."""
    assert sum(weights_of(MULTIPLIERS)) == 100_000
    assert sum(line.times * line.weight for line in MULTIPLIERS) == 300_000
    assert has_mean(MULTIPLIERS)


def test_the_table_that_rooms_launched_with_would_not_do():
    """Page e4: 2x 77,380, 4x 13,510, 6x 8,000 and so on pay 2.773 of 3: the rest is a fee that we do not take."""
    weights = {2: 77_380, 4: 13_510, 6: 8_000, 10: 1_000, 25: 80, 100: 15, 200: 10, 1000: 5}
    lines = tuple(Multiplier(times=times, weight=weight) for times, weight in weights.items())

    assert sum(weights_of(lines)) == 100_000
    assert sum(line.times * line.weight for line in lines) == 277_300
    assert not has_mean(lines)


def test_every_split_is_of_the_whole_and_the_common_ones_are_the_winners():
    assert all(splits(line) for line in MULTIPLIERS)
    assert all(line.shares == (SHARE_UNIT,) for line in MULTIPLIERS if line.times <= 6)


def test_the_house_reserves_what_the_largest_multiplier_would_need():
    assert largest_difference(MULTIPLIERS, 100) == 99_700


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_the_line_is_the_labelled_draw_with_the_entrants_mixed_in(secret, digest):
    """docs/reference/hashing.md: anybody can recompute it from the secret shown and the list of entries."""
    line = draw_line(secret, TOURNAMENT_ID, MULTIPLIERS, digest)

    assert line == draw(secret, LABEL, TOURNAMENT_ID, weights_of(MULTIPLIERS), seeds={0: digest})


def test_who_has_entered_changes_what_is_drawn():
    secret = bytes(32)
    many = tuple(Multiplier(times=3, weight=1) for _ in range(1000))
    drawn = {draw_line(secret, TOURNAMENT_ID, many, sha256(bytes([number])).digest()) for number in range(20)}

    assert len(drawn) > 15


def draw_many(count):
    """Return how often each line comes, in draws from as many secrets."""
    weights, digest = weights_of(MULTIPLIERS), bytes(32)
    counted = Counter(
        draw(sha256(number.to_bytes(8)).digest(), LABEL, TOURNAMENT_ID, weights, seeds={0: digest})
        for number in range(count)
    )
    return [counted[line] for line in range(len(MULTIPLIERS))]


def chi_square(counted):
    total = sum(counted)
    expected = [total * line.weight / 100_000 for line in MULTIPLIERS]
    return sum((seen - mean) ** 2 / mean for seen, mean in zip(counted, expected, strict=True))


def test_twenty_thousand_draws_follow_the_published_table():
    """Seven degrees of freedom; the rarest lines are expected once or a few times, so the limit is generous."""
    assert chi_square(draw_many(20_000)) < 2 * CHI_SQUARE_LIMIT


@pytest.mark.soak
def test_a_million_draws_follow_the_published_table():
    counted = draw_many(1_000_000)
    mean = sum(line.times * seen for line, seen in zip(MULTIPLIERS, counted, strict=True)) / 1_000_000
    print(f"\na million draws: chi-square {chi_square(counted):.2f} (7 degrees), mean {mean:.4f}, lines {counted}")

    assert chi_square(counted) < CHI_SQUARE_LIMIT
    assert abs(mean - 3) < 0.05
