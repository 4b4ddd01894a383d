"""What everybody may know of a tournament at its table: the level, those to come, breaks, and what is waited for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from diwan.core.hand.state import LiveHand
from diwan.core.table.playing import poker_of
from diwan.core.table.state import TableState
from diwan.core.table.tournament.levels import ladder_time
from diwan.core.table.tournament.state import LadderClock
from diwan.core.table.tournament.terms import TournamentTerms
from diwan.core.view import LadderStepView, TournamentView

COMING: Final = 3
"""So many levels to come are told: who reads this again with every hand never runs out of them."""


def tournament_view(state: TableState, terms: TournamentTerms) -> TournamentView:
    """Return the tournament's side of a table. A view knows no time: what runs by the clock is told by when it ends."""
    directed, live = state.directed, poker_of(state.hand)
    level = _level(state, terms)
    clock = directed.clock
    runs = clock.base_ms > 0 and not clock.stopped_at_ms
    now, *coming = _steps(terms, clock if runs else None, level)
    is_on_grant = directed.start == "on_grant"
    ladder = ladder_time(terms, clock, state.hand_ended_at_ms, state.hand_no)
    return TournamentView(
        tournament_id=terms.tournament_id,
        table_no=terms.table_no,
        level=now,
        coming=tuple(coming),
        hands_left=0 if state.config.game == "sarab" else ladder.hands_left,
        is_clock_running=runs,
        is_on_grant=is_on_grant,
        is_waiting=is_on_grant and not state.is_running and not directed.has_grant,
        round_no=directed.granted_no if is_on_grant else 0,
        held_until_ms=live.held_until_ms if isinstance(live, LiveHand) and state.is_running else 0,
    )


def _level(state: TableState, terms: TournamentTerms) -> int:
    """Return the level of the running hand, or of one that had begun when the last one ended."""
    live = poker_of(state.hand)
    if live is not None and (state.is_running or state.config.game == "sarab"):
        started = (live if isinstance(live, LiveHand) else live.last).deal.started
        return 1 if started.tournament is None else started.tournament.level
    at_ms = state.hand_ended_at_ms or terms.clock_base_ms
    return ladder_time(terms, state.directed.clock, at_ms, state.hand_no).level


def _steps(terms: TournamentTerms, clock: LadderClock | None, first: int) -> Iterator[LadderStepView]:
    """Yield a level and those that come, as many as are told."""
    begins_at_ms = 0 if clock is None or terms.levels[0].hands else clock.base_ms
    for number, level in enumerate(terms.levels, 1):
        is_timed = bool(begins_at_ms) and number < len(terms.levels)
        ends_at_ms = begins_at_ms + level.duration_ms if is_timed else 0
        if number > first + COMING:
            return
        if number >= first:
            yield LadderStepView(
                level=number,
                small_blind=level.small_blind,
                big_blind=level.big_blind,
                ante=level.ante,
                ante_kind=level.ante_kind,
                begins_at_ms=begins_at_ms,
                ends_at_ms=ends_at_ms,
                hands=level.hands,
            )
        begins_at_ms = ends_at_ms + level.break_after_ms if ends_at_ms else 0
