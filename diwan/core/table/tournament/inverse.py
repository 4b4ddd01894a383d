"""Back from an act to the command that made it (DESIGN 3)."""

from __future__ import annotations

from diwan.core.table.state import TableState
from diwan.core.table.tournament.commands import (
    AddChips,
    GrantHand,
    HoldRunouts,
    ReleaseEntrant,
    SeatEntrant,
    SetClock,
    SetStartMode,
    TournamentTableCommand,
)
from diwan.core.table.tournament.events import (
    ChipsAdded,
    ClockSet,
    EntrantReleased,
    EntrantReleaseOrdered,
    EntrantSeated,
    HandGranted,
    RunoutHoldSet,
    StartModeSet,
    TournamentTableEvent,
)


def tournament_command_of(event: TournamentTableEvent, state: TableState | None) -> TournamentTableCommand | None:
    """Return the order of which an event is the act, None where it only follows from others; ``state`` is before it."""
    match event:
        case EntrantSeated():
            return SeatEntrant(
                event.move_id,
                event.seat,
                event.player,
                event.is_bot,
                event.stack,
                event.seated_at_ms,
                event.destellos,
                event.time_bank_ms,
            )
        case EntrantReleaseOrdered():
            seat = None if state is None else state.seat(event.seat)
            return (
                None if seat is None else ReleaseEntrant(event.move_id, seat.player, event.cause, event.ordered_at_ms)
            )
        case EntrantReleased():
            return None
        case ChipsAdded():
            return AddChips(event.add_id, event.player, event.amount, event.added_at_ms)
        case ClockSet():
            return SetClock(event.order_id, event.base_ms, event.stopped_at_ms, event.set_at_ms, event.clock_no)
        case StartModeSet():
            return SetStartMode(event.order_id, event.mode, event.set_at_ms, event.start_no)
        case HandGranted():
            return GrantHand(event.order_id, event.round_no, event.granted_at_ms, event.hold_ms)
        case RunoutHoldSet():
            return HoldRunouts(event.order_id, event.hold_ms, event.set_at_ms)
