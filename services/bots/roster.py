"""What the bots remember in their own database: tables that want bots, who sits there, which bot goes where."""

from __future__ import annotations

from typing import Final
from uuid import UUID, uuid4

from msgspec import Struct

from diwan.chassis.database import Connection, Database
from services.bots.seating import Occupancy


class Assignment(Struct, frozen=True):
    """A bot at a table. ``request_id`` names its asking for a seat, also after a restart."""

    player: str
    table_id: str
    request_id: str
    buy_in: int
    is_leaving: bool
    is_entrant: bool = False
    """A tournament has given it its seat, and takes it away again."""


class WatchedTable(Struct, frozen=True):
    """A table that wants bots, as the feed told."""

    table_id: str
    buy_in: int
    occupancy: Occupancy


class Known(Struct, frozen=True):
    """Everything that is remembered, at one instant."""

    tables: tuple[WatchedTable, ...]
    assignments: tuple[Assignment, ...]


_TABLES: Final = """
select t.table_id::text, t.buy_in, t.seats, t.bots_fill, t.is_closing,
       (select count(*) from taken_seat s where s.table_id = t.table_id
        and not exists (select from assignment a where a.table_id = t.table_id and a.player = s.player)) as others,
       (select count(*) from assignment a where a.table_id = t.table_id and not a.is_leaving) as staying,
       (select count(*) from assignment a where a.table_id = t.table_id and a.is_leaving) as leaving,
       (select count(*) from waiting_person w where w.table_id = t.table_id) as waiting
from watched_table t
where not t.is_tournament and (t.bots_fill > 0 or exists (select from assignment a where a.table_id = t.table_id))
order by t.table_id
"""
_ASSIGNMENTS: Final = """
select player, table_id::text, request_id::text, buy_in, is_leaving, is_entrant from assignment
order by is_entrant desc, assigned_at, player
"""
_ASSIGN: Final = """
insert into assignment (player, table_id, request_id, buy_in)
select $1, $2, $3, $4 where exists (select from watched_table where table_id = $2) on conflict do nothing
"""


class Roster:
    """Reads and writes what is remembered; what the feed tells is written by `projections`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def known(self) -> Known:
        """Return everything, in one snapshot."""

        async def work(connection: Connection) -> Known:
            await connection.execute("set transaction isolation level repeatable read, read only")
            tables = await connection.fetch(_TABLES)
            assignments = await connection.fetch(_ASSIGNMENTS)
            return Known(
                tuple(
                    WatchedTable(
                        row["table_id"],
                        row["buy_in"],
                        Occupancy(
                            seats=row["seats"],
                            bots_fill=row["bots_fill"],
                            others=row["others"],
                            staying=row["staying"],
                            leaving=row["leaving"],
                            is_closing=row["is_closing"],
                            waiting=row["waiting"],
                        ),
                    )
                    for row in tables
                ),
                tuple(Assignment(*row) for row in assignments),
            )

        return await self._database.run(work)

    async def assign(self, table: WatchedTable, players: list[str]) -> None:
        """Send bots to a table; one that is somewhere already stays there."""
        rows = [(player, UUID(table.table_id), uuid4(), table.buy_in) for player in players]
        await self._database.run(lambda c: c.executemany(_ASSIGN, rows))

    async def mark_leaving(self, player: str) -> None:
        """Remember that a bot has to stand up."""
        await self._database.run(
            lambda c: c.execute("update assignment set is_leaving = true where player = $1", player)
        )

    async def drop(self, assignment: Assignment) -> None:
        """Forget a bot that never got its seat; one that had it is forgotten when the feed says so."""
        await self._database.run(
            lambda c: c.execute("delete from assignment where request_id = $1", UUID(assignment.request_id))
        )
