"""The time bank: time of its own that a seat decides in after the decision clock (RULES.md 'table defaults').

It runs by itself when the clock ends, and what the decision then takes is gone from it. Naiko's response window and the
clocks of Capsa know no bank.
"""

from __future__ import annotations

from diwan.core.hand.events import TimeBankBegan
from diwan.core.hand.state import LiveHand, Place


def bank_of(state: LiveHand, place: Place) -> int:
    """Return the milliseconds that a place's bank holds; while it runs, those that it held when it began to."""
    return state.banks[place] if state.banks else 0


def bank_after_clock(state: LiveHand, place: Place, now_ms: int) -> TimeBankBegan | None:
    """Return the event by which the bank of the seat to act runs on, None where it has run already or is empty.

    It counts from the end of the decision clock, however late that was noticed.
    """
    bank = bank_of(state, place)
    if state.is_bank_running or not bank:
        return None
    return TimeBankBegan(state.deal.seats[place], state.turn, bank, state.deadline_ms + bank, now_ms)


def bank_spent(state: LiveHand, place: Place, now_ms: int) -> int:
    """Return how much of the bank a decision took that is made now: what is left of it is what the deadline leaves.

    A deadline that was moved after an outage gives that time back.
    """
    if not state.is_bank_running:
        return 0
    bank = bank_of(state, place)
    return bank - min(max(state.deadline_ms - now_ms, 0), bank)
