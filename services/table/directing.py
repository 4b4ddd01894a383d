"""Tables of tournaments: what the tournament service orders, as asks of the table (DESIGN 8)."""

from collections.abc import Callable
from typing import Final

from diwan.api.event.v1 import tournament_table_pb2
from diwan.api.table.v1 import tournament_pb2 as pb
from diwan.chassis.calls import Call
from diwan.chassis.ids import command_id_of
from diwan.chassis.store import EventStore, begin_once
from diwan.core.decider import Rejected
from diwan.core.hand.commands import ReleaseRunout
from diwan.core.table.commands import CloseTable, CreateTable, TableCommand
from diwan.core.table.decide import decide
from diwan.core.table.events import TableCreated
from diwan.core.table.state import TableState
from diwan.core.table.tournament.commands import (
    AddChips,
    GrantHand,
    HoldRunouts,
    ReleaseEntrant,
    SeatEntrant,
    SetClock,
    SetStartMode,
)
from diwan.core.table.tournament.events import OrderedRelease
from diwan.wire.table import START_NAME
from services.table import fields
from services.table.exclusions import Exclusions
from services.table.stream import creation
from services.table.tables import Tables

_RELEASES: Final[dict[int, OrderedRelease]] = {
    tournament_table_pb2.RELEASE_CAUSE_MOVED: "moved",
    tournament_table_pb2.RELEASE_CAUSE_REMOVED: "removed",
}
"""The causes that may be ordered; the table finds the others by itself."""

type _Ordered = Callable[[TableState, int], TableCommand]
"""Makes the command of an order, from the table and the time by its clock."""


class TournamentTableServicer:
    """Answers for ``TournamentTableService``."""

    def __init__(self, tables: Tables, store: EventStore, exclusions: Exclusions, now_ms: Callable[[], int]) -> None:
        self._tables = tables
        self._exclusions = exclusions
        self._store = store
        self._now_ms = now_ms

    async def OpenTournamentTable(
        self, request: pb.OpenTournamentTableRequest, call: Call
    ) -> pb.OpenTournamentTableResponse:
        """Open a table under the id that the tournament made for it; asked again with the same settings it is the same."""
        table_id = fields.an_id(request.table_id, "table_id")
        config = fields.config(request.config)
        if config.tournament is None:
            raise Rejected("SETTING_INVALID", setting="tournament", why="whose table it is")
        subject, hashed = call.caller.subject, call.request_hash(request)
        command_id = command_id_of(subject, f"open/{table_id}")
        events = decide(None, CreateTable(str(table_id), config, subject, self._now_ms()), {})
        assert isinstance(events[0], TableCreated), "a table begins with its creation"  # noqa: S101
        is_new = await begin_once(self._store, creation(table_id, command_id, subject, hashed, events[0]))
        actor = await self._tables.get(table_id)
        return pb.OpenTournamentTableResponse(version=actor.state.version, is_replayed=not is_new)

    async def GiveOrder(self, request: pb.GiveOrderRequest, call: Call) -> pb.GiveOrderResponse:
        """Give an order to a table; what it refuses it refuses with a reason, and nothing is left of it."""
        order_id = str(fields.an_id(request.order_id, "order_id"))
        actor = await self._tables.get(fields.an_id(request.table_id, "table_id"))
        ordered = _ordered(request, order_id, call.caller.subject)

        def build(state: TableState) -> TableCommand:
            if state.config.tournament is None:
                raise Rejected("NOT_A_TOURNAMENT_TABLE", table_id=str(actor.table_id))
            return ordered(state, actor.clock.now_ms())

        answer = await actor.ask(
            build,
            command_id=command_id_of(call.caller.subject, order_id),
            caller=call.caller.subject,
            request_hash=call.request_hash(request),
        )
        return pb.GiveOrderResponse(
            first_version=answer.first_version, last_version=answer.last_version, is_replayed=answer.is_replayed
        )

    async def GetSeatingBans(self, request: pb.GetSeatingBansRequest, _call: Call) -> pb.GetSeatingBansResponse:
        """Tell what keeps a player from seats: who enters a tournament cannot choose with whom to sit (CL-7)."""
        if not request.player:
            raise Rejected("FIELD_REQUIRED", field="player")
        kept = await self._exclusions.of(fields.player(request.player))
        return pb.GetSeatingBansResponse(
            is_suspended=kept.is_suspended,
            note=kept.note,
            until_ms=kept.until_ms,
            apart_from=sorted(kept.apart_from),
        )


def _ordered(request: pb.GiveOrderRequest, order_id: str, by: str) -> _Ordered:
    """Return what makes the command of an order; raises `Rejected` for what no table could do."""
    match request.WhichOneof("order"):
        case "seat_entrant":
            return _seating(request.seat_entrant, order_id)
        case "release_entrant":
            return _releasing(request.release_entrant, order_id)
        case "add_chips":
            player, amount = _player(request.add_chips.player), fields.amount(request.add_chips.amount)
            return lambda _, now: AddChips(order_id, player, amount, now)
        case "set_clock":
            clock = request.set_clock
            return lambda _, now: SetClock(order_id, clock.base_ms, clock.stopped_at_ms, now, clock.clock_no)
        case "set_start_mode":
            if request.set_start_mode.mode not in START_NAME:
                raise Rejected("FIELD_INVALID", field="set_start_mode.mode", why="automatic or on_grant")
            mode, start_no = START_NAME[request.set_start_mode.mode], request.set_start_mode.start_no
            return lambda _, now: SetStartMode(order_id, mode, now, start_no)
        case "grant_hand":
            grant = request.grant_hand
            return lambda _, now: GrantHand(order_id, grant.round_no, now, grant.hold_ms)
        case "hold_runouts":
            return lambda _, now: HoldRunouts(order_id, request.hold_runouts.hold_ms, now)
        case "release_runout":
            hand_no = request.release_runout.hand_no
            return lambda state, now: ReleaseRunout(order_id, hand_no, state.version, now)
        case "close_table":
            return lambda _, now: CloseTable(by, now)
        case _:
            raise Rejected("FIELD_REQUIRED", field="order")


def _seating(order: pb.SeatEntrantOrder, order_id: str) -> _Ordered:
    player, stack = _player(order.player), fields.amount(order.stack, "stack")
    bank = order.time_bank_ms if order.HasField("time_bank_ms") else None
    return lambda _, now: SeatEntrant(order_id, order.seat, player, order.is_bot, stack, now, order.destellos, bank)


def _releasing(order: pb.ReleaseEntrantOrder, order_id: str) -> _Ordered:
    player, cause = _player(order.player), _RELEASES.get(order.cause)
    if cause is None:
        raise Rejected("FIELD_INVALID", field="release_entrant.cause", why="moved or removed")
    return lambda _, now: ReleaseEntrant(order_id, player, cause, now)


def _player(text: str) -> str:
    if not text:
        raise Rejected("FIELD_REQUIRED", field="player")
    return fields.player(text)
