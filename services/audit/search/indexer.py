"""Makes the index of hands from the kept events, a hand at a time, beside the taking in.

A hand's line follows from its own events alone, so making it twice changes nothing, and a hand that cannot be read
leaves the others alone: it is noted, with an alarm. What is still to be read stands in the database, so nothing is
forgotten by a crash; a program of another `VERSION` empties the index at its start and makes it anew.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import asyncpg
import structlog

from diwan.chassis.alarms import raise_alarm
from diwan.chassis.database import Connection, Database
from diwan.chassis.feed.consumer import is_passing
from diwan.core.games.capsa import events as capsa
from diwan.core.hand import events as hand
from diwan.core.table.events import HandOpened, RefusalsRecorded, TableCreated
from diwan.wire.events import WireError, decode, type_id_of
from services.audit.search import statements
from services.audit.search.facts import OWN_ROLES, HandFacts, NoHandError, TableFacts, hand_facts, table_facts
from services.audit.working import work_on

VERSION: Final = 1
"""Of what the index says. Raise it with every change of `facts`: then the index is made anew."""

IDLE_SECONDS: Final = 0.5
HANDS_AT_ONCE: Final = 64
HANDS_FREED_AT_ONCE: Final = 5_000
TABLES_KNOWN_MAX: Final = 10_000
WAITING_COUNTED_MAX: Final = 1_000
WHY_CHARACTERS_MAX: Final = 2_000

_TOLD_BY: Final = sorted(
    map(
        type_id_of,
        (
            *(hand.HandStarted, hand.HandEnded, hand.HandVoided, hand.PotAwarded, hand.Acted, hand.DeadlineMoved),
            *(hand.CardGlanced, hand.CardSwapped, hand.AnchorDeclared, hand.AnchorAnswered),
            *(capsa.CapsaStarted, capsa.PairSettled, capsa.SetLocked, capsa.SettingClosed, capsa.Answered),
        ),
    )
)
"""The kinds of events that say something by which a hand is found."""

_log = structlog.get_logger(__name__)

type Due = Sequence[asyncpg.Record]


class HandIndexer:
    """Works off the hands that are to be read; any number of processes may."""

    def __init__(self, database: Database, *, hands_at_once: int = HANDS_AT_ONCE) -> None:
        self._database = database
        self._hands_at_once = hands_at_once
        self._tables: OrderedDict[UUID, TableFacts] = OrderedDict()
        self._is_begun = False

    async def run(self) -> None:
        """Read hands as they end, for ever."""
        await work_on(self._index_all, "indexing", idle_seconds=IDLE_SECONDS)

    async def _index_all(self) -> None:
        if not self._is_begun:
            await self.begin()
            self._is_begun = True
        while await self.index_due():
            pass

    async def begin(self) -> None:
        """Empty an index that another version of this program made, an older or a newer one."""

        async def work(connection: Connection) -> bool:
            # Who comes second finds it begun: else what was read meanwhile would be lost.
            await connection.execute(statements.ONE_AT_A_TIME)
            made_by = await connection.fetchval(statements.MADE_BY)
            if made_by == VERSION:
                return False
            await connection.execute(statements.BEGIN_ANEW)
            await connection.execute(statements.MADE_BY_US, VERSION)
            _log.info("index_begun", version=VERSION, before=made_by)
            return True

        if await self._database.run(work):
            self._tables.clear()
        # What a newer version has read is due again; in parts, for there may be millions.
        while await self._database.run(lambda c: c.fetchval(statements.READ_BY_A_NEWER, VERSION, HANDS_FREED_AT_ONCE)):
            pass

    async def index_due(self) -> int:
        """Read some of the hands that are due; returns how many."""
        try:
            return await self._database.run(lambda c: self._index_some(c, self._hands_at_once))
        except Exception as error:
            if is_passing(error):
                raise
        # One of them cannot be kept: one by one, the others are not held up by it.
        try:
            return await self._database.run(lambda c: self._index_some(c, 1))
        except Exception as error:
            if is_passing(error):
                raise
            why = repr(error)
        return await self._database.run(lambda c: _pass_over(c, why))

    async def _index_some(self, connection: Connection, count: int) -> int:
        due = await connection.fetch(statements.DUE, VERSION, count)
        if not due:
            return 0
        stream_ids = [row["stream_id"] for row in due]
        firsts, lasts = [row["first_version"] for row in due], [row["last_version"] for row in due]
        events = _by_place(await connection.fetch(statements.EVENTS, stream_ids, firsts, lasts, _TOLD_BY))
        later = _by_place(await connection.fetch(statements.REFUSALS, stream_ids, lasts))
        looks = await self._looks(connection, stream_ids, events)
        for place, row in enumerate(due, 1):
            try:
                facts = _read(events[place], later[place], looks)
                why = await self._keep(connection, row["stream_id"], facts)
            except (NoHandError, WireError, ValueError) as error:
                why = repr(error)
            if why:
                await _note_unread(connection, row, why)
            else:
                await connection.execute(statements.FORGET_UNREAD, row["stream_id"], row["first_version"])
        await connection.execute(statements.INDEXED, stream_ids, firsts, VERSION)
        return len(due)

    async def _looks(
        self, connection: Connection, stream_ids: Sequence[UUID], events: Mapping[int, Due]
    ) -> Mapping[str, int]:
        ids = [hand_id for rows in events.values() if rows and (hand_id := _hand_id_of(rows[0]))]
        rows = await connection.fetch(statements.LOOKS, stream_ids, ids)
        return {row[0]: row[1] for row in rows}

    async def _keep(self, connection: Connection, table_id: UUID, facts: HandFacts) -> str:
        """Keep a hand's line; returns why not, where another hand has its id."""
        table = await self._table(connection, table_id)
        players = [seat.player for seat in facts.seats]
        kept = await connection.fetchval(
            statements.KEEP,
            *(facts.hand_id, table_id, facts.started_at_ms, facts.ended_at_ms, facts.first_version, facts.last_version),
            *(facts.hand_no, facts.stake, facts.pot, int(facts.flags), facts.result, table.chips, table.seats),
            *(facts.pot.bit_length(), facts.game, facts.bet_limit, table.name),
            facts.tournament_id or table.tournament_id or None,
            *(players, [seat.seat for seat in facts.seats], [seat.payoff for seat in facts.seats]),
        )
        if not kept:
            return f"another hand has the id {facts.hand_id}"
        await connection.execute(statements.KEEP_PLAYERS, facts.hand_id, facts.started_at_ms, players)
        return ""

    async def _table(self, connection: Connection, table_id: UUID) -> TableFacts:
        """Return what the table's beginning says; nothing where it cannot be read, for its hands are found all the same."""
        if (known := self._tables.get(table_id)) is not None:
            self._tables.move_to_end(table_id)
            return known
        row = await connection.fetchrow(statements.BEGINNING, table_id)
        facts = TableFacts() if row is None else _table_of(row)
        self._tables[table_id] = facts
        if len(self._tables) > TABLES_KNOWN_MAX:
            self._tables.popitem(last=False)
        return facts


async def waiting_in(connection: Connection) -> int:
    """Return how many ended hands are still to be read, counted to `WAITING_COUNTED_MAX`."""
    return int(await connection.fetchval(statements.WAITING, VERSION, WAITING_COUNTED_MAX))


async def note(
    connection: Connection, global_seq: int, table_id: UUID, version: int, event: HandOpened | RefusalsRecorded
) -> None:
    """Have a hand read again of which its table said something when it was over; works in the keeper's transaction."""
    if isinstance(event, RefusalsRecorded):
        await connection.execute(statements.READ_AGAIN_BY_NUMBER, table_id, version)
        return
    is_own = event.role in OWN_ROLES
    await connection.execute(statements.ADD_LOOK, global_seq, table_id, version, event.hand_id, event.opened_by, is_own)
    if not is_own:
        await connection.execute(statements.READ_AGAIN, table_id, event.hand_id)


async def _pass_over(connection: Connection, why: str) -> int:
    due = await connection.fetch(statements.DUE, VERSION, 1)
    for row in due:
        await _note_unread(connection, row, why)
        await connection.execute(statements.INDEXED, [row["stream_id"]], [row["first_version"]], VERSION)
    return len(due)


async def _note_unread(connection: Connection, row: asyncpg.Record, why: str) -> None:
    text = why.replace("\0", "\\0")[:WHY_CHARACTERS_MAX]
    await connection.execute(statements.KEEP_UNREAD, row["stream_id"], row["first_version"], text)
    raise_alarm("index", f"the hand at version {row['first_version']} of table {row['stream_id']}: {text}")


def _by_place(rows: Due) -> Mapping[int, list[asyncpg.Record]]:
    places: defaultdict[int, list[asyncpg.Record]] = defaultdict(list)
    for row in rows:
        places[row["place"]].append(row)
    return places


def _read(events: Due, later: Due, looks: Mapping[str, int]) -> HandFacts:
    said: dict[int, object] = {}
    for row in events:
        # Of a fork the first that came is told; the fork itself is a finding.
        said.setdefault(row["version"], _said(row))
    hand_id = getattr(next(iter(said.values()), None), "hand_id", "")
    return hand_facts(list(said.items()), [_said(row) for row in later], looks=looks.get(hand_id, 0))


def _said(row: asyncpg.Record) -> object:
    return decode(row["type_id"], row["schema_v"], row["body"]).event


def _hand_id_of(row: asyncpg.Record) -> str:
    try:
        return str(getattr(_said(row), "hand_id", ""))
    except WireError:
        return ""


def _table_of(row: asyncpg.Record) -> TableFacts:
    try:
        event = _said(row)
    except WireError:
        return TableFacts()
    return table_facts(event.config) if isinstance(event, TableCreated) else TableFacts()
