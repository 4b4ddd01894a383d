"""One live table: decide, append, and only then tell anyone anything (O4, DESIGN 8)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, Protocol
from uuid import UUID

import structlog
from msgspec.structs import replace

from diwan.api.table.v1.view_pb2 import Presence as PresenceMessage
from diwan.chassis.actors import Answer, FirstAnswers, Mailbox, replayed
from diwan.chassis.ids import internal_id_of
from diwan.chassis.store import Conflict, EventStore, Lost, Overloaded, StoredEvent
from diwan.core.decider import Rejected
from diwan.core.fairness import CommittedDeck
from diwan.core.hand.events import Seat
from diwan.core.redact import shown_to
from diwan.core.table.commands import TableCommand
from diwan.core.table.decide import advance
from diwan.core.table.events import TableEvent
from diwan.core.table.playing import DECISIONS, OPENINGS
from diwan.core.table.state import TableState
from services.table.alarm import Alarm
from services.table.asking import RECENT_ANSWERS, Admission, Ask, Build, Reply, no_reply
from services.table.cards import HandCards
from services.table.conduct import Conduct
from services.table.frames import presence_frame
from services.table.hub import Ahead, Hub
from services.table.ids import hand_id_of
from services.table.loaded import Loaded
from services.table.presence import Presence
from services.table.pulse import STALL_MS
from services.table.refusals import Refusals
from services.table.seeds import SeedBook

_log = structlog.get_logger(__name__)

STOP_SECONDS: Final = 3.0
"""How long the step under way may take when the table is given up."""

BUSY_SECONDS: Final = 0.25
"""How long the table waits before it does again what a store that takes nothing more has refused."""

_NOBODY: Final = "table"
"""The caller of what a table does by itself."""


class _Gone(Exception):  # noqa: N818
    """Another process owns the table now."""


class Listener(Protocol):
    """Who is told of everything that is committed: sagas, indexes, the registry."""

    def look(self) -> None:
        """Notice whether the process stood still; called before anything is judged by the clock."""
        ...

    def happened(self, actor: "Actor", events: tuple[TableEvent, ...], stored: list[StoredEvent]) -> None:
        """Take note; must neither raise nor wait."""
        ...


class Actor:
    """A table's owner in this process. Everything that changes the table goes through its mailbox, one by one.

    ``reclaim`` takes the table over anew after a lost compare-and-set; None means that somebody else owns it now.
    """

    def __init__(
        self,
        loaded: Loaded,
        store: EventStore,
        cards: HandCards,
        names: Mapping[str, str],
        listener: Listener,
        reclaim: Callable[["Actor"], Awaitable[Loaded | None]],
    ) -> None:
        self.table_id: UUID = loaded.stream.table_id
        self.cards = cards
        self.seeds = SeedBook()
        self.refusals = Refusals()
        self.hub = Hub(cards, names, lambda state: hand_id_of(self.table_id, state.hand_no + 1))
        self.stalled_ms = 0
        self._store = store
        self._listener = listener
        self._reclaim = reclaim
        # None is a look at what the table has to do by itself.
        self._mailbox: Mailbox[Ask | None] = Mailbox()
        self._admission = Admission()
        self._refusing: set[asyncio.Task[None]] = set()
        self._answers = FirstAnswers(RECENT_ANSWERS)
        self._alarm = Alarm(lambda: self._mailbox.put(None))
        self._task: asyncio.Task[None] | None = None
        self._why_gone: Rejected | None = None
        self._conduct = Conduct(self)
        self.presence = Presence(self)
        cards.on_lost = self.wake
        self._adopt(loaded)

    def _adopt(self, loaded: Loaded) -> None:
        self.state = loaded.state
        self.clock = loaded.clock
        self.silent_since_ms = loaded.silent_since_ms
        self._stream = loaded.stream
        self._opened_ms = loaded.stream.recorded_at_ms
        self.hub.reset(loaded.state, loaded.recent, loaded.behind)

    @property
    def epoch(self) -> int:
        """The epoch that this process owns the table by."""
        return self._stream.epoch

    @property
    def is_gone(self) -> bool:
        """Whether the table lives here no more."""
        return self._why_gone is not None

    def start(self) -> None:
        """Begin to live."""
        self.presence.begin()
        self._tell_presence()
        self._task = asyncio.create_task(self._run(), name=f"table-{self.table_id}")

    async def stop(self, why: Rejected | None = None) -> None:
        """Take nothing more, finish the step under way, end all streams; what waits is refused."""
        self._why_gone = why or Rejected("SERVICE_DRAINING")
        self._alarm.stop()
        if self._task is not None and self._task is not asyncio.current_task():
            self._mailbox.put(None)
            _, unfinished = await asyncio.wait({self._task}, timeout=STOP_SECONDS)
            if unfinished:
                # An append that nobody answers for: the log will tell whoever asks next what became of it.
                self._task.cancel()
                await asyncio.wait({self._task})
        self._refuse_waiting()
        self.hub.end(self._why_gone)

    # ---- asking -----------------------------------------------------------------------------------------------------

    def post(self, ask: Ask) -> None:
        """Queue a request; raises `Rejected` with TABLE_BUSY, or why the table is not here any more."""
        if self._why_gone is not None:
            raise self._why_gone
        has_seat = ask.asker is not None and self.state.seat_of(ask.asker) is not None
        self._admission.admit(ask, len(self._mailbox), has_seat=has_seat)
        self._mailbox.put(ask)

    async def ask(
        self,
        build: Build,
        *,
        command_id: UUID,
        caller: str,
        request_hash: bytes,
        reply: Reply = no_reply,
        asker: str | None = None,
        refusals_of: str | None = None,
    ) -> Answer:
        """Ask and wait for the answer; raises `Rejected`. Cancelling the wait does not undo the request."""
        waiting: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

        def answer(outcome: Answer | Rejected) -> None:
            if waiting.done():
                return
            if isinstance(outcome, Rejected):
                waiting.set_exception(outcome)
            else:
                waiting.set_result(outcome)

        self.post(
            Ask(
                build,
                answer,
                command_id=command_id,
                caller=caller,
                request_hash=request_hash,
                reply=reply,
                asker=asker,
                refusals_of=refusals_of,
            )
        )
        return await waiting

    def came(self, player: str) -> None:
        """A player has a stream of the seat open."""
        self.presence.came(player)
        self._tell_presence()
        self.wake()

    def left(self, player: str) -> None:
        """A player's stream has ended; if it was the last one, the seat is kept for a while (CL-4)."""
        if player not in self.hub.players():
            self.presence.left(player)
            self._tell_presence()
            self.wake()

    def stalled(self, gap_ms: int) -> None:
        """Take note that the whole process stood still: no player could be heard (O7)."""
        self.stalled_ms += gap_ms
        self.presence.stalled(gap_ms)
        self._tell_presence()
        self.wake()

    def who_is_there(self) -> PresenceMessage:
        """Return whose streams are open, for everybody."""
        return self.presence.message(self.state, self.hub.players())

    def _tell_presence(self) -> None:
        self.hub.tell_presence(presence_frame(self.who_is_there()))

    @property
    def is_quarantined(self) -> bool:
        """Whether the table stopped by a fault of ours."""
        return self._why_gone is not None and self._why_gone.reason == "TABLE_QUARANTINED"

    def wake(self) -> None:
        """Look soon at what the table has to do by itself."""
        self._arm(self.clock.now_ms())

    # ---- the actor's own task ---------------------------------------------------------------------------------------

    async def _run(self) -> None:
        ask: Ask | None = None
        try:
            await self._surely(self._conduct.resume)
            while self._why_gone is None:
                self._arm(self._conduct.due_ms())
                ask = await self._mailbox.take()
                self._listener.look()
                if self.stalled_ms:
                    # Before a decision that waited out the outage is judged by the deadline that stood before it.
                    await self._surely(self._conduct.give_time_back)
                if ask is not None:
                    if self._conduct.is_bank_due():
                        # A decision that comes after the clock is judged by the bank's end, not by which came first.
                        await self._surely(self._conduct.act)
                    await self._surely(partial(self._handle, ask))
                elif self._why_gone is None:
                    await self._surely(self._conduct.act)
                ask = None
        except _Gone:
            await self.stop(Rejected("TABLE_MOVED", table_id=self.table_id))
        except Exception:
            _log.exception("table_stopped", table=str(self.table_id))
            await self.stop(Rejected("TABLE_QUARANTINED", table_id=self.table_id))
        finally:
            if ask is not None:
                ask.answer(self._why_gone or Rejected("UNKNOWN_OUTCOME"))

    async def _surely(self, step: Callable[[], Awaitable[None]]) -> None:
        """Take a step; after a lost compare-and-set on the state as it really is. Raises `_Gone` if others own it.

        What the table does by itself waits for a store that takes nothing more: an outage of ours, which costs nobody a
        turn and voids no hand (O7, H9).
        """
        while True:
            began_ms = self.clock.now_ms()
            try:
                await step()
                return
            except Overloaded as busy:
                _log.warning("store_busy", table=str(self.table_id), why=str(busy))
                await asyncio.sleep(BUSY_SECONDS)
                self.stalled_ms += self.clock.now_ms() - began_ms
                if self._why_gone is not None:
                    return
            except Lost as lost:
                _log.warning("table_lost", table=str(self.table_id), epoch=self.epoch, why=str(lost))
                loaded = await self._reclaim(self)
                if loaded is None:
                    raise _Gone from None
                self._adopt(loaded)
                step = self._resumed(step)

    def _resumed(self, step: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        async def again() -> None:
            await self._conduct.resume()
            await step()

        return again if step != self._conduct.resume else step

    async def _handle(self, ask: Ask) -> None:
        known = self._answers.again(ask.command_id, ask.request_hash)
        if known is not None:
            ask.answer(known)
            return
        try:
            command = self._in_its_time(ask.build(self.state))
            events, state = advance(self.state, command, self.cards.by_position)
            await self._commit(
                events,
                state,
                command_id=ask.command_id,
                caller=ask.caller,
                request_hash=ask.request_hash,
                reply=ask.reply(events),
                ask=ask,
            )
        except Rejected as refusal:
            self._refuse(ask, refusal)
        except Conflict:
            self._refuse(ask, Rejected("UNKNOWN_OUTCOME"))
        except Overloaded:
            ask.answer(Rejected("SERVER_BUSY"))
        except Lost:
            raise
        except Exception as error:
            # A fault of ours must not hold up the table; nothing was stored, or it was answered before.
            _log.exception("request_failed", table=str(self.table_id), error=repr(error))
            ask.answer(Rejected("INTERNAL"))

    def _refuse(self, ask: Ask, refusal: Rejected) -> None:
        """Refuse beside the table's own work: a refusal changes nothing, and who asks nonsense must not hold it up."""
        seat = None if ask.refusals_of is None else self.state.seat_of(ask.refusals_of)
        refusing = asyncio.create_task(self._refused(ask, refusal, None if seat is None else seat.seat))
        self._refusing.add(refusing)
        refusing.add_done_callback(self._refusing.discard)

    async def _refused(self, ask: Ask, refusal: Rejected, seat: Seat | None) -> None:
        """Answer, unless this very request took effect before: then its first answer is given again (H6)."""
        try:
            recorded = await self._store.outcome(self.table_id, ask.command_id)
        except Exception as error:
            # Without the store nobody can say whether the request took effect before.
            _log.warning("outcome_unreadable", table=str(self.table_id), error=repr(error))
            ask.answer(Rejected("UNKNOWN_OUTCOME"))
            return
        if recorded is not None:
            answer = Answer(recorded.first_version or 0, recorded.last_version or 0, recorded.reply)
            self._answers.remember(ask.command_id, recorded.request_hash, answer)
            ask.answer(replayed(recorded.request_hash, answer, ask.request_hash))
            return
        if seat is not None:
            self.refusals.count(seat, refusal.reason)
            if not self.state.is_running:
                self.wake()
        ask.answer(refusal)

    # ---- committing -------------------------------------------------------------------------------------------------

    def _in_its_time(self, command: TableCommand) -> TableCommand:
        """Return a decision as received no earlier than it was asked for: who guesses a turn's name may send it before."""
        if isinstance(command, DECISIONS) and command.now_ms < self._opened_ms:
            return replace(command, now_ms=self._opened_ms)
        return command

    async def by_itself(self, command: TableCommand, *, deck: CommittedDeck | None = None) -> None:
        """Do what nobody asked for: a clock, a deal. ``deck`` is that of a hand which the command begins."""
        cards = self.cards.by_position if deck is None else dict(enumerate(deck.cards))
        events, state = advance(self.state, command, cards)
        await self._commit(
            events,
            state,
            command_id=internal_id_of(self.table_id, self.state.version),
            caller=_NOBODY,
            request_hash=b"",
            reply=b"",
            deck=deck,
        )

    async def _commit(
        self,
        events: tuple[TableEvent, ...],
        state: TableState,
        *,
        command_id: UUID,
        caller: str,
        request_hash: bytes,
        reply: bytes,
        deck: CommittedDeck | None = None,
        ask: Ask | None = None,
    ) -> None:
        began_ms, known_ms = self.clock.now_ms(), self.stalled_ms
        reveal = deck.reveal if deck is not None else self.cards.reveal if self.cards.may_go_on else None
        shown, ahead = shown_to(state, events[0]), list[Ahead]()
        stored = await self._stream.append(
            events,
            reveal,
            command_id=command_id,
            caller=caller,
            request_hash=request_hash,
            reply=reply,
            now_ms=began_ms,
            # What everybody is told once this is stored, and not before (O4), is written while the database works.
            meanwhile=lambda future: ahead.extend(self.hub.written_ahead(state, future, shown, deck)),
        )
        # An append that takes long is an outage of ours; what a pause of the process adds to it is known already.
        took_ms = self.clock.now_ms() - began_ms - (self.stalled_ms - known_ms)
        if took_ms > STALL_MS:
            self.stalled_ms += took_ms
        if deck is not None:
            self.cards.begin(deck)
        if ask is not None:
            # First of all, so that it can go with the update to the stream that asked.
            answer = Answer(stored[0].version, stored[-1].version, reply)
            self._answers.remember(command_id, request_hash, answer)
            ask.answer(answer)
        seats_before, self.state = self.state.seats, state
        if any(isinstance(event, OPENINGS) for event in events):
            self._opened_ms = stored[-1].recorded_at_ms
        self.hub.publish(state, stored, shown_to=shown, ahead=ahead[0] if ahead else None)
        if len(state.seats) != len(seats_before):
            self._tell_presence()
        self._listener.happened(self, events, stored)
        if state.is_closed:
            self.hub.end(None)

    # ---- time -------------------------------------------------------------------------------------------------------

    def _arm(self, due_ms: int | None) -> None:
        """See to it that the table looks after itself at a time."""
        if due_ms is not None and self._why_gone is None:
            self._alarm.set(due_ms, self.clock.now_ms())

    def _refuse_waiting(self) -> None:
        why = self._why_gone or Rejected("SERVICE_DRAINING")
        for ask in self._mailbox.emptied():
            if ask is not None:
                ask.answer(why)
