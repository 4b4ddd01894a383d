"""A hand as it is kept, for a bundle: its events, those of the wallet for it, and where each stands in its feed (P7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

import msgspec

from diwan.api.audit.v1 import record_pb2 as pb
from diwan.chassis.access import Caller, Role
from diwan.chassis.database import Connection
from diwan.core.decider import Rejected
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandStarted
from diwan.core.hashing import uuid_bytes, uuid_text
from diwan.core.ledger.events import LedgerCommitted
from diwan.core.log import TABLE_FEED, TOURNAMENT_FEED, WALLET_FEED, LoggedEvent
from diwan.wire.events import WireError, decode
from diwan.wire.stored import audited_event, prologue_event, public_event, settled_events, stored_message, withheld
from services.audit import statements
from services.audit.rows import logged_of

PAGE_EVENTS: Final = 500
PAGE_EVENTS_MAX: Final = 1_000
VERSION_MAX: Final = 2**63 - 1

_SEES_ALL_HANDS: Final = frozenset({Role.OPERATOR, Role.AUDITOR, Role.SERVICE})
_SEES_OTHERS_POSTINGS: Final = frozenset({Role.AUDITOR, Role.SERVICE})


class Kept(msgspec.Struct, frozen=True):
    """An event with its number in the feed."""

    global_seq: int
    event: LoggedEvent


class HandRecord(msgspec.Struct, frozen=True):
    """All that is kept of a hand: the table's first event, its own from its secret's commitment on, the wallet's."""

    stream_id: bytes
    hand_no: int
    needs_version: int
    first_version: int
    last_version: int
    events: Sequence[Kept]
    postings: Sequence[Kept]
    is_posted: bool


async def record_in(connection: Connection, hand_id: str) -> HandRecord:
    """Return what is kept of a hand, all of one moment; raises HAND_NOT_FOUND or HAND_NOT_SETTLED."""
    await connection.execute("set transaction isolation level repeatable read, read only")
    place = await connection.fetchrow(statements.HAND_PLACE, hand_id)
    if place is None:
        raise Rejected("HAND_NOT_FOUND", hand_id=hand_id)
    if place["last_version"] is None:
        raise Rejected("HAND_NOT_SETTLED", hand_id=hand_id)
    stream_id, last = place["stream_id"], place["last_version"]
    events = await connection.fetch(statements.RECORD, stream_id, place["needs_version"], last, TABLE_FEED)
    postings = await connection.fetch(statements.POSTINGS_OF, stream_id, last, WALLET_FEED)
    is_posted = await connection.fetchval(statements.IS_FOLLOWED, stream_id, last)
    return HandRecord(
        stream_id.bytes,
        place["hand_no"],
        place["needs_version"],
        place["first_version"],
        last,
        [_kept(row) for row in events],
        [_kept(row) for row in postings],
        bool(is_posted),
    )


def record_for(record: HandRecord, caller: Caller, on_behalf_of: str) -> pb.GetHandRecordResponse:
    """Return a record as a caller may have it; raises NOT_IN_HAND for a player who was not dealt in.

    Nobody is shown here what is for one seat alone: `OpenHand` of the table service is the only door to that. Who looked
    at hidden cards, and why, is told to auditors.
    """
    if caller.role not in _SEES_ALL_HANDS and caller.seat_holder(on_behalf_of) not in _players(record):
        raise Rejected("NOT_IN_HAND")
    before = [
        _told(one, prologue_event(one.event)) for one in record.events if one.event.version < record.first_version
    ]
    own = [one for one in record.events if one.event.version >= record.first_version]
    told = settled_events([one.event for one in own], is_for_auditor=caller.role is Role.AUDITOR)
    cause = f"table/{uuid_text(record.stream_id)}/{record.last_version}"
    sees_others = caller.role in _SEES_OTHERS_POSTINGS
    postings = [
        _told(one, one.event if sees_others or _is_of_one(one.event, cause) else withheld(one.event), WALLET_FEED)
        for one in record.postings
    ]
    return pb.GetHandRecordResponse(
        table_id=uuid_text(record.stream_id),
        hand_no=record.hand_no,
        needs_version=record.needs_version,
        first_version=record.first_version,
        last_version=record.last_version,
        events=[*before, *map(_told, own, told), *postings],
        is_posted=record.is_posted,
    )


async def tournament_in(
    connection: Connection, request: pb.GetTournamentRecordRequest
) -> pb.GetTournamentRecordResponse:
    """Return a page of a tournament's events; raises ID_INVALID, PAGE_SIZE_INVALID or TOURNAMENT_NOT_FOUND."""
    stream_id = _id_of(request.tournament_id, "tournament_id")
    kept, has_more = await _page_in(connection, stream_id, TOURNAMENT_FEED, request, VERSION_MAX)
    if not kept and not request.after_version:
        raise Rejected("TOURNAMENT_NOT_FOUND", tournament_id=request.tournament_id)
    events = [_told(one, one.event, TOURNAMENT_FEED) for one in kept]
    return pb.GetTournamentRecordResponse(events=events, has_more=has_more)


async def table_in(
    connection: Connection, request: pb.GetTableRecordRequest, caller: Caller
) -> pb.GetTableRecordResponse:
    """Return a page of a table's events, none of a hand that runs; raises ID_INVALID, PAGE_SIZE_INVALID or TABLE_NOT_FOUND."""
    stream_id = _id_of(request.table_id, "table_id")
    last = await connection.fetchval(statements.NEWEST_ENDED, stream_id)
    kept, has_more = await _page_in(connection, stream_id, TABLE_FEED, request, last or 0)
    if not kept and not request.after_version:
        raise Rejected("TABLE_NOT_FOUND", table_id=request.table_id)
    told = audited_event if caller.role is Role.AUDITOR else public_event
    events = [_told(one, told(one.event)) for one in kept]
    return pb.GetTableRecordResponse(events=events, has_more=has_more)


async def _page_in(
    connection: Connection,
    stream_id: UUID,
    feed_id: int,
    request: pb.GetTournamentRecordRequest | pb.GetTableRecordRequest,
    last: int,
) -> tuple[list[Kept], bool]:
    if not 0 <= request.page_size <= PAGE_EVENTS_MAX or request.after_version < 0:
        raise Rejected("PAGE_SIZE_INVALID", max=PAGE_EVENTS_MAX)
    size = request.page_size or PAGE_EVENTS
    rows = await connection.fetch(statements.STREAM_PAGE, stream_id, feed_id, request.after_version, last, size + 1)
    return [_kept(row) for row in rows[:size]], len(rows) > size


def _id_of(text: str, field: str) -> UUID:
    try:
        return UUID(bytes=uuid_bytes(text))
    except ValueError:
        raise Rejected("ID_INVALID", field=field) from None


def _told(kept: Kept, event: LoggedEvent, feed_id: int = TABLE_FEED) -> pb.RecordedEvent:
    return pb.RecordedEvent(feed_id=feed_id, global_seq=kept.global_seq, event=stored_message(event))


def _players(record: HandRecord) -> set[str]:
    for one in record.events:
        if one.event.version == record.first_version:
            said = _said(one.event)
            if isinstance(said, HandStarted | CapsaStarted):
                return {seat.player for seat in said.seats}
    return set()


def _is_of_one(event: LoggedEvent, cause: str) -> bool:
    """Whether a commit of the ledger moves chips for one cause alone, and says nothing else of anybody."""
    said = _said(event)
    if not isinstance(said, LedgerCommitted):
        return False
    others = (said.refusals, said.holds, said.resolutions, said.freezes, said.consents, said.shortfalls, said.closings)
    return not any(others) and all(transfer.cause == cause for transfer in said.transfers)


def _said(event: LoggedEvent) -> object:
    try:
        return decode(event.type_id, event.schema_v, event.body).event
    except WireError:
        return None


def _kept(row: Any) -> Kept:
    return Kept(row["global_seq"], logged_of(row))
