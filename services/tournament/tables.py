"""Tables as tournaments direct them: every order under an id of its own, so that asking twice is asking once."""

from __future__ import annotations

from enum import IntEnum
from typing import Final
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from diwan.api.event.v1 import tournament_table_pb2
from diwan.api.table.v1 import tournament_pb2 as pb
from diwan.api.table.v1.tournament_pb2_grpc import TournamentTableServiceStub
from diwan.client import DiwanError
from diwan.client.connection import Connection
from diwan.core.decider import Rejected
from diwan.core.hand.settings import HandSettings
from diwan.core.table.checking import checked
from diwan.core.table.config import TableConfig
from diwan.core.table.tournament.terms import BlindLevel, TournamentTerms
from diwan.core.tournament.checking import FIELD_MAX
from diwan.core.tournament.orders import (
    AddChips,
    CloseTable,
    GrantHand,
    OpenTable,
    ReleaseEntrant,
    ReleaseRunout,
    SeatEntrant,
    SetClock,
    SetStartMode,
    TableOrder,
)
from diwan.core.tournament.settings import Level, TournamentConfig
from diwan.core.tournament.state import Clock, TournamentState
from diwan.wire.table import START_NUMBER, write_config
from services.tournament.wallet import Unanswered

_DONE: Final = frozenset({"ROUND_GRANTED_ALREADY", "ORDER_OVERTAKEN"})
"""Refusals that say that what was asked for has happened."""

_ASK_AGAIN: Final = frozenset({"UNKNOWN_OUTCOME", "INTERNAL", "TABLE_MOVED", "TABLE_BUSY", "SERVICE_DRAINING"})

_GONE: Final = frozenset({"none", "out"})
"""Who stands so sits at no table of the tournament any more, unless entered anew."""

_NO_ID: Final = str(UUID(int=0))


class Numbered(IntEnum):
    """Orders that go by a number of their own at each table; the kind and the number are in the order's id."""

    START = 1
    CLOCK = 2
    GRANT = 3
    RUNOUT = 4
    CLOSE = 5


def numbered_id(kind: Numbered, number: int) -> str:
    """Return the id of a numbered order: a UUID of version 8 that says which it is."""
    return f"{kind:08x}-0000-8000-8000-{number:012x}"


def order_id_of(order: TableOrder) -> str:
    """Return the id under which an order goes into its table's log."""
    match order:
        case OpenTable():
            return order.table_id
        case CloseTable():
            return numbered_id(Numbered.CLOSE, order.table_no)
        case SeatEntrant() | ReleaseEntrant():
            return order.move_id
        case AddChips():
            return order.add_id
        case SetStartMode():
            return numbered_id(Numbered.START, order.start_no)
        case SetClock():
            return numbered_id(Numbered.CLOCK, order.clock.clock_no)
        case GrantHand():
            return numbered_id(Numbered.GRANT, order.round_no)
        case ReleaseRunout():
            return numbered_id(Numbered.RUNOUT, order.hand_no)


class Bans(Struct, frozen=True):
    """What is in force for a player at all tables: no seat at all, with what is told then; never one beside these."""

    is_suspended: bool = False
    note: str = ""
    until_ms: int = 0
    apart_from: frozenset[str] = frozenset()

    def check(self, state: TournamentState) -> None:
        """Raise PLAYER_EXCLUDED where the player may not enter. Who else is meant is not told."""
        if self.is_suspended:
            raise Rejected("PLAYER_EXCLUDED", kind="suspended", note=self.note, until_ms=self.until_ms)
        others = [state.entrants.get(other) for other in self.apart_from]
        if any(other is not None and other.standing not in _GONE for other in others):
            raise Rejected("PLAYER_EXCLUDED", kind="kept_apart")


class TableDesk:
    """Sends orders to the table service."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = TournamentTableServiceStub(connection.channel)

    async def send(self, tournament_id: str, config: TournamentConfig, order: TableOrder) -> None:
        """Send an order until the table service has answered once; raises `Rejected` or `Unanswered`."""
        try:
            if isinstance(order, OpenTable):
                await self._open(tournament_id, config, order)
                return
            await self._give(_request(order))
        except DiwanError as error:
            if not _is_final(error):
                raise Unanswered(str(error)) from None
            raise Rejected(error.reason, **error.metadata) from None

    async def bans_of(self, player: str) -> Bans:
        """Return what keeps a player from seats (CL-7); raises SERVICE_UNAVAILABLE where tables do not answer."""
        try:
            told = await self._connection.unary(self._stub.GetSeatingBans, pb.GetSeatingBansRequest(player=player))
        except DiwanError as error:
            if _is_final(error):
                raise Rejected(error.reason, **error.metadata) from None
            raise Rejected("SERVICE_UNAVAILABLE", needed="table") from None
        return Bans(told.is_suspended, told.note, told.until_ms, frozenset(told.apart_from))

    async def _open(self, tournament_id: str, config: TournamentConfig, order: OpenTable) -> None:
        request = pb.OpenTournamentTableRequest(table_id=order.table_id)
        write_config(request.config, table_config(tournament_id, config, order))
        # What is left out is as usual at tables, which is not none.
        request.config.time_bank_seconds = config.tables.time_bank_seconds
        request.config.time_bank_gain_seconds = config.tables.time_bank_gain_seconds
        await self._connection.unary(self._stub.OpenTournamentTable, request)
        if order.clock.clock_no:
            await self._give(_request(SetClock(order.table_no, order.table_id, order.clock)))

    async def _give(self, request: pb.GiveOrderRequest) -> None:
        try:
            await self._connection.unary(self._stub.GiveOrder, request)
        except DiwanError as error:
            if error.reason not in _DONE:
                raise


def _is_final(error: DiwanError) -> bool:
    return error.is_from_server and not error.can_be_retried and error.reason not in _ASK_AGAIN


_CAUSES: Final = {
    "moved": tournament_table_pb2.RELEASE_CAUSE_MOVED,
    "removed": tournament_table_pb2.RELEASE_CAUSE_REMOVED,
}


def _request(order: TableOrder) -> pb.GiveOrderRequest:
    """Return an order as the table service takes it."""
    request = pb.GiveOrderRequest(order_id=order_id_of(order), table_id=order.table_id)
    match order:
        case SeatEntrant():
            _write_seating(request.seat_entrant, order)
        case ReleaseEntrant():
            request.release_entrant.player = order.player
            request.release_entrant.cause = _CAUSES[order.cause]
        case AddChips():
            request.add_chips.player = order.player
            request.add_chips.amount = order.amount
        case SetClock():
            request.set_clock.base_ms = order.clock.base_ms
            request.set_clock.stopped_at_ms = order.clock.paused_at_ms
            request.set_clock.clock_no = order.clock.clock_no
        case SetStartMode():
            request.set_start_mode.mode = START_NUMBER[order.mode]
            request.set_start_mode.start_no = order.start_no
        case GrantHand():
            request.grant_hand.round_no = order.round_no
            request.grant_hand.hold_ms = order.runout_ms if order.holds_runouts else 0
        case ReleaseRunout():
            request.release_runout.hand_no = order.hand_no
        case CloseTable():
            request.close_table.SetInParent()
    return request


def _write_seating(message: pb.SeatEntrantOrder, order: SeatEntrant) -> None:
    message.seat = order.seat
    message.player = order.player
    message.is_bot = order.is_bot
    message.stack = order.stack
    message.destellos = order.destellos
    if order.time_bank_ms is not None:
        message.time_bank_ms = order.time_bank_ms


def table_config(tournament_id: str, config: TournamentConfig, order: OpenTable) -> TableConfig:
    """Return the settings of a tournament's table: its whole ladder is in them, so play goes on without us.

    The level clock is not among them: it is set by an order of its own behind the opening, so that the same table is
    asked for with the same settings however often and whenever.
    """
    levels = tuple(_level(config, number, order.level_ms) for number in range(1, len(config.ladder.levels) + 1))
    return TableConfig(
        name=f"{config.name} {order.table_no}"[:60],
        hand=first_hand(config),
        seats=order.seats,
        buy_in_min=0,
        buy_in_max=0,
        pause_ms=config.tables.pause_ms,
        reserve_seconds=config.tables.reserve_seconds,
        sit_out_after=0,
        return_minutes=0,
        time_bank_seconds=config.tables.time_bank_seconds,
        time_bank_gain_seconds=config.tables.time_bank_gain_seconds,
        spectator_delay_events=config.tables.spectator_delay_events,
        chips="tournament",
        start="on_grant",
        tournament=TournamentTerms(
            tournament_id=tournament_id,
            levels=levels,
            table_no=order.table_no,
            first_button=None if config.hand.game == "sarab" else order.button,
        ),
    )


def check_tables(config: TournamentConfig) -> None:
    """Refuse a tournament whose tables could not be opened: raises SETTING_INVALID, which says why.

    Its own settings are checked already (`checking`); here they are seen as a table sees them.
    """
    sizes = {config.table_size, max(config.table_size, config.floor.final_table_at)}
    lengths = {0, *[line.level_ms for line in config.multipliers]}
    for seats in sizes:
        for level_ms in lengths:
            order = OpenTable(FIELD_MAX, _NO_ID, seats, 0, Clock(), level_ms)
            checked(table_config(_NO_ID, config, order))


def first_hand(config: TournamentConfig) -> HandSettings:
    """Return the settings of hands with the blinds of the first level."""
    first = config.ladder.levels[0]
    return replace(config.hand, small_blind=first.small_blind, big_blind=first.big_blind)


def _level(config: TournamentConfig, number: int, level_ms: int) -> BlindLevel:
    """Return a level as a table knows it; ``level_ms`` is what a Spin's multiplier makes of a level's length."""
    level: Level = config.ladder.levels[number - 1]
    return BlindLevel(
        small_blind=level.small_blind,
        big_blind=level.big_blind,
        ante=level.ante,
        ante_kind="big_blind" if level.ante_kind == "big_blind" else "each",
        duration_ms=level.duration_ms and (level_ms or level.duration_ms),
        hands=level.hands,
        break_after_ms=sum(each.duration_ms for each in config.ladder.breaks if each.after_level == number),
    )
