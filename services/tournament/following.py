"""What the tables tell, as reports to their tournaments: each exactly once in effect (RELIABILITY 3.2).

For each table that belongs to a tournament it is kept which hand runs there, with the cursor in one transaction. The
reports themselves are commands that may come twice: they are given to the tournament, and waited for, before the cursor
moves. A table whose event cannot be reported is set aside with an alarm, and the others go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from uuid import UUID

import msgspec

from diwan.chassis.database import Connection
from diwan.chassis.feed import FeedEvent
from diwan.chassis.store import StoredEvent
from diwan.core.decider import Rejected
from diwan.core.hand.events import HandEnded, HandStarted, RunoutHeld
from diwan.core.table.events import TableClosed, TableCreated
from diwan.core.table.tournament import events as table
from diwan.core.tournament import commands
from diwan.core.tournament.commands import TournamentCommand
from diwan.core.tournament.events import SeatResult
from diwan.core.tournament.state import TournamentState
from diwan.wire.events import decode, type_id_of, types_named
from services.tournament.actor import Actor, Build

_TOLD: Final = types_named(
    "table_created",
    "table_closed",
    "hand_started",
    "hand_ended",
    "runout_held",
    "entrant_seated",
    "entrant_released",
    "chips_added",
    "clock_set",
    "start_mode_set",
)
"""The events of tables that tournaments are told of; all others are passed over unread."""

_TABLE_CREATED: Final = type_id_of(TableCreated)

_OVER: Final = frozenset({"TOURNAMENT_OVER"})

_PASSING: Final = frozenset({
    "SERVICE_DRAINING",
    "TOURNAMENT_MOVED",
    "SERVER_BUSY",
    "UNKNOWN_OUTCOME",
})  # fmt: skip
"""What says nothing about the event: it is reported again, here or by whoever runs the tournament now."""

NEW_TABLE_EVENTS: Final = 64
"""A table's first events may come in one batch with its creation, before it is known to be a tournament's."""


class NotNow(TimeoutError):  # noqa: N818  (what a consumer waits out)
    """The tournament cannot take a report now: a failure of the surroundings, never of the event."""


class Dealt(msgspec.Struct, frozen=True):
    """A seat dealt into the running hand."""

    seat: int
    player: str
    stack: int


class Running(msgspec.Struct, frozen=True):
    """The running hand of a table, as far as its end needs to know."""

    hand_no: int
    button: int
    small_blind: int
    big_blind: int
    seats: tuple[Dealt, ...]
    started_at_ms: int


class Followed(msgspec.Struct, frozen=True):
    """A table of a tournament: whose it is, its number there, and its running hand."""

    tournament_id: UUID
    table_no: int
    running: Running | None = None


_READ: Final = "select table_id, tournament_id, table_no, running from followed_table where table_id = any($1::uuid[])"
_KEEP: Final = """
insert into followed_table (table_id, tournament_id, table_no, running) values ($1, $2, $3, $4)
on conflict (table_id) do update set running = excluded.running
"""

type Report = Callable[[TournamentState, int], TournamentCommand | None]
"""Makes a command of a tournament and the time."""


class Following:
    """Applies the tables' feed; a `Consumer` calls `apply` inside its transaction. ``find`` returns a tournament."""

    def __init__(self, find: Callable[[UUID], Awaitable[Actor]]) -> None:
        self._find = find
        self._known: set[UUID] = set()

    async def load(self, connection: Connection) -> None:
        """Read which tables belong to tournaments; called once before anything is applied."""
        self._known = {row["table_id"] for row in await connection.fetch("select table_id from followed_table")}

    async def apply(self, connection: Connection, events: Sequence[FeedEvent]) -> None:
        """Report events to their tournaments, each tournament's in order, and keep what runs at their tables."""
        told = [each.event for each in events if self._is_told(each.event)]
        if not told:
            return
        tables = await self._followed(connection, {stored.stream_id for stored in told})
        reports: dict[UUID, list[Report]] = {}
        for stored in told:
            event = decode(stored.type_id, stored.schema_v, stored.body).event
            followed = _owned(event) or tables.get(stored.stream_id)
            if followed is None:
                continue
            report = report_of(followed, stored.version, event)
            if report is not None:
                reports.setdefault(followed.tournament_id, []).append(report)
            tables[stored.stream_id] = _after(followed, event)
        await asyncio.gather(*[self._report(tournament_id, each) for tournament_id, each in reports.items()])
        await connection.executemany(_KEEP, [_row(table_id, followed) for table_id, followed in tables.items()])
        self._known.update(tables)

    def _is_told(self, stored: StoredEvent) -> bool:
        is_new = stored.type_id == _TABLE_CREATED
        return stored.type_id in _TOLD and (is_new or stored.stream_id in self._known or self._is_new_here(stored))

    def _is_new_here(self, stored: StoredEvent) -> bool:
        """Say whether a table may have been opened in this very batch: then its first events come behind one another."""
        return stored.version <= NEW_TABLE_EVENTS

    async def _followed(self, connection: Connection, table_ids: set[UUID]) -> dict[UUID, Followed]:
        rows = await connection.fetch(_READ, list(table_ids))
        return {row["table_id"]: _read(row["tournament_id"], row["table_no"], row["running"]) for row in rows}

    async def _report(self, tournament_id: UUID, reports: Sequence[Report]) -> None:
        try:
            actor = await self._find(tournament_id)
            for report in reports:
                await actor.ask(_build(report, actor))
        except Rejected as refusal:
            if refusal.reason in _PASSING:
                raise NotNow(f"tournament {tournament_id}: {refusal.reason}") from None
            if refusal.reason not in _OVER:
                raise


def _build(report: Report, actor: Actor) -> Build:
    return lambda state: report(state, actor.clock.now_ms())


def _owned(event: object) -> Followed | None:
    """Return whose table is opened here, None where it is no tournament's or nothing is opened."""
    terms = event.config.tournament if isinstance(event, TableCreated) else None
    return None if terms is None else Followed(UUID(terms.tournament_id), terms.table_no)


def _after(followed: Followed, event: object) -> Followed:
    if isinstance(event, HandStarted):
        return msgspec.structs.replace(followed, running=_running(event))
    return msgspec.structs.replace(followed, running=None) if isinstance(event, HandEnded) else followed


def _row(table_id: UUID, followed: Followed) -> tuple[UUID, UUID, int, str | None]:
    running = None if followed.running is None else msgspec.json.encode(followed.running).decode()
    return table_id, followed.tournament_id, followed.table_no, running


def _read(tournament_id: UUID, table_no: int, running: str | None) -> Followed:
    return Followed(tournament_id, table_no, None if running is None else msgspec.json.decode(running, type=Running))


def _running(event: HandStarted) -> Running:
    """Return what the end of a hand needs of its beginning. In games without blinds both places are the button's."""
    deal = event.tournament
    small = event.button if deal is None or deal.small_blind_place is None else deal.small_blind_place
    big = event.button if event.big_blind_seat is None else event.big_blind_seat
    return Running(
        event.hand_no,
        event.button,
        small,
        big,
        tuple([Dealt(seat.seat, seat.player, seat.stack) for seat in event.seats]),
        event.started_at_ms,
    )


def report_of(followed: Followed, version: int, event: object) -> Report | None:
    """Return what makes a table's event a command of its tournament, None where it means nothing to it."""
    number, running = followed.table_no, followed.running
    match event:
        case TableCreated():
            return lambda _, now: commands.ReportTableReady(number, version, now)
        case TableClosed():
            return lambda _, now: commands.ReportTableGone(number, version, now)
        case HandEnded() if running is not None:
            played = _played(running, event)
            return lambda _, now: commands.ReportHand(number, version, *played, now)
        case RunoutHeld() if running is not None:
            hand_no, until = running.hand_no, event.until_ms
            return lambda _, now: commands.ReportRunoutHeld(number, version, hand_no, until, now)
        case table.EntrantSeated(move_id=move_id, player=player, seat=seat):
            return lambda _, now: commands.ReportSeated(number, version, move_id, player, seat, now)
        case table.EntrantReleased(move_id=move_id, player=player, stack=stack) if event.cause in _ORDERED:
            luggage = event.destellos, event.time_bank_ms
            return lambda _, now: commands.ReportReleased(number, version, move_id, player, stack, *luggage, now)
        case table.ChipsAdded(add_id=add_id, player=player, amount=amount):
            return lambda _, now: commands.ReportChipsAdded(number, version, add_id, player, amount, now)
        case table.StartModeSet(start_no=start_no, mode=mode):
            hand_no = 0 if running is None else running.hand_no
            return lambda _, now: commands.ReportStartMode(number, version, start_no, mode, hand_no, now)
        case table.ClockSet(clock_no=clock_no):
            return lambda _, now: commands.ReportClock(number, version, clock_no, now)
        case _:
            return None


_ORDERED: Final = frozenset({"moved", "removed"})


type _Played = tuple[int, bool, int, int, int, tuple[SeatResult, ...], int, int]


def _played(running: Running, ended: HandEnded) -> _Played:
    is_void = ended.result == "void"
    seats = tuple([
        SeatResult(seat.seat, seat.player, seat.stack, seat.stack if is_void else seat.stack + payoff)
        for seat, payoff in zip(running.seats, ended.payoffs, strict=True)
    ])  # fmt: skip
    places = running.button, running.small_blind, running.big_blind
    return running.hand_no, is_void, *places, seats, running.started_at_ms, ended.ended_at_ms
