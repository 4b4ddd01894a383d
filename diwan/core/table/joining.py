"""Taking a seat and bringing chips (RULES.md "joining", "table defaults", TB-1, TB-2).

Chips come by a saga: what is asked of the wallet stands as pending until its answer is an event (DESIGN 8).
"""

from __future__ import annotations

from typing import Final

from diwan.core.decider import Rejected
from diwan.core.hand.events import Chips, Seat
from diwan.core.limits import STACK_MAX
from diwan.core.reasons import Reason
from diwan.core.table.commands import FundSeat, RefuseBuyIn, RequestSeat, RequestTopUp
from diwan.core.table.events import BuyInRefused, BuyInRequested, SeatFunded, TopUpRequested
from diwan.core.table.hosting.entry import check_entry
from diwan.core.table.state import TableState

_MINUTE_MS: Final = 60_000


def request_seat(state: TableState, command: RequestSeat) -> BuyInRequested:
    """Reserve a seat; the player waits for the wallet, and then for the next hand."""
    check_entry(state, command.player, command.now_ms, is_bot=command.is_bot)
    if state.is_closing:
        raise Rejected("TABLE_CLOSED", table_id=state.table_id)
    if state.seat_of(command.player) is not None:
        raise Rejected("ALREADY_SEATED", table_id=state.table_id)
    if state.match is not None:
        raise Rejected(Reason.MATCH_STARTED, table_id=state.table_id)
    low, high = buy_in_range(state, command.player, command.now_ms)
    if not low <= command.amount <= high:
        raise Rejected("BUY_IN_OUT_OF_RANGE", amount=command.amount, min=low, max=high)
    return BuyInRequested(
        _free_seat(state, command.seat, command.player),
        command.player,
        command.is_bot,
        command.amount,
        command.transfer_id,
        command.now_ms,
        command.post_at_once,
    )


def buy_in_range(state: TableState, player: str, now_ms: int) -> tuple[Chips, Chips]:
    """Return the bounds of a player's buy-in: who returns soon brings at least what was taken home."""
    low, high = state.config.buy_in_min, state.config.buy_in_max
    oldest = now_ms - state.config.return_minutes * _MINUTE_MS
    for departure in state.departures:
        if departure.player == player and departure.at_ms >= oldest:
            return max(low, departure.amount), max(high, departure.amount)
    return low, high


def _free_seat(state: TableState, wanted: Seat | None, player: str) -> Seat:
    """Return the seat that a player gets: the one that is kept for it, else one that is kept for nobody (CL-6)."""
    waiter = state.line.of(player)
    kept = None if waiter is None else waiter.seat
    wanted = kept if wanted is None else wanted
    taken = {seat.seat for seat in state.seats} | state.line.held - {kept}
    free = [number for number in state.numbers if number not in taken]
    if wanted is not None:
        if wanted in taken:
            raise Rejected("SEAT_TAKEN", seat=wanted)
        if wanted not in free:
            raise Rejected("SEAT_NOT_FOUND", seat=wanted)
        return wanted
    if not free:
        raise Rejected("TABLE_FULL", seats=state.config.seats)
    return free[0]


def request_top_up(state: TableState, command: RequestTopUp) -> TopUpRequested:
    """Ask for more chips; whenever they come, they play from the next hand (table stakes)."""
    seat = state.seat_of(command.player)
    if seat is None:
        raise Rejected("NOT_SEATED", table_id=state.table_id)
    if state.config.match is not None:  # SB-4: coins are not bought.
        raise Rejected(Reason.NOT_IN_THIS_GAME)
    if seat.leaving is not None or state.is_closing:
        raise Rejected("LEAVING", seat=seat.seat)
    if seat.pending is not None:
        raise Rejected("BUY_IN_PENDING", seat=seat.seat)
    # The chips of a running hand are not counted yet: only what the seat began it with is known to stand.
    low = max(1, state.config.buy_in_min - seat.stack)
    high = min(state.config.buy_in_max, STACK_MAX) - seat.stack
    if not low <= command.amount <= high:
        raise Rejected("BUY_IN_OUT_OF_RANGE", amount=command.amount, min=low, max=max(0, high))
    return TopUpRequested(seat.seat, command.amount, command.transfer_id, command.now_ms)


def fund(state: TableState, command: FundSeat) -> SeatFunded:
    """Put the chips of an answered transfer in front of its seat."""
    seat = state.seat_waiting_for(command.transfer_id)
    if seat is None or seat.pending is None:
        raise Rejected("UNEXPECTED", why="no seat waits for this transfer")
    return SeatFunded(seat.seat, seat.pending.amount, command.transfer_id, command.now_ms)


def refuse(state: TableState, command: RefuseBuyIn) -> BuyInRefused:
    """Give up a reservation that the wallet refused."""
    seat = state.seat_waiting_for(command.transfer_id)
    if seat is None:
        raise Rejected("UNEXPECTED", why="no seat waits for this transfer")
    return BuyInRefused(seat.seat, command.transfer_id, command.reason, command.now_ms)
