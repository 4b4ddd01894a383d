"""Notices to push to phones: derived from the service's own feed when somebody follows, kept nowhere.

A cursor is a place in the feed and within an event, so whoever goes on from one misses none and gets none twice. Who
had a seat when an event happened is asked of the projections, which are never behind what is told.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import Final
from uuid import UUID

import msgspec

from diwan.api.event.v1.event_pb2 import Event
from diwan.api.table.v1 import notices_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.calls import Call
from diwan.chassis.feed import Feed, FeedEvent
from diwan.core.decider import Rejected
from diwan.core.table.notices import Notice, NoticeKind, Sitter, notices_of
from diwan.wire.events import decode
from diwan.wire.mapping import named
from services.table import fields
from services.table.index import Index, SittingLine

KIND_NUMBER, KIND_NAME = named(NoticeKind, pb.NoticeKind)

PAGE_EVENTS: Final = 500
PAGES_KEPT: Final = 64
"""Pages in memory: followers at the head read the same ones."""

LOOK_SECONDS: Final = 0.1
HEARTBEAT_SECONDS: Final = 5.0
PLAYERS_MAX: Final = 1_000
BEHIND_EVENTS_MAX: Final = 1_000_000
"""A cursor further back is refused: what waited then waits no more."""

_INDEX_BITS: Final = 5
_ALL_OF_EVENT: Final = (1 << _INDEX_BITS) - 1

_TOLD_BY: Final = frozenset(
    Event.DESCRIPTOR.fields_by_name[name].number
    for name in (
        "turn_began",
        "window_opened",
        "setting_began",
        "answer_asked",
        "seat_funded",
        "buy_in_refused",
        "sat_out",
        "seat_released",
        "invitation_sent",
        "invitation_revoked",
        "guest_removed",
        "host_changed",
        "seat_held",
        "wait_ended",
        "entrant_seated",
        "entrant_released",
    )
)
"""The events that tell players anything; all others are passed over unread."""


def cursor_of(global_seq: int, index: int = _ALL_OF_EVENT) -> int:
    """Return the cursor of an event's notice, or of everything up to the event's end."""
    return global_seq << _INDEX_BITS | index


class Placed(msgspec.Struct, frozen=True):
    """A notice with its place."""

    cursor: int
    table_id: UUID
    at_ms: int
    notice: Notice


class Page(msgspec.Struct, frozen=True):
    """The notices of a stretch of the feed, up to and with ``last_seq``."""

    last_seq: int
    notices: tuple[Placed, ...]


class NoticeBoard:
    """Tells followers what the feed holds for players. ``reached`` says how far the projections have come."""

    def __init__(self, feed: Feed, index: Index, reached: Callable[[], int], now_ms: Callable[[], int]) -> None:
        self._feed = feed
        self._index = index
        self._reached = reached
        self._now_ms = now_ms
        self._pages: OrderedDict[tuple[int, int], asyncio.Task[Page]] = OrderedDict()
        self._news = asyncio.Event()

    async def keep_looking(self) -> None:
        """Wake followers when the projections have come further."""
        seen = 0
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if (reached := self._reached()) != seen:
                seen = reached
                self._news.set()
                self._news = asyncio.Event()

    async def watch(self, request: pb.WatchNoticesRequest, call: Call) -> AsyncGenerator[pb.WatchNoticesResponse, None]:
        """Tell notices from a cursor on, for ever; raises `Rejected` for a cursor that cannot be gone on from."""
        wanted = _wanted(call, request.players)
        cursor = request.after_cursor if request.HasField("after_cursor") else cursor_of(self._reached())
        self._check(cursor)
        loop = asyncio.get_running_loop()
        # The first sign of life says that everything up to now was told.
        told_at, is_caught_up = loop.time(), False
        while True:
            news, reached = self._news, self._reached()
            if cursor_of(reached) <= cursor:
                if not is_caught_up or loop.time() - told_at >= HEARTBEAT_SECONDS:
                    yield self._heartbeat(cursor)
                    told_at, is_caught_up = loop.time(), True
                await _either(news, HEARTBEAT_SECONDS)
                continue
            page = await self._page(cursor >> _INDEX_BITS, cursor & _ALL_OF_EVENT, reached)
            for placed in page.notices:
                if placed.cursor > cursor and wanted(placed.notice.player):
                    yield _message(placed)
                    told_at = loop.time()
            if cursor_of(page.last_seq) <= cursor:
                # What the projections have applied is in the feed, unless the database is being put back: look again.
                await _either(news, LOOK_SECONDS)
            cursor = max(cursor, cursor_of(page.last_seq))

    def _check(self, cursor: int) -> None:
        newest = self._reached()
        if not 0 <= cursor <= cursor_of(newest) or cursor >> _INDEX_BITS < newest - BEHIND_EVENTS_MAX:
            raise Rejected("CURSOR_OUT_OF_RANGE", newest=cursor_of(newest))

    def _heartbeat(self, cursor: int) -> pb.WatchNoticesResponse:
        return pb.WatchNoticesResponse(heartbeat=pb.NoticesHeartbeat(cursor=cursor, server_time_ms=self._now_ms()))

    async def _page(self, seq: int, index: int, reached: int) -> Page:
        """Return the notices behind a cursor, read once for all who stand there."""
        after = seq if index == _ALL_OF_EVENT else seq - 1
        key = after, min(reached, after + PAGE_EVENTS)
        task = self._pages.get(key)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._pages[key] = asyncio.create_task(self._read(*key), name=f"notices-{after}")
            if len(self._pages) > PAGES_KEPT:
                self._pages.popitem(last=False)
        # One follower that goes away ends the reading for nobody else.
        return await asyncio.shield(task)

    async def _read(self, after: int, upto: int) -> Page:
        events = [each for each in await self._feed.read(after, upto - after) if each.global_seq <= upto]
        told = [each for each in events if each.event.type_id in _TOLD_BY]
        sittings = await self._index.sittings(_oldest(told))
        notices = tuple(placed for each in told for placed in _placed(each, sittings))
        return Page(events[-1].global_seq if events else after, notices)


def _oldest(told: Iterable[FeedEvent]) -> dict[UUID, int]:
    """Return the first version of each table that is told of."""
    oldest: dict[UUID, int] = {}
    for each in told:
        oldest.setdefault(each.event.stream_id, each.event.version)
    return oldest


def _placed(fed: FeedEvent, sittings: Iterable[SittingLine]) -> Iterable[Placed]:
    stored = fed.event
    event = decode(stored.type_id, stored.schema_v, stored.body).event
    sitters = {
        line.seat: Sitter(line.player, line.is_bot)
        for line in sittings
        if line.table_id == stored.stream_id and line.covers(stored.version)
    }
    for index, notice in enumerate(notices_of(event, sitters)):  # type: ignore[arg-type]  # a table's stream
        yield Placed(cursor_of(fed.global_seq, index), stored.stream_id, stored.recorded_at_ms, notice)


def _wanted(call: Call, players: Sequence[str]) -> Callable[[str], bool]:
    """Return which players' notices the caller is told; raises `Rejected` for one that it cannot act for."""
    if len(players) > PLAYERS_MAX:
        raise Rejected("FIELD_INVALID", field="players", why=f"at most {PLAYERS_MAX}")
    for player in players:
        if call.caller.role is Role.BACKEND:
            call.caller.acting_player(player)
        elif not fields.player(player):
            raise Rejected("FIELD_INVALID", field="players", why="not a player id")
    if players:
        return frozenset(players).__contains__
    prefix = call.caller.players if call.caller.role is Role.BACKEND else ""
    return lambda player: player.startswith(prefix)


def _message(placed: Placed) -> pb.WatchNoticesResponse:
    notice = placed.notice
    return pb.WatchNoticesResponse(
        notice=pb.Notice(
            cursor=placed.cursor,
            player=notice.player,
            kind=KIND_NUMBER[notice.kind],
            table_id=str(placed.table_id),
            seat=notice.seat,
            turn=notice.turn,
            deadline_ms=notice.deadline_ms,
            amount=notice.amount,
            cause=notice.cause,
            at_ms=placed.at_ms,
        )
    )


async def _either(news: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await news.wait()
    except TimeoutError:
        return
