"""Group commit of the ledger: requests that arrive while a commit is in flight share the next one.

While one commit is being written the next is decided, on what the first one leaves; it is written, and anybody told,
only when the first stands.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final
from uuid import UUID, uuid4

import structlog
from prometheus_client import Counter, Histogram

from diwan.chassis.database import DATABASE_TROUBLE, Connection, is_own_fault, limited
from diwan.chassis.store import Overloaded, UnknownOutcome
from diwan.core.ledger.requests import Float, Request, Result
from services.wallet.books import Done, Draft, is_committed_in, post_in, prepare_in, write_in
from services.wallet.gathering import gathered
from services.wallet.memory import Memory
from services.wallet.works import EVENT_BYTES_MAX, Remembered, Work

REQUESTS_MAX: Final = 128
"""Requests a commit: beyond it the statements, not the disk, are the limit."""

AHEAD_MIN: Final = 32
"""So many requests must wait for the next commit to be decided ahead; fewer are decided in less time than it takes to
commit them apart from those that are about to come."""

PENDING_MAX: Final = 4096
"""Requests that may wait; who comes later is refused at once (P12)."""

STATEMENT_SECONDS: Final = 4.0
ANSWER_SECONDS: Final = 10.0
"""How long a request in doubt is asked about before its caller is told that the outcome is unknown."""

CONNECT_SECONDS: Final = 2.0
"""How long a request waits for a database that cannot be reached before it is refused: nothing happened to it yet."""

RETRY_SECONDS: Final = 0.1

_TRANSFERS: Final = Counter(
    "diwan_wallet_transfers", "Transfers that were asked for, by what became of them.", ["result"]
)
_RESULTS: Final = {result: _TRANSFERS.labels(result.value) for result in Result}
_BATCH: Final = Histogram("diwan_wallet_commit_requests", "Requests a commit.", buckets=(1, 2, 5, 10, 20, 50, 100, 200))

_log = structlog.get_logger(__name__)


class Unavailable(Exception):  # noqa: N818
    """Nothing happened: the database cannot be reached."""


class TooLarge(Exception):  # noqa: N818
    """Nothing happened: what is asked for is more than one event can tell."""

    def __init__(self, size: int) -> None:
        super().__init__(f"{size} of {EVENT_BYTES_MAX} bytes")
        self.size = size


class _Waiting:
    """A request on its way; ``is_alone`` where it must not share a commit, ``is_tried`` once one was attempted."""

    __slots__ = ("answer", "asked_at", "is_alone", "is_tried", "work")

    def __init__(self, work: Work, answer: asyncio.Future[Done]) -> None:
        self.work = work
        self.answer = answer
        self.asked_at = time.monotonic()
        self.is_alone = False
        self.is_tried = False

    def resolve(self, done: Done) -> None:
        for verdict in done.outcome.verdicts:
            _RESULTS[verdict.result].inc()
        if not self.answer.done():
            self.answer.set_result(done)

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class _Attempt:
    """A commit to try: which requests, under which event id, and what they come to once it stands."""

    __slots__ = ("draft", "event_id", "waiting")

    def __init__(self, waiting: list[_Waiting]) -> None:
        self.waiting = waiting
        self.event_id: UUID = uuid4()
        self.draft: Draft | None = None

    @property
    def works(self) -> list[Work]:
        return [waiting.work for waiting in self.waiting]

    @property
    def is_remembered(self) -> bool:
        return any(waiting.work.remembered is not None for waiting in self.waiting)


class Ledger:
    """The process's one writer of requests; callers wait for their own answer, the commits are shared.

    ``on_commit`` is called after each commit. After any exception the connection is cut, and whether the commit stands
    is asked by its event's id before anybody is answered (D9).
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        *,
        bots_float: Float | None = None,
        on_commit: Callable[[], None] = lambda: None,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self.bots_float = bots_float
        self._connect = connect
        self._on_commit = on_commit
        self._answer_seconds = answer_seconds
        self._pending: deque[_Waiting] = deque()
        self._work = asyncio.Event()
        self._memory = Memory()
        self._connection: Connection | None = None
        self._reader: Connection | None = None
        self._closing = False
        self._doubtful: _Attempt | None = None
        self._flying: _Attempt | None = None
        self._looking: asyncio.Task[None] | None = None
        self._ahead: _Attempt | None = None

    async def prepare(self) -> None:
        """Make what every ledger has; call it once before requests are taken."""
        connection = await asyncio.wait_for(self._connect(), STATEMENT_SECONDS)
        try:
            async with connection.transaction():
                await prepare_in(connection)
        finally:
            await connection.close(timeout=STATEMENT_SECONDS)

    async def ask(self, request: Request, remembered: Remembered | None = None) -> Done:
        """Decide a request, durably; raises `TooLarge`, `Overloaded`, `Unavailable` (nothing happened) or `UnknownOutcome`."""
        work = Work(request, remembered)
        if work.event_bytes > EVENT_BYTES_MAX:
            raise TooLarge(work.event_bytes)
        if self._closing or len(self._pending) >= PENDING_MAX:
            raise Overloaded(f"{len(self._pending)} requests are waiting")
        answer: asyncio.Future[Done] = asyncio.get_running_loop().create_future()
        self._pending.append(_Waiting(work, answer))
        self._work.set()
        self._maybe_look_ahead()
        return await answer

    async def close(self) -> None:
        """Take nothing new; `run` ends once everything that waits is answered."""
        self._closing = True
        self._work.set()

    async def run(self) -> None:
        """Commit for as long as the service runs; ends after `close`, or answers everybody when it is cancelled."""
        try:
            while not self._closing or self._pending or self._doubtful or self._ahead:
                if not self._pending and self._doubtful is None and self._ahead is None:
                    self._work.clear()
                    await self._work.wait()
                    continue
                if self._doubtful is None and self._ahead is None:
                    await gathered(self._has_enough)
                await self._step()
        finally:
            self._closing = True
            self._cut()
            left = list(self._pending) + (self._doubtful.waiting if self._doubtful else [])
            for waiting in left:
                waiting.fail(UnknownOutcome("the ledger was closed"))
            self._pending.clear()

    def _has_enough(self) -> bool:
        return len(self._pending) >= AHEAD_MIN or self._closing

    async def _step(self) -> None:
        attempt, self._ahead = self._doubtful or self._ahead or _Attempt(self._take()), None
        if not attempt.waiting:
            return
        try:
            if self._connection is None:
                self._connection = await asyncio.wait_for(self._connect(), STATEMENT_SECONDS)
            if self._doubtful is not None:
                await self._clear_up(self._connection, attempt)
            else:
                await self._commit(self._connection, attempt)
        except DATABASE_TROUBLE as error:
            self._cut()
            await self._doubt(attempt, error)
        except Exception as error:
            # A fault of ours before anything was committed: one bad request must not end the wallet.
            _log.exception("ledger_commit_failed", requests=len(attempt.waiting))
            self._cut()
            self._doubtful = None
            self._isolate(attempt, error)
        except BaseException:
            self._cut()
            self._doubtful = attempt
            raise

    def _take(self, beside: _Attempt | None = None) -> list[_Waiting]:
        """Take the next commit: in the order received, no two requests of one id, an event that fits on the bus.

        ``beside`` a commit in flight only what has nothing to do with it but accounts.
        """
        taken: list[_Waiting] = []
        later: list[_Waiting] = []
        ids: set[str] = set()
        flying = {i for waiting in beside.waiting for i in waiting.work.ids} if beside else set()
        size = 0
        while self._pending and len(taken) < REQUESTS_MAX and size < EVENT_BYTES_MAX:
            waiting = self._pending.popleft()
            remembered = waiting.work.remembered
            if waiting.answer.done():
                continue
            if remembered is not None and remembered.command_id in ids:
                later.append(waiting)
                continue
            if taken and (waiting.is_alone or size + waiting.work.event_bytes > EVENT_BYTES_MAX):
                self._pending.appendleft(waiting)
                break
            if beside is not None and not self._may_go_beside(waiting, flying):
                self._pending.appendleft(waiting)
                break
            if remembered is not None:
                ids.add(remembered.command_id)
            taken.append(waiting)
            size += waiting.work.event_bytes
            if waiting.is_alone:
                break
        self._pending.extendleft(reversed(later))
        return taken

    def _may_go_beside(self, waiting: _Waiting, flying: set[str]) -> bool:
        """Tell whether a request can be decided while the ids in ``flying`` are on their way into the ledger."""
        work = waiting.work
        if waiting.is_alone or work.remembered is not None:
            return False
        return flying.isdisjoint(work.ids) and self._memory.may_go_ahead(work.request)

    async def _commit(self, connection: Connection, attempt: _Attempt) -> None:
        try:
            await limited(connection, self._committed(connection, attempt), STATEMENT_SECONDS)
        finally:
            self._flying = None
            if self._looking is not None:
                await asyncio.wait({self._looking})
                self._looking = None
        self._resolve(attempt)

    async def _committed(self, connection: Connection, attempt: _Attempt) -> None:
        if attempt.draft is None and not attempt.is_remembered:
            attempt.draft = await self._draft(connection, attempt)
        for waiting in attempt.waiting:
            waiting.is_tried = True
        if attempt.draft is not None:
            self._flying = attempt
            self._maybe_look_ahead()
            if await write_in(connection, attempt.draft):
                return
            # Somebody else moved the ledger, and nothing was written: decided again, under the lock.
            self._flying = None
            self._memory.forget()
            if self._ahead is not None:
                self._ahead.draft = None
        async with connection.transaction():
            attempt.draft = await post_in(
                connection, attempt.works, bots_float=self.bots_float, event_id=attempt.event_id
            )
        self._memory.keep(attempt.draft)

    async def _draft(self, connection: Connection, attempt: _Attempt, in_flight: int = 0) -> Draft | None:
        return await self._memory.draft(
            connection, attempt.works, bots_float=self.bots_float, event_id=attempt.event_id, in_flight=in_flight
        )

    def _maybe_look_ahead(self) -> None:
        """Begin to decide the next commit, if one is in flight and enough requests wait."""
        if self._flying is not None and self._looking is None and len(self._pending) >= AHEAD_MIN:
            self._looking = asyncio.create_task(self._look_ahead(self._flying))

    async def _look_ahead(self, flying: _Attempt) -> None:
        attempt = _Attempt(self._take(flying))
        if not attempt.waiting:
            return
        self._ahead = attempt
        try:
            if self._reader is None:
                self._reader = await asyncio.wait_for(self._connect(), STATEMENT_SECONDS)
            draft = self._draft(self._reader, attempt, in_flight=1)
            attempt.draft = await limited(self._reader, draft, STATEMENT_SECONDS)
        except Exception as error:
            # Nothing came of it: tried again in its own turn, where a fault is dealt with.
            _log.debug("ledger_looked_ahead_in_vain", error=repr(error))
            self._cut_reader()

    def _forget(self) -> None:
        """Drop what was decided on top of a commit that does not stand."""
        self._memory.forget()
        if self._ahead is not None:
            self._pending.extendleft(reversed(self._ahead.waiting))
            self._ahead = None

    async def _clear_up(self, connection: Connection, attempt: _Attempt) -> None:
        """Find out whether a commit in doubt stands; if not, its requests are tried again."""

        async def unit() -> bool:
            async with connection.transaction():
                return await is_committed_in(connection, attempt.event_id)

        stands = await limited(connection, unit(), STATEMENT_SECONDS)
        self._doubtful = None
        if stands and attempt.draft is not None:
            self._resolve(attempt)
        else:
            attempt.draft = None
            self._pending.extendleft(reversed(attempt.waiting))

    def _resolve(self, attempt: _Attempt) -> None:
        self._on_commit()
        _BATCH.observe(len(attempt.waiting))
        done = attempt.draft.done if attempt.draft is not None else ()
        for waiting, each in zip(attempt.waiting, done, strict=True):
            waiting.resolve(each)

    async def _doubt(self, attempt: _Attempt, error: Exception) -> None:
        if is_own_fault(error):
            self._doubtful = None
            self._isolate(attempt, error)
            return
        _log.warning("ledger_commit_in_doubt", requests=len(attempt.waiting), error=repr(error))
        now = time.monotonic()
        for waiting in attempt.waiting:
            age = now - waiting.asked_at
            if not waiting.is_tried and age >= CONNECT_SECONDS:
                waiting.fail(Unavailable(repr(error)))
            elif age >= self._answer_seconds:
                waiting.fail(UnknownOutcome(f"no certain answer in time: {error!r}"))
        self._doubtful = attempt if any(not waiting.answer.done() for waiting in attempt.waiting) else None
        await asyncio.sleep(RETRY_SECONDS)

    def _isolate(self, attempt: _Attempt, error: Exception) -> None:
        """Nothing was stored, and one of the requests is at fault: find it alone."""
        if len(attempt.waiting) == 1:
            attempt.waiting[0].fail(error)
            return
        _log.error("ledger_commit_refused", requests=len(attempt.waiting), error=repr(error))
        for waiting in attempt.waiting:
            waiting.is_alone = True
        self._pending.extendleft(reversed(attempt.waiting))

    def _cut(self) -> None:
        self._forget()
        self._cut_reader()
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    def _cut_reader(self) -> None:
        if self._reader is not None:
            self._reader.terminate()
            self._reader = None
