"""Work beside the taking in: what is due stands in the database, so nothing is forgotten by a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from diwan.chassis.database import DATABASE_TROUBLE

RETRY_SECONDS: Final = 1.0

_log = structlog.get_logger(__name__)


async def work_on(
    work: Callable[[], Awaitable[object]], what: str, *, idle_seconds: float, woken: asyncio.Event | None = None
) -> None:
    """Do ``work`` again and again, for ever: at once when ``woken``, otherwise after so many idle seconds."""
    woken = woken or asyncio.Event()
    while True:
        try:
            await work()
        except DATABASE_TROUBLE as error:
            # What is due stays due, and is taken up when the database is back.
            _log.warning(f"{what}_interrupted", error=repr(error))
            await asyncio.sleep(RETRY_SECONDS)
        # A transaction may end after it has woken us: then the next look finds what it left.
        try:
            await asyncio.wait_for(woken.wait(), idle_seconds)
        except TimeoutError:
            continue
        woken.clear()
