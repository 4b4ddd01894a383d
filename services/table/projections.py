"""What is read from the table service's own feed: open tables, who sits where, every hand's place and outcome."""

import base64
from collections.abc import Sequence
from typing import Final
from uuid import UUID

import asyncpg
import msgspec

from diwan.api.event.v1.event_pb2 import Event
from diwan.chassis.database import Connection, Database
from diwan.chassis.feed import FeedEvent
from diwan.core.decider import Rejected
from diwan.core.hand.events import HandEnded, HandStarted, HandVoided, PotAwarded
from diwan.core.table.events import BuyInRefused, BuyInRequested, SeatReleased, TableClosed, TableCreated
from diwan.wire.events import decode
from diwan.wire.hand import RESULT_NUMBER

CONSUMER: Final = "table_projections"

_TOLD_BY: Final = frozenset(
    Event.DESCRIPTOR.fields_by_name[name].number
    for name in (
        "hand_started",
        "pot_awarded",
        "hand_voided",
        "hand_ended",
        "buy_in_requested",
        "buy_in_refused",
        "seat_released",
        "table_created",
        "table_closed",
    )
)
"""The events that the projections are made of; all others are passed over unread."""


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


async def apply(connection: Connection, events: Sequence[FeedEvent]) -> None:
    """Bring the projections on by some events, inside the transaction that moves the cursor."""
    for fed in events:
        stored = fed.event
        if stored.type_id not in _TOLD_BY:
            continue
        event = decode(stored.type_id, stored.schema_v, stored.body).event
        table_id = stored.stream_id
        match event:
            case HandStarted():
                await _hand_began(connection, table_id, stored.version, event)
            case PotAwarded():
                await _add_pot(connection, table_id, event.amount)
            case HandVoided():
                await _add_pot(connection, table_id, sum(share.amount for share in event.refunds))
            case HandEnded():
                await connection.execute(
                    "update hand_index set last_version = $2, result = $3, payoffs = $4"
                    " where table_id = $1 and last_version = 0",
                    *(table_id, stored.version, RESULT_NUMBER[event.result], event.payoffs),
                )
            case BuyInRequested():
                await connection.execute(
                    "insert into seat_index (table_id, seat, player, sitting) values ($1, $2, $3, $4)",
                    *(table_id, event.seat, event.player, event.transfer_id),
                )
            case BuyInRefused():
                await _free_unfunded(connection, table_id, event.seat, event.transfer_id)
            case SeatReleased():
                await _free(connection, table_id, event.seat)
            case TableCreated():
                await connection.execute(
                    "insert into table_index (table_id, name, created_at_ms) values ($1, $2, $3)",
                    *(table_id, event.config.name, event.created_at_ms),
                )
            case TableClosed():
                await connection.execute("update table_index set is_closed = true where table_id = $1", table_id)
            case _:
                pass


async def _hand_began(connection: Connection, table_id: UUID, version: int, event: HandStarted) -> None:
    hand_id = UUID(event.hand_id)
    players = [seat.player for seat in event.seats]
    await connection.execute(
        "insert into hand_index (hand_id, table_id, hand_no, first_version, started_at_ms, game, players)"
        " values ($1, $2, $3, $4, $5, $6, $7)",
        *(hand_id, table_id, event.hand_no, version, event.started_at_ms, event.settings.game, players),
    )
    await connection.execute(
        "insert into hand_seat (player, started_at_ms, hand_id, place, seat, stack)"
        " select player, $2, $1, place - 1, seat, stack"
        " from unnest($3::text[], $4::smallint[], $5::bigint[]) with ordinality as dealt (player, seat, stack, place)",
        *(hand_id, event.started_at_ms, players),
        *([seat.seat for seat in event.seats], [seat.stack for seat in event.seats]),
    )


async def _add_pot(connection: Connection, table_id: UUID, amount: int) -> None:
    await connection.execute(
        "update hand_index set pot = pot + $2 where table_id = $1 and last_version = 0", table_id, amount
    )


async def _free(connection: Connection, table_id: UUID, seat: int) -> None:
    await connection.execute("delete from seat_index where table_id = $1 and seat = $2", table_id, seat)


async def _free_unfunded(connection: Connection, table_id: UUID, seat: int, transfer_id: str) -> None:
    """A refused buy-in frees the seat, a refused top-up does not: only the first is the sitting's own transfer."""
    await connection.execute(
        "delete from seat_index where table_id = $1 and seat = $2 and sitting = $3", table_id, seat, transfer_id
    )


NEWEST: Final = (2**62, UUID(int=2**128 - 1))
"""A place behind every line: where the first page begins."""


def page_token(*parts: object) -> str:
    """Return an opaque, URL-safe token for where a page ended."""
    return base64.urlsafe_b64encode("/".join(map(str, parts)).encode()).decode().rstrip("=")


def after_token(token: str) -> tuple[int, UUID] | None:
    """Return the (time, id) that a token stands for, None for no token; raises PAGE_TOKEN_INVALID."""
    if not token:
        return None
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
        time_ms, _, last_id = raw.partition("/")
        parsed = int(time_ms), UUID(last_id)
    except (ValueError, UnicodeDecodeError):
        raise Rejected("PAGE_TOKEN_INVALID") from None
    if not 0 <= parsed[0] < 2**62:
        raise Rejected("PAGE_TOKEN_INVALID")
    return parsed


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


class Projections:
    """Questions to the projections."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def closed_tables(self) -> set[UUID]:
        """Return the tables whose story is over."""
        rows = await self._database.run(lambda c: c.fetch("select table_id from table_index where is_closed"))
        return {row["table_id"] for row in rows}

    async def open_tables(self, after: tuple[int, UUID] | None, limit: int) -> list[tuple[UUID, int]]:
        """Return open tables, newest first, as (id, created at)."""
        before_ms, before_id = after or NEWEST
        rows = await self._database.run(
            lambda c: c.fetch(
                "select table_id, created_at_ms from table_index where not is_closed"
                " and (created_at_ms, table_id) < ($1, $2) order by created_at_ms desc, table_id desc limit $3",
                *(before_ms, before_id, limit),
            )
        )
        return [(row["table_id"], row["created_at_ms"]) for row in rows]

    async def tables_of(self, player: str) -> set[UUID]:
        """Return the tables at which a player sits, as far as the index has come."""
        rows = await self._database.run(
            lambda c: c.fetch("select distinct table_id from seat_index where player = $1", player)
        )
        return {row["table_id"] for row in rows}

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
