"""Applies another service's feed exactly once in effect (RELIABILITY 3.2, D6-D8).

The cursor moves in the transaction of the effect. JetStream is the fast path; holes, damage and silence are answered
from the feed itself, so losing all of the bus loses nothing. An event that cannot be applied sets its stream aside with
an alarm, the others go on, and `Consumer.release` is the way back.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final
from uuid import UUID

import asyncpg
import msgspec
import structlog
from nats.aio.msg import Msg
from prometheus_client import Gauge

from diwan.chassis.alarms import raise_alarm
from diwan.chassis.bus import Bus, BusUnavailable, Pull, sequence_of
from diwan.chassis.database import Connection, Database
from diwan.chassis.feed.envelope import event_of
from diwan.chassis.feed.records import FeedEvent, FeedSource

BATCH_EVENTS: Final = 256
SILENCE_SECONDS: Final = 1.0
"""After so long without a message the feed itself is asked: the bus may be down, or not tell."""

ATTEMPTS: Final = 3
RETRY_SECONDS: Final = 0.2
ERROR_CHARS_MAX: Final = 2_000

_APPLIED: Final = Gauge("diwan_consumer_last_seq", "How far a consumer has applied its feed.", ["consumer"])
_log = structlog.get_logger(__name__)

type Apply = Callable[[Connection, Sequence[FeedEvent]], Awaitable[None]]

# Failures of the surroundings, not of the event: connection, conflict, resources, intervention, system.
_PASSING: Final = ("08", "25", "40", "53", "55", "57", "58")


class Quarantined(msgspec.Struct, frozen=True):
    """A stream that is set aside: its first event that could not be applied, why, and how many wait with it."""

    stream_id: UUID
    first_seq: int
    events: int
    error: str


class CursorMoved(Exception):  # noqa: N818
    """Another process of this consumer applied events in between: read the cursor again."""


class Consumer:
    """One reader of one feed. Two processes may run the same one: the cursor's row lets only one apply an event.

    ``name`` is the cursor's; ``apply`` gets events in order inside the transaction that moves the cursor, and must do
    nothing outside of it. ``bus`` None reads the feed alone. ``needs_bodies``: an event that comes without its body is
    read from the feed, as one that does not come at all.
    """

    def __init__(
        self,
        name: str,
        feed_id: int,
        database: Database,
        source: FeedSource,
        apply: Apply,
        *,
        bus: Bus | None = None,
        feed_service: str = "",
        durable: str = "",
        alarm: Callable[[str, str], None] = raise_alarm,
        silence_seconds: float = SILENCE_SECONDS,
        needs_bodies: bool = False,
    ) -> None:
        self.name = name
        self.last_seq = 0
        self._feed_id = feed_id
        self._database = database
        self._source = source
        self._apply = apply
        self._bus = bus
        self._feed_service = feed_service
        self._durable = durable
        self._alarm = alarm
        self._silence_seconds = silence_seconds
        self._needs_bodies = needs_bodies
        self._pull: Pull | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=f"consumer-{self.name}")

    async def close(self) -> None:
        """Stop; a unit that is under way ends by itself, whole."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        while True:
            try:
                await self._load_cursor()
                while True:
                    _APPLIED.labels(self.name).set(self.last_seq)
                    await self._turn()
            except CursorMoved:
                continue
            except Exception as error:
                # Whatever is wrong around us, the only thing to do is to come back; poison was dealt with before.
                _log.warning("consumer_interrupted", consumer=self.name, error=repr(error))
                await asyncio.sleep(RETRY_SECONDS)

    async def _load_cursor(self) -> None:
        async def work(connection: Connection) -> int:
            await connection.execute("insert into inbox values ($1, 0) on conflict do nothing", self.name)
            return int(await connection.fetchval("select last_seq from inbox where consumer = $1", self.name))

        self.last_seq = await self._database.run(work)

    async def _turn(self) -> None:
        """Apply what the bus delivers next, or what the feed has after a silence."""
        messages = await self._messages()
        if not messages:
            while events := await self._source.read(self.last_seq, BATCH_EVENTS):
                await self._advance(events)
                if len(events) < BATCH_EVENTS:
                    break
            return
        delivered: dict[int, FeedEvent] = {}
        for message in messages:
            seq = sequence_of(message)
            event = event_of(self._feed_id, seq, message.headers or {}, message.data)
            if event is None or (self._needs_bodies and event.event.body_hash):
                continue
            if seq > self.last_seq:
                delivered[seq] = event
        reach = max(sequence_of(message) for message in messages)
        if reach > self.last_seq:
            await self._advance(await self._without_holes(delivered, reach))
        for message in messages:
            if sequence_of(message) <= self.last_seq:
                # A lost acknowledgement only brings the message again, to be skipped.
                with contextlib.suppress(Exception):
                    await message.ack()

    async def _messages(self) -> list[Msg]:
        """Return what the bus delivers within the silence's limit; nothing at once is no reason to stop asking it."""
        if self._bus is not None and self._bus.is_connected:
            with contextlib.suppress(BusUnavailable):
                if self._pull is None:
                    self._pull = await self._bus.pull(self._feed_service, self._durable)
                return await self._pull.messages(self._silence_seconds)
        await asyncio.sleep(self._silence_seconds)
        return []

    async def _without_holes(self, delivered: dict[int, FeedEvent], reach: int) -> list[FeedEvent]:
        """Return the events behind the cursor up to ``reach``: delivered ones, the others as the feed has them."""
        events: list[FeedEvent] = []
        while (seq := self.last_seq + len(events) + 1) <= reach:
            if seq in delivered:
                events.append(delivered[seq])
                continue
            filled = await self._source.read(seq - 1, BATCH_EVENTS)
            if not filled or filled[0].global_seq != seq:
                break
            events += [event for event in filled if event.global_seq <= reach]
        return events

    async def _advance(self, events: Sequence[FeedEvent]) -> None:
        if not events:
            return
        try:
            self.last_seq = await self._database.run(lambda c: self._unit(c, events))
        except Exception as error:
            if is_passing(error):
                raise
            # One of them is at fault: one by one, the others are not held up by it.
            for event in events:
                await self._advance_one(event)

    async def _advance_one(self, event: FeedEvent) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self.last_seq = await self._database.run(lambda c: self._unit(c, [event]))
                return
            except Exception as error:
                if is_passing(error):
                    raise
                if attempt == ATTEMPTS:
                    await self._set_aside(event, error)
                    return
                await asyncio.sleep(RETRY_SECONDS)

    async def _unit(self, connection: Connection, events: Sequence[FeedEvent]) -> int:
        """Apply events behind the cursor and move it, in one transaction; returns where it stands then."""
        last = await self._lock_cursor(connection)
        due = [event for event in events if event.global_seq > last]
        if not due:
            return last
        if due[0].global_seq != last + 1:
            raise CursorMoved
        held = {
            row["stream_id"]
            for row in await connection.fetch(
                "select distinct stream_id from quarantine where consumer = $1", self.name
            )
        }
        fit = [event for event in due if event.event.stream_id not in held]
        for event in due:
            if event.event.stream_id in held:
                await self._park(connection, event, "waits behind an event that could not be applied")
        if fit:
            await self._apply(connection, fit)
        return await self._move_cursor(connection, due[-1].global_seq)

    async def _set_aside(self, event: FeedEvent, error: Exception) -> None:
        async def work(connection: Connection) -> int:
            last = await self._lock_cursor(connection)
            if event.global_seq != last + 1:
                raise CursorMoved
            await self._park(connection, event, repr(error)[:ERROR_CHARS_MAX])
            return await self._move_cursor(connection, event.global_seq)

        self.last_seq = await self._database.run(work)
        stream_id = event.event.stream_id
        self._alarm("poison", f"{self.name}: event {event.global_seq} of stream {stream_id} set aside: {error!r}")

    async def _lock_cursor(self, connection: Connection) -> int:
        return int(
            await connection.fetchval("select last_seq from inbox where consumer = $1 for no key update", self.name)
        )

    async def _move_cursor(self, connection: Connection, seq: int) -> int:
        await connection.execute("update inbox set last_seq = $2 where consumer = $1", self.name, seq)
        return seq

    async def _park(self, connection: Connection, event: FeedEvent, error: str) -> None:
        await connection.execute(
            "insert into quarantine (consumer, global_seq, stream_id, error) values ($1, $2, $3, $4)",
            *(self.name, event.global_seq, event.event.stream_id, error),
        )

    async def quarantined(self) -> list[Quarantined]:
        """Return the streams that are set aside."""
        rows = await self._database.run(
            lambda c: c.fetch(
                "select stream_id, min(global_seq), count(*), (array_agg(error order by global_seq))[1]"
                " from quarantine where consumer = $1 group by stream_id order by 2",
                self.name,
            )
        )
        return [Quarantined(*row) for row in rows]

    async def release(self, stream_id: UUID) -> int:
        """Apply what was set aside of a stream, in order, now that the cause is mended; returns how many events.

        Raises what ``apply`` raises if it still fails; that event and those behind it stay set aside.
        """
        released = 0
        while (seq := await self._first_parked(stream_id)) is not None:
            found = await self._source.read(seq - 1, 1)
            if not found or found[0].global_seq != seq:
                raise LookupError(f"the feed does not have event {seq}")
            released += await self._database.run(partial(self._release_one, event=found[0]))
        return released

    async def _first_parked(self, stream_id: UUID) -> int | None:
        async def work(connection: Connection) -> int | None:
            # Behind the cursor's lock nobody parks another event of the stream meanwhile.
            await self._lock_cursor(connection)
            found: int | None = await connection.fetchval(
                "select min(global_seq) from quarantine where consumer = $1 and stream_id = $2", self.name, stream_id
            )
            return found

        return await self._database.run(work)

    async def _release_one(self, connection: Connection, event: FeedEvent) -> int:
        await self._lock_cursor(connection)
        freed = await connection.fetchval(
            "delete from quarantine where consumer = $1 and global_seq = $2 returning 1", self.name, event.global_seq
        )
        if freed:
            await self._apply(connection, [event])
        return int(freed or 0)


def is_passing(error: Exception) -> bool:
    """Say whether the surroundings failed, not what was to be applied: it is worth trying again as it is."""
    if isinstance(error, asyncpg.PostgresError):
        return (error.sqlstate or "08")[:2] in _PASSING
    return isinstance(
        error, CursorMoved | asyncpg.InterfaceError | asyncpg.InternalClientError | OSError | TimeoutError
    )
