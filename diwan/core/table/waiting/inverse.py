"""Back from an act to the command that made it (DESIGN 3)."""

from __future__ import annotations

from diwan.core.table.waiting.commands import ExpireHold, StopWaiting, WaitForSeat, WaitingCommand
from diwan.core.table.waiting.events import SeatHeld, SeatWanted, WaitEnded, WaitingEvent


def waiting_command_of(event: WaitingEvent) -> WaitingCommand | None:
    """Return the command of which an event is the act, None where it only follows from others."""
    match event:
        case SeatWanted():
            return WaitForSeat(event.player, event.wanted_at_ms)
        case WaitEnded(cause="left"):
            return StopWaiting(event.player, event.ended_at_ms)
        case WaitEnded(cause="expired"):
            return ExpireHold(event.player, event.ended_at_ms)
        case WaitEnded() | SeatHeld():
            return None
