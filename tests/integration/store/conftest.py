"""A migrated database of the table service, and stores on it."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import pytest

from diwan.chassis.database import OWNER, ensure_roles, role_memberships
from diwan.chassis.embedded import EmbeddedPostgres
from diwan.chassis.migrate import migrate
from diwan.chassis.store import Append, EventStore, NewEvent
from diwan.core.hashing import first_prev_hash

PASSWORDS = {role: f"password of {role}" for role in (OWNER, *role_memberships("table"))}
TABLE_KIND = 1


@dataclass(frozen=True)
class Prepared:
    """A database with the store's schema."""

    server: EmbeddedPostgres
    name: str

    def url(self, role: str) -> str:
        return self.server.url(role, PASSWORDS[role], self.name)

    @property
    def superuser_url(self) -> str:
        return self.server.url("postgres", self.server.password, self.name)


async def prepare(server: EmbeddedPostgres, name: str, folders: tuple[Path, ...] = ()) -> Prepared:
    prepared = Prepared(server, name)
    await ensure_roles(server.superuser_url, "table", PASSWORDS, database=name)
    await migrate(prepared.url(OWNER), folders)
    return prepared


@pytest.fixture(scope="module")
def prepared(postgres: EmbeddedPostgres, request: pytest.FixtureRequest):
    name = request.module.__name__.rpartition(".")[2]
    database = asyncio.run(prepare(postgres, name))
    yield database
    postgres.drop_database(name)


@pytest.fixture
async def store(prepared: Prepared) -> AsyncIterator[EventStore]:
    opened = await EventStore.open(prepared.url("table_rw"))
    yield opened
    await opened.close()


@pytest.fixture
async def superuser(prepared: Prepared) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(prepared.superuser_url)
    yield connection
    await connection.close()


_bodies = itertools.count(1)


def new_append(
    stream_id: UUID,
    expected_version: int = 0,
    prev_hash: bytes | None = None,
    *,
    epoch: int = 0,
    events: int = 1,
    command_id: UUID | None = None,
    request_hash: bytes = b"request",
    recorded_at_ms: int = 1_000,
) -> Append:
    return Append(
        stream_id=stream_id,
        kind=TABLE_KIND,
        expected_version=expected_version,
        epoch=epoch,
        prev_hash=prev_hash or first_prev_hash(stream_id.bytes, TABLE_KIND),
        command_id=command_id or uuid4(),
        caller="player-1",
        request_hash=request_hash,
        reply=b"reply",
        recorded_at_ms=recorded_at_ms,
        events=tuple(NewEvent(7, 1, b"body %d" % next(_bodies), uuid4()) for _ in range(events)),
    )
