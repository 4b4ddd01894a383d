"""Brings about what the roster wants: a task a bot, a bounded number of them, started again when they fail."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable
from typing import Final

import structlog
from msgspec import Struct
from prometheus_client import Counter, Gauge

from diwan.client.tables import Tables
from services.bots.names import free_names
from services.bots.player import BotPlayer, End
from services.bots.roster import Assignment, Known, Roster, WatchedTable
from services.bots.seating import wanted_change

POLL_SECONDS: Final = 0.2
"""How soon a table's wish is noticed once the feed told it."""

LOOK_SECONDS: Final = 5.0
"""The roster is looked at this often even when nothing was noticed."""

COOL_DOWN_SECONDS: Final = 2.0
COOL_DOWN_SECONDS_MAX: Final = 60.0
"""A table that refused a bot is asked again after this long, doubled with each refusal in a row."""

_seated = Gauge("diwan_bots_seated", "Bots that this process plays.")
_decisions = Counter("diwan_bots_decisions_total", "Decisions that bots sent and a table took.")
_failures = Counter("diwan_bots_failures_total", "Bots whose task failed and was started again.")

_log = structlog.get_logger(__name__)


class ThinkTime(Struct, frozen=True):
    """Bounds of the time before an answer, in milliseconds."""

    ms_min: int
    ms_max: int

    def draw(self) -> float:
        """Return seconds, each whole number of milliseconds as likely, from the system's randomness."""
        return (self.ms_min + secrets.randbelow(self.ms_max - self.ms_min + 1)) / 1000


class FeedPlace(Struct):
    """How far the feed has been followed, as the manager needs to know it."""

    last_seq: Callable[[], int]
    touched_seq: Callable[[], int]

    def has_news_after(self, seq: int) -> bool:
        """Whether something was told behind ``seq`` that is committed by now."""
        touched = self.touched_seq()
        return touched > seq and self.last_seq() >= touched


class Manager:
    """Plays the roster's bots. ``tables_for`` gives the table service under a bot's own token."""

    def __init__(
        self,
        roster: Roster,
        tables_for: Callable[[str], Tables],
        place: FeedPlace,
        *,
        bots_max: int,
        think_time: ThinkTime,
    ) -> None:
        self._roster = roster
        self._tables_for = tables_for
        self._place = place
        self._bots_max = bots_max
        self._think_time = think_time
        self._players: dict[str, BotPlayer] = {}  # by request id
        self._tasks: dict[str, asyncio.Task[End]] = {}
        self._over: set[str] = set()  # whose seat is gone, until the feed says so too
        self._not_before: dict[str, float] = {}  # by table or request id
        self._cool_downs: dict[str, float] = {}  # by table or request id
        self._wake = asyncio.Event()

    @property
    def players(self) -> list[BotPlayer]:
        """The bots that are played now."""
        return list(self._players.values())

    async def run(self) -> None:
        """Play until cancelled; seats are kept then, whoever plays next takes them up again."""
        try:
            while True:
                self._wake.clear()
                seen = self._place.touched_seq()
                await self._reconcile()
                await self._news(seen)
        finally:
            await self._stop()

    async def _news(self, seen: int) -> None:
        """Wait until the feed told something new, a bot's task ended, a cool-down is over, or it is time to look anyway."""
        now = _now()
        end = min([now + LOOK_SECONDS, *(due for due in self._not_before.values() if due > now)])
        while _now() < end and not self._wake.is_set() and not self._place.has_news_after(seen):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), POLL_SECONDS)

    async def _reconcile(self) -> None:
        await self._collect()
        known = await self._roster.known()
        await self._cancel_forgotten(known)
        if await self._change(known):
            known = await self._roster.known()
        for assignment in known.assignments:
            self._see_to(assignment)
        _seated.set(len(self._players))

    async def _collect(self) -> None:
        """Take note of tasks that ended."""
        for key, task in list(self._tasks.items()):
            if not task.done():
                continue
            player = self._players.pop(key)
            del self._tasks[key]
            error = None if task.cancelled() else task.exception()
            if error is not None or task.cancelled():
                _failures.inc()
                _log.error("bot_failed", player=player.assignment.player, exc_info=error)
                self._cool_down(key)
            elif task.result() is End.REFUSED:
                self._cool_down(player.assignment.table_id)
                await self._roster.drop(player.assignment)
            else:
                self._over.add(key)
                self._cool_downs.pop(player.assignment.table_id, None)

    async def _cancel_forgotten(self, known: Known) -> None:
        """End the tasks of bots that the feed says have no seat any more, and forget what is over."""
        current = {assignment.request_id for assignment in known.assignments}
        self._over &= current
        open_tables = {table.table_id for table in known.tables}
        for keys in (self._not_before, self._cool_downs):
            for key in [key for key in keys if key not in current and key not in open_tables]:
                del keys[key]
        gone = [self._tasks.pop(key) for key in list(self._tasks) if key not in current]
        for key in [key for key in self._players if key not in current]:
            del self._players[key]
        await _cancelled(gone)

    async def _change(self, known: Known) -> bool:
        """Send bots to tables that want some, and one away where a person waits; returns whether anything changed."""
        taken = {assignment.player for assignment in known.assignments}
        is_changed = False
        for table in known.tables:
            change = wanted_change(table.occupancy)
            if change > 0 and _now() >= self._not_before.get(table.table_id, 0.0):
                room = min(change, self._bots_max - len(taken))
                names = free_names(room, taken, secrets.randbelow)
                await self._roster.assign(table, names)
                taken.update(names)
                is_changed = is_changed or bool(names)
            elif change < 0:
                await self._send_away(table, known)
                is_changed = True
        return is_changed

    async def _send_away(self, table: WatchedTable, known: Known) -> None:
        """Let the bot go that came last."""
        staying = [each for each in known.assignments if each.table_id == table.table_id and not each.is_leaving]
        await self._roster.mark_leaving(staying[-1].player)
        _log.info("bot_makes_room", player=staying[-1].player, table_id=table.table_id)

    def _see_to(self, assignment: Assignment) -> None:
        """See that an assignment is played, and that its bot knows when it has to go."""
        key = assignment.request_id
        if assignment.is_leaving and key in self._players:
            self._players[key].leave()
        is_due = _now() >= self._not_before.get(key, 0.0)
        if key in self._tasks or key in self._over or not is_due or len(self._tasks) >= self._bots_max:
            return
        player = BotPlayer(
            self._tables_for(assignment.player),
            assignment,
            think=self._think_time.draw,
            secret=secrets.token_bytes(32),
            decided=_decisions.inc,
        )
        self._players[key] = player
        self._tasks[key] = asyncio.create_task(player.run(), name=assignment.player)
        self._tasks[key].add_done_callback(lambda _: self._wake.set())

    def _cool_down(self, key: str) -> None:
        seconds = self._cool_downs.get(key, COOL_DOWN_SECONDS)
        self._not_before[key] = _now() + seconds
        self._cool_downs[key] = min(2 * seconds, COOL_DOWN_SECONDS_MAX)

    async def _stop(self) -> None:
        tasks = list(self._tasks.values())
        self._tasks.clear()
        self._players.clear()
        self._over.clear()
        _seated.set(0)
        await _cancelled(tasks)


async def _cancelled(tasks: list[asyncio.Task[End]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


def _now() -> float:
    return asyncio.get_running_loop().time()
