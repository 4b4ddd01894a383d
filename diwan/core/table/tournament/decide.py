"""What a table makes of its tournament's orders (TR, B5, C2, TDA R8, R10, R11, RP-8); it moves nobody by itself."""

from __future__ import annotations

from typing import Final

from diwan.core.decider import Rejected
from diwan.core.limits import STACK_MAX
from diwan.core.reasons import Reason
from diwan.core.table.state import SeatState, TableState
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
    ReleaseCause,
    RunoutHoldSet,
    StartModeSet,
    TournamentTableEvent,
)

HOLD_MS_MAX: Final = 3_600_000
"""An all-in that waits for more than an hour is a mistyped number."""


def decide_tournament(state: TableState, command: TournamentTableCommand) -> TournamentTableEvent:
    """Return what an order does; raises `Rejected`."""
    if state.config.tournament is None:
        raise Rejected(Reason.NOT_A_TOURNAMENT_TABLE, table_id=state.table_id)
    if state.is_closing:
        raise Rejected(Reason.TABLE_CLOSED, table_id=state.table_id)
    match command:
        case SeatEntrant():
            return _seat(state, command)
        case ReleaseEntrant():
            seat = _staying(state, command.player)
            return EntrantReleaseOrdered(command.move_id, seat.seat, command.cause, command.now_ms)
        case AddChips():
            return _add_chips(state, command)
        case SetClock():
            _check(command.base_ms > 0, "base_ms", "milliseconds since the epoch")
            _check(command.stopped_at_ms >= 0, "stopped_at_ms", "0 or milliseconds since the epoch")
            _check_later(command.clock_no, state.directed.clock_no)
            return ClockSet(command.order_id, command.clock_no, command.base_ms, command.stopped_at_ms, command.now_ms)
        case SetStartMode():
            _check_later(command.start_no, state.directed.start_no)
            return StartModeSet(command.order_id, command.start_no, command.mode, command.now_ms)
        case GrantHand():
            return _grant(state, command)
        case HoldRunouts():
            _check(0 <= command.hold_ms <= HOLD_MS_MAX, "hold_ms", "0 to an hour")
            return RunoutHoldSet(command.order_id, command.hold_ms, command.now_ms)


def next_release(state: TableState, now_ms: int) -> EntrantReleased | None:
    """Return who leaves now, or None: who is ordered to, who has lost the last chip, all where the table closes.

    Nobody leaves a hand that runs.
    """
    for seat in state.seats:
        cause = _release_cause(state, seat)
        if cause is not None and not state.is_in_hand(seat.seat):
            move_id = "" if seat.release is None else seat.release.move_id
            bank = seat.time_bank_ms
            return EntrantReleased(move_id, seat.seat, seat.player, seat.stack, cause, seat.destellos, bank, now_ms)
    return None


def _release_cause(state: TableState, seat: SeatState) -> ReleaseCause | None:
    if seat.stack == 0:
        return "busted"
    if seat.release is not None:
        return seat.release.cause
    return "table_closed" if state.is_closing else None


def _seat(state: TableState, command: SeatEntrant) -> EntrantSeated:
    if not 0 <= command.seat < state.config.seats:
        raise Rejected("SEAT_NOT_FOUND", seat=command.seat)
    if state.seat(command.seat) is not None:
        raise Rejected(Reason.SEAT_TAKEN, seat=command.seat)
    if state.seat_of(command.player) is not None:
        raise Rejected(Reason.ALREADY_SEATED, table_id=state.table_id)
    config = state.config
    bank = command.time_bank_ms
    _check(1 <= command.stack <= STACK_MAX, "stack", "chips, 1 at least")
    most = 0 if config.hand.naiko is None else config.hand.naiko.max_destellos
    _check(0 <= command.destellos <= most, "destellos", f"0 to {most}")
    _check(bank is None or 0 <= bank <= config.time_bank_seconds * 1000, "time_bank_ms", "not above a whole bank")
    return EntrantSeated(
        command.move_id,
        command.seat,
        command.player,
        command.is_bot,
        command.stack,
        command.destellos,
        bank,
        command.now_ms,
    )


def _add_chips(state: TableState, command: AddChips) -> ChipsAdded:
    seat = _staying(state, command.player)
    _check(1 <= command.amount <= STACK_MAX - seat.stack, "amount", "chips, 1 at least")
    return ChipsAdded(command.add_id, seat.seat, seat.player, command.amount, command.now_ms)


def _grant(state: TableState, command: GrantHand) -> HandGranted:
    granted = state.directed.granted_no
    if state.directed.start != "on_grant":
        raise Rejected(Reason.GRANT_NOT_NEEDED)
    if command.round_no <= granted:
        raise Rejected(Reason.ROUND_GRANTED_ALREADY, round_no=command.round_no, granted=granted)
    _check(0 <= command.hold_ms <= HOLD_MS_MAX, "hold_ms", "0 to an hour")
    return HandGranted(command.order_id, command.round_no, command.hold_ms, command.now_ms)


def _staying(state: TableState, player: str) -> SeatState:
    seat = state.seat_of(player)
    if seat is None:
        raise Rejected(Reason.NOT_SEATED, table_id=state.table_id)
    if seat.release is not None:
        raise Rejected("LEAVING", seat=seat.seat)
    return seat


def _check_later(number: int, newest: int) -> None:
    """Refuse a late copy of an order that a newer one has overtaken."""
    _check(number >= 0, "number", "0 (none) or rising")
    if 0 < number <= newest:
        raise Rejected(Reason.ORDER_OVERTAKEN, number=number, newest=newest)


def _check(is_right: bool, field: str, why: str) -> None:
    if not is_right:
        raise Rejected("FIELD_INVALID", field=field, why=why)
