"""Reading a service's own feed from its database: what `Feed.Read` serves."""

from typing import Final

from diwan.chassis.database import Connection, Database
from diwan.chassis.feed.records import FeedEvent
from diwan.chassis.store.records import StoredEvent

READ_EVENTS_MAX: Final = 1_000

_READ: Final = """
select f.global_seq, f.leaf_hash, e.stream_id, e.version, e.event_id, e.command_id, e.epoch, e.type_id, e.schema_v,
       e.recorded_at_ms, e.body, e.prev_hash, e.hash
from feed f join event e using (stream_id, version)
where f.feed_id = $1 and f.global_seq > $2 order by f.global_seq limit $3
"""
_HEAD: Final = "select coalesce(max(global_seq), 0) from feed where feed_id = $1"

# Numbers grow with time but for clocks of different owners, so the first that is young enough is early enough.
_HORIZON: Final = """
select f.global_seq from feed f join event e using (stream_id, version)
where f.feed_id = $1 and e.recorded_at_ms >= $2 order by f.global_seq limit 1
"""


async def read_in(connection: Connection, feed_id: int, after: int, limit: int) -> list[FeedEvent]:
    """Return a feed's events with greater numbers than ``after``, in order, at most ``limit``."""
    rows = await connection.fetch(_READ, feed_id, after, min(limit, READ_EVENTS_MAX))
    return [FeedEvent(feed_id, row[0], row[1], StoredEvent(*row[2:])) for row in rows]


async def head_in(connection: Connection, feed_id: int) -> int:
    """Return a feed's newest number, 0 if it is empty."""
    return int(await connection.fetchval(_HEAD, feed_id))


class Feed:
    """One service's feed, read over a pool of its own database; also a `FeedSource`."""

    def __init__(self, database: Database, feed_id: int) -> None:
        self.feed_id = feed_id
        self._database = database

    async def read(self, after: int, limit: int = READ_EVENTS_MAX) -> list[FeedEvent]:
        """Return the events with greater numbers than ``after``, in order, at most ``limit`` and never above 1,000."""
        return await self._database.run(lambda c: read_in(c, self.feed_id, after, limit))

    async def head(self) -> int:
        """Return the newest number, 0 if the feed is empty."""
        return await self._database.run(lambda c: head_in(c, self.feed_id))

    async def horizon(self, oldest_ms: int) -> int:
        """Return the first number recorded at or after ``oldest_ms``: where a rebuilt bus copy begins."""

        async def work(connection: Connection) -> int:
            found = await connection.fetchval(_HORIZON, self.feed_id, oldest_ms)
            return int(found) if found is not None else await head_in(connection, self.feed_id) + 1

        return await self._database.run(work)
