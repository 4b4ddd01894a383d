"""Time banks at a table: what a sitting has of its own (RULES.md 'table defaults': time bank 30 s).

A sitting begins with a whole bank, and every hand that it is dealt into gives some of it back. Bots have none.
"""

from __future__ import annotations

from collections.abc import Iterable

from diwan.core.hand.events import HandSeat
from diwan.core.table.config import TableConfig
from diwan.core.table.state import SeatState, TableState


def time_bank_of(config: TableConfig, seat: SeatState) -> int:
    """Return what a seat's bank holds now, in milliseconds."""
    whole = 0 if seat.is_bot else config.time_bank_seconds * 1000
    return whole if seat.time_bank_ms is None else min(whole, seat.time_bank_ms)


def time_banks(state: TableState, dealt: Iterable[HandSeat]) -> tuple[int, ...]:
    """Return the banks that the seats of a hand begin it with; empty where nobody has one."""
    config = state.config
    gain, whole = config.time_bank_gain_seconds * 1000, config.time_bank_seconds * 1000
    seats = {seat.seat: seat for seat in state.seats}
    banks = tuple([0 if each.is_bot else min(whole, time_bank_of(config, seats[each.seat]) + gain) for each in dealt])
    return banks if any(banks) else ()
