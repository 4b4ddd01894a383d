"""The clock of whoever owns a stream: the database's time, carried on by the monotonic clock (H8)."""

import time
from typing import Self

from diwan.chassis.database import Database

_NOW_MS = "select (extract(epoch from clock_timestamp()) * 1000)::bigint"


class DatabaseClock:
    """Milliseconds since the Unix epoch. A jump of the machine's wall clock moves nothing."""

    def __init__(self, database_now_ms: int) -> None:
        self._offset_ms = database_now_ms - time.monotonic() * 1000

    @classmethod
    async def of(cls, database: Database) -> Self:
        """Return the clock of a database, as it is now."""
        return cls(await database.run(lambda c: c.fetchval(_NOW_MS)))

    def now_ms(self) -> int:
        """Return the time now."""
        return int(time.monotonic() * 1000 + self._offset_ms)
