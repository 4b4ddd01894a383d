"""How a tournament comes into this process: its stream claimed, its log folded (RELIABILITY 3.3, P1)."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final
from uuid import UUID

import msgspec

from diwan.chassis.clock import DatabaseClock
from diwan.chassis.keyfile import VaultError
from diwan.chassis.store import EventStore, StoredEvent
from diwan.core.tournament.evolve import evolve
from diwan.core.tournament.state import TournamentState
from diwan.wire.events import WireError, decode
from services.tournament.hub import RECENT_EVENTS
from services.tournament.stream import TournamentStream

PAGE_EVENTS: Final = 1_000
"""Events that are folded before others get their turn."""


class BrokenStream(Exception):  # noqa: N818
    """A log that is not whole: its row says more than its events."""


BROKEN: Final = (WireError, VaultError, BrokenStream)
"""What keeps one tournament from being loaded, whoever tries and however often."""


class Loaded(msgspec.Struct, frozen=True):
    """A tournament as its log tells it, and the head of its stream."""

    stream: TournamentStream
    state: TournamentState
    recent: tuple[StoredEvent, ...]
    clock: DatabaseClock


async def load(store: EventStore, tournament_id: UUID, owner: str) -> Loaded | None:
    """Claim and fold a tournament; None where another owner lives or there is none. Raises one of `BROKEN`."""
    claim = await store.claim(tournament_id, owner)
    if claim is None:
        return None
    state, recent = await folded(store, tournament_id)
    if state is None or state.version != claim.version:
        version = 0 if state is None else state.version
        raise BrokenStream(f"stream {tournament_id} ends at {version}, its row says {claim.version}")
    return Loaded(TournamentStream(store, claim), state, recent, DatabaseClock(claim.database_now_ms))


async def folded(store: EventStore, tournament_id: UUID) -> tuple[TournamentState | None, tuple[StoredEvent, ...]]:
    """Return a tournament as its log tells it, None where there is none, with the newest events."""
    state: TournamentState | None = None
    recent: deque[StoredEvent] = deque(maxlen=RECENT_EVENTS)
    while True:
        page = await store.read(tournament_id, state.version if state is not None else 0, PAGE_EVENTS)
        for stored in page:
            event = decode(stored.type_id, stored.schema_v, stored.body).event
            state = evolve(state, event)  # type: ignore[arg-type]  # a tournament's stream holds its events alone
        recent.extend(page)
        if len(page) < PAGE_EVENTS:
            return state, tuple(recent)
        await asyncio.sleep(0)
