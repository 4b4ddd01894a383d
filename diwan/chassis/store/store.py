"""The event store: streams, their events, and what every command came to (DESIGN 4, RELIABILITY 3.1, 3.3)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from functools import partial
from itertools import batched
from typing import Final, Self
from uuid import UUID

import asyncpg

from diwan.chassis.database import UNIT_SECONDS, Connection, Database
from diwan.chassis.store import statements
from diwan.chassis.store.batch import append_arguments, chain_of
from diwan.chassis.store.errors import Conflict, ConflictKind
from diwan.chassis.store.group import GroupCommit, create_streams, why_not
from diwan.chassis.store.records import Append, Appended, Claim, Outcome, OutcomeKind, StoredEvent, StreamHead

LEASE_SECONDS: Final = 5.0
"""How long a claim keeps others from taking over unasked; renewed every 1.5 s."""

RENEWED_AT_ONCE: Final = 64
"""Leases that are extended in one commit. An append that meets a row held by it is tried again behind it."""

_FIRST_ID: Final = UUID(int=0)

# The append is planned once, as its arrays differ only in length, and finds streams by their key however few or
# little analysed they are when it is planned.
_ONE_PLAN: Final = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}

READ_EVENTS_MAX: Final = 10_000
"""Events in one answer of `EventStore.read`; who wants more asks again from the last version."""


class EventStore:
    """One service's streams. Open it once a process; ``on_commit`` is called after each commit that stored events."""

    def __init__(self, database: Database, group: GroupCommit) -> None:
        self.database = database
        self._group = group

    @classmethod
    async def open(
        cls, dsn: str, *, pool_size: int = 4, on_commit: Callable[[], None] = lambda: None, application: str = "store"
    ) -> Self:
        """Connect as the service's writer role and start the group commit."""
        database = await Database.open(dsn, size=pool_size, application=application)

        async def connect() -> Connection:
            settings = {"application_name": f"{application}-writer", **_ONE_PLAN}
            return await asyncpg.connect(dsn, timeout=UNIT_SECONDS, server_settings=settings)

        group = GroupCommit(connect, on_commit=on_commit)
        group.start()
        return cls(database, group)

    async def close(self) -> None:
        """Commit what waits, then disconnect, both within limits."""
        await self._group.close()
        await self.database.close()

    async def append(self, append: Append, meanwhile: Callable[[], None] | None = None) -> Appended:
        """Store one command's events whole, in a commit shared with others.

        ``meanwhile`` is called at most once, while the database works: it makes ready what is to be said when the events
        are stored. It knows nothing of whether they will be.

        Raises `Conflict` or `BrokenChain` (nothing stored), `Overloaded` (nothing stored), `UnknownOutcome` (ask
        `outcome` by command id) or asyncpg's error where the append itself is against the schema (nothing stored).
        """
        return await self._group.append(append, meanwhile)

    async def outcome(self, stream_id: UUID, command_id: UUID) -> Outcome | None:
        """Return what a command came to, or None if it is not recorded (H6)."""
        row = await self.database.run(lambda c: c.fetchrow(statements.OUTCOME, stream_id, command_id))
        return None if row is None else _outcome(row)

    async def record_refusal(
        self, stream_id: UUID, command_id: UUID, caller: str, request_hash: bytes, reason: bytes
    ) -> Outcome:
        """Refuse a command for ever; returns what is recorded, which is an earlier outcome if there was one (L5)."""
        return await self.database.run(
            lambda c: record_refusal_in(c, stream_id, command_id, caller, request_hash, reason)
        )

    async def read(self, stream_id: UUID, after: int = 0, limit: int = READ_EVENTS_MAX) -> list[StoredEvent]:
        """Return a stream's events behind version ``after``, in order, at most ``limit``."""
        count = min(limit, READ_EVENTS_MAX)
        rows = await self.database.run(lambda c: c.fetch(statements.READ, stream_id, after, count))
        return [StoredEvent(*row) for row in rows]

    async def head(self, stream_id: UUID) -> StreamHead | None:
        """Return a stream's row, or None if there is no such stream."""
        row = await self.database.run(lambda c: c.fetchrow(statements.HEAD, stream_id))
        return None if row is None else StreamHead(*row)

    async def heads(self, kind: int, after: UUID = _FIRST_ID, limit: int = 1_000) -> list[StreamHead]:
        """Return the rows of all streams of a kind by id, behind ``after``: what a starting owner goes through."""
        rows = await self.database.run(lambda c: c.fetch(statements.HEADS_OF_KIND, kind, after, limit))
        return [StreamHead(*row) for row in rows]

    async def claim(
        self,
        stream_id: UUID,
        owner: str,
        *,
        lease_seconds: float = LEASE_SECONDS,
        first_event: Callable[[Claim], Append] | None = None,
    ) -> Claim | None:
        """Become a stream's owner under a new epoch, or return None while another's lease runs or without a stream.

        ``first_event`` makes the append that says so (O3); it commits with the claim or not at all, and the claim
        that is returned then stands behind it.
        """
        lease = timedelta(seconds=lease_seconds)
        return await self.database.run(lambda c: _claim(c, stream_id, owner, lease, first_event))

    async def claim_many(
        self,
        stream_ids: Sequence[UUID],
        owner: str,
        *,
        first_event: Callable[[Claim], Append],
        lease_seconds: float = LEASE_SECONDS,
        instead_of: Collection[str] = (),
    ) -> list[Claim]:
        """Become the owner of many streams in one commit, as by `claim`; those with a living owner are left out.

        ``instead_of`` are owners whose leases count for nothing, as the caller knows that they are gone.
        Raises `Conflict` where one of them cannot be: then none is claimed.
        """
        lease = timedelta(seconds=lease_seconds)
        return await self.database.run(lambda c: _claim_many(c, stream_ids, owner, lease, first_event, instead_of))

    async def read_many(self, after: Mapping[UUID, int]) -> list[StoredEvent]:
        """Return the events of streams behind a version of each, stream by stream in order.

        For streams whose length the caller knows.
        """
        rows = await self.database.run(lambda c: c.fetch(statements.READ_MANY, list(after), list(after.values())))
        return [StoredEvent(*row) for row in rows]

    async def renew_leases(
        self, owner: str, epochs: Mapping[UUID, int], *, lease_seconds: float = LEASE_SECONDS
    ) -> set[UUID]:
        """Extend the leases of streams that ``owner`` still holds at these epochs; returns which those are.

        A few a commit: as long as it lasts none of their streams can be appended to.
        """
        lease, kept = timedelta(seconds=lease_seconds), set[UUID]()
        for some in batched(epochs.items(), RENEWED_AT_ONCE):
            rows = await self.database.run(partial(_renew, owner, lease, dict(some)))
            kept.update(row[0] for row in rows)
        return kept

    async def renew_lease(self, stream_id: UUID, owner: str, epoch: int) -> bool:
        """Extend one lease; False means that the stream was taken over."""
        return stream_id in await self.renew_leases(owner, {stream_id: epoch})

    async def release_lease(self, stream_id: UUID, owner: str, epoch: int) -> bool:
        """Let others claim a stream at once; False means that it was taken over already."""
        return stream_id in await self.release_leases(owner, {stream_id: epoch})

    async def release_leases(self, owner: str, epochs: Mapping[UUID, int]) -> set[UUID]:
        """Let others claim streams at once that ``owner`` holds at these epochs; returns which those are."""
        rows = await self.database.run(
            lambda c: c.fetch(statements.RELEASE, owner, list(epochs), list(epochs.values()))
        )
        return {row["stream_id"] for row in rows}


async def append_in(connection: Connection, append: Append) -> Appended:
    """Store an append inside the caller's own transaction, to commit together with what else is written there.

    Raises `Conflict` or `BrokenChain`; the caller then rolls back whatever must not stand alone.
    """
    hashes = chain_of(append)
    if append.expected_version == 0 and append.epoch == 0:
        await create_streams(connection, [append])
    rows = await connection.fetch(statements.APPEND_WAITING, *append_arguments([(append, hashes)]))
    if rows:
        return Appended(append.expected_version + 1, append.expected_version + len(hashes), hashes[-1])
    standing = await connection.fetch(statements.STANDING, [append.stream_id], [append.command_id])
    # Nothing in the way any more: whoever was has rolled back since, so the caller may simply try again.
    raise why_not(append, standing[0]) or Conflict(
        ConflictKind.STALE, append.stream_id, version=append.expected_version, epoch=append.epoch
    )


async def create_stream_in(connection: Connection, stream_id: UUID, kind: int, head_hash: bytes) -> None:
    """Insert a stream's row without events, so that it can be claimed before its first append; harmless if there."""
    await connection.execute(statements.CREATE_STREAMS, [stream_id], [kind], [head_hash])


async def outcome_in(connection: Connection, stream_id: UUID, command_id: UUID) -> Outcome | None:
    """Return what a command came to, seen from the caller's own transaction."""
    row = await connection.fetchrow(statements.OUTCOME, stream_id, command_id)
    return None if row is None else _outcome(row)


async def record_refusal_in(
    connection: Connection, stream_id: UUID, command_id: UUID, caller: str, request_hash: bytes, reason: bytes
) -> Outcome:
    """Refuse a command for ever inside the caller's own transaction; returns what is recorded."""
    await connection.execute(statements.REFUSE, stream_id, command_id, caller, request_hash, reason)
    recorded = await outcome_in(connection, stream_id, command_id)
    assert recorded is not None, "an outcome that was just written, or was there before, is there"  # noqa: S101
    return recorded


async def _renew(
    owner: str, lease: timedelta, epochs: Mapping[UUID, int], connection: Connection
) -> list[asyncpg.Record]:
    return await connection.fetch(statements.RENEW, owner, lease, list(epochs), list(epochs.values()))


async def _claim(
    connection: Connection,
    stream_id: UUID,
    owner: str,
    lease: timedelta,
    first_event: Callable[[Claim], Append] | None,
) -> Claim | None:
    row = await connection.fetchrow(statements.CLAIM, stream_id, owner, lease)
    if row is None:
        return None
    claim = Claim(stream_id, *row)
    if first_event is None:
        return claim
    append = first_event(claim)
    appended = await append_in(connection, append)
    return Claim(
        stream_id,
        claim.epoch,
        appended.last_version,
        appended.head_hash,
        append.recorded_at_ms,
        claim.database_now_ms,
    )


async def _claim_many(
    connection: Connection,
    stream_ids: Sequence[UUID],
    owner: str,
    lease: timedelta,
    first_event: Callable[[Claim], Append],
    instead_of: Collection[str],
) -> list[Claim]:
    rows = await connection.fetch(statements.CLAIM_MANY, stream_ids, owner, lease, [owner, *instead_of])
    if not rows:
        return []
    claims = [Claim(*row) for row in rows]
    appends = [first_event(claim) for claim in claims]
    chained = [(append, chain_of(append)) for append in appends]
    written = await connection.fetch(statements.APPEND_WAITING, *append_arguments(chained))
    if len(written) != len(claims):
        # Rolled back with the claims: one by one it will show which of them stands in the way.
        raise Conflict(ConflictKind.STALE, stream_ids[0], version=claims[0].version, epoch=claims[0].epoch)
    return [
        Claim(
            claim.stream_id,
            claim.epoch,
            claim.version + len(hashes),
            hashes[-1],
            append.recorded_at_ms,
            claim.database_now_ms,
        )
        for claim, (append, hashes) in zip(claims, chained, strict=True)
    ]


def _outcome(row: asyncpg.Record) -> Outcome:
    return Outcome(
        row["stream_id"],
        row["command_id"],
        OutcomeKind(row["outcome"]),
        row["caller"],
        row["request_hash"],
        row["first_version"],
        row["last_version"],
        row["reply"],
    )
