"""Hand-for-hand at the bubble (RP-8): all tables play one hand, then wait for each other.

A round costs the level a fixed time whatever it took, but never a part of a break: where one is near, the clock goes to
its beginning. An all-in is held face down until all tables have finished or hold one too; a table that takes too long is
waited for no longer, but its hand still counts to its round.
"""

from __future__ import annotations

from typing import Final

from diwan.core.tournament.batch import Batch
from diwan.core.tournament.events import (
    ClockSet,
    HandForHandBegan,
    HandForHandEnded,
    RoundEnded,
    RoundGranted,
    RunoutsReleased,
    TablesLate,
)
from diwan.core.tournament.ladders import next_break_ms
from diwan.core.tournament.seating import ladder_of
from diwan.core.tournament.state import HandForHand, TournamentState

RULE: Final = "RP-8"


def begin(batch: Batch) -> None:
    """Begin when few enough are to go out before the money, at two tables or more."""
    state = batch.state
    floor = state.config.floor
    if not floor.hand_for_hand or state.hand_for_hand is not None or state.prizes is None or state.redraw is not None:
        return
    paid = len(state.prizes)
    if len(state.in_play) > 1 and paid and 0 < state.left - paid <= floor.hand_for_hand_within:
        batch.add(HandForHandBegan(state.left, paid, RULE, batch.now_ms))


def advance(batch: Batch) -> None:
    """Let a round end, or hand-for-hand with it."""
    running = batch.state.hand_for_hand
    if running is None:
        return
    if running.is_playing:
        _release_held(batch, running)
        _pass_limit(batch)
        running = batch.state.hand_for_hand
        if running is None or running.tables:
            return
        _end_round(batch, running)
    state = batch.state
    if state.left <= len(state.prizes or ()) or (len(state.in_play) < 2 and state.redraw is None):
        batch.add(HandForHandEnded(state.left, batch.now_ms))


def _release_held(batch: Batch, running: HandForHand) -> None:
    """Run out what is held once every table has finished its hand or holds one (RP-8)."""
    if running.held and set(running.tables) <= set(running.held):
        batch.add(RunoutsReleased(running.round_no, running.held, batch.now_ms))


def _pass_limit(batch: Batch) -> None:
    running = batch.state.hand_for_hand
    if running is None or not running.tables or batch.now_ms < running.limit_at_ms or batch.state.is_paused:
        return
    if running.held:
        batch.add(RunoutsReleased(running.round_no, running.held, batch.now_ms))
    batch.add(TablesLate(running.round_no, running.tables, batch.now_ms))


def _end_round(batch: Batch, running: HandForHand) -> None:
    """Charge the level with the round's fixed time: that is where the clock stands then."""
    state = batch.state
    counted = _charged_ms(state, running)
    clock = state.clock
    base = (clock.paused_at_ms or batch.now_ms) - running.elapsed_ms - counted
    batch.add(
        RoundEnded(running.round_no, state.left, counted, batch.now_ms),
        ClockSet(clock.clock_no + 1, base, clock.paused_at_ms, "hand_for_hand", batch.now_ms),
    )


def _charged_ms(state: TournamentState, running: HandForHand) -> int:
    """Return what a round takes from the clock: its fixed time, at most what is left before the next break."""
    fixed = state.config.floor.hand_clock_ms
    begins_ms = next_break_ms(ladder_of(state), running.elapsed_ms)
    return fixed if begins_ms is None else min(fixed, begins_ms - running.elapsed_ms)


def grant(batch: Batch) -> None:
    """Grant the next round once all tables stand still, nobody is on the move and no break is on."""
    state = batch.state
    running = state.hand_for_hand
    if running is None or running.is_playing or state.is_paused or state.is_break:
        return
    if len(state.moves) or state.redraw is not None or state.breaking or _has_sitting_removals(state):
        return
    ready = _ready(state, running)
    if not ready:
        return
    limit = batch.now_ms + state.config.floor.late_table_ms
    batch.add(RoundGranted(state.round_no + 1, ready, state.left, limit, batch.now_ms))


def _has_sitting_removals(state: TournamentState) -> bool:
    """Say whether a table is still to let a removed player go; one who only waits to be ranked holds up nobody."""
    return any(state.entrants[player].table_no for player in state.removals)


def _ready(state: TournamentState, running: HandForHand) -> tuple[int, ...]:
    """Return the tables that play the next round, none while one of them still moves; late ones are not waited for."""
    ready: list[int] = []
    for number in state.in_play:
        table = state.tables[number]
        if number in running.late:
            continue
        if not table.is_idle or table.status != "open":
            return ()
        if len(table.sitters) > 1:
            ready.append(number)
    return tuple(ready)
