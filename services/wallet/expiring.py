"""Ends holds whose time is over, by an event each. Nobody waits for it: a due hold counts as expired anyway (L6)."""

import asyncio
from typing import Final

import structlog

from diwan.chassis.database import DATABASE_TROUBLE, Database
from diwan.chassis.store import Overloaded, UnknownOutcome
from diwan.core.ledger.requests import Expiry
from services.wallet import statements
from services.wallet.ledger import Ledger, Unavailable

EVERY_SECONDS: Final = 1.0
AT_ONCE: Final = 200
"""Holds of one request: their ends fit into one event."""

_log = structlog.get_logger(__name__)


class Expiring:
    """Looks for holds that are due and has the ledger end them."""

    def __init__(self, ledger: Ledger, database: Database) -> None:
        self._ledger = ledger
        self._database = database

    async def run(self) -> None:
        """Look every second for as long as the service runs; trouble with the database is left to the next look."""
        while True:
            try:
                await self.expire()
            except (*DATABASE_TROUBLE, Overloaded, Unavailable, UnknownOutcome) as error:
                _log.warning("holds_not_expired", error=repr(error))
            await asyncio.sleep(EVERY_SECONDS)

    async def expire(self) -> int:
        """End all holds that are due; returns how many."""
        ended = 0
        while True:
            rows = await self._database.run(lambda c: c.fetch(statements.DUE_ANYWHERE, AT_ONCE))
            if not rows:
                return ended
            await self._ledger.ask(Expiry(tuple([row["hold_id"] for row in rows])))
            ended += len(rows)
