"""What is asked of the projections: which tournaments fit, who has an entry where."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from uuid import UUID

import msgspec

from diwan.chassis.database import Database
from diwan.chassis.paging import NEWEST
from diwan.chassis.store import StreamHead


class Sought(msgspec.Struct, frozen=True, kw_only=True):
    """Which tournaments are looked for; what is empty, 0 or None excludes none.

    Those that are over are told only where their phase is named. With ``is_own`` only those of ``player`` are.
    """

    kinds: tuple[str, ...] = ()
    games: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    price_min: int = 0
    price_max: int = 0
    has_bots: bool | None = None
    is_open: bool | None = None
    player: str = ""
    is_own: bool = False


class Line(msgspec.Struct, frozen=True):
    """A tournament as the lobby knows it; ``config`` is the message TournamentConfig."""

    tournament_id: UUID
    created_at_ms: int
    phase: str
    is_open: bool
    starts_at_ms: int
    entries: int
    bots: int
    players_left: int
    pool: int
    multiplier: int
    config: bytes


_FOUND: Final = """
select tournament_id, created_at_ms, phase, is_open, starts_at_ms, entries, bots, players_left, pool, multiplier, config
from tournament_index t
where (created_at_ms, tournament_id) < ($1, $2)
  and (cardinality($3::text[]) = 0 or kind = any ($3)) and (cardinality($4::text[]) = 0 or game = any ($4))
  and case when cardinality($5::text[]) = 0 then not is_over else phase = any ($5) end
  and entry + fee >= $6 and ($7::bigint is null or entry + fee <= $7)
  and ($8::boolean is null or has_bots = $8) and ($9::boolean is null or is_open = $9)
  and (not $10 or exists (select from entry_index e where e.tournament_id = t.tournament_id and e.player = $11
                           and not e.is_ended))
order by created_at_ms desc, tournament_id desc limit $12
"""


UNFINISHED: Final = """
select s.stream_id, s.kind, s.version, s.epoch, s.head_hash, s.recorded_at_ms, s.owner,
       coalesce(s.lease_until > now(), false) as is_leased
from unfinished_tournament u join stream s on s.stream_id = u.tournament_id
"""
_IS_OVER: Final = "select is_over from tournament_index where tournament_id = $1"


class EntryLine(msgspec.Struct, frozen=True):
    """Who has an entry."""

    tournament_id: UUID
    entry_no: int
    player: str
    is_bot: bool
    is_ended: bool
    is_removed: bool


class PaymentLine(msgspec.Struct, frozen=True):
    """What a player is paid."""

    player: str
    code: str
    amount: int


_ENTRIES: Final = """
select tournament_id, entry_no, player, is_bot, is_ended, is_removed from entry_index
where tournament_id = any($1::uuid[]) order by tournament_id, entry_no
"""
_TABLES: Final = "select tournament_id, table_no, table_id from table_index where tournament_id = any($1::uuid[])"
_PAYMENTS: Final = """
select tournament_id, key, player, code, amount from payment_index where tournament_id = any($1::uuid[])
"""


class Index:
    """Questions to the projections."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def unfinished(self) -> list[StreamHead]:
        """Return the streams of all tournaments that are not over, and of some that are since a moment ago."""
        rows = await self._database.run(lambda c: c.fetch(UNFINISHED))
        return [StreamHead(*row) for row in rows]

    async def is_over(self, tournament_id: UUID) -> bool:
        """Say whether a tournament is over, as far as the index has come."""
        return bool(await self._database.run(lambda c: c.fetchval(_IS_OVER, tournament_id)))

    async def found(self, sought: Sought, after: tuple[int, UUID] | None, limit: int) -> list[Line]:
        """Return tournaments that fit, newest first."""
        rows = await self._database.run(
            lambda c: c.fetch(
                _FOUND,
                *(after or NEWEST),
                *(list(sought.kinds), list(sought.games), list(sought.phases), sought.price_min),
                *(sought.price_max or None, sought.has_bots, sought.is_open, sought.is_own, sought.player, limit),
            )
        )
        return [Line(*row) for row in rows]

    async def entries(self, tournaments: Collection[UUID]) -> list[EntryLine]:
        """Return everybody's entries to some tournaments, as far as the index has come."""
        rows = await self._database.run(lambda c: c.fetch(_ENTRIES, list(tournaments)))
        return [EntryLine(*row) for row in rows]

    async def tables(self, tournaments: Collection[UUID]) -> dict[tuple[UUID, int], str]:
        """Return the ids of some tournaments' tables, by their numbers."""
        rows = await self._database.run(lambda c: c.fetch(_TABLES, list(tournaments)))
        return {(row["tournament_id"], row["table_no"]): row["table_id"] for row in rows}

    async def payments(self, tournaments: Collection[UUID]) -> dict[tuple[UUID, str], PaymentLine]:
        """Return what players of some tournaments are paid, by the keys of the payments."""
        rows = await self._database.run(lambda c: c.fetch(_PAYMENTS, list(tournaments)))
        return {(row[0], row[1]): PaymentLine(*row[2:]) for row in map(tuple, rows)}
