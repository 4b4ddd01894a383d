"""Who may not sit, and who not with whom: set and lifted by operators, kept for ever (CL-7)."""

from collections.abc import Callable
from typing import Final
from uuid import UUID

import asyncpg
import msgspec

from diwan.api.table.v1 import exclusions_pb2 as pb
from diwan.chassis.calls import Call
from diwan.chassis.database import Connection, Database
from diwan.chassis.ids import command_id_of
from diwan.chassis.paging import NEWEST, after_token, page_token
from diwan.core.decider import Rejected
from diwan.core.table.state import TableState
from services.table import fields

NOTE_CHARACTERS_MAX: Final = 200
VALID_SECONDS_MAX: Final = 10 * 365 * 24 * 3600
EXCLUSIONS_A_PAGE_MAX: Final = 500

_NAMES: Final = (
    *("player", "apart_from", "reason", "note", "set_by", "set_at_ms", "until_ms"),
    *("lifted_by", "lifted_at_ms", "lift_reason"),
)
_COLUMNS: Final = """
e.id, e.player, e.apart_from, e.reason, e.note, e.set_by, e.set_at_ms, e.until_ms,
coalesce(l.lifted_by, '') as lifted_by, coalesce(l.lifted_at_ms, 0) as lifted_at_ms,
coalesce(l.reason, '') as lift_reason
from exclusion e left join exclusion_lift l using (id)
"""
_IN_FORCE: Final = "l.id is null and (e.until_ms = 0 or e.until_ms > $1)"
_SET: Final = """
insert into exclusion (id, player, apart_from, reason, note, set_by, set_at_ms, until_ms, request_hash)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (id) do nothing
"""
_LIFT: Final = """
insert into exclusion_lift (id, lifted_by, lifted_at_ms, reason) values ($1, $2, $3, $4) on conflict (id) do nothing
"""


class Kept(msgspec.Struct, frozen=True):
    """What is in force for a player: everywhere, with what it is told; and who it is kept apart from."""

    is_suspended: bool = False
    note: str = ""
    until_ms: int = 0
    apart_from: frozenset[str] = frozenset()

    def check(self, state: TableState, player: str) -> None:
        """Raise PLAYER_EXCLUDED where the player may not sit at this table. Who else is meant is not told."""
        if self.is_suspended:
            raise Rejected("PLAYER_EXCLUDED", kind="suspended", note=self.note, until_ms=self.until_ms)
        if any(seat.player in self.apart_from for seat in state.seats if seat.player != player):
            raise Rejected("PLAYER_EXCLUDED", kind="kept_apart")


class Exclusions:
    """Sets, lifts, lists and looks up exclusions. All raise `Rejected`."""

    def __init__(self, database: Database, now_ms: Callable[[], int]) -> None:
        self._database = database
        self._now_ms = now_ms

    async def of(self, player: str) -> Kept:
        """Return what is in force for a player."""
        rows = await self._database.run(
            lambda c: c.fetch(
                f"select {_COLUMNS} where (e.player = $2 or e.apart_from = $2) and {_IN_FORCE} order by e.until_ms",
                *(self._now_ms(), player),
            )
        )
        everywhere = [row for row in rows if not row["apart_from"]]
        others = {row["apart_from"] if row["player"] == player else row["player"] for row in rows if row["apart_from"]}
        if not everywhere:
            return Kept(apart_from=frozenset(others))
        # One without an end comes first and says that there is none; else the one that ends last counts.
        longest = everywhere[0] if everywhere[0]["until_ms"] == 0 else everywhere[-1]
        return Kept(True, longest["note"], longest["until_ms"], frozenset(others))  # noqa: FBT003

    async def set(self, request: pb.SetExclusionRequest, call: Call) -> pb.SetExclusionResponse:
        """Keep a player from all tables, or a pair apart."""
        fields.request_id(request.request_id)
        if not request.player:
            raise Rejected("FIELD_REQUIRED", field="player")
        player, other = fields.player(request.player), fields.player(request.apart_from)
        if player == other:
            raise Rejected("FIELD_INVALID", field="apart_from", why="another player")
        reason = fields.short_text(request.reason, "reason", fields.REASON_CHARACTERS_MAX)
        if not reason:
            raise Rejected("REASON_REQUIRED")
        note = fields.short_text(request.note, "note", NOTE_CHARACTERS_MAX)
        if not 0 <= request.valid_seconds <= VALID_SECONDS_MAX:
            raise Rejected("FIELD_INVALID", field="valid_seconds", why="up to ten years, or 0")
        now = self._now_ms()
        until_ms = now + request.valid_seconds * 1000 if request.valid_seconds else 0
        exclusion_id, digest = command_id_of(call.caller.subject, request.request_id), call.request_hash(request)

        async def work(connection: Connection) -> pb.Exclusion:
            row = (exclusion_id, player, other, reason, note, call.caller.subject, now, until_ms, digest)
            await connection.execute(_SET, *row)
            kept = await connection.fetchval("select request_hash from exclusion where id = $1", exclusion_id)
            if kept != digest:
                raise Rejected("REQUEST_ID_CONFLICT")
            return await _one(connection, exclusion_id)

        return pb.SetExclusionResponse(exclusion=await self._database.run(work))

    async def lift(self, request: pb.LiftExclusionRequest, call: Call) -> pb.LiftExclusionResponse:
        """Lift an exclusion; one that is lifted already stays as it is."""
        fields.request_id(request.request_id)
        exclusion_id = fields.an_id(request.exclusion_id, "exclusion_id")
        reason = fields.short_text(request.reason, "reason", fields.REASON_CHARACTERS_MAX)
        if not reason:
            raise Rejected("REASON_REQUIRED")

        async def work(connection: Connection) -> pb.Exclusion:
            await _one(connection, exclusion_id)
            await connection.execute(_LIFT, exclusion_id, call.caller.subject, self._now_ms(), reason)
            return await _one(connection, exclusion_id)

        return pb.LiftExclusionResponse(exclusion=await self._database.run(work))

    async def listed(self, request: pb.ListExclusionsRequest) -> pb.ListExclusionsResponse:
        """Return exclusions, newest first."""
        size = fields.page_size(request.page_size, EXCLUSIONS_A_PAGE_MAX)
        player = fields.player(request.player)
        scope = f"exclusions/{player}/{request.includes_past}".encode()
        after = after_token(request.page_token, scope) or NEWEST
        rows = await self._database.run(
            lambda c: c.fetch(
                f"select {_COLUMNS} where ($2 = '' or e.player = $2 or e.apart_from = $2) and ($3 or ({_IN_FORCE}))"
                " and (e.set_at_ms, e.id) < ($4, $5) order by e.set_at_ms desc, e.id desc limit $6",
                *(self._now_ms(), player, request.includes_past, *after, size + 1),
            )
        )
        response = pb.ListExclusionsResponse(exclusions=[_message(row) for row in rows[:size]])
        if len(rows) > size:
            response.next_page_token = page_token(rows[size - 1]["set_at_ms"], rows[size - 1]["id"], scope)
        return response


async def _one(connection: Connection, exclusion_id: UUID) -> pb.Exclusion:
    row = await connection.fetchrow(f"select {_COLUMNS} where e.id = $1", exclusion_id)
    if row is None:
        raise Rejected("EXCLUSION_NOT_FOUND")
    return _message(row)


def _message(row: asyncpg.Record) -> pb.Exclusion:
    return pb.Exclusion(exclusion_id=str(row["id"]), **{name: row[name] for name in _NAMES})
