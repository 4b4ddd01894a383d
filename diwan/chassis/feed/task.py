"""Sequences and relays one service's feed in every process of the service; one is active, rivals are harmless."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

import asyncpg
import structlog
from prometheus_client import Gauge

from diwan.chassis.alarms import raise_alarm
from diwan.chassis.bus import Bus
from diwan.chassis.database import UNIT_SECONDS, Connection, Database, limited
from diwan.chassis.feed.envelope import plain_type_name
from diwan.chassis.feed.feed import Feed
from diwan.chassis.feed.relay import Fork, Relay
from diwan.chassis.feed.sequencer import BATCH_EVENTS, sequence

POLL_SECONDS: Final = 0.05
"""How late an event may be that another process committed: nobody wakes us for those."""

LINGER_SECONDS: Final = 0.01
"""Commits that arrive this soon after each other are numbered together: each batch is a commit of its own."""

RIVAL_SECONDS: Final = 0.5
RETRY_SECONDS: Final = 0.5
LOOK_SECONDS: Final = 30.0
"""The fork check is repeated this often on a quiet bus."""

# Any 31 bits will do, as long as all processes of a service choose the same.
_LOCK_SPACE: Final = 0x44495741

_LAG: Final = Gauge("diwan_outbox_lag_events", "Numbered events that are not on the bus yet.", ["service"])
_log = structlog.get_logger(__name__)


class FeedTask:
    """Numbers committed events and copies them to the bus for as long as it runs.

    Needs the sequencer role. ``alarm(kind, message)`` hears of a fork; after one nothing is published until a restart.
    """

    def __init__(
        self,
        dsn: str,
        feed_id: int,
        service: str,
        bus: Bus | None,
        *,
        type_name: Callable[[int], str] = plain_type_name,
        alarm: Callable[[str, str], None] = raise_alarm,
    ) -> None:
        self._dsn = dsn
        self._feed_id = feed_id
        self._service = service
        self._bus = bus
        self._type_name = type_name
        self._alarm = alarm
        self._work = asyncio.Event()
        self._sequenced = asyncio.Event()
        self._active = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._relay: Relay | None = None
        self._known = 0
        self.fork: str | None = None

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._run_sequencer(), name=f"sequencer-{self._service}")]
        if self._bus is not None:
            self._tasks.append(asyncio.create_task(self._run_relay(self._bus), name=f"relay-{self._service}"))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def wake(self) -> None:
        """Say that events were committed: the store's ``on_commit``."""
        self._work.set()

    @property
    def is_active(self) -> bool:
        """Whether this process holds the lock; exactly one does, give or take a hand-over."""
        return self._active.is_set()

    @property
    def relayed_seq(self) -> int | None:
        """The last number known to be on the bus, None while that is not known or somebody else relays."""
        return None if self._relay is None else self._relay.relayed_seq

    async def _run_sequencer(self) -> None:
        while True:
            connection: Connection | None = None
            try:
                connection = await asyncpg.connect(self._dsn, timeout=UNIT_SECONDS)
                await self._lead(connection)
            except Exception as error:
                _log.warning("sequencer_interrupted", service=self._service, error=repr(error))
            finally:
                self._active.clear()
                if connection is not None:
                    connection.terminate()
            await asyncio.sleep(RETRY_SECONDS)

    async def _lead(self, connection: Connection) -> None:
        lock = "select pg_try_advisory_lock($1, $2)"
        while not await limited(connection, connection.fetchval(lock, _LOCK_SPACE, self._feed_id), UNIT_SECONDS):  # noqa: ASYNC110
            await asyncio.sleep(RIVAL_SECONDS)
        self._active.set()
        while True:
            self._work.clear()
            try:
                events = await limited(connection, sequence(connection, self._feed_id), UNIT_SECONDS)
            except asyncpg.UniqueViolationError:
                continue  # A rival was quicker, which only a hand-over can bring about.
            if events:
                self._sequenced.set()
            if events < BATCH_EVENTS and await _set_within(self._work, POLL_SECONDS):
                await asyncio.sleep(LINGER_SECONDS)

    async def _run_relay(self, bus: Bus) -> None:
        database: Database | None = None
        try:
            while self.fork is None:
                await self._active.wait()
                try:
                    if database is None:
                        database = await Database.open(self._dsn, size=2, application=f"{self._service}-relay")
                        self._relay = Relay(
                            bus, Feed(database, self._feed_id), self._service, type_name=self._type_name
                        )
                    await self._measure(database)
                    await self._relay_once(bus)
                except Fork as fork:
                    self.fork = str(fork)
                    self._alarm("fork", f"feed of {self._service}: {fork}")
                except Exception as error:
                    # Bus or database away, or asyncpg confused by a killed backend: the next step looks again.
                    _log.warning("relay_interrupted", service=self._service, error=repr(error))
                    await asyncio.sleep(RETRY_SECONDS)
        finally:
            if database is not None:
                await database.close()

    async def _measure(self, database: Database) -> None:
        assert self._relay is not None, "made before its first turn"  # noqa: S101
        # While the relay looks, or the bus is away, what it last knew still stands.
        self._known = self._relay.relayed_seq if self._relay.relayed_seq is not None else self._known
        _LAG.labels(self._service).set(await Feed(database, self._feed_id).head() - self._known)

    async def _relay_once(self, bus: Bus) -> None:
        assert self._relay is not None, "made before its first turn"  # noqa: S101
        await bus.ready(UNIT_SECONDS)
        self._sequenced.clear()
        if not await self._relay.step() and not await _set_within(self._sequenced, LOOK_SECONDS):
            self._relay.look_again()


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()


async def sequence_all(connection: Connection, feed_id: int) -> int:
    """Number everything that is committed and not numbered yet; returns how many events that were."""
    total = 0
    while (events := await sequence(connection, feed_id)) > 0:
        total += events
    return total
