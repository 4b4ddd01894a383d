"""Whole tournaments played by chance: places, prizes, chips, tables, blinds and moves (F1, F2, TDA R7 to R11, RP-8)."""

import pytest

from tests.property.tournament_fields import any_field
from tests.property.tournament_sim import Simulation


def play(seed, **changes):
    config, players, late = any_field(seed)
    return Simulation(config, players, seed, late=late, operator=seed % 5 == 0, void_rate=0.02, **changes).run()


@pytest.mark.parametrize("seed", range(12))
def test_a_tournament_ends_with_every_place_and_prize_and_its_log_decides_again(seed):
    """The simulation checks itself at every event: chips constant, tables even, blinds and moves by the rules."""
    assert play(seed).state.is_over


@pytest.mark.parametrize("seed", [101, 104, 110])
def test_nothing_is_lost_where_messages_are_and_the_service_is_killed_between_any_two_steps(seed):
    """Orders get lost, doubled and late, feeds are read twice, the shell forgets everything: the end is whole."""
    played = play(seed, loss=0.1, repeat=0.1, crash=0.02)

    assert played.state.is_over
    assert played.crashes > 0
