"""Notices to push to phones: derived from the service's own feed when somebody follows, kept nowhere.

A cursor is a place in the feed and within an event, so whoever goes on from one misses none and gets none twice. Who an
event is about is asked of the projections, which are never behind what is told.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import Final, Literal
from uuid import UUID

import msgspec

from diwan.api.event.v1.event_pb2 import Event as Envelope
from diwan.api.tournament.v1 import notices_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.calls import Call
from diwan.chassis.feed import Feed, FeedEvent
from diwan.core.decider import Rejected
from diwan.core.tournament import events as told
from diwan.wire.events import decode
from diwan.wire.mapping import named
from services.tournament import fields
from services.tournament.index import EntryLine, Index, PaymentLine

type Kind = Literal[
    "registered",
    "entry_refused",
    "seated",
    "moved",
    "out",
    "prize",
    "refunded",
    "cancelled",
    "started",
    "removed",
]
KIND_NUMBER, _ = named(Kind, pb.TournamentNoticeKind)

PAGE_EVENTS: Final = 500
PAGES_KEPT: Final = 32
LOOK_SECONDS: Final = 0.1
HEARTBEAT_SECONDS: Final = 5.0
PLAYERS_MAX: Final = 1_000
BEHIND_EVENTS_MAX: Final = 1_000_000
"""A cursor further back is refused: what waited then waits no more."""

_INDEX_BITS: Final = 14
"""A tournament's beginning tells everybody who is in it."""
_ALL_OF_EVENT: Final = (1 << _INDEX_BITS) - 1

_TOLD_BY: Final = frozenset(
    Envelope.DESCRIPTOR.fields_by_name[name].number
    for name in (
        "entry_accepted",
        "entry_ended",
        "play_began",
        "tournament_entrant_seated",
        "tournament_entrant_released",
        "players_out",
        "payment_settled",
        "removal_ordered",
        "tournament_cancelled",
    )
)
"""The events that tell players anything; all others are passed over unread."""


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """Something for one player."""

    player: str
    kind: Kind
    table_id: str = ""
    seat: int | None = None
    place: int = 0
    amount: int = 0
    cause: str = ""


class Placed(msgspec.Struct, frozen=True):
    """A notice with its place."""

    cursor: int
    tournament_id: UUID
    at_ms: int
    notice: Notice


class Page(msgspec.Struct, frozen=True):
    """The notices of a stretch of the feed, up to and with ``last_seq``."""

    last_seq: int
    notices: tuple[Placed, ...]


class About(msgspec.Struct, frozen=True):
    """What a tournament's events are read with."""

    entries: dict[int, EntryLine]
    tables: dict[tuple[UUID, int], str]
    payments: dict[tuple[UUID, str], PaymentLine]


def cursor_of(global_seq: int, index: int = _ALL_OF_EVENT) -> int:
    """Return the cursor of an event's notice, or of everything up to the event's end."""
    return global_seq << _INDEX_BITS | index


def notices_of(tournament_id: UUID, event: object, about: About) -> Iterator[Notice]:
    """Yield what an event tells players, in a fixed order; bots are told nothing."""
    match event:
        case told.EntryAccepted():
            yield from _of_entry(about, event.entry_no, "registered")
        case told.EntryEnded() if event.cause == "refused":
            yield from _of_entry(about, event.entry_no, "entry_refused", event.reason)
        case told.PlayBegan():
            yield from [Notice(player=player, kind="started") for player in _everybody(about)]
        case told.TournamentCancelled():
            cause = event.reason or event.cause
            yield from [Notice(player=player, kind="cancelled", cause=cause) for player in _everybody(about)]
        case told.EntrantSeated():
            table_id = about.tables.get((tournament_id, event.table_no), "")
            yield Notice(player=event.player, kind="seated", table_id=table_id, seat=event.seat)
        case told.EntrantReleased():
            if not any(line.player == event.player and line.is_removed for line in about.entries.values()):
                yield Notice(player=event.player, kind="moved")
        case told.PlayersOut():
            for one in event.players:
                yield Notice(player=one.player, kind="out", place=event.place_first)
        case told.RemovalOrdered():
            yield Notice(player=event.player, kind="removed", cause=event.reason)
        case told.PaymentSettled() if not event.is_refused:
            paid = about.payments.get((tournament_id, event.key))
            if paid is not None:
                kind: Kind = "refunded" if paid.code == "refund" else "prize"
                yield Notice(player=paid.player, kind=kind, amount=paid.amount)


def _of_entry(about: About, entry_no: int, kind: Kind, cause: str = "") -> Iterator[Notice]:
    line = about.entries.get(entry_no)
    if line is not None and not line.is_bot:
        yield Notice(player=line.player, kind=kind, cause=cause)


def _everybody(about: About) -> list[str]:
    """Return every person who has an entry, each once, by the number of the first."""
    return list(dict.fromkeys(line.player for line in about.entries.values() if not line.is_ended and not line.is_bot))


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

    async def watch(
        self, request: pb.WatchTournamentNoticesRequest, call: Call
    ) -> AsyncGenerator[pb.WatchTournamentNoticesResponse, None]:
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

    def _heartbeat(self, cursor: int) -> pb.WatchTournamentNoticesResponse:
        beat = pb.TournamentNoticesHeartbeat(cursor=cursor, server_time_ms=self._now_ms())
        return pb.WatchTournamentNoticesResponse(heartbeat=beat)

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
        telling = [each for each in events if each.event.type_id in _TOLD_BY]
        ids = {each.event.stream_id for each in telling}
        about: dict[UUID, About] = {}
        if ids:
            tables, payments = await self._index.tables(ids), await self._index.payments(ids)
            about = {each: About({}, tables, payments) for each in ids}
            for line in await self._index.entries(ids):
                about[line.tournament_id].entries[line.entry_no] = line
        notices = tuple([placed for each in telling for placed in _placed(each, about[each.event.stream_id])])
        return Page(events[-1].global_seq if events else after, notices)


def _placed(fed: FeedEvent, about: About) -> Iterator[Placed]:
    stored = fed.event
    event = decode(stored.type_id, stored.schema_v, stored.body).event
    for index, notice in enumerate(notices_of(stored.stream_id, event, about)):
        yield Placed(cursor_of(fed.global_seq, index), stored.stream_id, stored.recorded_at_ms, notice)


def _wanted(call: Call, players: Sequence[str]) -> Callable[[str], bool]:
    """Return which players' notices the caller is told; raises `Rejected` for one that it cannot act for."""
    if len(players) > PLAYERS_MAX:
        raise Rejected("FIELD_INVALID", field="players", why=f"at most {PLAYERS_MAX}")
    for player in players:
        if call.caller.role is Role.BACKEND:
            call.caller.acting_player(player)
        else:
            fields.player(player)
    if players:
        return frozenset(players).__contains__
    prefix = call.caller.players if call.caller.role is Role.BACKEND else ""
    return lambda player: player.startswith(prefix) and not player.startswith("bot:")


def _message(placed: Placed) -> pb.WatchTournamentNoticesResponse:
    notice = placed.notice
    message = pb.TournamentNotice(
        cursor=placed.cursor,
        player=notice.player,
        kind=KIND_NUMBER[notice.kind],
        tournament_id=str(placed.tournament_id),
        table_id=notice.table_id,
        place=notice.place,
        amount=notice.amount,
        cause=notice.cause,
        at_ms=placed.at_ms,
    )
    if notice.seat is not None:
        message.seat = notice.seat
    return pb.WatchTournamentNoticesResponse(notice=message)


async def _either(news: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await news.wait()
    except TimeoutError:
        return
