"""The next hand of a tournament's table: its level, its antes, and whether it may begin (TDA R23, RP-11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from diwan.core.hand.events import Due, Seat, TournamentDeal
from diwan.core.table.planning import NextHand
from diwan.core.table.state import TableState
from diwan.core.table.tournament.levels import LadderTime, ladder_time, level_of_deal
from diwan.core.table.tournament.terms import BlindLevel, TournamentTerms

IDLE_DEALS_MAX: Final = 5
"""After so many deals of Sarab running in which nobody decided anything themselves a hand is not void any more (A3).

With everybody away all hands would be: no chip would ever change hands again, and the tournament never end.
"""


def ladder_of(state: TableState, now_ms: int) -> LadderTime | None:
    """Return where a table's ladder stands, None where it is no tournament's."""
    terms = state.config.tournament
    return None if terms is None else ladder_time(terms, state.directed.clock, now_ms, state.hand_no)


def opens_at_ms(state: TableState, now_ms: int) -> int | None:
    """Return from when on the tournament lets a hand begin, 0 for at once, None for not before it says more."""
    directed, ladder = state.directed, ladder_of(state, now_ms)
    if ladder is None:
        return 0
    if ladder.is_stopped or (directed.start == "on_grant" and not directed.has_grant):
        return None
    return ladder.break_until_ms


def at_level(state: TableState, terms: TournamentTerms, now_ms: int) -> TableState:
    """Return the table with the blinds of the hand that begins now; deals of Sarab find their own forced bet."""
    if state.config.game == "sarab":
        return state
    level = _level_now(state, terms, now_ms)
    hand = replace(state.config.hand, small_blind=level.small_blind, big_blind=level.big_blind)
    return replace(state, config=replace(state.config, hand=hand))


def in_tournament(state: TableState, terms: TournamentTerms, plan: NextHand, now_ms: int) -> NextHand:
    """Return a planned hand with its antes and what the tournament settles for it."""
    directed = state.directed
    is_granted = directed.start == "on_grant"
    settings = plan.settings
    if settings.sarab is not None:
        if directed.idle_deals >= IDLE_DEALS_MAX:
            settings = replace(settings, sarab=replace(settings.sarab, void_rule="off"))
        number, dues = level_of_deal(terms, plan.deal_no), plan.dues
    else:
        number = ladder_time(terms, directed.clock, now_ms, state.hand_no).level
        dues = _with_antes(plan, terms.levels[number - 1])
    return replace(
        plan,
        settings=settings,
        dues=dues,
        tournament=TournamentDeal(
            terms.tournament_id,
            number,
            plan.small_blind_place,
            directed.granted_no if is_granted else 0,
            (directed.granted_hold_ms if is_granted else 0) or directed.hold_ms,
        ),
    )


def _level_now(state: TableState, terms: TournamentTerms, now_ms: int) -> BlindLevel:
    return terms.levels[ladder_time(terms, state.directed.clock, now_ms, state.hand_no).level - 1]


def _with_antes(plan: NextHand, level: BlindLevel) -> tuple[Due, ...]:
    """Return what is owed with the antes: everybody's before the blinds, the big blind's own after them (RP-11)."""
    if not level.ante:
        return plan.dues
    if level.ante_kind == "big_blind":
        payers: Sequence[Seat] = [] if plan.big_blind_seat is None else [plan.big_blind_seat]
        return (*plan.dues, *[Due(seat, "ante", level.ante) for seat in payers])
    return (*[Due(seat.seat, "ante", level.ante) for seat in plan.seats], *plan.dues)
