"""How many bots a table gets, under which names, and when one makes room (CL-6)."""

from __future__ import annotations

import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from services.bots.manager import ThinkTime
from services.bots.names import BOT_PREFIX, all_names, free_names
from services.bots.seating import Occupancy, wanted_change
from services.bots.settings import BotsSettings


def table(*, seats=6, fill=4, others=0, staying=0, leaving=0, is_closing=False, waiting=0) -> Occupancy:
    return Occupancy(seats, fill, others, staying, leaving, is_closing, waiting)


@pytest.mark.parametrize(
    ("occupancy", "change"),
    [
        (table(), 4),
        (table(others=3), 1),
        (table(others=1, staying=3), 0),
        (table(others=4), 0),
        # More players than asked for, but a seat is free: nobody waits.
        (table(others=2, staying=3), 0),
        # The table is full with more players than asked for: whoever comes next would wait.
        (table(others=3, staying=3), -1),
        # One is enough until it is gone.
        (table(others=3, staying=2, leaving=1), 0),
        # A full table of as many players as it asked for is as it should be.
        (table(fill=6, staying=6), 0),
        # People alone: there is no bot that could go.
        (table(others=6), 0),
        # The leaving bot still holds the last seat.
        (table(seats=2, fill=2, others=0, staying=1, leaving=1), 0),
        (table(is_closing=True), 0),
        # Who waits gets a bot's seat from the table itself, and no bot retakes it.
        (table(fill=6, staying=6, waiting=1), 0),
        (table(fill=6, staying=5, waiting=1), 0),
        (table(fill=6, others=1, staying=3, leaving=1, waiting=1), 0),
        (table(fill=6, others=1, staying=3, waiting=1), 1),
        (table(others=3, staying=3, waiting=2), 0),
        (table(fill=0), 0),
        (table(others=3, staying=3, is_closing=True), 0),
    ],
)
def test_tables_get_the_bots_they_ask_for(occupancy, change):
    assert wanted_change(occupancy) == change


@given(st.integers(2, 9), st.data())
def test_people_who_come_one_by_one_all_get_a_seat(seats, data):
    """Given any fill below the seats, when people come as soon as a seat is free, then all bots beyond it make room."""
    fill = data.draw(st.integers(1, seats - 1))
    people, bots = 0, 0
    for _ in range(4 * seats):
        change = wanted_change(table(seats=seats, fill=fill, others=people, staying=bots))
        bots += change
        if people + bots < seats:
            people += 1
        assert people + bots <= seats

    assert (people, bots) == (seats, 0)


@given(st.integers(2, 9), st.integers(1, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_bots_never_take_more_seats_than_there_are_or_are_asked_for(seats, fill, others, staying, leaving):
    if others + staying + leaving > seats:
        return

    change = wanted_change(table(seats=seats, fill=min(fill, seats), others=others, staying=staying, leaving=leaving))

    assert others + staying + leaving + max(change, 0) <= seats
    assert change <= 0 or others + staying + change <= min(fill, seats)
    assert change >= 0 or (change == -1 and staying)


def test_names_are_labelled_different_and_leave_out_the_taken():
    names = all_names()
    taken = set(names[10:])

    drawn = free_names(20, taken, secrets.randbelow)

    assert len(set(names)) == len(names) > 1000
    assert all(name.startswith(BOT_PREFIX) and name.isascii() and name.isprintable() for name in names)
    assert sorted(drawn) == sorted(names[:10])


def test_think_times_cover_the_whole_range_and_nothing_else():
    think = ThinkTime(10, 14)

    drawn = {round(think.draw() * 1000) for _ in range(500)}

    assert drawn == {10, 11, 12, 13, 14}
    assert ThinkTime(0, 0).draw() == 0


def test_think_times_that_do_not_fit_together_stop_the_service_from_starting():
    with pytest.raises(ValidationError, match="think_ms_min"):
        BotsSettings(table_address="127.0.0.1:1", think_ms_min=5, think_ms_max=4)
