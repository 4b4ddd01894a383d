"""What tables tell becomes reports: each kind of event with what the tournament needs of it."""

from uuid import UUID

import pytest

from diwan.chassis.feed.consumer import is_passing
from diwan.core.decider import Rejected
from diwan.core.hand.events import HandEnded, HandSeat, HandStarted, RunoutHeld
from diwan.core.hand.settings import HandSettings
from diwan.core.table.events import TableClosed
from diwan.core.table.tournament import events as table
from diwan.core.tournament import commands as c
from diwan.core.tournament.events import SeatResult
from services.tournament.following import Dealt, Followed, Following, NotNow, Running, _after, report_of

TOURNAMENT = UUID(int=7)
SEATS = (HandSeat(1, "ann", 500), HandSeat(4, "bob", 700))
STARTED = HandStarted("h", 3, 1, HandSettings(), SEATS, 1, 4, (), b"", (), (), b"", b"", 1_000)
RUNNING = Running(3, 1, 1, 4, (Dealt(1, "ann", 500), Dealt(4, "bob", 700)), 1_000)
BETWEEN = Followed(TOURNAMENT, 2)
PLAYING = Followed(TOURNAMENT, 2, RUNNING)


def ended(result="showdown"):
    return HandEnded(result, (400, 800), (-100, 100), (0, 200), (0, 0), b"", 2_000)


def reported(followed, event, version=9, now=5_000):
    report = report_of(followed, version, event)
    return None if report is None else report(None, now)


def test_a_hand_is_reported_with_the_stacks_before_and_after_it():
    assert _after(BETWEEN, STARTED) == PLAYING
    report = reported(PLAYING, ended())
    seats = (SeatResult(1, "ann", 500, 400), SeatResult(4, "bob", 700, 800))
    assert report == c.ReportHand(2, 9, 3, False, 1, 1, 4, seats, 1_000, 2_000, 5_000)  # noqa: FBT003  (as the command has it)
    assert _after(PLAYING, ended()) == BETWEEN


def test_in_a_void_hand_stacks_stand():
    report = reported(PLAYING, ended("void"))
    assert report.is_void
    assert [seat.stack_after for seat in report.seats] == [500, 700]


@pytest.mark.parametrize(
    ("event", "command"),
    [
        (TableClosed(1), c.ReportTableGone(2, 9, 5_000)),
        (RunoutHeld(8_000, 4_000), c.ReportRunoutHeld(2, 9, 3, 8_000, 5_000)),
        (
            table.EntrantSeated("m", 5, "cem", False, 300, 0, None, 1),  # noqa: FBT003
            c.ReportSeated(2, 9, "m", "cem", 5, 5_000),
        ),
        (
            table.EntrantReleased("m", 5, "cem", 300, "moved", 2, 900, 1),
            c.ReportReleased(2, 9, "m", "cem", 300, 2, 900, 5_000),
        ),
        (table.ChipsAdded("a", 5, "cem", 50, 1), c.ReportChipsAdded(2, 9, "a", "cem", 50, 5_000)),
        (table.StartModeSet("o", 4, "on_grant", 1), c.ReportStartMode(2, 9, 4, "on_grant", 3, 5_000)),
        (table.ClockSet("o", 6, 1, 0, 1), c.ReportClock(2, 9, 6, 5_000)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_every_event_that_means_something_is_reported(event, command):
    assert reported(PLAYING, event) == command


@pytest.mark.parametrize("cause", ["busted", "table_closed"])
def test_who_is_out_by_a_hand_is_reported_by_the_hand_alone(cause):
    """The table lets them go by itself; the hand has told their end already."""
    assert report_of(PLAYING, 9, table.EntrantReleased("", 5, "cem", 0, cause, 0, None, 1)) is None


def test_a_start_mode_between_hands_says_so():
    assert reported(BETWEEN, table.StartModeSet("o", 4, "on_grant", 1)).running_hand_no == 0


@pytest.mark.parametrize("reason", ["SERVICE_DRAINING", "TOURNAMENT_MOVED", "UNKNOWN_OUTCOME"])
async def test_a_tournament_that_cannot_take_a_report_now_sets_no_table_aside(reason):
    """A service that is being stopped must not leave its tables in quarantine."""

    async def find(_tournament_id):
        raise Rejected(reason)

    with pytest.raises(NotNow) as caught:
        await Following(find)._report(TOURNAMENT, [report_of(PLAYING, 9, ended())])
    assert is_passing(caught.value)


async def test_late_events_of_a_tournament_that_is_over_are_told_to_nobody_and_others_are_poison():
    async def over(_tournament_id):
        raise Rejected("TOURNAMENT_OVER")

    async def broken(_tournament_id):
        # Also where its secrets are lost: one tournament must not hold up all others.
        raise Rejected("SECRETS_UNAVAILABLE")

    await Following(over)._report(TOURNAMENT, [report_of(PLAYING, 9, ended())])
    with pytest.raises(Rejected) as caught:
        await Following(broken)._report(TOURNAMENT, [report_of(PLAYING, 9, ended())])
    assert not is_passing(caught.value)
