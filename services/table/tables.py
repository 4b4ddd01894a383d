"""The tables of this process: claimed, loaded, renewed, handed over (RELIABILITY 3.3)."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from itertools import batched, islice
from typing import Final
from uuid import UUID

import structlog

from diwan.chassis.claims import Claims, Quarantine
from diwan.chassis.store import EventStore, StoredEvent, StreamHead
from diwan.chassis.vault import HandVault
from diwan.core.decider import Rejected
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandEnded, HandStarted
from diwan.core.log import StreamKind
from diwan.core.table.events import BuyInRefused, BuyInRequested, SeatReleased, TableEvent, TopUpRequested
from diwan.core.table.hosting.events import HostChanged
from diwan.core.table.tournament.events import EntrantReleased, EntrantSeated
from services.table.actor import Actor
from services.table.cards import HandCards
from services.table.entry import show_out
from services.table.index import Index
from services.table.loaded import HandPlace, Loaded
from services.table.loading import BROKEN, CLAIMS_A_COMMIT, Loader
from services.table.names import Names
from services.table.pulse import BEAT_SECONDS, Pulse
from services.table.saga import BuyIns
from services.table.standing import Standing
from services.table.watchers import HEARTBEAT_SECONDS

CLAIMS_AT_FIRST: Final = 32
"""In the first commit of a takeover: the sooner something is read, the sooner it is folded while more comes in."""

SHARES_AT_ONCE: Final = 3
"""Shares of tables under way in a takeover: claimed, read, folded, their secrets opened."""

RECENT_HANDS: Final = 4096

BEATS_AT_ONCE: Final = 8
"""Tables whose watchers get their sign of life in one turn of the loop: those that play go on in between."""

_log = structlog.get_logger(__name__)


class Tables:
    """Every live table of this process, by id; the listener of them all."""

    def __init__(
        self,
        store: EventStore,
        vault: HandVault,
        index: Index,
        buy_ins: BuyIns,
        names: Names,
        instance: str,
        standing: Standing,
    ) -> None:
        self._store = store
        self._vault = vault
        self._index = index
        self._buy_ins = buy_ins
        self._names = names
        self._standing = standing
        self._claims = Claims(store, instance)
        self._actors: dict[UUID, Actor] = {}
        self._opening: dict[UUID, asyncio.Future[Actor | None]] = {}
        self._loader = Loader(store, vault, standing, self._claims.owner)
        self._hands: OrderedDict[str, HandPlace] = OrderedDict()
        self._seated: dict[str, set[UUID]] = {}
        self._quarantined = Quarantine()
        self._is_draining = False
        self._pulse = Pulse(self._stalled)

    # ---- finding ----------------------------------------------------------------------------------------------------

    def live(self) -> list[Actor]:
        """Return all tables that live here."""
        return list(self._actors.values())

    def find(self, table_id: UUID) -> Actor | None:
        """Return a table that lives here."""
        return self._actors.get(table_id)

    async def get(self, table_id: UUID) -> Actor:
        """Return a table, taken over if nobody owns it.

        Raises TABLE_NOT_FOUND, TABLE_MOVED, TABLE_QUARANTINED or SERVICE_DRAINING.
        """
        actor = self._actors.get(table_id)
        if actor is not None:
            return actor
        opened = await self.open(table_id)
        if opened is not None:
            return opened
        if await self._store.head(table_id) is None:
            raise Rejected("TABLE_NOT_FOUND")
        raise Rejected("TABLE_MOVED")

    def hand(self, hand_id: str) -> HandPlace | None:
        """Return where a recent hand lies, which the index may not know yet."""
        return self._hands.get(hand_id)

    def tables_of(self, player: str) -> set[UUID]:
        """Return the tables of this process at which a player has a seat."""
        return self._seated.get(player, set())

    # ---- owning -----------------------------------------------------------------------------------------------------

    async def open(self, table_id: UUID) -> Actor | None:
        """Claim and load a table; None where another owner lives, or there is no such table."""
        if self._is_draining:
            raise Rejected("SERVICE_DRAINING")
        if table_id in self._actors:
            return self._actors[table_id]
        if table_id in self._quarantined:
            raise Rejected("TABLE_QUARANTINED", table_id=table_id)
        task = self._opening.get(table_id)
        if task is None:
            task = asyncio.create_task(self._open(table_id), name=f"open-{table_id}")
            self._opening[table_id] = task
            task.add_done_callback(lambda _: self._opening.pop(table_id, None))
        return await asyncio.shield(task)

    async def _open(self, table_id: UUID) -> Actor | None:
        cards = HandCards(table_id, self._vault)
        loaded = await self._claimed(table_id, cards)
        return None if loaded is None else self._begun(loaded, cards)

    def _begun(self, loaded: Loaded, cards: HandCards) -> Actor:
        actor = Actor(loaded, self._store, cards, self._names, self, self._reclaim)
        self._actors[actor.table_id] = actor
        self._enlist(actor)
        actor.start()
        return actor

    async def _claimed(self, table_id: UUID, cards: HandCards) -> Loaded | None:
        try:
            loaded = await self._loader.load(table_id, cards)
        except BROKEN as error:
            self._quarantine(table_id, error)
            raise Rejected("TABLE_QUARANTINED", table_id=table_id) from error
        if loaded is not None:
            self._note_hands(loaded)
        return loaded

    def _quarantine(self, table_id: UUID, error: Exception) -> None:
        self._quarantined.add(table_id)
        _log.error("table_quarantined", table=str(table_id), error=repr(error), exc_info=error)

    def _note_hands(self, loaded: Loaded) -> None:
        for place, hand_id in loaded.hands:
            self._note_hand(hand_id, place)

    async def _open_many(self, table_ids: Sequence[UUID], instead_of: Collection[str]) -> None:
        """Open tables that nobody owns, in one commit; who asks for one of them meanwhile waits for it."""
        loop = asyncio.get_running_loop()
        waiting = {each: loop.create_future() for each in table_ids if self._may_open(each)}
        self._opening.update(waiting)
        try:
            async for cards, loaded in self._loader.load_many(list(waiting), instead_of):
                opened = waiting[cards.table_id]
                if isinstance(loaded, Loaded):
                    self._note_hands(loaded)
                    opened.set_result(self._begun(loaded, cards))
                else:
                    self._quarantine(cards.table_id, loaded)
        finally:
            for table_id, opened in waiting.items():
                self._opening.pop(table_id, None)
                if not opened.done():
                    opened.set_result(None)

    def _may_open(self, table_id: UUID) -> bool:
        is_held_back = table_id in self._quarantined
        return not (is_held_back or self._is_draining or table_id in self._actors or table_id in self._opening)

    async def _reclaim(self, actor: Actor) -> Loaded | None:
        """Take a table over again after its owner's view of it proved wrong; waits for the store if need be."""
        while not self._is_draining:
            try:
                return await self._claimed(actor.table_id, actor.cards)
            except Rejected:
                return None
            except Exception as error:
                # The store may be away; until it answers nobody can say who owns the table.
                _log.warning("reclaim_failed", table=str(actor.table_id), error=repr(error))
                await asyncio.sleep(0.5)
        return None

    def _enlist(self, actor: Actor) -> None:
        for seat in actor.state.seats:
            self._seated.setdefault(seat.player, set()).add(actor.table_id)
            self._names.want(seat.player)
            if seat.pending is not None:
                self._buy_ins.follow(actor, seat)

    def _retire(self, actor: Actor) -> None:
        if self._actors.get(actor.table_id) is actor:
            del self._actors[actor.table_id]
            self._standing.forget(actor.table_id)
        for tables in self._seated.values():
            tables.discard(actor.table_id)
        self._seated = {player: tables for player, tables in self._seated.items() if tables}

    # ---- what happens -----------------------------------------------------------------------------------------------

    def happened(self, actor: Actor, events: tuple[TableEvent, ...], stored: list[StoredEvent]) -> None:
        """Keep the indexes of memory, and begin what an event asks for."""
        for event, at in zip(events, stored, strict=True):
            match event:
                case HandStarted() | CapsaStarted():
                    self._note_hand(event.hand_id, HandPlace(actor.table_id, at.version))
                case HandEnded():
                    begun = self._hands.get(actor.state.hand_id)
                    if begun is not None:
                        ended = HandPlace(actor.table_id, begun.first_version, at.version)
                        self._hands[actor.state.hand_id] = ended
                    self._standing.note(actor.table_id, actor.state, stored[-1].hash)
                case BuyInRequested():
                    self._seated.setdefault(event.player, set()).add(actor.table_id)
                    self._names.want(event.player)
                    self._follow(actor, event.seat)
                case TopUpRequested():
                    self._follow(actor, event.seat)
                case EntrantSeated():
                    self._seated.setdefault(event.player, set()).add(actor.table_id)
                    self._names.want(event.player)
                case SeatReleased():
                    self._unseat(event.player, actor.table_id)
                case EntrantReleased():
                    self._unseat(event.player, actor.table_id)
                    _let_go(actor, event)
                case BuyInRefused():
                    self._unseat_absent(actor)
                case HostChanged():
                    self._names.want(event.host)
                case _:
                    pass

        if actor.state.config.is_private:
            show_out(actor)

    def _follow(self, actor: Actor, number: int) -> None:
        seat = actor.state.seat(number)
        if seat is not None:
            self._buy_ins.follow(actor, seat)

    def _unseat(self, player: str, table_id: UUID) -> None:
        tables = self._seated.get(player)
        if tables is not None:
            tables.discard(table_id)
            if not tables:
                del self._seated[player]

    def _unseat_absent(self, actor: Actor) -> None:
        present = {seat.player for seat in actor.state.seats}
        for player in [each for each, tables in self._seated.items() if actor.table_id in tables]:
            if player not in present:
                self._unseat(player, actor.table_id)

    def _note_hand(self, hand_id: str, place: HandPlace) -> None:
        self._hands[hand_id] = place
        if len(self._hands) > RECENT_HANDS:
            self._hands.popitem(last=False)

    def look(self) -> None:
        """Notice a pause of this process before anybody is judged by the clock."""
        self._pulse.look()

    def _stalled(self, gap_ms: int) -> None:
        _log.warning("process_stood_still", ms=gap_ms, tables=len(self._actors))
        for actor in self.live():
            actor.stalled(gap_ms)

    # ---- background -------------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Take over what nobody owns before the first call is answered: a restart shows no gap in what was known."""
        began, used = time.perf_counter(), time.process_time()
        try:
            await self._take_over_at_first()
        except Exception as error:
            # The database may just be away; `keep_claims` goes on trying.
            _log.warning("claims_interrupted", error=repr(error))
        took, cpu = time.perf_counter() - began, time.process_time() - used
        _log.info("tables_taken_over", tables=len(self._actors), ms=round(took * 1000), cpu_ms=round(cpu * 1000))

    async def keep_claims(self) -> None:
        """Renew leases, stop tables that were taken over, take over those without a living owner."""
        await self._claims.keep(self._renew, self._take_over_unowned)

    async def keep_beating(self) -> None:
        """Be seen to be alive, so that a pause shows as a gap."""
        while True:
            self._pulse.beat()
            await asyncio.sleep(BEAT_SECONDS)

    async def heartbeats(self) -> None:
        """Show every watcher a sign of life now and then."""
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            watched = [actor for actor in self.live() if actor.hub.has_watchers]
            for some in batched(watched, BEATS_AT_ONCE):
                for actor in some:
                    # An invitation may have run out meanwhile, which no event tells.
                    show_out(actor)
                    actor.hub.heartbeat(actor.clock.now_ms())
                await asyncio.sleep(0)

    async def _renew(self) -> None:
        epochs = {table_id: actor.epoch for table_id, actor in self._actors.items()}
        for table_id in await self._claims.lost(epochs):
            actor = self._actors.get(table_id)
            # It may have been claimed anew by ourselves while we asked.
            if actor is not None and actor.epoch == epochs[table_id]:
                _log.warning("table_taken_over", table=str(table_id))
                await actor.stop(Rejected("TABLE_MOVED"))
                self._retire(actor)
        for actor in self.live():
            if actor.is_quarantined:
                self._quarantined.add(actor.table_id)
            if actor.is_gone or (actor.state.is_closed and not actor.hub.has_watchers):
                await actor.stop()
                self._retire(actor)

    async def _take_over_at_first(self) -> None:
        """Take over what nobody owns, and what a process had that bore our name and is gone: no restart waits for leases."""
        heads = await self._open_heads()
        former = {head.stream_id: head for head in heads if self._claims.is_of_former_life(head)}
        free = [head.stream_id for head in heads if not head.is_leased or head.stream_id in former]
        await self._take_over(free, {head.owner or "" for head in former.values()})
        for table_id, head in former.items():
            if self._may_open(table_id):
                # Somebody held its row, perhaps that process's last append on its way: here it is waited for.
                await self._store.release_lease(table_id, head.owner or "", head.epoch)
                await self._open_alone(table_id)

    async def _take_over_unowned(self) -> None:
        await self._take_over(await self._unowned())

    async def _take_over(self, free: Iterable[UUID], instead_of: Collection[str] = ()) -> None:
        limit = asyncio.Semaphore(SHARES_AT_ONCE)

        async def some(table_ids: Sequence[UUID]) -> None:
            async with limit:
                try:
                    await self._open_many(table_ids, instead_of)
                except Exception as error:
                    # One that cannot be claimed must not keep the others closed.
                    _log.warning("claimed_one_by_one", tables=len(table_ids), error=repr(error))
                    for table_id in table_ids:
                        await self._open_alone(table_id)

        rest = iter(free)
        first = tuple(islice(rest, CLAIMS_AT_FIRST))
        await asyncio.gather(*(some(each) for each in (first, *batched(rest, CLAIMS_A_COMMIT)) if each))

    async def _open_alone(self, table_id: UUID) -> None:
        try:
            await self.open(table_id)
        except Rejected as refusal:
            _log.warning("table_not_opened", table=str(table_id), why=refusal.reason)
        except Exception:
            # One table that cannot be loaded must not keep the others closed.
            _log.exception("table_not_opened", table=str(table_id))

    async def _unowned(self) -> list[UUID]:
        return [each for each in await self._index.unowned_tables() if each not in self._actors]

    async def _open_heads(self) -> list[StreamHead]:
        after, found = UUID(int=0), []
        closed = await self._index.closed_tables()
        while heads := await self._store.heads(StreamKind.TABLE, after):
            after = heads[-1].stream_id
            found += [head for head in heads if head.stream_id not in closed]
        return found

    async def hand_over(self) -> None:
        """Stop all tables between two steps and let others claim them at once."""
        self._is_draining = True
        # A share at a time: no table is without an owner for longer than its neighbours take to stop.
        for some in batched(self.live(), CLAIMS_A_COMMIT):
            await asyncio.gather(*(actor.stop() for actor in some))
            await self._claims.release({actor.table_id: actor.epoch for actor in some})
            for actor in some:
                self._retire(actor)
        await self._buy_ins.close()


def _let_go(actor: Actor, event: EntrantReleased) -> None:
    """Send who is moved on to where the tournament says; who is out may go on watching."""
    terms = actor.state.config.tournament
    if event.cause == "moved" and terms is not None:
        why = Rejected("MOVED_TO_ANOTHER_TABLE", tournament_id=terms.tournament_id, stack=event.stack)
        actor.hub.let_go(event.player, why)
