"""Large fields and thousands of small tournaments; `./run soak` prints their figures."""

import time

import pytest

from tests.property.test_tournaments import play
from tests.property.tournament_fields import MoveWhoever, moves_told, scheduled
from tests.property.tournament_sim import Simulation, check_chips

TOO_MANY = 10**9


def field(players, seed, *, size=9):
    """Play a field; chips are counted at the end, and one batch in fifty is decided again."""
    simulation = Simulation(scheduled(size), players, seed, again=0.02, chips_every=TOO_MANY)
    began = time.process_time()
    simulation.run()
    check_chips(simulation.state)
    print(
        f"\n{moves_told(simulation)}; {time.process_time() - began:.1f} s of CPU, landings {dict(simulation.landings)}"
    )
    return simulation


@pytest.mark.parametrize("players", [18, 180])
def test_a_field_is_played_to_its_last_player(players):
    assert field(players, players).state.is_over


@pytest.mark.soak
@pytest.mark.parametrize("players", [1_800, 10_000])
def test_a_large_field_is_played_to_its_last_player(players):
    assert field(players, players).state.is_over


@pytest.mark.soak
@pytest.mark.parametrize("size", [9, 6])
@pytest.mark.parametrize("players", [100, 180, 1_800])
def test_moves_are_fewer_and_fairer_than_those_of_whoever(players, size, monkeypatch):
    """No player is moved alone twice as long as another would do; a plain balancer takes whoever comes."""
    ours = field(players, 7, size=size)
    MoveWhoever(monkeypatch, 7)
    plain = Simulation(scheduled(size), players, 7, again=0, chips_every=TOO_MANY, judges_moves=False).run()
    print("whoever:", moves_told(plain))

    def alone(simulation):
        return sum(entrant.balanced for entrant in simulation.state.entrants.values())

    assert alone(ours) <= alone(plain)


@pytest.mark.soak
def test_ten_thousand_small_tournaments_are_complete_and_exact():
    """Every kind and size, late entries, re-entries, operators; one in ten over a network that loses and a shell that dies."""
    hands = events = 0
    for seed in range(10_000):
        trouble = {"loss": 0.1, "repeat": 0.1, "crash": 0.01} if seed % 10 == 0 else {}
        played = play(seed, again=0.05, chips_every=20, **trouble)
        hands += played.hands
        events += len(played.events)
    print(f"\n10,000 tournaments: {hands} hands, {events} events")
