"""What the projections keep of private tables: settings to search by, hosts, guests, the hashes of join codes."""

from typing import Final
from uuid import UUID

from diwan.api.table.v1 import hosting_pb2
from diwan.chassis.database import Connection
from diwan.chassis.ids import uuid5
from diwan.core.table.conditions import conditions_of
from diwan.core.table.config import TableConfig
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
from diwan.wire.table import CHIPS_NUMBER, config_bytes

PENDING: Final = hosting_pb2.INVITATION_STATUS_PENDING
ACCEPTED: Final = hosting_pb2.INVITATION_STATUS_ACCEPTED
DECLINED: Final = hosting_pb2.INVITATION_STATUS_DECLINED
EXPIRED: Final = hosting_pb2.INVITATION_STATUS_EXPIRED
REVOKED: Final = hosting_pb2.INVITATION_STATUS_REVOKED


def sought(config: TableConfig) -> tuple[object, ...]:
    """Return what a lobby is searched by, and the settings: game, limit, stake, seats, chips, bots, private, message."""
    shown = conditions_of(config)
    return (
        *(shown.game, shown.limit, shown.added.unit or shown.big_blind, config.seats),
        *(CHIPS_NUMBER[config.chips], config.bots_fill, config.is_private, config_bytes(config)),
    )


async def apply_to_table(
    connection: Connection, table_id: UUID, event: SettingsChanged | HostChanged | JoinCodeIssued
) -> None:
    """Keep what an event changes of a table."""
    match event:
        case SettingsChanged():
            await connection.execute(
                "update table_index set game = $2, bet_limit = $3, stake = $4, seats = $5, chips = $6, bots_fill = $7,"
                " is_private = $8, config = $9 where table_id = $1",
                *(table_id, *sought(event.config)),
            )
        case HostChanged():
            before = await connection.fetchval("select host from table_index where table_id = $1", table_id)
            if before:
                await _keep(connection, table_id, before, ACCEPTED, at_ms=event.changed_at_ms)
            await connection.execute("update table_index set host = $2 where table_id = $1", table_id, event.host)
        case JoinCodeIssued():
            await connection.execute(
                "insert into join_code (code_hash, table_id) values ($1, $2)", event.code_hash, table_id
            )


async def apply_to_guest(
    connection: Connection,
    table_id: UUID,
    event: InvitationSent | InvitationAnswered | InvitationRevoked | GuestJoined | GuestRemoved,
) -> None:
    """Keep where a player's invitation stands."""
    match event:
        case InvitationSent():
            await connection.execute(
                "insert into guest_index (table_id, player, id, status, invited_by, sent_at_ms, expires_at_ms)"
                " values ($1, $2, $3, $4, $5, $6, $7) on conflict (table_id, player) do update set status = $4,"
                " invited_by = $5, sent_at_ms = $6, expires_at_ms = $7",
                *(table_id, event.player, _guest_id(table_id, event.player), PENDING),
                *(event.invited_by, event.sent_at_ms, event.expires_at_ms),
            )
        case InvitationAnswered():
            status = ACCEPTED if event.is_accepted else DECLINED
            await _keep(connection, table_id, event.player, status, at_ms=event.answered_at_ms)
        case InvitationRevoked():
            await _keep(connection, table_id, event.player, REVOKED, at_ms=event.revoked_at_ms)
        case GuestJoined():
            await _keep(connection, table_id, event.player, ACCEPTED, at_ms=event.joined_at_ms)
        case GuestRemoved():
            await _keep(connection, table_id, event.player, REVOKED, at_ms=event.removed_at_ms)


async def _keep(connection: Connection, table_id: UUID, player: str, status: int, *, at_ms: int) -> None:
    await connection.execute(
        "insert into guest_index (table_id, player, id, status, invited_by, sent_at_ms, expires_at_ms)"
        " values ($1, $2, $3, $4, '', $5, 0) on conflict (table_id, player) do update set status = $4, expires_at_ms = 0",
        *(table_id, player, _guest_id(table_id, player), status, at_ms),
    )


def _guest_id(table_id: UUID, player: str) -> UUID:
    return uuid5(table_id, f"guest/{player}")
