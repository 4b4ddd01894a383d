"""Group commit: appends that arrive while a commit is in flight share the next transaction."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Final
from uuid import UUID

import asyncpg
import structlog
from prometheus_client import Counter, Histogram

from diwan.chassis.database import Connection, is_own_fault, limited
from diwan.chassis.store import statements
from diwan.chassis.store.batch import append_arguments, chain_of
from diwan.chassis.store.errors import BrokenChain, Conflict, ConflictKind, Overloaded, UnknownOutcome
from diwan.chassis.store.records import Append, Appended

BATCH_APPENDS_MAX: Final = 128
"""Beyond a hundred appends a commit the statement, not the disk, is the limit."""

WRITERS_START_AT: Final = (1, 48)
"""Appends that must wait before the first and the second writer take a batch.

The second encodes its batch while the database works on the first's; with few callers it would only split commits.
"""

BATCH_BYTES_MAX: Final = 4 * 1024 * 1024
"""Bodies a statement: a batch of big events must not hold up everybody behind it."""

PENDING_APPENDS_MAX: Final = 16_384
"""Appends that may wait; who comes later is refused at once (P12)."""

STATEMENT_SECONDS: Final = 4.0
ANSWER_SECONDS: Final = 10.0
"""How long an append in doubt is asked about before its caller is told that the outcome is unknown."""

RETRY_SECONDS: Final = 0.1
ROW_SECONDS: Final = 0.01

_COMMIT_APPENDS: Final = Histogram(
    "diwan_commit_appends", "Appends that shared a commit.", buckets=(1, 2, 4, 8, 16, 32, 64, 128)
)
_IN_DOUBT: Final = Counter("diwan_appends_in_doubt", "Appends whose outcome had to be asked about by id.")
_log = structlog.get_logger(__name__)

_LOST_CONNECTION: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    ConnectionError,
)


class _Waiting:
    """One append on its way: what to store, its hashes, who waits, and whether an attempt is in doubt."""

    __slots__ = ("answer", "append", "deadline", "hashes", "in_doubt", "is_alone", "meanwhile")

    def __init__(
        self, append: Append, answer: asyncio.Future[Appended], deadline: float, meanwhile: Callable[[], None] | None
    ) -> None:
        self.append = append
        self.hashes = chain_of(append)
        self.answer = answer
        self.deadline = deadline
        self.meanwhile = meanwhile
        self.in_doubt = False
        self.is_alone = False

    @property
    def appended(self) -> Appended:
        first = self.append.expected_version + 1
        return Appended(first, self.append.expected_version + len(self.hashes), self.hashes[-1])

    def resolve(self) -> None:
        if not self.answer.done():
            self.answer.set_result(self.appended)

    def fail(self, error: BaseException) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class GroupCommit:
    """The one writer of a process: callers wait for their own answer, the commits are shared.

    The connections belong to tasks of their own, so cancelling a caller never touches them; after any exception one is
    cut, and every append that it carried is asked about by command id before anybody is answered.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        *,
        on_commit: Callable[[], None] = lambda: None,
        answer_seconds: float = ANSWER_SECONDS,
        statement_seconds: float = STATEMENT_SECONDS,
    ) -> None:
        self._on_commit = on_commit
        self._answer_seconds = answer_seconds
        self._statement_seconds = statement_seconds
        self._pending: deque[_Waiting] = deque()
        self._in_flight: set[UUID] = set()
        self._writers = [_Writer(connect, least) for least in WRITERS_START_AT]
        self._tasks: list[asyncio.Task[None]] = []
        self._closing = False
        self._is_closed = False

    def start(self) -> None:
        """Begin to commit; appends made before wait."""
        self._tasks = [asyncio.create_task(self._run(writer), name="group-commit") for writer in self._writers]

    async def close(self) -> None:
        """Commit what is waiting, then end; whoever then still waits learns that the outcome is unknown."""
        self._closing = True
        self._wake()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._answer_seconds + self._statement_seconds)
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)
        self._is_closed = True
        for waiting in self._pending:
            waiting.fail(UnknownOutcome("the store was closed"))
        self._pending.clear()
        for writer in self._writers:
            writer.cut()

    async def append(self, append: Append, meanwhile: Callable[[], None] | None = None) -> Appended:
        """Store an append whole, as `EventStore.append`; raises `Conflict`, `BrokenChain`, `UnknownOutcome` or `Overloaded`."""
        if not append.events:
            raise ValueError("an append has at least one event")
        if self._closing or len(self._pending) >= PENDING_APPENDS_MAX:
            raise Overloaded(f"{len(self._pending)} appends are waiting")
        loop = asyncio.get_running_loop()
        waiting = _Waiting(append, loop.create_future(), time.monotonic() + self._answer_seconds, meanwhile)
        self._pending.append(waiting)
        self._wake()
        return await waiting.answer

    def _wake(self) -> None:
        waiting = len(self._pending)
        for writer in self._writers:
            if waiting >= writer.least or self._closing:
                writer.work.set()

    async def _run(self, writer: "_Writer") -> None:
        while not (self._closing and not self._pending):
            batch = self._take() if len(self._pending) >= writer.least else []
            if not batch:
                # Woken by an append, or by the end of a batch that held back the only streams there are.
                writer.work.clear()
                await writer.work.wait()
                continue
            streams = {waiting.append.stream_id for waiting in batch}
            self._in_flight |= streams
            try:
                await self._commit(writer, batch)
            except Exception as error:
                # Whatever it was, asyncpg's own confusion when a backend is killed included, the writer goes on.
                writer.cut()
                await self._doubt(batch, error)
            except asyncio.CancelledError:
                writer.cut()
                for waiting in batch:
                    waiting.fail(UnknownOutcome("the writer ended"))
                raise
            finally:
                self._in_flight -= streams
            self._wake()

    def _take(self) -> list[_Waiting]:
        """Take the next batch: of each stream at most one append in flight, and alone what may hold up the others."""
        batch: list[_Waiting] = []
        later: list[_Waiting] = []
        streams: set[UUID] = set()
        size = 0
        while self._pending and len(batch) < BATCH_APPENDS_MAX and size < BATCH_BYTES_MAX:
            waiting = self._pending.popleft()
            stream_id = waiting.append.stream_id
            if waiting.answer.cancelled():
                continue
            if stream_id in streams or stream_id in self._in_flight or (waiting.is_alone and batch):
                later.append(waiting)
                continue
            streams.add(stream_id)
            batch.append(waiting)
            if waiting.is_alone:
                break
            size += sum(len(event.body) for event in waiting.append.events)
        self._pending.extendleft(reversed(later))
        return batch

    async def _commit(self, writer: "_Writer", batch: list[_Waiting]) -> None:
        seconds = self._statement_seconds
        connection = await asyncio.wait_for(writer.connected(), seconds)
        doubtful = [waiting for waiting in batch if waiting.in_doubt]
        if doubtful:
            # Ask first: an attempt in doubt may have been stored. If it was not, storing it again is harmless, as its
            # version and its command id can be taken only once.
            unsettled = await limited(connection, _unsettled(connection, doubtful), seconds)
            batch = [waiting for waiting in batch if not waiting.in_doubt] + unsettled
            if not batch:
                return
        applied = await limited(connection, _apply(connection, batch), seconds)
        if applied:
            _COMMIT_APPENDS.observe(len(applied))
            self._on_commit()
        for index in applied:
            batch[index].resolve()
        if len(applied) < len(batch):
            failed = [waiting for index, waiting in enumerate(batch) if index not in applied]
            for waiting in await limited(connection, _unsettled(connection, failed), seconds):
                self._wait_for_the_row(waiting)

    def _wait_for_the_row(self, waiting: _Waiting) -> None:
        """Try again soon what was left out because somebody holds its stream's row: a claim, or an attempt in doubt."""
        if time.monotonic() < waiting.deadline:
            asyncio.get_running_loop().call_later(ROW_SECONDS, self._put_back, waiting)
        elif waiting.in_doubt:
            waiting.fail(UnknownOutcome("an earlier attempt may still hold the stream's row"))
        else:
            waiting.fail(Overloaded(f"the row of stream {waiting.append.stream_id} stays locked"))

    def _put_back(self, waiting: _Waiting) -> None:
        if self._is_closed:
            waiting.fail(UnknownOutcome("the store was closed"))
            return
        self._pending.append(waiting)
        self._wake()

    async def _doubt(self, batch: list[_Waiting], error: Exception) -> None:
        unanswered = [waiting for waiting in batch if not waiting.answer.done()]
        is_futile = is_own_fault(error)
        if is_futile and len(unanswered) == 1:
            unanswered[0].fail(error)
            return
        _IN_DOUBT.inc(len(unanswered))
        _log.warning("commit_in_doubt", appends=len(unanswered), error=repr(error))
        self._ask_again(unanswered, repr(error), is_alone=not isinstance(error, _LOST_CONNECTION))
        if not is_futile:
            await asyncio.sleep(RETRY_SECONDS)

    def _ask_again(self, unanswered: list[_Waiting], why: str, *, is_alone: bool = True) -> None:
        for waiting in reversed(unanswered):
            if time.monotonic() >= waiting.deadline:
                waiting.fail(UnknownOutcome(f"no certain answer in time: {why}"))
                continue
            # A lost connection is nobody's fault once; what fails otherwise, or again, must not hold up the others.
            waiting.is_alone = is_alone or waiting.in_doubt
            waiting.in_doubt = True
            # Behind the others, if it may hold them up again.
            self._pending.append(waiting) if waiting.is_alone else self._pending.appendleft(waiting)


class _Writer:
    """One connection, and from how many waiting appends on it lends a hand."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], least: int) -> None:
        self.least = least
        self.work = asyncio.Event()
        self._connect = connect
        self._connection: Connection | None = None

    async def connected(self) -> Connection:
        if self._connection is None:
            self._connection = await self._connect()
        return self._connection

    def cut(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None


async def _apply(connection: Connection, batch: list[_Waiting]) -> set[int]:
    """Store a batch in one transaction; returns the indices of the appends that were applied."""
    creations = [w.append for w in batch if w.append.expected_version == 0 and w.append.epoch == 0]
    arguments = append_arguments((waiting.append, waiting.hashes) for waiting in batch)
    # Called in the loop's next turn: by then the statement is on its way, and whoever waits for it has time.
    asyncio.get_running_loop().call_soon(_meanwhile, batch)
    if not creations:
        rows = await connection.fetch(statements.APPEND, *arguments)
    else:
        async with connection.transaction():
            await create_streams(connection, creations)
            rows = await connection.fetch(statements.APPEND, *arguments)
    return {row[0] - 1 for row in rows}


def _meanwhile(batch: list[_Waiting]) -> None:
    for waiting in batch:
        meanwhile, waiting.meanwhile = waiting.meanwhile, None
        if meanwhile is not None:
            try:
                meanwhile()
            except Exception:
                # What is made ready is made when it is needed, if it was not.
                _log.exception("meanwhile_failed", stream=str(waiting.append.stream_id))


async def create_streams(connection: Connection, appends: Iterable[Append]) -> None:
    """Insert the rows of streams that are about to get their first event; existing rows are left alone."""
    rows = [(a.stream_id, a.kind, a.prev_hash) for a in appends]
    await connection.execute(statements.CREATE_STREAMS, *(list(column) for column in zip(*rows, strict=True)))


async def _unsettled(connection: Connection, batch: list[_Waiting]) -> list[_Waiting]:
    """Answer every append that is certain by now; returns those that nothing stands in the way of."""
    rows = await connection.fetch(
        statements.STANDING,
        [waiting.append.stream_id for waiting in batch],
        [waiting.append.command_id for waiting in batch],
    )
    unsettled = []
    for row in rows:
        waiting = batch[row["i"] - 1]
        if waiting.in_doubt and row["hash"] == waiting.hashes[-1]:
            waiting.resolve()
        elif (error := why_not(waiting.append, row)) is not None:
            waiting.fail(error)
        else:
            unsettled.append(waiting)
    return unsettled


def why_not(append: Append, standing: asyncpg.Record) -> Conflict | BrokenChain | None:
    """Return what keeps an append from being applied as the stream stands, or None if nothing does."""
    version, epoch = standing["version"] or 0, standing["epoch"] or 0

    def conflict(kind: ConflictKind) -> Conflict:
        return Conflict(kind, append.stream_id, version=version, epoch=epoch)

    if standing["request_hash"] is not None:
        return conflict(ConflictKind.DUPLICATE_COMMAND)
    if epoch != append.epoch:
        return conflict(ConflictKind.FENCED)
    if version != append.expected_version:
        return conflict(ConflictKind.STALE)
    if standing["head_hash"] not in {None, append.prev_hash}:
        return BrokenChain(f"stream {append.stream_id}: the head at version {version} has another hash")
    if (standing["recorded_at_ms"] or 0) > append.recorded_at_ms:
        return BrokenChain(f"stream {append.stream_id}: time would run backwards behind version {version}")
    return None
