"""A table service's database with its own feed, a NATS with a user a service, and something to feed them with."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

import asyncpg
import pytest

from diwan.chassis.bus import FEEDS, Bus, rebuild, services, users
from diwan.chassis.database import Connection, Database
from diwan.chassis.embedded import EmbeddedNats, EmbeddedPostgres
from diwan.chassis.feed import Feed, FeedEvent
from diwan.chassis.store import EventStore, append_in
from tests.integration.store.conftest import Prepared, new_append, prepare

FEED_ID = FEEDS["table"]

_numbers = itertools.count(1)


@dataclass
class Fed:
    """One test's database, and how events get into it."""

    database: Prepared
    store: EventStore
    reader: Database
    feed: Feed
    heads: dict[UUID, tuple[int, bytes]]

    async def append(self, stream_id: UUID, events: int = 1) -> None:
        version, head = self.heads.get(stream_id, (0, None))
        appended = await self.store.append(new_append(stream_id, version, head, events=events))
        self.heads[stream_id] = (appended.last_version, appended.head_hash)

    async def append_many(self, events: int, streams: Sequence[UUID] = ()) -> None:
        """Append so many events, one by one in each of the streams."""
        chosen = list(streams) or [uuid4() for _ in range(4)]

        async def play(stream_id: UUID, count: int) -> None:
            for _ in range(count):
                await self.append(stream_id)

        shares = [events // len(chosen) + (number < events % len(chosen)) for number in range(len(chosen))]
        await asyncio.gather(*(play(s, count) for s, count in zip(chosen, shares, strict=True)))

    async def all(self) -> list[FeedEvent]:
        found: list[FeedEvent] = []
        while page := await self.feed.read(found[-1].global_seq if found else 0):
            found += page
        return found

    async def sequencer(self) -> Connection:
        return await asyncpg.connect(self.database.url("table_seq"))


@pytest.fixture(scope="session")
def template(postgres: EmbeddedPostgres) -> Prepared:
    """A migrated database to copy: a test's own costs a tenth of migrating it."""
    return asyncio.run(prepare(postgres, "feed_template"))


@pytest.fixture
async def fed(template: Prepared) -> AsyncIterator[Fed]:
    postgres, name = template.server, f"feed_{next(_numbers)}"
    connection = await asyncpg.connect(postgres.superuser_url)
    await connection.execute(f"create database {name} template {template.name} owner migrate")
    await connection.close()
    database = Prepared(postgres, name)
    store = await EventStore.open(database.url("table_rw"))
    reader = await Database.open(database.url("table_seq"), size=3, application="reader")
    yield Fed(database, store, reader, Feed(reader, FEED_ID), {})
    await store.close()
    await reader.close()
    await asyncio.to_thread(postgres.drop_database, name)


NATS_PASSWORDS = {service: f"password-of-{service}" for service in services()}


@pytest.fixture(scope="module")
def own_nats(tmp_path_factory: pytest.TempPathFactory):
    """A NATS of the module's own, with users, to be stopped and started at will."""
    with EmbeddedNats(tmp_path_factory.mktemp("bus"), users(NATS_PASSWORDS)) as server:
        yield server


@pytest.fixture
async def admin(own_nats: EmbeddedNats) -> AsyncIterator[Bus]:
    """A set-up user on streams that are empty again."""
    if not own_nats.is_alive():
        await asyncio.to_thread(own_nats.start)
    bus = Bus.start(own_nats.admin_url, "admin")
    await bus.ready()
    for service in FEEDS:
        await rebuild(bus, service, first_seq=1)
    yield bus
    await bus.close()


@pytest.fixture
async def bus(own_nats: EmbeddedNats, admin: Bus) -> AsyncIterator[Bus]:  # noqa: ARG001  (it makes the streams)
    """The table service's own user."""
    opened = Bus.start(own_nats.url("table"), "table")
    await opened.ready()
    yield opened
    await opened.close()


async def append_slowly(connection: Connection, stream_id: UUID) -> None:
    """Append in a transaction that the caller keeps open."""
    await append_in(connection, new_append(stream_id))


@pytest.fixture
async def superuser_of():
    opened: list[Connection] = []

    async def connect(fed: Fed) -> Connection:
        opened.append(await asyncpg.connect(fed.database.superuser_url))
        return opened[-1]

    yield connect
    for connection in opened:
        await connection.close()


async def wait_until(condition: Callable[[], bool | Awaitable[bool]], seconds: float = 20.0) -> None:
    """Wait for something that sends no signal, and fail if it does not come."""
    async with asyncio.timeout(seconds):
        while True:
            answer = condition()
            if answer if isinstance(answer, bool) else await answer:
                return
            await asyncio.sleep(0.02)


async def head_reaches(fed: Fed, number: int) -> None:
    async def reached() -> bool:
        return await fed.feed.head() >= number

    await wait_until(reached)
