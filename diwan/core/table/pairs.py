"""Stakes that pairs of seats agree upon at a table of Capsa (CS-62)."""

from __future__ import annotations

from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.games.capsa.settings import CapsaSettings, PairUnit, setting_rules
from diwan.core.games.capsa.settings import checked as checked_settings
from diwan.core.games.capsa.stakes import (
    AcceptStake,
    LeaveStakes,
    PairStakes,
    ProposeStake,
    StakeCommand,
    StakeEvent,
    decide,
)
from diwan.core.hand.events import Seat
from diwan.core.reasons import Reason
from diwan.core.table.state import TableState


def decide_stake(state: TableState, command: StakeCommand) -> tuple[StakeEvent, ...]:
    """Return what an offer, an acceptance or an end makes; from the next deal on (CS-61), and by the settings of that one.

    Raises TABLE_CLOSED, NOT_IN_THIS_GAME, NOT_SEATED, NOT_ASKED, or SETTING_INVALID for a unit that no seat could cover.
    """
    if state.is_closed or state.is_closing:
        raise Rejected(Reason.TABLE_CLOSED, table_id=state.table_id)
    settings = (state.hosting.settings_next or state.config).capsa
    if settings is None:
        raise Rejected(Reason.NOT_IN_THIS_GAME)
    if isinstance(command, LeaveStakes):
        raise Rejected("UNEXPECTED", why="stakes end by themselves when a seat is given up")
    events = decide(state.stakes, command, _seated(state))
    if isinstance(command, ProposeStake | AcceptStake):
        pair = PairUnit(command.seat, command.other, command.unit)
        checked_settings(replace(settings, pair_units=(pair,)))
    return events


def fits(settings: CapsaSettings, stakes: PairStakes) -> bool:
    """Say whether hands can be dealt by these settings with what pairs have agreed upon; else none ever would be."""
    rules = setting_rules(replace(settings, pair_units=stakes.pair_units))
    return all(is_right for setting, is_right, _ in rules if setting == "pair_units")


def left_stakes(state: TableState, seat: Seat, now_ms: int) -> tuple[StakeEvent, ...]:
    """Return what ends with a seat that is given up."""
    return decide(state.stakes, LeaveStakes(seat, now_ms), _seated(state))


def _seated(state: TableState) -> frozenset[Seat]:
    return frozenset([seat.seat for seat in state.seats if seat.is_funded and seat.leaving is None])
