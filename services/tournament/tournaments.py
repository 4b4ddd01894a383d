"""The tournaments of this process: claimed, loaded, renewed, handed over (RELIABILITY 3.3)."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

import structlog

from diwan.chassis.alarms import raise_alarm
from diwan.chassis.claims import Claims, Quarantine
from diwan.chassis.store import Conflict, EventStore
from diwan.chassis.vault import HandVault
from diwan.core.decider import Rejected
from diwan.core.tournament.events import TournamentEvent
from diwan.core.tournament.state import TournamentState
from services.tournament.actor import Actor
from services.tournament.draws import Draws
from services.tournament.hub import HEARTBEAT_SECONDS
from services.tournament.index import Index
from services.tournament.loading import BROKEN, Loaded, folded, load

OPENED_AT_ONCE: Final = 4
FINISHED_KEPT: Final = 64
"""Tournaments that are over and were asked for lately; others are folded again when somebody asks."""

_log = structlog.get_logger(__name__)

type Happened = Callable[[Actor, Sequence[TournamentEvent]], None]


class Tournaments:
    """Every tournament that is not over and lives in this process, by id; those that are over can be looked at.

    ``index`` says which are not over, and of one that is so, as far as the projections have come: it need not be claimed.
    """

    def __init__(self, store: EventStore, vault: HandVault, instance: str, index: Index) -> None:
        self.store = store
        self._vault = vault
        self._index = index
        self._claims = Claims(store, instance)
        self._actors: dict[UUID, Actor] = {}
        self._opening: dict[UUID, asyncio.Task[Actor | None]] = {}
        self._quarantined = Quarantine()
        self._finished: OrderedDict[UUID, TournamentState] = OrderedDict()
        self._over: set[UUID] = set()
        self._is_draining = False
        self._listeners: list[Happened] = []

    def listen(self, happened: Happened) -> None:
        """Tell somebody of everything that is committed, and of every tournament that is taken over, with no events."""
        self._listeners.append(happened)

    def live(self) -> list[Actor]:
        """Return all tournaments that live here."""
        return list(self._actors.values())

    def draws_of(self, tournament_id: UUID) -> Draws:
        """Return the secrets of a tournament that is about to be announced."""
        return Draws(tournament_id, self._vault)

    async def get(self, tournament_id: UUID) -> Actor:
        """Return a tournament that is not over, taken over if nobody owns it.

        Raises TOURNAMENT_NOT_FOUND, TOURNAMENT_OVER, TOURNAMENT_MOVED, TOURNAMENT_QUARANTINED or SERVICE_DRAINING.
        """
        actor = self._actors.get(tournament_id)
        if actor is not None and actor.state.is_over:
            self._over.add(tournament_id)
            self._keep(tournament_id, actor.state)
        elif actor is not None and not actor.is_gone:
            return actor
        if tournament_id not in self._over and await self._index.is_over(tournament_id):
            self._over.add(tournament_id)
        if tournament_id in self._over:
            raise Rejected("TOURNAMENT_OVER")
        opened = await self.open(tournament_id)
        if opened is not None:
            return opened
        if tournament_id in self._over:
            raise Rejected("TOURNAMENT_OVER")
        if await self.store.head(tournament_id) is None:
            raise Rejected("TOURNAMENT_NOT_FOUND")
        raise Rejected("TOURNAMENT_MOVED")

    async def state(self, tournament_id: UUID) -> TournamentState:
        """Return a tournament as it stands, also one that is over. Raises as `get` does, but not TOURNAMENT_OVER."""
        try:
            return (await self.get(tournament_id)).state
        except Rejected as refusal:
            if refusal.reason != "TOURNAMENT_OVER":
                raise
        kept = self._finished.pop(tournament_id, None)
        state = kept or (await folded(self.store, tournament_id))[0]
        if state is None:
            raise Rejected("TOURNAMENT_NOT_FOUND")
        self._keep(tournament_id, state)
        return state

    def _keep(self, tournament_id: UUID, state: TournamentState) -> None:
        self._finished[tournament_id] = state
        if len(self._finished) > FINISHED_KEPT:
            self._finished.popitem(last=False)

    # ---- owning -----------------------------------------------------------------------------------------------------

    async def open(self, tournament_id: UUID) -> Actor | None:
        """Claim and load a tournament; None where another owner lives, there is none, or it is over."""
        if self._is_draining:
            raise Rejected("SERVICE_DRAINING")
        if tournament_id in self._quarantined:
            raise Rejected("TOURNAMENT_QUARANTINED")
        task = self._opening.get(tournament_id)
        if task is None:
            task = asyncio.create_task(self._open(tournament_id), name=f"open-{tournament_id}")
            self._opening[tournament_id] = task
            task.add_done_callback(lambda _: self._opening.pop(tournament_id, None))
        return await asyncio.shield(task)

    async def _open(self, tournament_id: UUID) -> Actor | None:
        present = self._actors.get(tournament_id)
        if present is not None and not present.is_gone:
            return present
        loaded = await self._claimed(tournament_id)
        if loaded is None:
            return None
        if loaded.state.is_over:
            self._over.add(tournament_id)
            self._keep(tournament_id, loaded.state)
            return None
        actor = Actor(loaded, self.store, Draws(tournament_id, self._vault), self, self._reclaim)
        self._actors[tournament_id] = actor
        actor.start()
        self.happened(actor, ())
        return actor

    async def _claimed(self, tournament_id: UUID) -> Loaded | None:
        try:
            return await load(self.store, tournament_id, self._claims.owner)
        except BROKEN as error:
            self._quarantined.add(tournament_id)
            raise_alarm("poison", f"tournament {tournament_id} cannot be loaded: {error!r}")
            raise Rejected("TOURNAMENT_QUARANTINED") from error

    async def _reclaim(self, tournament_id: UUID) -> Loaded | None:
        """Take a tournament over again after its owner's view of it proved wrong; waits for the store if need be."""
        while not self._is_draining:
            try:
                return await self._claimed(tournament_id)
            except Rejected:
                return None
            except Exception as error:
                _log.warning("reclaim_failed", tournament=str(tournament_id), error=repr(error))
                await asyncio.sleep(0.5)
        return None

    def happened(self, actor: Actor, events: Sequence[TournamentEvent]) -> None:
        """Pass on what was committed."""
        for happened in self._listeners:
            happened(actor, events)

    def _retire(self, actor: Actor) -> None:
        if self._actors.get(actor.tournament_id) is actor:
            del self._actors[actor.tournament_id]
        if actor.state.is_over:
            self._over.add(actor.tournament_id)
            self._keep(actor.tournament_id, actor.state)

    # ---- background -------------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Take over what nobody owns before the first call is answered."""
        try:
            await self._let_go_of_former_life()
            await self._take_over()
        except Exception as error:
            _log.warning("claims_interrupted", error=repr(error))
        _log.info("tournaments_taken_over", tournaments=len(self._actors))

    async def keep_claims(self) -> None:
        """Renew leases, stop tournaments that were taken over, take over those without a living owner."""
        await self._claims.keep(self._renew, self._take_over)

    async def heartbeats(self) -> None:
        """Show every watcher a sign of life now and then."""
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            for actor in self.live():
                actor.hub.heartbeat()

    async def hand_over(self) -> None:
        """Stop all tournaments and let others claim them at once."""
        self._is_draining = True
        actors = self.live()
        await asyncio.gather(*(actor.stop() for actor in actors))
        await self._claims.release({actor.tournament_id: actor.epoch for actor in actors})

    async def _renew(self) -> None:
        epochs = {each: actor.epoch for each, actor in self._actors.items()}
        for tournament_id in await self._claims.lost(epochs):
            actor = self._actors.get(tournament_id)
            # It may have been claimed anew by ourselves while we asked.
            if actor is not None and actor.epoch == epochs[tournament_id]:
                _log.warning("tournament_taken_over", tournament=str(tournament_id))
                await actor.stop(Rejected("TOURNAMENT_MOVED"))
                self._retire(actor)
        for actor in self.live():
            if actor.is_quarantined:
                self._quarantined.add(actor.tournament_id)
                raise_alarm("poison", f"tournament {actor.tournament_id} was stopped by a fault of ours")
            if actor.is_gone or (actor.state.is_over and not actor.hub.has_watchers):
                await actor.stop()
                self._retire(actor)

    async def _let_go_of_former_life(self) -> None:
        """Release the leases of a process of our name that has ended without a word."""
        for head in await self._index.unfinished():
            if self._claims.is_of_former_life(head):
                await self.store.release_lease(head.stream_id, head.owner or "", head.epoch)

    async def _take_over(self) -> None:
        limit = asyncio.Semaphore(OPENED_AT_ONCE)

        async def one(tournament_id: UUID) -> None:
            async with limit:
                try:
                    await self.open(tournament_id)
                except (Rejected, Conflict) as error:
                    _log.warning("not_taken_over", tournament=str(tournament_id), error=repr(error))

        wanted = [
            head.stream_id
            for head in await self._index.unfinished()
            if head.stream_id not in self._actors
            and head.stream_id not in self._over
            and head.stream_id not in self._quarantined
            and not head.is_leased
        ]
        await asyncio.gather(*map(one, wanted))
