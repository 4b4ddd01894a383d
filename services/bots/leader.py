"""One process plays the bots; others stand by and take over when its connection is gone.

Two at once would do no harm: their bots would ask twice under the same ids, and a decision is taken once. The lock
keeps them from wasting work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import asyncpg
import structlog

from diwan.chassis.database import DATABASE_TROUBLE, UNIT_SECONDS, Connection, limited

RIVAL_SECONDS: Final = 0.5
WATCH_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 0.5

# Any two numbers will do, as long as all processes of this service choose the same.
_LOCK: Final = (0x44495741, 0x424F5453)

_log = structlog.get_logger(__name__)


async def lead(dsn: str, work: Callable[[], Awaitable[None]]) -> None:
    """Run ``work`` whenever this process holds the lock, for ever; it is cancelled when the lock is lost."""
    while True:
        connection: Connection | None = None
        try:
            connection = await asyncpg.connect(dsn, timeout=UNIT_SECONDS)
            await _lead_once(connection, work)
        except DATABASE_TROUBLE as error:
            _log.warning("lead_interrupted", error=repr(error))
        finally:
            if connection is not None:
                connection.terminate()
        await asyncio.sleep(RETRY_SECONDS)


async def _lead_once(connection: Connection, work: Callable[[], Awaitable[None]]) -> None:
    lock = "select pg_try_advisory_lock($1, $2)"
    # What is waited for happens in another process.
    while not await limited(connection, connection.fetchval(lock, *_LOCK), UNIT_SECONDS):  # noqa: ASYNC110
        await asyncio.sleep(RIVAL_SECONDS)
    _log.info("leading")
    working = asyncio.ensure_future(work())
    try:
        while not working.done():
            await limited(connection, connection.fetchval("select 1"), UNIT_SECONDS)
            await asyncio.wait({working}, timeout=WATCH_SECONDS)
        working.result()
    finally:
        working.cancel()
        await asyncio.wait({working})
