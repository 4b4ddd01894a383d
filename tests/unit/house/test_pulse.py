"""A process that stood still notices it, once, whoever looks first (O7)."""

from services.table.pulse import Pulse


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def beating():
    clock, gaps = Clock(), []
    pulse = Pulse(gaps.append, clock)
    pulse.beat()
    return clock, gaps, pulse


def test_a_process_that_beats_on_time_or_a_little_late_has_no_gap():
    clock, gaps, pulse = beating()
    for seconds in (0.25, 0.9, 0.3):
        clock.now += seconds
        pulse.look()
        pulse.beat()
    assert gaps == []


def test_a_gap_is_told_once_by_whoever_looks_first():
    clock, gaps, pulse = beating()
    clock.now += 30
    pulse.look()
    pulse.look()
    pulse.beat()
    assert gaps == [30_000]


def test_a_beat_that_comes_late_tells_of_the_gap_itself():
    clock, gaps, pulse = beating()
    clock.now += 2.5
    pulse.beat()
    assert gaps == [2_500]


def test_before_the_first_beat_nothing_is_missed():
    gaps = []
    pulse = Pulse(gaps.append, Clock())
    pulse.look()
    assert gaps == []
