"""What a table's feed tells phones. Who had a seat when an event happened is asked of the projections."""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import Final
from uuid import UUID

from diwan.api.table.v1 import notices_pb2 as pb
from diwan.chassis.calls import Call
from diwan.chassis.feed import Feed, FeedEvent
from diwan.chassis.notices import Board, Placed
from diwan.core.table.notices import Notice, NoticeKind, Sitter, notices_of
from diwan.wire.events import decode, types_named
from diwan.wire.mapping import named
from services.table.index import Index, SittingLine

KIND_NUMBER, KIND_NAME = named(NoticeKind, pb.NoticeKind)

_INDEX_BITS: Final = 5
_TOLD_BY: Final = types_named(
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


class NoticeBoard(Board[Notice, pb.WatchNoticesResponse]):
    """Tells followers what happens at tables that concerns a player."""

    def __init__(self, feed: Feed, index: Index, reached: Callable[[], int], now_ms: Callable[[], int]) -> None:
        super().__init__(feed, reached, now_ms, told_by=_TOLD_BY, index_bits=_INDEX_BITS)
        self._index = index

    def watch(self, request: pb.WatchNoticesRequest, call: Call) -> AsyncGenerator[pb.WatchNoticesResponse, None]:
        """Tell notices from a cursor on, for ever; raises `Rejected` for a cursor that cannot be gone on from."""
        return self.follow(request.players, request.after_cursor if request.HasField("after_cursor") else None, call)

    async def _told(self, events: Sequence[FeedEvent]) -> Iterable[tuple[FeedEvent, Iterable[Notice]]]:
        sittings = await self._index.sittings(_oldest(events))
        return [(fed, _notices(fed, sittings)) for fed in events]

    def _heartbeat(self, cursor: int, now_ms: int) -> pb.WatchNoticesResponse:
        return pb.WatchNoticesResponse(heartbeat=pb.NoticesHeartbeat(cursor=cursor, server_time_ms=now_ms))

    def _message(self, placed: Placed[Notice]) -> pb.WatchNoticesResponse:
        notice = placed.notice
        return pb.WatchNoticesResponse(
            notice=pb.Notice(
                cursor=placed.cursor,
                player=notice.player,
                kind=KIND_NUMBER[notice.kind],
                table_id=str(placed.stream_id),
                seat=notice.seat,
                turn=notice.turn,
                deadline_ms=notice.deadline_ms,
                amount=notice.amount,
                cause=notice.cause,
                at_ms=placed.at_ms,
            )
        )


def _oldest(told: Iterable[FeedEvent]) -> dict[UUID, int]:
    """Return the first version of each table that is told of."""
    oldest: dict[UUID, int] = {}
    for each in told:
        oldest.setdefault(each.event.stream_id, each.event.version)
    return oldest


def _notices(fed: FeedEvent, sittings: Iterable[SittingLine]) -> Iterable[Notice]:
    stored = fed.event
    event = decode(stored.type_id, stored.schema_v, stored.body).event
    sitters = {
        line.seat: Sitter(line.player, line.is_bot)
        for line in sittings
        if line.table_id == stored.stream_id and line.covers(stored.version)
    }
    return notices_of(event, sitters)  # type: ignore[arg-type]  # a table's stream
