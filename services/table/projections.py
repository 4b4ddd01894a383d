"""What is written down from the table service's own feed: tables, who sits where, every hand's place and outcome.

`index` asks for it.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from diwan.chassis.database import Connection
from diwan.chassis.feed import FeedEvent
from diwan.core.games.capsa.events import CapsaStarted, PairSettled
from diwan.core.hand.events import HandEnded, HandStarted, HandVoided, PotAwarded
from diwan.core.table.events import (
    BuyInRefused,
    BuyInRequested,
    SeatReleased,
    TableClosed,
    TableClosing,
    TableCreated,
)
from diwan.core.table.hosting.events import (
    GuestJoined,
    GuestRemoved,
    HostChanged,
    InvitationAnswered,
    InvitationRevoked,
    InvitationSent,
    JoinCodeIssued,
    SettingsChanged,
)
from diwan.core.table.playing import StartedEvent
from diwan.core.table.tournament.events import EntrantReleased, EntrantSeated
from diwan.wire.events import decode, types_named
from diwan.wire.hand import RESULT_NUMBER
from services.table import guests

CONSUMER: Final = "table_projections"

_TOLD_BY: Final = types_named(
    "hand_started",
    "capsa_started",
    "pair_settled",
    "pot_awarded",
    "hand_voided",
    "hand_ended",
    "buy_in_requested",
    "buy_in_refused",
    "seat_released",
    "entrant_seated",
    "entrant_released",
    "table_created",
    "table_closing",
    "table_closed",
    "settings_changed",
    "host_changed",
    "invitation_sent",
    "invitation_answered",
    "invitation_revoked",
    "guest_joined",
    "guest_removed",
    "join_code_issued",
)
"""The events that the projections are made of; all others are passed over unread."""

_SITTING: Final = (
    "insert into sitting_index (sitting, table_id, seat, player, is_bot, first_version) values ($1, $2, $3, $4, $5, $6)"
)


async def apply(connection: Connection, events: Sequence[FeedEvent]) -> None:
    """Bring the projections on by some events, inside the transaction that moves the cursor."""
    for fed in events:
        stored = fed.event
        if stored.type_id not in _TOLD_BY:
            continue
        event = decode(stored.type_id, stored.schema_v, stored.body).event
        table_id = stored.stream_id
        match event:
            case HandStarted() | CapsaStarted():
                await _hand_began(connection, table_id, stored.version, event)
            case PotAwarded():
                await _add_pot(connection, table_id, event.amount)
            case PairSettled():
                await _add_pot(connection, table_id, abs(event.chips))
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
                    _SITTING, UUID(event.transfer_id), table_id, event.seat, event.player, event.is_bot, stored.version
                )
            case BuyInRefused(transfer_id=transfer_id):
                # A refused buy-in frees the seat, a refused top-up does not: only the first is the sitting's own id.
                await _sitting_ended(connection, transfer_id, stored.version)
            case SeatReleased(sitting=sitting):
                await _sitting_ended(connection, sitting, stored.version)
            case EntrantSeated():
                await connection.execute(
                    _SITTING, UUID(event.move_id), table_id, event.seat, event.player, event.is_bot, stored.version
                )
            case EntrantReleased():
                await connection.execute(
                    "update sitting_index set last_version = $3"
                    " where table_id = $1 and seat = $2 and last_version is null",
                    *(table_id, event.seat, stored.version),
                )
            case TableCreated():
                await _table_created(connection, event)
            case TableClosing():
                await connection.execute("update table_index set is_closing = true where table_id = $1", table_id)
            case TableClosed():
                await connection.execute("update table_index set is_closed = true where table_id = $1", table_id)
            case SettingsChanged() | HostChanged() | JoinCodeIssued():
                await guests.apply_to_table(connection, table_id, event)
            case InvitationSent() | InvitationAnswered() | InvitationRevoked() | GuestJoined() | GuestRemoved():
                await guests.apply_to_guest(connection, table_id, event)
            case _:
                pass


async def _hand_began(connection: Connection, table_id: UUID, version: int, event: StartedEvent) -> None:
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


async def _sitting_ended(connection: Connection, sitting: str, version: int) -> None:
    await connection.execute("update sitting_index set last_version = $2 where sitting = $1", UUID(sitting), version)


async def _table_created(connection: Connection, event: TableCreated) -> None:
    sought = guests.sought(event.config)
    await connection.execute(
        "insert into table_index (table_id, created_at_ms, created_by, host, first_host, game, bet_limit, stake, seats,"
        " chips, bots_fill, is_private, config) values ($1, $2, $3, $4, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        *(UUID(event.table_id), event.created_at_ms, event.created_by, event.host, *sought),
    )
