"""A stream as its owner writes it: what is not certain is asked about, never assumed (D9)."""

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final
from uuid import UUID

import structlog

from diwan.chassis.database import DATABASE_TROUBLE, is_own_fault
from diwan.chassis.ids import uuid4_of
from diwan.chassis.store.errors import BrokenChain, Conflict, ConflictKind, Overloaded, UnknownOutcome
from diwan.chassis.store.records import Append, Claim, NewEvent, StoredEvent
from diwan.chassis.store.store import EventStore
from diwan.core.decider import Rejected
from diwan.core.hashing import chain_hashes, first_prev_hash
from diwan.core.log import StreamKind
from diwan.wire.events import NONCE_BYTES, Event, Revealer, encode

RETRY_SECONDS: Final = 0.25
_EVENT_ID_BYTES: Final = 16

_log = structlog.get_logger(__name__)


class Lost(Exception):  # noqa: N818  (what happened to the ownership)
    """The stream stands elsewhere than its owner thought: the state must be dropped and claimed again."""


class OwnedStream:
    """The head of a claimed stream. One append at a time."""

    def __init__(self, store: EventStore, claim: Claim, kind: StreamKind) -> None:
        self._store = store
        self._kind = kind
        self.stream_id = claim.stream_id
        self.epoch = claim.epoch
        self.version = claim.version
        self.recorded_at_ms = claim.recorded_at_ms
        self._head_hash = claim.head_hash

    async def append(
        self,
        events: Sequence[Event],
        reveal: Revealer | None = None,
        *,
        command_id: UUID,
        caller: str,
        request_hash: bytes,
        reply: bytes,
        now_ms: int,
        meanwhile: Callable[[list[StoredEvent]], None] | None = None,
    ) -> list[StoredEvent]:
        """Store a batch and return it as stored; ``reveal`` proves the cards that its events turn up.

        ``meanwhile`` may be called with what it is going to be, to make ready what is said of it once it is stored.
        Raises `Conflict` (the command was recorded before) or `Overloaded`: nothing was stored; `Lost`: nothing either, or
        nobody can say until the stream is claimed again.
        """
        append = Append(
            stream_id=self.stream_id,
            kind=self._kind,
            expected_version=self.version,
            epoch=self.epoch,
            prev_hash=self._head_hash,
            command_id=command_id,
            caller=caller,
            request_hash=request_hash,
            reply=reply,
            # Never decreasing in a stream, whatever the clocks of its owners say (H8).
            recorded_at_ms=max(now_ms, self.recorded_at_ms),
            events=encoded(events, reveal),
        )
        stored = _as_stored(append)
        await self._certainly(append, stored[-1], None if meanwhile is None else partial(meanwhile, stored))
        self.version = stored[-1].version
        self.recorded_at_ms = append.recorded_at_ms
        self._head_hash = stored[-1].hash
        return stored

    async def _certainly(self, append: Append, last: StoredEvent, meanwhile: Callable[[], None] | None) -> None:
        """Append, and where the answer is lost ask until it is known: time stands still for the stream meanwhile."""
        in_doubt = False
        while True:
            try:
                await self._store.append(append, meanwhile)
                return
            except UnknownOutcome as error:
                in_doubt = True
                _log.warning("append_in_doubt", **self._which(), version=append.expected_version, why=str(error))
                await asyncio.sleep(RETRY_SECONDS)
            except Conflict as conflict:
                if conflict.kind is not ConflictKind.DUPLICATE_COMMAND:
                    raise Lost(str(conflict)) from None
                if in_doubt and await self._holds(last):
                    return
                raise
            except BrokenChain as error:
                raise Lost(str(error)) from None
            except Overloaded as busy:
                if not in_doubt:
                    raise
                # Nothing of this attempt was stored, but the one in doubt may be, or may yet be: a claim waits for its
                # row and shuts it out.
                raise Lost(f"an append in doubt cannot be asked about: {busy}") from None

    async def _holds(self, event: StoredEvent) -> bool:
        while True:
            try:
                found = await self._store.read(self.stream_id, event.version - 1, 1)
            except DATABASE_TROUBLE as error:
                if is_own_fault(error):
                    raise
                _log.warning("log_unreadable", **self._which(), error=repr(error))
                await asyncio.sleep(RETRY_SECONDS)
                continue
            return bool(found) and found[0].hash == event.hash

    def _which(self) -> dict[str, str]:
        """Return what the log names the stream by: ``table`` and its id, for a table's."""
        return {self._kind.name.lower(): str(self.stream_id)}


def encoded(events: Sequence[Event], reveal: Revealer | None = None) -> tuple[NewEvent, ...]:
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


def first_append(
    stream_id: UUID,
    kind: StreamKind,
    events: Sequence[Event],
    *,
    command_id: UUID,
    caller: str,
    request_hash: bytes,
    now_ms: int,
) -> Append:
    """Return the append that begins a stream."""
    return Append(
        stream_id=stream_id,
        kind=kind,
        expected_version=0,
        epoch=0,
        prev_hash=first_prev_hash(stream_id.bytes, kind),
        command_id=command_id,
        caller=caller,
        request_hash=request_hash,
        reply=b"",
        recorded_at_ms=now_ms,
        events=encoded(events),
    )


async def begin_once(store: EventStore, append: Append) -> bool:
    """Begin a stream; returns False where this very request began it before (H6).

    Raises `Rejected`: REQUEST_ID_CONFLICT where another request began it, UNKNOWN_OUTCOME where nobody can say.
    """
    try:
        await store.append(append)
    except Conflict:
        recorded = await store.outcome(append.stream_id, append.command_id)
        if recorded is None and await store.head(append.stream_id) is None:
            raise Rejected("UNKNOWN_OUTCOME") from None
        if recorded is None or recorded.request_hash != append.request_hash:
            raise Rejected("REQUEST_ID_CONFLICT") from None
        return False
    return True


def _as_stored(append: Append) -> list[StoredEvent]:
    bodies = [(event.type_id, event.schema_v, event.body) for event in append.events]
    hashes = chain_hashes(
        append.prev_hash,
        append.stream_id.bytes,
        append.expected_version + 1,
        append.recorded_at_ms,
        append.command_id.bytes,
        bodies,
    )
    stored, previous = [], append.prev_hash
    for version, (event, digest) in enumerate(zip(append.events, hashes, strict=True), append.expected_version + 1):
        stored.append(
            StoredEvent(
                append.stream_id,
                version,
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
