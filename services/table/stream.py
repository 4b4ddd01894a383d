"""One table's stream in the event store, as its owner writes it: what is not certain is asked about, never assumed."""

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

import structlog

from diwan.chassis.store import (
    Append,
    BrokenChain,
    Claim,
    Conflict,
    ConflictKind,
    EventStore,
    NewEvent,
    StoredEvent,
    UnknownOutcome,
)
from diwan.core.fairness import Reveal
from diwan.core.hashing import chain_hashes, first_prev_hash
from diwan.core.table.events import OwnerChanged, TableCreated, TableEvent
from diwan.wire.events import NONCE_BYTES, encode
from services.table.ids import TABLE_KIND, claim_id_of, uuid4_of

RETRY_SECONDS: Final = 0.25
_EVENT_ID_BYTES: Final = 16

_log = structlog.get_logger(__name__)

type Revealer = Callable[[int], Reveal]


class Lost(Exception):  # noqa: N818  (what happened to the ownership)
    """The stream stands elsewhere than its owner thought: the state must be dropped and claimed again."""


def encoded(events: Sequence[TableEvent], reveal: Revealer | None) -> tuple[NewEvent, ...]:
    """Return events as they are stored, each with fresh randomness in body and id."""
    size = NONCE_BYTES + _EVENT_ID_BYTES
    chance = os.urandom(size * len(events))
    made = []
    for number, event in enumerate(events):
        start = number * size
        wired = encode(event, nonce=chance[start : start + NONCE_BYTES], reveal=reveal)
        event_id = uuid4_of(chance[start + NONCE_BYTES : start + size])
        made.append(NewEvent(wired.type_id, wired.schema_v, wired.body, event_id))
    return tuple(made)


def creation(table_id: UUID, command_id: UUID, caller: str, request_hash: bytes, event: TableCreated) -> Append:
    """Return the append that begins a table's stream."""
    return Append(
        stream_id=table_id,
        kind=TABLE_KIND,
        expected_version=0,
        epoch=0,
        prev_hash=first_prev_hash(table_id.bytes, TABLE_KIND),
        command_id=command_id,
        caller=caller,
        request_hash=request_hash,
        reply=b"",
        recorded_at_ms=event.created_at_ms,
        events=encoded([event], None),
    )


def takeover(claim: Claim, owner: str) -> Append:
    """Return a new owner's first append (O3)."""
    now_ms = max(claim.database_now_ms, claim.recorded_at_ms)
    return Append(
        stream_id=claim.stream_id,
        kind=TABLE_KIND,
        expected_version=claim.version,
        epoch=claim.epoch,
        prev_hash=claim.head_hash,
        command_id=claim_id_of(claim.stream_id, claim.epoch),
        caller=owner,
        request_hash=b"",
        reply=b"",
        recorded_at_ms=now_ms,
        events=encoded([OwnerChanged(claim.epoch, owner, now_ms)], None),
    )


class TableStream:
    """The head of a claimed stream. One append at a time."""

    def __init__(self, store: EventStore, claim: Claim) -> None:
        self._store = store
        self.table_id = claim.stream_id
        self.epoch = claim.epoch
        self.version = claim.version
        self.recorded_at_ms = claim.recorded_at_ms
        self._head_hash = claim.head_hash

    async def append(
        self,
        events: Sequence[TableEvent],
        reveal: Revealer | None,
        *,
        command_id: UUID,
        caller: str,
        request_hash: bytes,
        reply: bytes,
        now_ms: int,
    ) -> list[StoredEvent]:
        """Store a batch and return it as stored.

        Raises `Lost`, `Conflict` (the command was recorded before) or `Overloaded`; then nothing was stored.
        """
        # Never decreasing in a stream, whatever the clocks of its owners say (H8).
        recorded_at_ms = max(now_ms, self.recorded_at_ms)
        append = Append(
            stream_id=self.table_id,
            kind=TABLE_KIND,
            expected_version=self.version,
            epoch=self.epoch,
            prev_hash=self._head_hash,
            command_id=command_id,
            caller=caller,
            request_hash=request_hash,
            reply=reply,
            recorded_at_ms=recorded_at_ms,
            events=encoded(events, reveal),
        )
        stored = self._as_stored(append)
        await self._certainly(append, stored)
        self.version = stored[-1].version
        self.recorded_at_ms = recorded_at_ms
        self._head_hash = stored[-1].hash
        return stored

    def _as_stored(self, append: Append) -> list[StoredEvent]:
        bodies = [(event.type_id, event.schema_v, event.body) for event in append.events]
        hashes = chain_hashes(
            append.prev_hash,
            self.table_id.bytes,
            append.expected_version + 1,
            append.recorded_at_ms,
            append.command_id.bytes,
            bodies,
        )
        stored, previous = [], append.prev_hash
        for number, (event, digest) in enumerate(zip(append.events, hashes, strict=True), append.expected_version + 1):
            stored.append(
                StoredEvent(
                    self.table_id,
                    number,
                    event.event_id,
                    append.command_id,
                    append.epoch,
                    event.type_id,
                    event.schema_v,
                    append.recorded_at_ms,
                    event.body,
                    previous,
                    digest,
                )
            )
            previous = digest
        return stored

    async def _certainly(self, append: Append, stored: list[StoredEvent]) -> None:
        """Append, and where the answer is lost ask until it is known: time stands still for the table meanwhile."""
        in_doubt = False
        while True:
            try:
                await self._store.append(append)
                return
            except UnknownOutcome as error:
                in_doubt = True
                _log.warning(
                    "append_in_doubt", table=str(self.table_id), version=append.expected_version, why=str(error)
                )
                await asyncio.sleep(RETRY_SECONDS)
            except Conflict as conflict:
                if conflict.kind is not ConflictKind.DUPLICATE_COMMAND:
                    raise Lost(str(conflict)) from None
                if in_doubt and await self._holds(stored[-1]):
                    return
                raise
            except BrokenChain as error:
                raise Lost(str(error)) from None

    async def _holds(self, event: StoredEvent) -> bool:
        while True:
            try:
                found = await self._store.read(self.table_id, event.version - 1, 1)
            except (OSError, TimeoutError) as error:
                _log.warning("log_unreadable", table=str(self.table_id), error=repr(error))
                await asyncio.sleep(RETRY_SECONDS)
                continue
            return bool(found) and found[0].hash == event.hash
