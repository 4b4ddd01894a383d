"""Who looked at hidden cards, when and why: each look an event of its table, found by its hand, by who looked, or by time.

What is kept beside the events is where they stand; what a look says is read from the event itself.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from diwan.api.audit.v1 import looks_pb2 as pb
from diwan.chassis.access import PLAYER_ID_CHARACTERS_MAX, Caller, Role
from diwan.chassis.database import Connection
from diwan.chassis.fields import page_size
from diwan.chassis.paging import NUMBER_MAX, after_numbers, numbers_token
from diwan.core.decider import Rejected
from diwan.core.hashing import uuid_bytes
from diwan.core.log import TABLE_FEED
from diwan.core.table.events import HandOpened
from diwan.wire.events import decode

PAGE_LOOKS_MAX: Final = 500
NEWEST: Final = NUMBER_MAX


class Sought(msgspec.Struct, frozen=True):
    """Which looks are asked for; what is empty excludes none."""

    hand_id: str = ""
    opened_by: str = ""
    includes_own: bool = False

    @property
    def scope(self) -> bytes:
        """What a page's token is bound to."""
        return msgspec.json.encode(self)


def sought_by(request: pb.ListLooksRequest, caller: Caller) -> Sought:
    """Return what a caller may be told of what it asks; raises ID_INVALID, FIELD_INVALID or PERMISSION_DENIED."""
    if request.hand_id:
        try:
            uuid_bytes(request.hand_id)
        except ValueError:
            raise Rejected("ID_INVALID", field="hand_id") from None
    opened_by = request.opened_by
    if len(opened_by) > PLAYER_ID_CHARACTERS_MAX or not opened_by.isprintable():
        raise Rejected("FIELD_INVALID", field="opened_by", why="nobody's id")
    if caller.role is not Role.AUDITOR:
        if opened_by not in {"", caller.subject}:
            raise Rejected("PERMISSION_DENIED", role=caller.role)
        opened_by = caller.subject
    return Sought(request.hand_id, opened_by, request.includes_own)


async def looks_in(connection: Connection, sought: Sought, size: int, token: str) -> pb.ListLooksResponse:
    """Return a page of looks, newest first; raises PAGE_SIZE_INVALID or PAGE_TOKEN_INVALID."""
    count = page_size(size, PAGE_LOOKS_MAX)
    (before,) = after_numbers(token, 1, sought.scope) if token else (NEWEST,)
    text, arguments = statement(sought, before, count + 1)
    rows = await connection.fetch(text, *arguments)
    response = pb.ListLooksResponse(looks=[_message(row) for row in rows[:count]])
    if len(rows) > count:
        response.next_page_token = numbers_token(rows[count - 1]["global_seq"], scope=sought.scope)
    return response


def statement(sought: Sought, before: int, limit: int) -> tuple[str, list[object]]:
    """Return the statement that reads looks before a number of the feed, driven by the index of what is asked."""
    arguments: list[object] = [TABLE_FEED, before, limit]
    conditions = ["l.global_seq < $2"]
    for column, value in (("hand_id", sought.hand_id), ("opened_by", sought.opened_by)):
        if value:
            arguments.append(value)
            conditions.append(f"l.{column} = ${len(arguments)}")
    if not sought.includes_own:
        conditions.append("not l.is_own")
    where = " and ".join(conditions)
    text = (
        "select l.global_seq, l.table_id, l.version, l.is_own, e.type_id, e.schema_v, e.body"  # noqa: S608  (fixed pieces; what was asked is an argument)
        " from hand_look l join kept_event e on e.feed_id = $1 and e.global_seq = l.global_seq"
        f" where {where} order by l.global_seq desc limit $3"
    )
    return text, arguments


def _message(row: Any) -> pb.Look:
    event = decode(row["type_id"], row["schema_v"], row["body"]).event
    assert isinstance(event, HandOpened)  # noqa: S101  (it was noted as one)
    return pb.Look(
        hand_id=event.hand_id,
        table_id=str(row["table_id"]),
        version=row["version"],
        global_seq=row["global_seq"],
        opened_by=event.opened_by,
        role=event.role,
        lens=event.lens,
        reason=event.reason,
        case_id=event.case_id,
        opened_at_ms=event.opened_at_ms,
        is_own=row["is_own"],
    )
