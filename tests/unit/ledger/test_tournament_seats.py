"""A tournament's table for the ledger: nothing is posted for it, and what does not add up is refused (L12)."""

import pytest
from msgspec.structs import replace

from diwan.core.ledger.disagreement import Disagreement
from diwan.core.ledger.seats import RELEVANT, TableSeats, follow
from diwan.core.table.events import SeatFunded
from diwan.core.table.tournament.events import ChipsAdded, EntrantReleased, EntrantSeated
from tests.unit.table.directing import TournamentTable


def a_log():
    """Three players, a rebuy, a bust, a move and the end."""
    table = TournamentTable().filled(3, 200)
    table.start()
    table.add("p1", 50)
    for _ in range(3):
        table.when_all_in()
    table.go(table.state.seats[0].player)
    table.close()
    return [event for batch in table.batches for event in batch]


def followed(events):
    table = TableSeats("t")
    for version, event in enumerate(events, 1):
        table, requests = follow(table, event if isinstance(event, RELEVANT) else None, version)
        assert requests == ()
    return table


def changed(events, kind, **changes):
    """The log with the first event of a kind changed."""
    first = next(number for number, event in enumerate(events) if type(event).__name__ == kind)
    return [*events[:first], replace(events[first], **changes), *events[first + 1 :]]


def test_nothing_is_posted_and_nobody_is_left_at_the_end():
    table = followed(a_log())

    assert table.tournament.stays == ()
    assert not table.is_match


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("EntrantSeated", {"stack": 201}),
        ("EntrantSeated", {"stack": 0}),
        ("EntrantSeated", {"seat": 1}),
        ("EntrantSeated", {"move_id": "other"}),
        ("ChipsAdded", {"amount": 51}),
        ("ChipsAdded", {"amount": -1}),
        ("ChipsAdded", {"seat": 2}),
        ("HandEnded", {"payoffs": (1, 0, 0)}),
        ("HandEnded", {"stacks": (600, 0, 1)}),
        ("EntrantReleased", {"stack": 1}),
        ("EntrantReleased", {"player": "other"}),
    ],
)
def test_chips_from_nowhere_and_lost_ones_are_a_disagreement(kind, changes):
    with pytest.raises(Disagreement):
        followed(changed(a_log(), kind, **changes))


def test_a_wallet_s_chips_at_a_tournament_s_table_are_a_disagreement():
    events = a_log()
    with pytest.raises(Disagreement, match="SeatFunded"):
        followed([*events[:2], SeatFunded(0, 100, "transfer", 1), *events[2:]])


def test_who_reads_every_event_comes_to_the_same():
    """The audit follows tables by all of their events, those that mean nothing to the ledger among them."""
    table = TableSeats("t")
    for version, event in enumerate(a_log(), 1):
        table, requests = follow(table, event, version)
        assert requests == ()

    assert table == followed(a_log())


@pytest.mark.parametrize("kind", [EntrantSeated, EntrantReleased, ChipsAdded])
def test_what_only_a_tournament_does_leaves_other_tables_as_they_were(kind):
    event = next(each for each in a_log() if isinstance(each, kind))

    assert follow(TableSeats("t"), event, 1) == (TableSeats("t", version=1), ())
