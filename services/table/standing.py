"""How tables stood between hands: what lies before a hand need not be folded anew (H5).

A process that takes a table over begins with its newest copy from before its last hand; older ones, one in so many events, are for replays. What is kept is a copy. One that is
missing, of another shape or of other code, or damaged costs time and nothing else.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, get_type_hints
from uuid import UUID

import asyncpg
import msgspec
import structlog
from msgspec.structs import replace

import diwan.core
from diwan.chassis.alarms import raise_alarm
from diwan.chassis.database import Connection, Database
from diwan.chassis.store import EventStore, StoredEvent, statements
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandStarted
from diwan.core.hashing import hashed
from diwan.core.table.evolve import evolve
from diwan.core.table.state import TableState
from diwan.wire.events import decode
from services.table.loaded import BrokenStream

EVENTS_BETWEEN: Final = 128
"""So many events at most are folded before an old hand, give or take a hand: a millisecond or two."""

EVENTS_AT_ONCE: Final = 2_000
"""So many may be folded for any number of callers at once."""

EVENTS_A_READ: Final = 500
"""Read and folded in one go while reading back; live tables are served in between."""

NEWEST_KEPT: Final = 2

WAITING_MAX: Final = 1_000
"""Copies that wait to be written; beyond that new ones are left out, as any may be."""

_log = structlog.get_logger(__name__)

_FIELDS: Final = tuple(name for name in TableState.__struct_fields__ if name != "hand")
_Kept: Final[Any] = msgspec.defstruct(
    "_Kept", [(name, hint) for name, hint in get_type_hints(TableState).items() if name in _FIELDS], frozen=True
)
"""A table without its hand: the next one begins by an event that says all of it."""

_DECODER: Final = msgspec.msgpack.Decoder(_Kept)


def _code() -> bytes:
    """Return all that says what an event does to a table."""
    folder = Path(diwan.core.__file__).parent
    return b"".join([path.read_bytes() for path in sorted(folder.rglob("*.py"))])


LAYOUT: Final = sha256(repr(msgspec.inspect.type_info(_Kept)).encode() + _code()).digest()[:8]
"""Changes with every field of the state, and with every word of the code that folds it: no table is ever played on from
what other code made of its log."""

_BEFORE: Final = """
select version, stream_hash, body, digest from table_standing
where table_id = $1 and version < $2 and layout = $3 order by version desc limit 1
"""
_KEEP: Final = """
insert into table_standing (table_id, version, layout, stream_hash, body, digest) values ($1, $2, $3, $4, $5, $6)
on conflict (table_id, version) do update
set layout = excluded.layout, stream_hash = excluded.stream_hash, body = excluded.body, digest = excluded.digest
"""

_SUPERSEDE: Final = "delete from table_standing where table_id = $1 and version = $2"
_NEWEST: Final = """
select s.* from unnest($1::uuid[]) as wanted(table_id), lateral (
    select table_id, version, stream_hash, body, digest from table_standing
    where table_id = wanted.table_id and layout = $2 and version < (
        select first_version from hand_index where table_id = wanted.table_id order by hand_no desc limit 1)
    order by version desc limit 1) s
"""

type _Row = tuple[UUID, int, bytes, bytes, bytes, bytes]


class Copy(msgspec.Struct, frozen=True):
    """A table as it stood between two hands, with the hash of the last event that is folded in."""

    state: TableState
    stream_hash: bytes


def written(state: TableState) -> bytes:
    """Return a table's state without its hand, as it is kept."""
    return msgspec.msgpack.encode(_Kept(*[getattr(state, name) for name in _FIELDS]))


def read(body: bytes) -> TableState:
    """Return a state that was written; raises `msgspec.MsgspecError`."""
    kept = _DECODER.decode(body)
    return TableState(**{name: getattr(kept, name) for name in _FIELDS})


class Around(msgspec.Struct, frozen=True):
    """A hand's events and what was read with them: the nearest copy before it, and what lies between the two."""

    table_id: UUID
    first_version: int
    copy: asyncpg.Record | None
    between: list[StoredEvent]
    events: list[StoredEvent]


class _AnotherStream(Exception):  # noqa: N818  (what a copy turns out to be of)
    """A copy's place in the stream is not where the stream says that it is."""


class Standing:
    """Keeps copies of tables between hands, and reads a table as it stood before any hand."""

    def __init__(self, database: Database, store: EventStore) -> None:
        self._database = database
        self._store = store
        self._kept_at: dict[UUID, int] = {}
        self._long = asyncio.Lock()
        # Versions of the newest copies, which are kept for whoever takes the table over.
        self._passing: dict[UUID, list[int]] = {}
        self._rows: asyncio.Queue[tuple[_Row, int]] = asyncio.Queue(WAITING_MAX)

    # ---- keeping ----------------------------------------------------------------------------------------------------

    def note(self, table_id: UUID, state: TableState, stream_hash: bytes) -> None:
        """Keep a table as it stands now, if none of its hands runs.

        The newest two are always there: who takes the table over begins before its last hand, which may have ended. Of
        the others one in `EVENTS_BETWEEN` stays.
        """
        if state.is_running or self._rows.full():
            return
        passing, superseded = self._passing.setdefault(table_id, []), 0
        passing.append(state.version)
        if len(passing) > NEWEST_KEPT:
            oldest = passing.pop(0)
            if oldest - self._kept_at.get(table_id, -EVENTS_BETWEEN) >= EVENTS_BETWEEN:
                self._kept_at[table_id] = oldest
            else:
                superseded = oldest
        body = written(state)
        digest = _digest(table_id, state.version, stream_hash, body)
        self._rows.put_nowait(((table_id, state.version, LAYOUT, stream_hash, body, digest), superseded))

    def forget(self, table_id: UUID) -> None:
        """Let a table go that lives here no more."""
        self._kept_at.pop(table_id, None)
        self._passing.pop(table_id, None)

    async def keep_writing(self) -> None:
        """Write what was noted, for as long as the service runs."""
        while True:
            rows = [await self._rows.get()]
            while not self._rows.empty():
                rows.append(self._rows.get_nowait())
            try:
                await self._database.run(partial(_write, rows))
            except Exception as error:
                # A copy that is not kept costs time, and nothing else.
                _log.warning("standing_not_kept", rows=len(rows), error=repr(error))

    # ---- taking over ------------------------------------------------------------------------------------------------

    async def newest(self, table_ids: Sequence[UUID]) -> dict[UUID, Copy]:
        """Return each table's newest whole copy from before its last hand, of those that have one.

        So whatever a table shows of that hand, running or ended, comes from its log.
        """
        rows = await self._database.run(lambda c: c.fetch(_NEWEST, table_ids, LAYOUT))
        found = {}
        for table_id, version, stream_hash, body, digest in rows:
            state = _whole(table_id, version, stream_hash, body, digest)
            if state is None:
                raise_alarm("standing", f"table {table_id}: the copy at version {version} is damaged")
            else:
                found[table_id] = Copy(state, stream_hash)
                self._kept_at[table_id] = version
        return found

    # ---- reading back -----------------------------------------------------------------------------------------------

    async def around(self, table_id: UUID, first_version: int, limit: int) -> Around:
        """Return a hand's events, at most ``limit`` from its first on, and what its table is folded from: in one trip."""
        row, events = await self._database.run(partial(_read_around, table_id, first_version, limit))
        at = next((n for n, event in enumerate(events) if event.version == first_version), len(events))
        return Around(table_id, first_version, row, events[:at], events[at:])

    async def before_hand(self, around: Around) -> TableState:
        """Return a table as it stood before a hand that was read with `around`; raises `BrokenStream`."""
        table_id, first_version = around.table_id, around.first_version
        following = (*around.between, *around.events[:1])
        version, stream_hash, body, digest = around.copy or (0, b"", b"", b"")
        state = _whole(table_id, version, stream_hash, body, digest)
        # Whatever does not fit is looked into where there is time for it.
        if state is None or not following or following[0].prev_hash != stream_hash:
            return await self.before(table_id, first_version)
        for stored in around.between:
            event: Any = decode(stored.type_id, stored.schema_v, stored.body).event
            state = evolve(state, event)
        if state.version != first_version - 1:
            return await self.before(table_id, first_version)
        return replace(state, hand=None)

    async def before(self, table_id: UUID, first_version: int) -> TableState:
        """Return a table as it stood before an event with which a hand begins; raises `BrokenStream`."""
        known = await self._nearest(table_id, first_version)
        if first_version - (0 if known is None else known[0].version) <= EVENTS_AT_ONCE:
            return await self._read_back(table_id, known, first_version)
        # Without copies, as after an upgrade, this takes long: one at a time, however many ask, and live tables go on.
        # Who waited finds the copies of who went before.
        async with self._long:
            return await self._read_back(table_id, await self._nearest(table_id, first_version), first_version)

    async def _read_back(
        self, table_id: UUID, known: tuple[TableState, bytes] | None, first_version: int
    ) -> TableState:
        while known is not None:
            state, stream_hash = known
            try:
                return await self._folded(table_id, state, stream_hash, first_version)
            except _AnotherStream:
                raise_alarm("standing", f"table {table_id}: the copy at version {state.version} is of another stream")
                known = await self._nearest(table_id, state.version)
        return await self._folded(table_id, None, None, first_version)

    async def _nearest(self, table_id: UUID, before: int) -> tuple[TableState, bytes] | None:
        """Return the newest copy that is older than a version and whole, with the stream's hash at it."""
        while True:
            row = await self._database.run(partial(_nearest_row, table_id, before))
            if row is None:
                return None
            before, stream_hash, body, digest = row
            state = _whole(table_id, before, stream_hash, body, digest)
            if state is not None:
                return state, stream_hash
            raise_alarm("standing", f"table {table_id}: the copy at version {before} is damaged")

    async def _folded(
        self, table_id: UUID, state: TableState | None, stream_hash: bytes | None, first_version: int
    ) -> TableState:
        """Fold what lies between a copy and a hand; raises `_AnotherStream` where the copy is not of this place."""
        version = kept_at = 0 if state is None else state.version
        while version < first_version - 1 or stream_hash is not None:
            # The hand's first event comes with them: it says on which hash it stands.
            page = await self._store.read(table_id, version, min(EVENTS_A_READ, first_version - version))
            if stream_hash is not None and (not page or page[0].prev_hash != stream_hash):
                raise _AnotherStream
            stream_hash = None
            if not page:
                break
            for stored in page:
                if stored.version != version + 1:
                    raise BrokenStream(f"version {stored.version} follows {version}")
                if stored.version == first_version:
                    break
                event: Any = decode(stored.type_id, stored.schema_v, stored.body).event
                is_start = isinstance(event, HandStarted | CapsaStarted)
                if is_start and state is not None and version - kept_at >= EVENTS_BETWEEN:
                    kept_at = version
                    self._note_read(table_id, state, stored)
                state, version = evolve(state, event), stored.version
            await asyncio.sleep(0)
        if state is None or version != first_version - 1:
            raise BrokenStream(f"stream {table_id} ends at {version}, before version {first_version}")
        return replace(state, hand=None)

    def _note_read(self, table_id: UUID, state: TableState, following: StoredEvent) -> None:
        """Keep what was passed while reading back: whoever asks next finds it."""
        if not self._rows.full():
            body = written(state)
            digest = _digest(table_id, state.version, following.prev_hash, body)
            self._rows.put_nowait(((table_id, state.version, LAYOUT, following.prev_hash, body, digest), 0))


async def _write(rows: list[tuple[_Row, int]], connection: Connection) -> None:
    await connection.executemany(_KEEP, [row for row, _ in rows])
    if gone := [(row[0], superseded) for row, superseded in rows if superseded]:
        await connection.executemany(_SUPERSEDE, gone)


def _whole(table_id: UUID, version: int, stream_hash: bytes, body: bytes, digest: bytes) -> TableState | None:
    """Return the state of a copy, None where it is not what was kept of this table at this version."""
    if _digest(table_id, version, stream_hash, body) != digest:
        return None
    try:
        state = read(body)
    except msgspec.MsgspecError:
        return None
    return state if state.version == version and state.table_id == str(table_id) else None


async def _read_around(
    table_id: UUID, first_version: int, limit: int, connection: Connection
) -> tuple[asyncpg.Record | None, list[StoredEvent]]:
    row = await _nearest_row(table_id, first_version, connection)
    after = first_version - 1
    if row is not None and after - row["version"] <= EVENTS_A_READ:
        after = row["version"]
    events = await connection.fetch(statements.READ, table_id, after, first_version - 1 - after + limit)
    return row, [StoredEvent(*event) for event in events]


async def _nearest_row(table_id: UUID, before: int, connection: Connection) -> asyncpg.Record | None:
    return await connection.fetchrow(_BEFORE, table_id, before, LAYOUT)


def _digest(table_id: UUID, version: int, stream_hash: bytes, body: bytes) -> bytes:
    return hashed("standing/v1", table_id.bytes, version, stream_hash, LAYOUT, body)
