"""What a tournament has set at its table, as the fold of its events; who sits there is the table's."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.table.tournament.events import (
    ClockSet,
    HandGranted,
    OrderedRelease,
    RunoutHoldSet,
    StartModeSet,
    TableStart,
)
from diwan.core.table.tournament.terms import TournamentTerms


class LadderClock(Struct, frozen=True):
    """The ladder's clock; ``base_ms`` 0 where it has not begun, ``stopped_at_ms`` 0 where it runs."""

    base_ms: int = 0
    stopped_at_ms: int = 0


class Release(Struct, frozen=True):
    """The order to let a seat's player go."""

    move_id: str
    cause: OrderedRelease


class Directed(Struct, frozen=True):
    """How a tournament directs its table now. A grant counts while ``granted_no`` is above ``used_no``."""

    clock: LadderClock = LadderClock()
    start: TableStart = "automatic"
    granted_no: int = 0
    used_no: int = 0
    hold_ms: int = 0
    granted_hold_ms: int = 0  # of the newest grant
    clock_no: int = 0  # of the newest order that had one
    start_no: int = 0
    idle_deals: int = 0  # running, in which nobody decided anything themselves
    is_played: bool = False  # the running hand: somebody has

    @property
    def has_grant(self) -> bool:
        """Whether one hand may start by a grant."""
        return self.granted_no > self.used_no


def opened(terms: TournamentTerms | None, start: TableStart) -> Directed:
    """Return what is set when a table is opened."""
    return Directed() if terms is None else Directed(LadderClock(terms.clock_base_ms), start)


def after_hand(directed: Directed) -> Directed:
    """Return what is set after a hand."""
    return replace(directed, idle_deals=0 if directed.is_played else directed.idle_deals + 1, is_played=False)


type SettingEvent = ClockSet | StartModeSet | HandGranted | RunoutHoldSet


def evolve(directed: Directed, event: SettingEvent) -> Directed:
    """Return what is set after one more event."""
    match event:
        case ClockSet():
            clock = LadderClock(event.base_ms, event.stopped_at_ms)
            return replace(directed, clock=clock, clock_no=event.clock_no or directed.clock_no)
        case StartModeSet():
            start_no = event.start_no or directed.start_no
            return replace(directed, start=event.mode, used_no=directed.granted_no, start_no=start_no)
        case HandGranted():
            return replace(directed, granted_no=event.round_no, granted_hold_ms=event.hold_ms)
        case RunoutHoldSet():
            return replace(directed, hold_ms=event.hold_ms)
