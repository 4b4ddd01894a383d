"""Stakes that pairs of seats agree upon at a table of Capsa (CS-62)."""

from __future__ import annotations

from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.games.capsa.settings import CapsaSettings, PairUnit
from diwan.core.games.capsa.settings import checked as checked_settings
from diwan.core.games.capsa.stakes import LeaveStakes, ProposeStake, StakeCommand, StakeEvent, decide
from diwan.core.hand.events import Seat
from diwan.core.reasons import Reason
from diwan.core.table.state import TableState


def decide_stake(state: TableState, settings: CapsaSettings | None, command: StakeCommand) -> tuple[StakeEvent, ...]:
    """Return what an offer, an acceptance or an end makes; from the next deal on (CS-61).

    Raises TABLE_CLOSED, NOT_IN_THIS_GAME, NOT_SEATED, NOT_ASKED, or SETTING_INVALID for a unit that no seat could cover.
    """
    if state.is_closed or state.is_closing:
        raise Rejected(Reason.TABLE_CLOSED, table_id=state.table_id)
    if settings is None:
        raise Rejected(Reason.NOT_IN_THIS_GAME)
    if isinstance(command, LeaveStakes):
        raise Rejected("UNEXPECTED", why="stakes end by themselves when a seat is given up")
    events = decide(state.stakes, command, _seated(state))
    if isinstance(command, ProposeStake):
        pair = PairUnit(command.seat, command.other, command.unit)
        checked_settings(replace(settings, pair_units=(pair,)))
    return events


def left_stakes(state: TableState, seat: Seat, now_ms: int) -> tuple[StakeEvent, ...]:
    """Return what ends with a seat that is given up."""
    return decide(state.stakes, LeaveStakes(seat, now_ms), _seated(state))


def _seated(state: TableState) -> frozenset[Seat]:
    return frozenset([seat.seat for seat in state.seats if seat.is_funded and seat.leaving is None])
