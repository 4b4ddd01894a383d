"""What is written down from the service's own feed: tournaments as a lobby is searched, and who has which entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from diwan.api.event.v1.tournament_pb2 import TournamentConfig as ConfigMessage
from diwan.chassis.database import Connection
from diwan.chassis.feed import FeedEvent
from diwan.core.tournament.events import (
    EntryAccepted,
    EntryEnded,
    EntryRequested,
    EntryWithdrawn,
    MultiplierDrawn,
    PaymentDue,
    PlayBegan,
    PlayersOut,
    PoolFixed,
    RegistrationClosed,
    RegistrationOpened,
    RemovalOrdered,
    TableOpened,
    TournamentCancelled,
    TournamentCreated,
    TournamentFinished,
    TournamentWon,
)
from diwan.wire.events import decode, types_named
from diwan.wire.tournament import write_tournament_config

CONSUMER: Final = "tournament_projections"

_TOLD_BY: Final = types_named(
    "tournament_created",
    "registration_opened",
    "registration_closed",
    "entry_requested",
    "entry_accepted",
    "entry_withdrawn",
    "entry_ended",
    "multiplier_drawn",
    "play_began",
    "players_out",
    "pool_fixed",
    "tournament_won",
    "tournament_cancelled",
    "tournament_finished",
    "payment_due",
    "table_opened",
    "removal_ordered",
)
"""The events that the projections are made of; all others, such as hands, are passed over unread."""

_ACCEPT: Final = """
with accepted as (
    update entry_index set is_accepted = true where tournament_id = $1 and entry_no = $2 returning is_bot)
update tournament_index set entries = entries + 1, bots = bots + is_bot::integer, players_left = players_left + 1,
    pool = pool + entry
from accepted where tournament_id = $1
"""
_END: Final = """
with ended as (
    update entry_index set is_ended = true where tournament_id = $1 and entry_no = $2 and not is_ended
    returning is_bot, is_accepted)
update tournament_index set entries = entries - 1, bots = bots - is_bot::integer, players_left = players_left - 1,
    pool = pool - entry
from ended where tournament_id = $1 and is_accepted
"""
_CREATE: Final = """
insert into tournament_index (tournament_id, created_at_ms, created_by, name, kind, game, entry, fee, has_bots,
    starts_at_ms, phase, config)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'announced', $11)
"""


_PAY: Final = """
insert into payment_index (tournament_id, key, player, code, amount) values ($1, $2, $3, $4, $5) on conflict do nothing
"""


async def apply(connection: Connection, events: Sequence[FeedEvent]) -> None:
    """Bring the projections on by some events, inside the transaction that moves the cursor."""
    for fed in events:
        stored = fed.event
        if stored.type_id in _TOLD_BY:
            event = decode(stored.type_id, stored.schema_v, stored.body).event
            await _apply_one(connection, stored.stream_id, event)


async def _apply_one(connection: Connection, tournament_id: UUID, event: object) -> None:
    match event:
        case TournamentCreated():
            await _created(connection, tournament_id, event)
        case RegistrationOpened():
            await _set(connection, tournament_id, "phase = 'registering', is_open = true")
        case RegistrationClosed():
            await _set(connection, tournament_id, "is_open = false")
        case EntryRequested():
            await connection.execute(
                "insert into entry_index (tournament_id, entry_no, player, is_bot) values ($1, $2, $3, $4)",
                *(tournament_id, event.entry_no, event.player, event.is_bot),
            )
        case EntryAccepted():
            await connection.execute(_ACCEPT, tournament_id, event.entry_no)
        case EntryWithdrawn() | EntryEnded():
            await connection.execute(_END, tournament_id, event.entry_no)
        case PaymentDue(payment=payment) if payment.taker in {"player", "bots"}:
            await connection.execute(_PAY, tournament_id, payment.key, payment.player, payment.code, payment.amount)
        case TableOpened():
            await connection.execute(
                "insert into table_index values ($1, $2, $3) on conflict do nothing",
                *(tournament_id, event.table_no, event.table_id),
            )
        case RemovalOrdered():
            await connection.execute(
                "update entry_index set is_removed = true where tournament_id = $1 and player = $2",
                *(tournament_id, event.player),
            )
        case MultiplierDrawn():
            await connection.execute(
                "update tournament_index set multiplier = $2 where tournament_id = $1", tournament_id, event.times
            )
        case PoolFixed():
            await connection.execute(
                "update tournament_index set pool = $2 where tournament_id = $1", tournament_id, sum(event.prizes)
            )
        case PlayBegan():
            await _set(connection, tournament_id, "phase = 'playing'")
        case PlayersOut():
            await connection.execute(
                "update tournament_index set players_left = players_left - $2 where tournament_id = $1",
                *(tournament_id, len(event.players)),
            )
        case TournamentWon() | TournamentCancelled():
            await _set(connection, tournament_id, "phase = 'paying', is_open = false")
        case TournamentFinished():
            await _set(connection, tournament_id, "phase = 'finished', is_open = false, is_over = true")
            # Late events of its tables find nobody to tell.
            await connection.execute("delete from followed_table where tournament_id = $1", tournament_id)
            await connection.execute("delete from unfinished_tournament where tournament_id = $1", tournament_id)


_SETS: Final = {
    change: f"update tournament_index set {change} where tournament_id = $1"  # noqa: S608  (changes of ours, named here)
    for change in (
        "phase = 'registering', is_open = true",
        "is_open = false",
        "phase = 'playing'",
        "phase = 'paying', is_open = false",
        "phase = 'finished', is_open = false, is_over = true",
    )
}


async def _set(connection: Connection, tournament_id: UUID, change: str) -> None:
    await connection.execute(_SETS[change], tournament_id)


async def _created(connection: Connection, tournament_id: UUID, event: TournamentCreated) -> None:
    config, message = event.config, ConfigMessage()
    write_tournament_config(message, config)
    await connection.execute(
        _CREATE,
        *(tournament_id, event.at_ms, event.created_by, config.name, config.kind, config.hand.game),
        *(config.entry, config.fee, config.bots.up_to > 0, config.entries.starts_at_ms),
        message.SerializeToString(deterministic=True),
    )
