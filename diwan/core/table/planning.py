"""Who plays the next hand, and who posts what (B5, RULES.md "joining")."""

from __future__ import annotations

from msgspec import Struct

from diwan.core.hand.events import Due, HandSeat, Seat
from diwan.core.hand.rules import CURRENT_RULES_VERSION
from diwan.core.limits import PLAYERS_MIN
from diwan.core.table.button import Contender, Positions, first_hand_positions, next_hand_positions
from diwan.core.table.state import SeatState, TableState


class NextHand(Struct, frozen=True):
    """The next hand as far as the table decides it; the deck comes from the shell."""

    seats: tuple[HandSeat, ...]
    button: Seat
    big_blind_seat: Seat
    dues: tuple[Due, ...]
    rules_version: int = CURRENT_RULES_VERSION


def plan_next_hand(state: TableState) -> NextHand | None:
    """Return the hand that would begin now, or None: one is running, the table closes, or fewer than two can play."""
    if state.is_running or state.is_closing or state.is_closed:
        return None
    able = [seat for seat in state.seats if _is_able(seat)]
    positions = _positions(state, able) if len(able) >= PLAYERS_MIN else None
    if positions is None:
        return None
    seats = tuple(
        [
            HandSeat(seat.seat, seat.player, seat.stack, seat.is_bot, seat.sitting)
            for seat in able
            if seat.seat in positions.dealt_in
        ]
    )
    return NextHand(seats, positions.spots.button, positions.spots.big_blind, positions.dues)


def _positions(state: TableState, able: list[SeatState]) -> Positions | None:
    small, big = state.config.hand.small_blind, state.config.hand.big_blind
    if state.spots is None:
        return first_hand_positions(able[0].seat, [seat.seat for seat in able], small, big)
    return next_hand_positions(state.spots, [_contender(seat) for seat in able], small, big)


def _is_able(seat: SeatState) -> bool:
    return seat.is_funded and seat.stack > 0 and not seat.is_sitting_out and seat.leaving is None


def _contender(seat: SeatState) -> Contender:
    if seat.is_new:
        return Contender(seat.seat, "newcomer", seat.post_at_once)
    return Contender(seat.seat, "returner" if seat.hands_missed else "playing", seat.post_at_once)
