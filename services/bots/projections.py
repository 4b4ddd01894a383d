"""What the tables' feed tells the bots, applied with the cursor in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID, uuid4

from diwan.api.event.v1.event_pb2 import Event as Envelope
from diwan.chassis.database import Connection
from diwan.chassis.feed import FeedEvent
from diwan.core.table.config import TableConfig
from diwan.core.table.events import (
    BuyInRefused,
    BuyInRequested,
    MatchStarted,
    SeatFunded,
    SeatReleased,
    TableClosed,
    TableClosing,
    TableCreated,
)
from diwan.core.table.hosting.events import SettingsChanged
from diwan.core.table.tournament.events import EntrantReleased, EntrantSeated
from diwan.core.table.waiting.events import SeatWanted, WaitEnded
from diwan.wire.events import Event, decode

PLAYED_GAMES: Final = frozenset({"holdem", "omaha", "naiko", "sarab", "capsa"})
"""Games that a policy is there for."""

BUY_IN_BLINDS: Final = 100
"""What a bot brings where the table allows it."""

BUY_IN_RESERVES: Final = 3
"""The same in Capsa, in what the table lets one sit down with, which is by default a full table's reserve."""

_TOLD: Final = frozenset(
    {
        Envelope.TABLE_CREATED_FIELD_NUMBER,
        Envelope.BUY_IN_REQUESTED_FIELD_NUMBER,
        Envelope.SEAT_FUNDED_FIELD_NUMBER,
        Envelope.BUY_IN_REFUSED_FIELD_NUMBER,
        Envelope.SEAT_RELEASED_FIELD_NUMBER,
        Envelope.TABLE_CLOSING_FIELD_NUMBER,
        Envelope.MATCH_STARTED_FIELD_NUMBER,
        Envelope.TABLE_CLOSED_FIELD_NUMBER,
        Envelope.SETTINGS_CHANGED_FIELD_NUMBER,
        Envelope.SEAT_WANTED_FIELD_NUMBER,
        Envelope.WAIT_ENDED_FIELD_NUMBER,
        Envelope.ENTRANT_SEATED_FIELD_NUMBER,
        Envelope.ENTRANT_RELEASED_FIELD_NUMBER,
    }
)

_TAKE: Final = """
insert into taken_seat (table_id, seat, player, sitting)
select $1, $2, $3, $4 where exists (select from watched_table where table_id = $1)
on conflict (table_id, seat) do update set player = excluded.player, sitting = excluded.sitting, is_funded = false
"""
_WAIT: Final = """
insert into waiting_person (table_id, player)
select $1, $2 where exists (select from watched_table where table_id = $1) on conflict do nothing
"""
_ENTER: Final = """
insert into assignment (player, table_id, request_id, buy_in, is_entrant)
select $1, $2, $3, 0, true where exists (select from watched_table where table_id = $2)
on conflict (player) do update set table_id = excluded.table_id, request_id = excluded.request_id, is_entrant = true,
    is_leaving = false
"""


class TableProjection:
    """Keeps `watched_table` and `taken_seat`, and forgets bots whose seat is gone. ``touched_seq`` is a hint."""

    def __init__(self) -> None:
        self.touched_seq = 0

    async def apply(self, connection: Connection, events: Sequence[FeedEvent]) -> None:
        """Apply events of the feed; a `Consumer` calls it inside its transaction."""
        for each in events:
            stored = each.event
            if stored.type_id not in _TOLD:
                continue
            decoded = decode(stored.type_id, stored.schema_v, stored.body)
            await _apply_one(connection, stored.stream_id, decoded.event)
            self.touched_seq = max(self.touched_seq, each.global_seq)


async def _apply_one(connection: Connection, table_id: UUID, event: Event) -> None:
    match event:
        case TableCreated() | SettingsChanged():
            await _watch(connection, table_id, event.config)
        case BuyInRequested():
            await connection.execute(_TAKE, table_id, event.seat, event.player, UUID(event.transfer_id))
        case SeatFunded():
            funded = "update taken_seat set is_funded = true where table_id = $1 and sitting = $2"
            await connection.execute(funded, table_id, UUID(event.transfer_id))
        case BuyInRefused():
            # A refused top-up has another transfer than the stay, and changes no seat.
            await _free(connection, table_id, UUID(event.transfer_id))
        case SeatReleased():
            await _free(connection, table_id, UUID(event.sitting))
        case EntrantSeated(player=player) if event.is_bot:
            await connection.execute(_ENTER, player, table_id, uuid4())
        case EntrantReleased(player=player):
            gone = "delete from assignment where table_id = $1 and player = $2 and is_entrant"
            await connection.execute(gone, table_id, player)
        case SeatWanted(player=player):
            await connection.execute(_WAIT, table_id, player)
        case WaitEnded(player=player):
            ended = "delete from waiting_person where table_id = $1 and player = $2"
            await connection.execute(ended, table_id, player)
        case TableClosing() | MatchStarted():  # A match takes nobody any more.
            await connection.execute("update watched_table set is_closing = true where table_id = $1", table_id)
        case TableClosed():
            await connection.execute("delete from watched_table where table_id = $1", table_id)


async def _watch(connection: Connection, table_id: UUID, config: TableConfig) -> None:
    """Remember a table of a game that we play; one that wants no bots may come to want some by a change of settings."""
    if config.game not in PLAYED_GAMES:
        return
    # A match costs its entry: both bounds are that.
    usual = BUY_IN_BLINDS * config.hand.big_blind if config.capsa is None else BUY_IN_RESERVES * config.buy_in_min
    buy_in = max(config.buy_in_min, min(config.buy_in_max, usual))
    await connection.execute(
        "insert into watched_table (table_id, seats, bots_fill, buy_in, is_tournament) values ($1, $2, $3, $4, $5)"
        " on conflict (table_id) do update set seats = $2, bots_fill = $3, buy_in = $4",
        *(table_id, config.seats, config.bots_fill, buy_in, config.tournament is not None),
    )


async def _free(connection: Connection, table_id: UUID, sitting: UUID) -> None:
    """Free the seat of a stay; a bot that held it is free for another table."""
    player = await connection.fetchval(
        "delete from taken_seat where table_id = $1 and sitting = $2 returning player", table_id, sitting
    )
    if player is not None:
        await connection.execute("delete from assignment where table_id = $1 and player = $2", table_id, player)
