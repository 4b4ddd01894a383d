"""What a tournament's feed tells phones. Whom an event is about is asked of the projections."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from typing import Final, Literal
from uuid import UUID

import msgspec

from diwan.api.tournament.v1 import notices_pb2 as pb
from diwan.chassis.calls import Call
from diwan.chassis.feed import Feed, FeedEvent
from diwan.chassis.notices import Board, Placed
from diwan.core.tournament import events as told
from diwan.wire.events import decode, types_named
from diwan.wire.mapping import named
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

_PAGES_KEPT: Final = 32
_INDEX_BITS: Final = 14
"""A tournament's beginning tells everybody who is in it."""

_TOLD_BY: Final = types_named(
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


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """Something for one player."""

    player: str
    kind: Kind
    table_id: str = ""
    seat: int | None = None
    place: int = 0
    amount: int = 0
    cause: str = ""


class About(msgspec.Struct, frozen=True):
    """What a tournament's events are read with."""

    entries: dict[int, EntryLine]
    tables: dict[tuple[UUID, int], str]
    payments: dict[tuple[UUID, str], PaymentLine]


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


class NoticeBoard(Board[Notice, pb.WatchTournamentNoticesResponse]):
    """Tells followers what happens in tournaments that concerns a player."""

    def __init__(self, feed: Feed, index: Index, reached: Callable[[], int], now_ms: Callable[[], int]) -> None:
        super().__init__(feed, reached, now_ms, told_by=_TOLD_BY, index_bits=_INDEX_BITS, pages_kept=_PAGES_KEPT)
        self._index = index

    def watch(
        self, request: pb.WatchTournamentNoticesRequest, call: Call
    ) -> AsyncGenerator[pb.WatchTournamentNoticesResponse, None]:
        """Tell notices from a cursor on, for ever; raises `Rejected` for a cursor that cannot be gone on from."""
        return self.follow(request.players, request.after_cursor if request.HasField("after_cursor") else None, call)

    async def _told(self, events: Sequence[FeedEvent]) -> Iterable[tuple[FeedEvent, Iterable[Notice]]]:
        ids = {each.event.stream_id for each in events}
        about: dict[UUID, About] = {}
        if ids:
            tables, payments = await self._index.tables(ids), await self._index.payments(ids)
            about = {each: About({}, tables, payments) for each in ids}
            for line in await self._index.entries(ids):
                about[line.tournament_id].entries[line.entry_no] = line
        return [(fed, _notices(fed, about[fed.event.stream_id])) for fed in events]

    def _heartbeat(self, cursor: int, now_ms: int) -> pb.WatchTournamentNoticesResponse:
        beat = pb.TournamentNoticesHeartbeat(cursor=cursor, server_time_ms=now_ms)
        return pb.WatchTournamentNoticesResponse(heartbeat=beat)

    def _message(self, placed: Placed[Notice]) -> pb.WatchTournamentNoticesResponse:
        notice = placed.notice
        message = pb.TournamentNotice(
            cursor=placed.cursor,
            player=notice.player,
            kind=KIND_NUMBER[notice.kind],
            tournament_id=str(placed.stream_id),
            table_id=notice.table_id,
            place=notice.place,
            amount=notice.amount,
            cause=notice.cause,
            at_ms=placed.at_ms,
        )
        if notice.seat is not None:
            message.seat = notice.seat
        return pb.WatchTournamentNoticesResponse(notice=message)


def _notices(fed: FeedEvent, about: About) -> Iterable[Notice]:
    stored = fed.event
    event = decode(stored.type_id, stored.schema_v, stored.body).event
    # A bot plays by the tables' feed: nobody pushes anything to it.
    return [each for each in notices_of(stored.stream_id, event, about) if not each.player.startswith("bot:")]
