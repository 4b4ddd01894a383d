"""Who gets the next free seat, and which bot makes room for whom (CL-6, RULES.md 'joining')."""

from __future__ import annotations

from typing import Final

from diwan.core.decider import Rejected
from diwan.core.reasons import Reason
from diwan.core.table.config import HOLD_SECONDS
from diwan.core.table.events import StandUpRequested
from diwan.core.table.hosting.entry import check_entry, may_see
from diwan.core.table.state import SeatState, TableState
from diwan.core.table.waiting.commands import ExpireHold, StopWaiting, WaitForSeat, WaitingCommand
from diwan.core.table.waiting.events import SeatHeld, SeatWanted, WaitEnded
from diwan.core.table.waiting.state import Waiter

WAITING_MAX: Final = 50
"""People in line at a table; more would wait for a day."""


def decide_waiting(state: TableState, command: WaitingCommand) -> SeatWanted | WaitEnded:
    """Return what a request makes of the line; raises `Rejected`."""
    match command:
        case WaitForSeat():
            return _wait(state, command)
        case StopWaiting():
            _waiter(state, command.player)
            return WaitEnded(command.player, "left", command.now_ms)
        case ExpireHold():
            waiter = _waiter(state, command.player)
            if waiter.seat is None or command.now_ms < waiter.until_ms:
                raise Rejected("UNEXPECTED", why="no seat was kept for too long")
            return WaitEnded(command.player, "expired", command.now_ms)


def _wait(state: TableState, command: WaitForSeat) -> SeatWanted:
    check_entry(state, command.player, command.now_ms)
    if state.is_closing:
        raise Rejected(Reason.TABLE_CLOSED, table_id=state.table_id)
    if state.config.chips == "match":
        # It begins when its seats are full, and nobody comes late.
        raise Rejected(Reason.MATCH_STARTED)
    if state.seat_of(command.player) is not None:
        raise Rejected(Reason.ALREADY_SEATED, table_id=state.table_id)
    if state.line.of(command.player) is not None:
        raise Rejected(Reason.WAITING_ALREADY)
    if len(state.line.waiters) >= WAITING_MAX:
        raise Rejected(Reason.WAITING_LINE_FULL, max=WAITING_MAX)
    return SeatWanted(command.player, command.now_ms)


def _waiter(state: TableState, player: str) -> Waiter:
    waiter = state.line.of(player)
    if waiter is None:
        raise Rejected(Reason.NOT_WAITING)
    return waiter


def no_longer_waiting(state: TableState, now_ms: int) -> tuple[WaitEnded, ...]:
    """Return who is to wait no more: who has a seat, who may not see the table any more, all where it closes."""
    if not state.line.waiters:
        return ()
    ended: list[WaitEnded] = []
    for waiter in state.line.waiters:
        if state.seat_of(waiter.player) is not None:
            ended.append(WaitEnded(waiter.player, "seated", now_ms))
        elif state.is_closing:
            ended.append(WaitEnded(waiter.player, "closed", now_ms))
        elif not may_see(state, waiter.player, now_ms):
            ended.append(WaitEnded(waiter.player, "not_invited", now_ms))
    return tuple(ended)


def next_hold(state: TableState, now_ms: int) -> SeatHeld | None:
    """Return the seat that is kept from now on for the first in line who has none, None where there is no such."""
    waiter = next((each for each in state.line.waiters if each.seat is None), None)
    if waiter is None or state.is_closing:
        return None
    taken = {seat.seat for seat in state.seats} | state.line.held
    free = next((number for number in state.numbers if number not in taken), None)
    if free is None:
        return None
    seconds = state.config.hold_seconds or HOLD_SECONDS
    return SeatHeld(free, waiter.player, now_ms + seconds * 1000, now_ms)


def next_yield(state: TableState, now_ms: int) -> StandUpRequested | None:
    """Return which bot goes now for somebody in line: one that plays no hand, so each plays its hand to the end.

    As many go as people wait beyond the seats that are being left already.
    """
    unserved = sum(waiter.seat is None for waiter in state.line.waiters)
    going = sum(seat.leaving is not None for seat in state.seats)
    if unserved <= going or state.is_closing:
        return None
    bots = [seat for seat in state.seats if _may_go(state, seat)]
    if not bots:
        return None
    # Who sits out anyway goes first, then the highest seat: which one it is makes no difference to those who play.
    going_now = max(bots, key=lambda seat: (seat.is_sitting_out, seat.seat))
    return StandUpRequested(going_now.seat, "yielded", now_ms)


def _may_go(state: TableState, seat: SeatState) -> bool:
    return seat.is_bot and seat.leaving is None and seat.pending is None and not state.is_in_hand(seat.seat)
