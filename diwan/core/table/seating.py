"""Sitting out, coming back and leaving (RULES.md "table defaults", CL-4, TB-2)."""

from __future__ import annotations

from diwan.core.decider import Rejected
from diwan.core.reasons import Reason
from diwan.core.table.commands import SitIn, SitOut, StandUp
from diwan.core.table.events import SatIn, SatOut, StandUpRequested
from diwan.core.table.state import SeatState, TableState


def sit_out(state: TableState, command: SitOut) -> SatOut:
    """Leave the coming hands out; the running one is played on."""
    _check_no_match(state)
    seat = _staying(state, command.player)
    if seat.is_sitting_out:
        raise Rejected("SITTING_OUT_ALREADY", seat=seat.seat)
    return SatOut(seat.seat, command.cause, command.now_ms)


def sit_in(state: TableState, command: SitIn) -> SatIn:
    """Come back; who has missed hands posts what was missed or waits for the big blind."""
    _check_no_match(state)
    seat = _staying(state, command.player)
    if not seat.is_sitting_out:
        raise Rejected("NOT_SITTING_OUT", seat=seat.seat)
    if seat.stack == 0:
        raise Rejected("NO_CHIPS", seat=seat.seat)
    return SatIn(seat.seat, command.post_at_once, command.now_ms)


def stand_up(state: TableState, command: StandUp) -> StandUpRequested:
    """Leave; the seat is released at once where no hand and no transfer holds it.

    Of a match that has started nobody takes a seat home: the clock plays for whoever is away (SB-4).
    """
    if state.match is not None:
        raise Rejected(Reason.MATCH_STARTED, table_id=state.table_id)
    seat = _staying(state, command.player)
    return StandUpRequested(seat.seat, command.cause, command.now_ms, command.requested_by)


def _check_no_match(state: TableState) -> None:
    """In a match everybody is dealt in, also who is away."""
    if state.config.match is not None:
        raise Rejected(Reason.NOT_IN_THIS_GAME)


def _staying(state: TableState, player: str) -> SeatState:
    seat = state.seat_of(player)
    if seat is None:
        raise Rejected("NOT_SEATED", table_id=state.table_id)
    if seat.leaving is not None:
        raise Rejected("LEAVING", seat=seat.seat)
    return seat
