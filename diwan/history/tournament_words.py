"""What an event at a tournament's table says, in plain words."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

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


def describe_tournament(event: TournamentTableEvent, seconds: Callable[[int], str]) -> str:
    """Return what happened, as a clause whose subject is the seat or the room."""
    match event:
        case EntrantSeated(player=player, stack=stack):
            return f"is given to {player} with {stack}"
        case EntrantReleaseOrdered(cause=cause):
            return f"is to be left, its player is {cause}"
        case EntrantReleased(player=player, cause="busted"):
            return f"is free again: {player} has lost the last chip"
        case EntrantReleased(player=player, stack=stack, cause=cause):
            return f"is free again, {player} leaves with {stack} ({cause.replace('_', ' ')})"
        case ChipsAdded(player=player, amount=amount):
            return f"gets {amount} more for {player}, from the next hand on"
        case ClockSet(stopped_at_ms=0):
            return "lets the clock of the levels run"
        case ClockSet():
            return "stops the clock of the levels"
        case StartModeSet(mode="automatic"):
            return "lets hands start by themselves"
        case StartModeSet():
            return "lets hands start by grants"
        case HandGranted(round_no=round_no):
            return f"is granted a hand, round {round_no}"
        case RunoutHoldSet(hold_ms=0):
            return "holds no all-ins any more"
        case RunoutHoldSet(hold_ms=hold_ms):
            return f"holds the all-ins of the coming hands for {seconds(hold_ms)} at most"
        case _:
            assert_never(event)
