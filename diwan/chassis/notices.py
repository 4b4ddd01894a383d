"""Notices to push to phones: derived from a service's own feed when somebody follows, kept nowhere.

A cursor is a place in the feed and within an event, so whoever goes on from one misses none and gets none twice. Whom an
event concerns is asked of the service's projections, which are never behind what is told.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import Final, Protocol
from uuid import UUID

import msgspec

from diwan.chassis.access import PLAYER_ID_CHARACTERS_MAX, Role
from diwan.chassis.calls import Call
from diwan.chassis.feed import Feed, FeedEvent
from diwan.core.decider import Rejected

PAGE_EVENTS: Final = 500
PAGES_KEPT: Final = 64
"""Pages in memory: followers at the head read the same ones."""

LOOK_SECONDS: Final = 0.1
HEARTBEAT_SECONDS: Final = 5.0
PLAYERS_MAX: Final = 1_000
BEHIND_EVENTS_MAX: Final = 1_000_000
"""A cursor further back is refused: what waited then waits no more."""


class ForPlayer(Protocol):
    """A notice: something for one player."""

    @property
    def player(self) -> str:
        """Who is told."""
        ...


class Placed[Notice: ForPlayer](msgspec.Struct, frozen=True):
    """A notice with its place."""

    cursor: int
    stream_id: UUID
    at_ms: int
    notice: Notice


class Page[Notice: ForPlayer](msgspec.Struct, frozen=True):
    """The notices of a stretch of the feed, up to and with ``last_seq``."""

    last_seq: int
    notices: tuple[Placed[Notice], ...]


class Board[Notice: ForPlayer, Response](ABC):
    """Tells followers what a feed holds for players.

    ``reached`` says how far the projections have come. Only events of the types ``told_by`` tell players anything, each at
    most 2^``index_bits`` - 1 notices; all others are passed over unread.
    """

    def __init__(
        self,
        feed: Feed,
        reached: Callable[[], int],
        now_ms: Callable[[], int],
        *,
        told_by: frozenset[int],
        index_bits: int,
        pages_kept: int = PAGES_KEPT,
    ) -> None:
        self._feed = feed
        self._reached = reached
        self._now_ms = now_ms
        self._told_by = told_by
        self._index_bits = index_bits
        self._all_of_event = (1 << index_bits) - 1
        self._pages_kept = pages_kept
        self._pages: OrderedDict[tuple[int, int], asyncio.Task[Page[Notice]]] = OrderedDict()
        self._news = asyncio.Event()

    # ---- what is a service's own ------------------------------------------------------------------------------------

    @abstractmethod
    async def _told(self, events: Sequence[FeedEvent]) -> Iterable[tuple[FeedEvent, Iterable[Notice]]]:
        """Return what each of these events tells players, always in the same order."""

    @abstractmethod
    def _message(self, placed: Placed[Notice]) -> Response:
        """Return a notice as it is sent."""

    @abstractmethod
    def _heartbeat(self, cursor: int, now_ms: int) -> Response:
        """Return a sign of life, which says that everything up to ``cursor`` was told."""

    # ---- following --------------------------------------------------------------------------------------------------

    async def keep_looking(self) -> None:
        """Wake followers when the projections have come further."""
        seen = 0
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if (reached := self._reached()) != seen:
                seen = reached
                self._news.set()
                self._news = asyncio.Event()

    async def follow(self, players: Sequence[str], after: int | None, call: Call) -> AsyncGenerator[Response, None]:
        """Tell notices from a cursor on, or from now, for ever; raises `Rejected` for one that cannot be gone on from."""
        wanted = _wanted(call, players)
        cursor = self._cursor_of(self._reached()) if after is None else after
        self._check(cursor)
        loop = asyncio.get_running_loop()
        # The first sign of life says that everything up to now was told.
        told_at, is_caught_up = loop.time(), False
        while True:
            news, reached = self._news, self._reached()
            if self._cursor_of(reached) <= cursor:
                if not is_caught_up or loop.time() - told_at >= HEARTBEAT_SECONDS:
                    yield self._heartbeat(cursor, self._now_ms())
                    told_at, is_caught_up = loop.time(), True
                await _either(news, HEARTBEAT_SECONDS)
                continue
            page = await self._page(cursor, reached)
            for placed in page.notices:
                if placed.cursor > cursor and wanted(placed.notice.player):
                    yield self._message(placed)
                    told_at = loop.time()
            if self._cursor_of(page.last_seq) <= cursor:
                # What the projections have applied is in the feed, unless the database is being put back: look again.
                await _either(news, LOOK_SECONDS)
            cursor = max(cursor, self._cursor_of(page.last_seq))

    def _cursor_of(self, global_seq: int, index: int | None = None) -> int:
        """Return the cursor of an event's notice, or of everything up to the event's end."""
        return global_seq << self._index_bits | (self._all_of_event if index is None else index)

    def _check(self, cursor: int) -> None:
        newest = self._reached()
        if not 0 <= cursor <= self._cursor_of(newest) or cursor >> self._index_bits < newest - BEHIND_EVENTS_MAX:
            raise Rejected("CURSOR_OUT_OF_RANGE", newest=self._cursor_of(newest))

    async def _page(self, cursor: int, reached: int) -> Page[Notice]:
        """Return the notices behind a cursor, read once for all who stand there."""
        seq, index = cursor >> self._index_bits, cursor & self._all_of_event
        after = seq if index == self._all_of_event else seq - 1
        key = after, min(reached, after + PAGE_EVENTS)
        task = self._pages.get(key)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._pages[key] = asyncio.create_task(self._read(*key), name=f"notices-{after}")
            if len(self._pages) > self._pages_kept:
                self._pages.popitem(last=False)
        # One follower that goes away ends the reading for nobody else.
        page = await asyncio.shield(task)
        if page.last_seq < key[1] and self._pages.get(key) is task:
            # The feed held less than the projections know: whoever looks again must see what has come since.
            del self._pages[key]
        return page

    async def _read(self, after: int, upto: int) -> Page[Notice]:
        events = [each for each in await self._feed.read(after, upto - after) if each.global_seq <= upto]
        told = await self._told([each for each in events if each.event.type_id in self._told_by])
        placed = [
            Placed(self._cursor_of(fed.global_seq, index), fed.event.stream_id, fed.event.recorded_at_ms, notice)
            for fed, notices in told
            for index, notice in enumerate(notices)
        ]
        return Page(events[-1].global_seq if events else after, tuple(placed))


def _wanted(call: Call, players: Sequence[str]) -> Callable[[str], bool]:
    """Return which players' notices the caller is told; raises `Rejected` for one that it cannot act for."""
    if len(players) > PLAYERS_MAX:
        raise Rejected("FIELD_INVALID", field="players", why=f"at most {PLAYERS_MAX}")
    for player in players:
        if call.caller.role is Role.BACKEND:
            call.caller.acting_player(player)
        elif not 0 < len(player) <= PLAYER_ID_CHARACTERS_MAX or not player.isprintable():
            raise Rejected("FIELD_INVALID", field="players", why="not a player id")
    if players:
        return frozenset(players).__contains__
    prefix = call.caller.players if call.caller.role is Role.BACKEND else ""
    return lambda player: player.startswith(prefix)


async def _either(news: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await news.wait()
    except TimeoutError:
        return
