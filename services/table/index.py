"""What the service is asked of its own past: open tables, who sits where, every hand's place and outcome.

`projections` writes what is read here, from the service's own feed.
"""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

import asyncpg
import msgspec

from diwan.chassis.database import Database
from diwan.chassis.paging import NEWEST
from diwan.core.log import StreamKind


class HandLine(msgspec.Struct, frozen=True, kw_only=True):
    """One hand as the index knows it; ``last_version`` 0 while it runs, ``result`` by the contract's numbers."""

    hand_id: UUID
    table_id: UUID
    hand_no: int
    first_version: int
    last_version: int
    result: int
    started_at_ms: int
    pot: int
    players: tuple[str, ...]


class OwnHandLine(HandLine, frozen=True, kw_only=True):
    """A hand as one of its players looks back on it; ``net`` is 0 while it runs."""

    game: str
    seat: int
    stack: int
    net: int


class TableLine(msgspec.Struct, frozen=True):
    """A table as the lobby knows it; ``config`` is the message TableConfig."""

    table_id: UUID
    created_at_ms: int
    is_closing: bool
    host: str
    config: bytes
    people: int
    bots: int


class SittingLine(msgspec.Struct, frozen=True):
    """Who had a seat from which version of its table to which; ``last_version`` is None while it is held."""

    table_id: UUID
    seat: int
    player: str
    is_bot: bool
    first_version: int
    last_version: int | None

    def covers(self, version: int) -> bool:
        """Say whether the seat was held when an event happened."""
        return self.first_version <= version and (self.last_version is None or version <= self.last_version)


class InvitationLine(msgspec.Struct, frozen=True):
    """A player's newest invitation to a table; ``status`` by the contract's numbers, as it stands now."""

    table_id: UUID
    player: str
    id: UUID
    status: int
    invited_by: str
    sent_at_ms: int
    expires_at_ms: int
    host: str
    config: bytes


class Sought(msgspec.Struct, frozen=True, kw_only=True):
    """Which tables are looked for; what is empty, 0 or None excludes none. ``chips`` by the contract's numbers.

    Tables of tournaments are found by their ``chips`` alone. ``viewer`` is who looks: private tables are found by their hosts and guests, and all of them by who ``sees_all``.
    """

    games: tuple[str, ...] = ()
    limit: str = ""
    stake_min: int = 0
    stake_max: int = 0
    free_seats_min: int = 0
    chips: int = 0
    has_bots: bool | None = None
    is_private: bool | None = None
    viewer: str | None = None
    sees_all: bool = False
    now_ms: int = 0


_TABLES: Final = """
select t.table_id, t.created_at_ms, t.is_closing, t.host, t.config, s.people, s.bots
from table_index t,
     lateral (select count(*) filter (where not is_bot) as people, count(*) filter (where is_bot) as bots
              from sitting_index where table_id = t.table_id and last_version is null) s
where not t.is_closed and (t.created_at_ms, t.table_id) < ($1, $2)
  and (cardinality($3::text[]) = 0 or t.game = any ($3)) and ($4 = '' or t.bet_limit = $4)
  and t.stake >= $5 and ($6::bigint is null or t.stake <= $6)
  and (case $7::smallint when 0 then t.chips <> 3 else t.chips = $7 end) and ($8::boolean is null or (t.bots_fill > 0) = $8)
  and t.seats - s.people - s.bots >= $9 and ($10::boolean is null or t.is_private = $10)
  and (not t.is_private or $11 or t.host = $12
       or exists (select from guest_index g where g.table_id = t.table_id and g.player = $12
                  and (g.status = 2 or g.status = 1 and g.expires_at_ms > $13))
       or exists (select from sitting_index i where i.table_id = t.table_id and i.player = $12 and last_version is null))
order by t.created_at_ms desc, t.table_id desc limit $14
"""
_SITTINGS: Final = """
select i.table_id, i.seat, i.player, i.is_bot, i.first_version, i.last_version
from unnest($1::uuid[], $2::bigint[]) as wanted (table_id, since), lateral (
    select * from sitting_index i where i.table_id = wanted.table_id
    and (i.last_version is null or i.last_version >= wanted.since)) i
"""
_INVITATIONS: Final = """
select g.table_id, g.player, g.id, case when g.status = 1 and g.expires_at_ms <= $1 then 4 else g.status end,
       g.invited_by, g.sent_at_ms, g.expires_at_ms, t.host, t.config
from guest_index g join table_index t using (table_id)
where not t.is_closed and ($2::uuid is null or g.table_id = $2) and ($3 = '' or g.player = $3)
  and ($4 = 0 or case when g.status = 1 and g.expires_at_ms <= $1 then 4 else g.status end = $4)
  and (g.sent_at_ms, g.id) < ($5, $6)
order by g.sent_at_ms desc, g.id desc limit $7
"""
_HAND: Final = """
select h.hand_id, h.table_id, h.hand_no, h.first_version, h.last_version, h.result, h.started_at_ms, h.pot, h.players
from hand_index h
"""
_OWN: Final = """
select h.hand_id, h.table_id, h.hand_no, h.first_version, h.last_version, h.result, h.started_at_ms, h.pot, h.players,
       h.game, s.seat, s.stack, coalesce(h.payoffs[s.place + 1], 0) as net
from hand_seat s join hand_index h using (hand_id)
where s.player = $3 and (s.started_at_ms, s.hand_id) < ($1, $2) and ($4::uuid is null or h.table_id = $4)
order by s.started_at_ms desc, s.hand_id desc limit $5
"""


# Asked every few seconds by a process that owns nearly all of them: what is owned, or over, is left out here.
_UNOWNED: Final = """
select s.stream_id from stream s
where s.kind = $1 and (s.lease_until is null or s.lease_until <= now())
  and not exists (select from table_index t where t.table_id = s.stream_id and t.is_closed)
"""


class Index:
    """Questions to the projections."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def closed_tables(self) -> set[UUID]:
        """Return the tables whose story is over."""
        rows = await self._database.run(lambda c: c.fetch("select table_id from table_index where is_closed"))
        return {row["table_id"] for row in rows}

    async def unowned_tables(self) -> list[UUID]:
        """Return the tables that nobody has a lease on and whose story, as far as is known here, is not over."""
        rows = await self._database.run(lambda c: c.fetch(_UNOWNED, StreamKind.TABLE))
        return [row["stream_id"] for row in rows]

    async def open_tables(self, sought: Sought, after: tuple[int, UUID] | None, limit: int) -> list[TableLine]:
        """Return open tables that fit, newest first."""
        rows = await self._database.run(
            lambda c: c.fetch(
                _TABLES,
                *(after or NEWEST),
                *(list(sought.games), sought.limit, sought.stake_min, sought.stake_max or None),
                *(sought.chips, sought.has_bots, sought.free_seats_min, sought.is_private),
                *(sought.sees_all, sought.viewer, sought.now_ms, limit),
            )
        )
        return [TableLine(*row) for row in rows]

    async def tables_of(self, player: str) -> set[UUID]:
        """Return the tables at which a player sits, as far as the index has come."""
        rows = await self._database.run(
            lambda c: c.fetch(
                "select distinct table_id from sitting_index where player = $1 and last_version is null", player
            )
        )
        return {row["table_id"] for row in rows}

    async def sittings(self, since: Mapping[UUID, int]) -> list[SittingLine]:
        """Return who had which seats at some tables, each since a version, as far as the index has come."""
        if not since:
            return []
        rows = await self._database.run(lambda c: c.fetch(_SITTINGS, list(since), list(since.values())))
        return [SittingLine(*row) for row in rows]

    async def tables_hosted_by(self, host: str) -> dict[UUID, bool]:
        """Return the open private tables that a player hosts or has opened, each with whether it is the host now."""
        rows = await self._database.run(
            lambda c: c.fetch(
                "select table_id, host from table_index where host = $1 and not is_closed"
                " union select table_id, host from table_index where first_host = $1 and not is_closed",
                host,
            )
        )
        return {row["table_id"]: row["host"] == host for row in rows}

    async def is_private(self, table_id: UUID) -> bool:
        """Say whether a table is private, as far as the index has come."""
        found = await self._database.run(
            lambda c: c.fetchval("select is_private from table_index where table_id = $1", table_id)
        )
        return bool(found)

    async def table_of_code(self, code_hash: bytes) -> UUID | None:
        """Return the table that a code was made for, counting or not, as far as the index has come."""
        found: UUID | None = await self._database.run(
            lambda c: c.fetchval("select table_id from join_code where code_hash = $1", code_hash)
        )
        return found

    async def invitations(
        self,
        *,
        table_id: UUID | None,
        player: str,
        status: int,
        now_ms: int,
        after: tuple[int, UUID] | None,
        limit: int,
    ) -> list[InvitationLine]:
        """Return invitations to open tables, newest first: of a table, or of a player."""
        rows = await self._database.run(
            lambda c: c.fetch(_INVITATIONS, now_ms, table_id, player, status, *(after or NEWEST), limit)
        )
        return [InvitationLine(*row) for row in rows]

    async def hand(self, hand_id: UUID) -> HandLine | None:
        """Return a hand's line."""
        row = await self._database.run(lambda c: c.fetchrow(_HAND + " where h.hand_id = $1", hand_id))
        return None if row is None else _line(row)

    async def hands(self, *, table_id: UUID | None, after: tuple[int, UUID] | None, limit: int) -> list[HandLine]:
        """Return hands, newest first; of a table where it is given."""
        before_ms, before_id = after or NEWEST
        rows = await self._database.run(
            lambda c: c.fetch(
                _HAND + " where (h.started_at_ms, h.hand_id) < ($1, $2) and ($3::uuid is null or h.table_id = $3)"
                " order by h.started_at_ms desc, h.hand_id desc limit $4",
                *(before_ms, before_id, table_id, limit),
            )
        )
        return [_line(row) for row in rows]

    async def hands_of(
        self, player: str, *, table_id: UUID | None, after: tuple[int, UUID] | None, limit: int
    ) -> list[OwnHandLine]:
        """Return a player's own hands, newest first; at a table where it is given."""
        rows = await self._database.run(lambda c: c.fetch(_OWN, *(after or NEWEST), player, table_id, limit))
        return [OwnHandLine(**{**row, "players": tuple(row["players"])}) for row in rows]


def _line(row: asyncpg.Record) -> HandLine:
    return HandLine(**{**row, "players": tuple(row["players"])})
