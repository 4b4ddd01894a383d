"""What comes with time: levels and breaks, and when a tournament has to be looked at next."""

from __future__ import annotations

from diwan.core.tournament import paying, registration
from diwan.core.tournament.batch import Batch
from diwan.core.tournament.events import ClockSet, LevelBegan
from diwan.core.tournament.ladders import point_at, point_of_hands
from diwan.core.tournament.seating import ladder_of
from diwan.core.tournament.state import TournamentState


def begin_level(batch: Batch) -> None:
    """Record the level that is in force now (TDA R23: for hands that start from now on).

    While a round of hand-for-hand is played the clock waits for its end, which charges it.
    """
    state = batch.state
    if state.phase != "playing":
        return
    ladder = ladder_of(state)
    if ladder.by == "hands":
        _level_of_hands(batch)
        return
    running = state.hand_for_hand
    elapsed = state.clock.elapsed_ms(batch.now_ms)
    is_early = bool(state.level_no) and elapsed < (state.level_ends_ms or elapsed + 1)
    if is_early or (running is not None and running.is_playing):
        return
    point = point_at(ladder, elapsed)
    if state.level_no and (point.level_no, point.is_break) == (state.level_no, state.is_break):
        return
    ends_at = 0 if point.ends_ms is None else state.clock.base_ms + point.ends_ms
    batch.add(LevelBegan(point.level_no, point.is_break, ends_at, batch.now_ms))


def _level_of_hands(batch: Batch) -> None:
    state = batch.state
    hands = max([table.hand_no for table in state.tables.values()], default=0)
    point = point_of_hands(ladder_of(state), hands)
    if point.level_no != state.level_no:
        batch.add(LevelBegan(point.level_no, is_break=False, ends_at_ms=0, at_ms=batch.now_ms))


def stop_clock(batch: Batch) -> None:
    """Let the level clock stand, and with it every table's."""
    clock = batch.state.clock
    batch.add(ClockSet(clock.clock_no + 1, clock.base_ms, batch.now_ms, "pause", batch.now_ms))


def start_clock(batch: Batch) -> None:
    """Let the level clock go on from where it stood."""
    clock = batch.state.clock
    base = clock.base_ms + batch.now_ms - clock.paused_at_ms
    batch.add(ClockSet(clock.clock_no + 1, base, 0, "resume", batch.now_ms))


def next_due_ms(state: TournamentState) -> int | None:
    """Return when `Tick` is due, None where nothing comes with time.

    A payment that is pending is asked for by the shell, which needs no tick; only its alarm does.
    """
    dues = [
        pending.due_at_ms + state.config.alarm_after_ms for pending in state.payments.values() if not pending.is_alarmed
    ]
    if state.phase == "announced" and state.reserved >= paying.house_reserve(state.config):
        dues.append(state.config.entries.opens_at_ms)
    if state.phase == "registering":
        if state.seeds_until_ms:
            dues.append(state.seeds_until_ms)
        elif state.config.kind == "scheduled" and not _waits_for_entries(state):
            dues.append(state.config.entries.starts_at_ms)
        bots_at = registration.bots_due_at(state)
        if bots_at is not None and registration.free_places(state):
            dues.append(bots_at)
    if state.phase == "playing" and not state.is_paused:
        dues += _playing_dues(state)
    return min(dues, default=None)


def _waits_for_entries(state: TournamentState) -> bool:
    """Say whether the start waits for the wallet's answers rather than for its time."""
    return state.open_entries > 0 and (state.is_closed or state.accepted < state.config.players_min)


def _playing_dues(state: TournamentState) -> list[int]:
    running = state.hand_for_hand
    if running is not None and running.is_playing:
        return [running.limit_at_ms] if running.tables else []
    return [state.clock.base_ms + state.level_ends_ms] if state.level_ends_ms else []
