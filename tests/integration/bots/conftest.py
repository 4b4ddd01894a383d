"""Migrated databases of the bots service, copied from one that was migrated once."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from diwan.chassis.database import OWNER, Database, ensure_roles, role_memberships
from diwan.chassis.embedded import EmbeddedPostgres
from diwan.chassis.migrate import migrate
from services.bots.app import MIGRATIONS

PASSWORDS = {role: f"password of {role}" for role in (OWNER, *role_memberships("bots"))}
TEMPLATE = "bots_template"

_numbers = itertools.count(1)


async def migrated(server: EmbeddedPostgres) -> None:
    await ensure_roles(server.superuser_url, "bots", PASSWORDS, database=TEMPLATE)
    await migrate(server.url(OWNER, PASSWORDS[OWNER], TEMPLATE), [MIGRATIONS])


async def copied(server: EmbeddedPostgres, name: str) -> None:
    connection = await asyncpg.connect(server.superuser_url)
    await connection.execute(f"create database {name} template {TEMPLATE}")
    await connection.close()


@pytest.fixture(scope="package")
def bots_template(postgres: EmbeddedPostgres) -> Iterator[EmbeddedPostgres]:
    asyncio.run(migrated(postgres))
    yield postgres
    postgres.drop_database(TEMPLATE)


@pytest.fixture
async def bots_dsn(bots_template: EmbeddedPostgres) -> AsyncIterator[str]:
    """A database of one test, for the role that the service runs under, with no more rights than it has."""
    name = f"bots_{next(_numbers)}"
    await copied(bots_template, name)
    yield bots_template.url("bots_rw", PASSWORDS["bots_rw"], name)
    await asyncio.to_thread(bots_template.drop_database, name)


@pytest.fixture
async def bots_database(bots_dsn: str) -> AsyncIterator[Database]:
    database = await Database.open(bots_dsn)
    yield database
    await database.close()
