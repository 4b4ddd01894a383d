"""Holds the bus's copy of a feed against what the audit keeps, message by message, again and again (D14, D4).

The copy may be lost or damaged without anybody losing an event, for whoever reads it fills its holes from the feed. What
is damaged is told all the same, and rebuilt (docs/operating/register.md). A copy that has what its feed has not is
another matter: the feed was taken back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec
import structlog
from prometheus_client import Gauge

from diwan.chassis.alarms import raise_alarm
from diwan.chassis.bus import Bus, BusError, BusUnavailable, StreamState
from diwan.chassis.database import DATABASE_TROUBLE, Connection, Database
from diwan.chassis.feed import FeedEvent
from diwan.chassis.feed.relay import is_copy
from diwan.chassis.store import StoredEvent
from services.audit import statements
from services.audit.findings import Finding, record_once
from services.audit.signing import NOWHERE
from services.audit.standing import Source

AT_ONCE: Final = 32
MESSAGES_PER_SECOND_MAX: Final = 2_000
PAUSE_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 5.0

_DAMAGED: Final = Gauge("diwan_copy_damaged", "Messages that the last look found missing or different.", ["service"])
_LOOKED: Final = Gauge("diwan_copy_messages", "Messages that the last whole look held against the feed.", ["service"])
_log = structlog.get_logger(__name__)


class Scrubbed(msgspec.Struct, frozen=True):
    """One whole look at a copy: the numbers it was asked for, and those that are missing or not what was kept.

    ``holes`` is how many messages fewer than its numbers the server itself counts; ``ahead`` the number with which the
    copy ends, where the feed does not reach it.
    """

    first: int
    last: int
    damaged: tuple[int, ...] = ()
    holes: int = 0
    ahead: int | None = None

    @property
    def is_well(self) -> bool:
        """Whether the copy is one."""
        return not self.damaged and not self.holes and self.ahead is None


class CopyScrub:
    """Looks at the copy of one service's feed; a whole look takes about ``seconds``, longer for very many messages."""

    def __init__(
        self,
        feed_id: int,
        service: str,
        database: Database,
        source: Source,
        bus: Bus,
        *,
        seconds: float,
        alarm: Callable[[str, str], None] = raise_alarm,
    ) -> None:
        self._feed_id = feed_id
        self._service = service
        self._database = database
        self._source = source
        self._bus = bus
        self._seconds = seconds
        self._alarm = alarm
        self._told: tuple[int, ...] | None = None

    async def run(self) -> None:
        """Look for as long as the service runs; what cannot be asked now is asked later."""
        while True:
            try:
                await self.look()
            except (BusUnavailable, BusError, *DATABASE_TROUBLE) as error:
                # The bus, the service or the database is away: silence tells nothing about the copy.
                _log.info("copy_not_looked_at", service=self._service, error=repr(error))
                await asyncio.sleep(RETRY_SECONDS)
            await asyncio.sleep(PAUSE_SECONDS)

    async def look(self) -> Scrubbed:
        """Look at the whole copy once, and record what does not hold."""
        state = await self._bus.stream_state(self._service)
        found = await self._ahead(state) or await self._compared(state)
        _LOOKED.labels(self._service).set(found.last - found.first + 1)
        _DAMAGED.labels(self._service).set(len(found.damaged) + found.holes)
        await self._tell(found)
        return found

    async def _ahead(self, state: StreamState) -> Scrubbed | None:
        """The copy is made from the feed: whatever it holds, the feed, asked afterwards, must have (D4)."""
        if not state.messages or await self._source.read(state.last_seq - 1, 1):
            return None
        return Scrubbed(state.first_seq, state.last_seq, ahead=state.last_seq)

    async def _compared(self, state: StreamState) -> Scrubbed:
        kept = await self._database.run(lambda c: c.fetchval(statements.NEWEST_KEPT, self._feed_id)) or 0
        first, last = max(state.first_seq, 1), min(state.last_seq, kept)
        damaged: list[int] = []
        pause = max(AT_ONCE / MESSAGES_PER_SECOND_MAX, self._seconds * AT_ONCE / max(1, last - first + 1))
        for start in range(first, last + 1, AT_ONCE):
            numbers = range(start, min(start + AT_ONCE, last + 1))
            damaged += await self._differing(numbers)
            if numbers[-1] < last:
                await asyncio.sleep(min(pause, self._seconds))
        # What grew too old meanwhile was dropped by the server, and is no damage.
        after = await self._bus.stream_state(self._service)
        damaged = [number for number in damaged if number >= after.first_seq]
        holes = 0 if not state.messages else state.last_seq - state.first_seq + 1 - state.messages
        return Scrubbed(first, last, tuple(damaged), holes)

    async def _differing(self, numbers: Sequence[int]) -> list[int]:
        messages = await asyncio.gather(*(self._bus.message(self._service, number) for number in numbers))
        kept = await self._database.run(partial(_kept, feed_id=self._feed_id, numbers=list(numbers)))
        return [
            number
            for number, message in zip(numbers, messages, strict=True)
            # What was set aside is not kept yet: then there is nothing to hold the message against.
            if number in kept and (message is None or not is_copy(message, kept[number], self._service))
        ]

    async def _tell(self, found: Scrubbed) -> None:
        told = (found.ahead or 0, found.holes, *found.damaged)
        if found.is_well or told == self._told:
            self._told = None if found.is_well else told
            return
        self._told = told
        if found.ahead is not None:
            kind, at = "COPY_AHEAD", found.ahead
            detail = f"the bus ends at {found.ahead}, and the feed does not show that number: it was taken back"
            self._alarm("fork", f"{self._service}: {detail}")
        else:
            kind, at = "COPY_DAMAGED", found.damaged[0] if found.damaged else found.first
            detail = f"{len(found.damaged)} of {found.first}..{found.last} are missing or different, first {at}"
            detail += f"; the server counts {found.holes} messages too few" if found.holes else ""
            self._alarm("copy", f"{self._service}: {detail}: rebuild it")
        finding = Finding(self._feed_id, at, NOWHERE, 0, kind, detail)
        await self._database.run(partial(record_once, finding=finding))


async def _kept(connection: Connection, feed_id: int, numbers: list[int]) -> dict[int, FeedEvent]:
    rows = await connection.fetch(statements.KEPT_AT, feed_id, numbers)
    return {row[0]: FeedEvent(feed_id, row[0], row[1], StoredEvent(*row[2:])) for row in rows}
