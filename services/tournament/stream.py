"""One tournament's stream in the event store, as its owner writes it: what is not certain is asked about, never assumed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Final
from uuid import UUID, uuid4

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
from diwan.core.hashing import chain_hashes, first_prev_hash
from diwan.core.log import StreamKind
from diwan.core.tournament.events import TournamentCreated, TournamentEvent
from diwan.wire.events import NONCE_BYTES, encode

RETRY_SECONDS: Final = 0.25

_log = structlog.get_logger(__name__)


class Lost(Exception):  # noqa: N818  (what happened to the ownership)
    """The stream stands elsewhere than its owner thought: the state must be dropped and claimed again."""


def encoded(events: Sequence[TournamentEvent]) -> tuple[NewEvent, ...]:
    """Return events as they are stored, each with fresh randomness in body and id."""
    made = []
    for event in events:
        wired = encode(event, nonce=os.urandom(NONCE_BYTES))
        made.append(NewEvent(wired.type_id, wired.schema_v, wired.body, uuid4()))
    return tuple(made)


def creation(
    tournament_id: UUID, command_id: UUID, caller: str, request_hash: bytes, events: Sequence[TournamentEvent]
) -> Append:
    """Return the append that begins a tournament's stream."""
    created = events[0]
    assert isinstance(created, TournamentCreated), "a tournament begins with its creation"  # noqa: S101
    return Append(
        stream_id=tournament_id,
        kind=StreamKind.TOURNAMENT,
        expected_version=0,
        epoch=0,
        prev_hash=first_prev_hash(tournament_id.bytes, StreamKind.TOURNAMENT),
        command_id=command_id,
        caller=caller,
        request_hash=request_hash,
        reply=b"",
        recorded_at_ms=created.at_ms,
        events=encoded(events),
    )


class TournamentStream:
    """The head of a claimed stream. One append at a time."""

    def __init__(self, store: EventStore, claim: Claim) -> None:
        self._store = store
        self.tournament_id = claim.stream_id
        self.epoch = claim.epoch
        self.version = claim.version
        self.recorded_at_ms = claim.recorded_at_ms
        self._head_hash = claim.head_hash

    async def append(
        self,
        events: Sequence[TournamentEvent],
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
        append = Append(
            stream_id=self.tournament_id,
            kind=StreamKind.TOURNAMENT,
            expected_version=self.version,
            epoch=self.epoch,
            prev_hash=self._head_hash,
            command_id=command_id,
            caller=caller,
            request_hash=request_hash,
            reply=reply,
            # Never decreasing in a stream, whatever the clocks of its owners say (H8).
            recorded_at_ms=max(now_ms, self.recorded_at_ms),
            events=encoded(events),
        )
        stored = _as_stored(append)
        await self._certainly(append, stored)
        self.version = stored[-1].version
        self.recorded_at_ms = append.recorded_at_ms
        self._head_hash = stored[-1].hash
        return stored

    async def _certainly(self, append: Append, stored: list[StoredEvent]) -> None:
        """Append, and where the answer is lost ask until it is known."""
        in_doubt = False
        while True:
            try:
                await self._store.append(append)
                return
            except UnknownOutcome as error:
                in_doubt = True
                _log.warning("append_in_doubt", tournament=str(self.tournament_id), why=str(error))
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
                found = await self._store.read(self.tournament_id, event.version - 1, 1)
            except (OSError, TimeoutError) as error:
                _log.warning("log_unreadable", tournament=str(self.tournament_id), error=repr(error))
                await asyncio.sleep(RETRY_SECONDS)
                continue
            return bool(found) and found[0].hash == event.hash


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
