"""Asks the feeds again for what they have shown before: a history that was cut off or rewritten later is found (P8, D4).

Reading a feed forward never looks back. So the newest event that was kept and some others, drawn anew each time, are
asked for again and held against what was kept.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, Protocol

import asyncpg
import structlog

from diwan.chassis.alarms import raise_alarm
from diwan.chassis.database import Connection, Database
from diwan.chassis.feed import FeedEvent
from services.audit import statements
from services.audit.findings import Finding, record_once

LOOK_SECONDS: Final = 2.0
DRAWN: Final = 8
"""Earlier events that are asked for again each time: nobody knows which, so no change is safe for long."""

SWEPT: Final = 100
"""So many more each time, one part behind the other: the whole feed is asked for again, a million events in half a day."""

_log = structlog.get_logger(__name__)


class Source(Protocol):
    """A feed that can be asked."""

    async def read(self, after: int, limit: int) -> list[FeedEvent]:
        """Return the events with greater numbers, in order, at most ``limit``; raises `ConnectionError`."""
        ...


class Standing:
    """Holds one feed to what it has shown."""

    def __init__(
        self,
        feed_id: int,
        database: Database,
        source: Source,
        *,
        alarm: Callable[[str, str], None] = raise_alarm,
    ) -> None:
        self._alarm = alarm
        self._swept = 0
        self._feed_id = feed_id
        self._database = database
        self._source = source

    async def run(self) -> None:
        """Look again and again; what cannot be asked now is asked later."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.look()
            except Exception as error:
                # The service or the database is away, asyncpg's own confusion over a killed backend included; nothing
                # is concluded from silence.
                _log.warning("standing_not_looked_at", feed=self._feed_id, error=repr(error))

    async def look(self, numbers: Iterable[int] | None = None) -> None:
        """Ask for the newest kept event and some that are drawn, or for these; each fault is recorded once."""
        newest = await self._database.run(lambda c: c.fetchval(statements.NEWEST_KEPT, self._feed_id))
        if newest is None:
            return
        chosen = {newest, *(secrets.randbelow(newest) + 1 for _ in range(DRAWN))} if numbers is None else set(numbers)
        for number in sorted(chosen):
            kept = await self._database.run(partial(_kept, feed_id=self._feed_id, number=number))
            if kept is not None:
                await self._hold(kept, await self._source.read(number - 1, 1))
        if numbers is None:
            await self._sweep(newest)

    async def _sweep(self, newest: int) -> None:
        """Go on through the feed from its first event to its newest, and again: a change that no draw hits is found, too."""
        if self._swept >= newest:
            self._swept = 0
        rows = await self._database.run(
            lambda c: c.fetch(statements.KEPT_FROM, self._feed_id, self._swept, self._swept + SWEPT)
        )
        shown = {event.global_seq: event for event in await self._shown(self._swept, rows)}
        for kept in rows:
            event = shown.get(kept["global_seq"])
            # One of a part is enough: a feed that was cut off would be a finding an event.
            if await self._hold(kept, [] if event is None else [event]):
                break
        self._swept += SWEPT

    async def _shown(self, after: int, rows: list[asyncpg.Record]) -> list[FeedEvent]:
        if not rows:
            return []
        try:
            return await self._source.read(after, SWEPT)
        except ConnectionError:
            # A page with a hole is no page; asked for one by one, it is seen which event is not there.
            single = [await self._source.read(row["global_seq"] - 1, 1) for row in rows]
            return [event for found in single for event in found]

    async def _hold(self, kept: asyncpg.Record, shown: list[FeedEvent]) -> bool:
        """Hold what is shown against what was kept; returns whether they differ, which is told once."""
        fault = _fault(kept, shown, kept["global_seq"])
        if fault is None:
            return False
        kind, detail = fault
        finding = Finding(self._feed_id, kept["global_seq"], kept["stream_id"], kept["version"], kind, detail)
        if await self._database.run(partial(record_once, finding=finding)):
            self._alarm("fork", f"feed {self._feed_id}: {kind}: {detail}")
        return True


async def _kept(connection: Connection, feed_id: int, number: int) -> asyncpg.Record | None:
    return await connection.fetchrow(statements.KEPT, feed_id, number)


def _fault(kept: asyncpg.Record, shown: list[FeedEvent], number: int) -> tuple[str, str] | None:
    if not shown or shown[0].global_seq != number:
        return "FEED_CUT", f"number {number} was shown before and is not there any more"
    event, stored = shown[0], shown[0].event
    told = (
        *(event.global_seq, stored.stream_id, stored.version, stored.event_id, stored.command_id, stored.epoch),
        *(stored.type_id, stored.schema_v, stored.recorded_at_ms, stored.body, stored.prev_hash, stored.hash),
    )
    differing = [name for name, value in zip(_FIELDS, told, strict=True) if kept[name] != value]
    return ("FEED_REWRITTEN", f"number {number} has another {', '.join(differing)} than before") if differing else None


_FIELDS: Final = (
    *("global_seq", "stream_id", "version", "event_id", "command_id", "epoch"),
    *("type_id", "schema_v", "recorded_at_ms", "body", "prev_hash", "hash"),
)
