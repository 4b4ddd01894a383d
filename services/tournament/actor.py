"""One tournament: decide, append, and only then tell anyone anything (O4, DESIGN 8).

Everything that changes it goes through its mailbox, one by one: requests of players and staff, what its tables and the
wallet report, and the clock. What it then wants of tables and wallet follows from its state (`couriers`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, Protocol
from uuid import UUID

import msgspec
import structlog

from diwan.chassis.actors import Answer, FirstAnswers, Mailbox, replayed
from diwan.chassis.alarms import raise_alarm
from diwan.chassis.clock import DatabaseClock
from diwan.chassis.ids import internal_id_of
from diwan.chassis.keyfile import VaultError
from diwan.chassis.store import Conflict, EventStore, Lost, Overloaded, StoredEvent
from diwan.core.decider import Rejected
from diwan.core.tournament.batch import NeedsChance
from diwan.core.tournament.commands import Enter, Tick, TournamentCommand
from diwan.core.tournament.decide import Step, advance
from diwan.core.tournament.events import TournamentEvent
from diwan.core.tournament.registration import free_places
from diwan.core.tournament.state import TournamentState
from diwan.core.tournament.timing import next_due_ms
from services.tournament.alarm import Alarm
from services.tournament.concerned import concerned_by
from services.tournament.draws import Draws
from services.tournament.hub import Hub
from services.tournament.loading import Loaded

MAILBOX_MAX: Final = 4_096
"""Requests that may wait; reports of the tournament's own tables are always let in."""

RECENT_ANSWERS: Final = 1_024
STOP_SECONDS: Final = 3.0
TICK_AGAIN_MS: Final = 1_000
"""What is due and comes to nothing is not looked at again at once."""

_NOBODY: Final = "tournament"
"""The caller of what a tournament does by itself."""

_log = structlog.get_logger(__name__)

type Build = Callable[[TournamentState], TournamentCommand | None]
"""Makes a command of the tournament as it stands when its turn comes; None where it means nothing any more."""


class Request(msgspec.Struct):
    """What identifies a caller's request for ever (H6)."""

    command_id: UUID
    caller: str
    request_hash: bytes


class Listener(Protocol):
    """Who is told of everything that is committed."""

    def happened(self, actor: Actor, events: Sequence[TournamentEvent]) -> None:
        """Take note; must neither raise nor wait."""
        ...


class _Ask:
    __slots__ = ("answer", "build", "request")

    def __init__(self, build: Build, request: Request | None) -> None:
        self.build = build
        self.request = request
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    def say(self, outcome: Answer | BaseException) -> None:
        if self.answer.done():
            return
        if isinstance(outcome, Answer):
            self.answer.set_result(outcome)
        else:
            self.answer.set_exception(outcome)


class _Gone(Exception):  # noqa: N818
    """Another process owns the tournament now."""


class Actor:
    """A tournament's owner in this process. ``reclaim`` takes it over anew; None means that somebody else owns it."""

    def __init__(
        self,
        loaded: Loaded,
        store: EventStore,
        draws: Draws,
        listener: Listener,
        reclaim: Callable[[UUID], Awaitable[Loaded | None]],
    ) -> None:
        self.tournament_id: UUID = loaded.stream.tournament_id
        self.clock: DatabaseClock = loaded.clock
        self.hub = Hub(self.clock.now_ms)
        self._store = store
        self._draws = draws
        self._listener = listener
        self._reclaim = reclaim
        # None is a look at what is due.
        self._mailbox: Mailbox[_Ask | None] = Mailbox()
        self._answers = FirstAnswers(RECENT_ANSWERS)
        self._alarm = Alarm(lambda: self._mailbox.put(None))
        self._task: asyncio.Task[None] | None = None
        self._why_gone: Rejected | None = None
        self._not_before_ms = 0
        self._alarmed_draw_no = 0
        self._changed: list[asyncio.Future[None]] = []
        self._adopt(loaded)

    def _adopt(self, loaded: Loaded) -> None:
        self.state = loaded.state
        self._stream = loaded.stream
        self.hub.reset(loaded.state, loaded.recent)

    @property
    def epoch(self) -> int:
        """The epoch that this process owns the tournament by."""
        return self._stream.epoch

    @property
    def is_gone(self) -> bool:
        """Whether the tournament lives here no more."""
        return self._why_gone is not None

    @property
    def is_quarantined(self) -> bool:
        """Whether it stopped by a fault of ours."""
        return self._why_gone is not None and self._why_gone.reason == "TOURNAMENT_QUARANTINED"

    def start(self) -> None:
        """Begin to live."""
        self._task = asyncio.create_task(self._run(), name=f"tournament-{self.tournament_id}")

    async def stop(self, why: Rejected | None = None) -> None:
        """Take nothing more, finish the step under way, end all streams; what waits is refused."""
        self._why_gone = why or Rejected("SERVICE_DRAINING")
        self._alarm.stop()
        if self._task is not None and self._task is not asyncio.current_task():
            self._mailbox.put(None)
            _, unfinished = await asyncio.wait({self._task}, timeout=STOP_SECONDS)
            if unfinished:
                self._task.cancel()
                await asyncio.wait({self._task})
        for ask in self._mailbox.emptied():
            if ask is not None:
                ask.say(self._why_gone)
        self._tell_changed()
        self.hub.end(self._why_gone)

    # ---- asking -----------------------------------------------------------------------------------------------------

    async def ask(self, build: Build, request: Request | None = None) -> Answer:
        """Ask and wait for the answer; raises `Rejected`. Cancelling the wait does not undo what was asked.

        Without a ``request`` it is a report, which may come any number of times.
        """
        if self._why_gone is not None:
            raise self._why_gone
        if request is not None and len(self._mailbox) >= MAILBOX_MAX:
            raise Rejected("TOURNAMENT_BUSY")
        ask = _Ask(build, request)
        self._mailbox.put(ask)
        return await ask.answer

    def has_answered(self, request: Request) -> bool:
        """Say whether this request's answer is remembered here, so that nothing has to be asked of anybody for it."""
        return self._answers.again(request.command_id, request.request_hash) is not None

    def wake(self) -> None:
        """Look soon at what is due."""
        self._mailbox.put(None)

    async def changed(self, seconds: float) -> None:
        """Wait for the next event, or so long."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._changed.append(waiting)
        await asyncio.wait({waiting}, timeout=seconds)

    # ---- the actor's own task ---------------------------------------------------------------------------------------

    async def _run(self) -> None:
        ask: _Ask | None = None
        try:
            while self._why_gone is None:
                if not self._mailbox:
                    await self._surely(self._by_itself)
                    self._arm()
                ask = await self._mailbox.take()
                if ask is not None and self._why_gone is None:
                    await self._surely(partial(self._handle, ask))
                ask = None
        except _Gone:
            await self.stop(Rejected("TOURNAMENT_MOVED"))
        except Exception:
            _log.exception("tournament_stopped", tournament=str(self.tournament_id))
            await self.stop(Rejected("TOURNAMENT_QUARANTINED"))
        finally:
            if ask is not None:
                ask.say(self._why_gone or Rejected("UNKNOWN_OUTCOME"))

    async def _surely(self, step: Callable[[], Awaitable[None]]) -> None:
        """Take a step; after a lost compare-and-set on the state as it really is. Raises `_Gone` if others own it."""
        while True:
            try:
                await step()
                return
            except Lost as lost:
                _log.warning("tournament_lost", tournament=str(self.tournament_id), epoch=self.epoch, why=str(lost))
                loaded = await self._reclaim(self.tournament_id)
                if loaded is None:
                    raise _Gone from None
                self._adopt(loaded)

    async def _handle(self, ask: _Ask) -> None:
        request = ask.request
        known = None if request is None else self._answers.again(request.command_id, request.request_hash)
        if known is not None:
            ask.say(known)
            return
        try:
            command = ask.build(self.state)
            ask.say(Answer() if command is None else await self._decided(command, request))
        except Rejected as refusal:
            ask.say(refusal if request is None else await self._recorded(request) or refusal)
        except Conflict:
            ask.say(Rejected("UNKNOWN_OUTCOME") if request is None else await self._recorded(request) or _UNKNOWN)
        except Overloaded:
            ask.say(Rejected("SERVER_BUSY"))
        except Lost:
            raise
        except VaultError as error:
            # This draws, and its secret is not there; it may come back, as the database may.
            _log.error("secrets_unreachable", tournament=str(self.tournament_id), error=str(error))
            ask.say(Rejected("SECRETS_UNAVAILABLE"))
        except Exception as error:
            # Nothing was stored: a fault of ours about one request must not hold up the tournament.
            _log.exception("request_failed", tournament=str(self.tournament_id), error=repr(error))
            ask.say(error if request is None else Rejected("INTERNAL"))

    async def _recorded(self, request: Request) -> Answer | Rejected | None:
        """Return the first answer to this very request, if it took effect before (H6)."""
        try:
            recorded = await self._store.outcome(self.tournament_id, request.command_id)
        except Exception as error:
            _log.warning("outcome_unreadable", tournament=str(self.tournament_id), error=repr(error))
            return Rejected("UNKNOWN_OUTCOME")
        if recorded is None:
            return None
        answer = Answer(recorded.first_version or 0, recorded.last_version or 0)
        self._answers.remember(request.command_id, recorded.request_hash, answer)
        return replayed(recorded.request_hash, answer, request.request_hash)

    # ---- what it does by itself -------------------------------------------------------------------------------------

    async def _by_itself(self) -> None:
        """Do what is due, and let bots in where they are wanted; one thing after the other, requests come in between."""
        command = self._own_command()
        if command is None:
            return
        try:
            answer = await self._decided(command, None)
        except (Rejected, Overloaded, VaultError, Conflict) as error:
            _log.warning("not_done_by_itself", tournament=str(self.tournament_id), error=repr(error))
            answer = Answer()
        if answer.last_version:
            self.wake()
        else:
            self._not_before_ms = self.clock.now_ms() + TICK_AGAIN_MS

    def _own_command(self) -> TournamentCommand | None:
        now, state = self.clock.now_ms(), self.state
        if now < self._not_before_ms:
            return None
        due = next_due_ms(state)
        if due is not None and due <= now:
            return Tick(now)
        if _wants_a_bot(state):
            return Enter(bot_name(self.tournament_id, state.entry_count + 1), is_bot=True, now_ms=now)
        return None

    def _arm(self) -> None:
        """See to it that the tournament looks after itself when the next thing is due."""
        if self._why_gone is not None:
            return
        state, now = self.state, self.clock.now_ms()
        due = 0 if _wants_a_bot(state) else next_due_ms(state)
        self._alarm.set(None if due is None else max(due, self._not_before_ms), now)

    # ---- committing -------------------------------------------------------------------------------------------------

    async def _decided(self, command: TournamentCommand, request: Request | None) -> Answer:
        events, state = await self._advanced(command)
        if not events:
            return Answer()
        version = self.state.version
        stored = await self._stream.append(
            events,
            command_id=internal_id_of(self.tournament_id, version) if request is None else request.command_id,
            caller=_NOBODY if request is None else request.caller,
            request_hash=b"" if request is None else request.request_hash,
            reply=b"",
            now_ms=self.clock.now_ms(),
        )
        answer = Answer(stored[0].version, stored[-1].version)
        if request is not None:
            self._answers.remember(request.command_id, request.request_hash, answer)
        self._happened(events, state, stored)
        return answer

    async def _advanced(self, command: TournamentCommand) -> Step:
        """Decide a command. Where secrets are lost or out of reach, what draws nothing is decided all the same.

        So a tournament that can draw no more can still be called off. Raises `VaultError` for what draws.
        """
        try:
            chance = await self._draws.chance(self.state.draw_no)
        except VaultError as error:
            try:
                return advance(self.state, command)
            except NeedsChance:
                self._alarm_once(error)
                raise error from None
        return advance(self.state, command, chance)

    def _alarm_once(self, error: VaultError) -> None:
        if self._alarmed_draw_no != self.state.draw_no:
            self._alarmed_draw_no = self.state.draw_no
            raise_alarm("draw", f"tournament {self.tournament_id} waits for draw {self.state.draw_no}: {error}")

    def _happened(
        self, events: Sequence[TournamentEvent], state: TournamentState, stored: Sequence[StoredEvent]
    ) -> None:
        self.state = state
        self.hub.publish(state, stored, concerned_by(events))
        self._tell_changed()
        self._listener.happened(self, events)
        if state.is_over:
            self.hub.end(None)

    def _tell_changed(self) -> None:
        changed, self._changed = self._changed, []
        for waiting in changed:
            if not waiting.done():
                waiting.set_result(None)


_UNKNOWN: Final = Rejected("UNKNOWN_OUTCOME")


def _wants_a_bot(state: TournamentState) -> bool:
    return state.is_open and state.more_bots > 0 and free_places(state) > 0


def bot_name(tournament_id: UUID, entry_no: int) -> str:
    """Return the player id of the bot that makes an entry: the same one if the same entry is tried again."""
    return f"bot:t{tournament_id.hex[:10]}-{entry_no:02}"
