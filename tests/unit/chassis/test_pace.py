"""P12: changes that are events for ever come at a pace; time gives them back, and one player takes none of another's."""

import pytest

from diwan.chassis import pace
from diwan.chassis.pace import BURST, CHANGES_A_SECOND, Pace
from diwan.core.decider import Rejected


class Clock:
    now = 50.0

    def __call__(self):
        return self.now


def exhausted(clock):
    paced = Pace(clock)
    for _ in range(BURST):
        paced.take("mallory")
    with pytest.raises(Rejected, match="RATE_LIMITED"):
        paced.take("mallory")
    return paced


def test_a_burst_is_allowed_and_no_more_and_others_are_not_touched():
    exhausted(Clock()).take("amal")


def test_time_gives_changes_back_and_never_more_than_a_burst():
    clock = Clock()
    paced = exhausted(clock)
    clock.now += 1 / CHANGES_A_SECOND
    paced.take("mallory")
    clock.now += 10_000
    for _ in range(BURST):
        paced.take("mallory")
    with pytest.raises(Rejected, match="RATE_LIMITED"):
        paced.take("mallory")


def test_only_so_many_players_are_remembered(monkeypatch):
    monkeypatch.setattr(pace, "PLAYERS_KEPT", 2)
    paced = exhausted(Clock())
    for name in ("amal", "rami"):
        paced.take(name)
    paced.take("mallory")
