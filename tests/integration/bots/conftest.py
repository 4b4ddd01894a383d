"""A migrated database of the bots service."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from diwan.chassis.database import OWNER, Database, ensure_roles, role_memberships
from diwan.chassis.migrate import migrate
from services.bots.app import MIGRATIONS
from tests.conftest import FreshDatabase

PASSWORDS = {role: f"password of {role}" for role in (OWNER, *role_memberships("bots"))}


@pytest.fixture
async def bots_database(fresh_database: FreshDatabase) -> AsyncIterator[Database]:
    """Opened as the role that the service runs under, with no more rights than it has."""
    await ensure_roles(fresh_database.server.superuser_url, "bots", PASSWORDS, database=fresh_database.name)
    await migrate(fresh_database.url(OWNER, PASSWORDS[OWNER]), [MIGRATIONS])
    database = await Database.open(fresh_database.url("bots_rw", PASSWORDS["bots_rw"]))
    yield database
    await database.close()


@pytest.fixture
def bots_dsn(bots_database: Database, fresh_database: FreshDatabase) -> str:
    assert bots_database.pool is not None, "there is somebody to connect to"
    return fresh_database.url("bots_rw", PASSWORDS["bots_rw"])
