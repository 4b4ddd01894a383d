"""Where a table's ladder stands: the level of a hand that begins now, breaks and pauses (TR, TDA R23).

A level counts for the hands that begin in it. It follows from the terms, the clock as it was set and the hands dealt, so
that a table plays on without its tournament, and whoever has the log finds the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.limits import SEATS_MAX, STACK_MAX
from diwan.core.table.config import TableConfig
from diwan.core.table.tournament.state import LadderClock
from diwan.core.table.tournament.terms import BlindLevel, TournamentTerms

LEVELS_MAX: Final = 200
LEVEL_MS_MAX: Final = 24 * 3_600_000
LEVEL_HANDS_MAX: Final = 1000
ID_CHARACTERS_MAX: Final = 64
TABLE_NO_MAX: Final = 100_000


class LadderTime(Struct, frozen=True):
    """Where the ladder stands. Times are milliseconds since the epoch, 0 where there is no such time.

    ``level`` counts from 1; in a break it is the one before. ``next_level_at_ms`` is its end by the clock, the break before
    the next one not counted in; ``hands_left`` is its end by hands, 0 where the clock counts. No hand begins before
    ``break_until_ms``, nor at all while the clock ``is_stopped``.
    """

    level: int
    next_level_at_ms: int = 0
    hands_left: int = 0
    break_until_ms: int = 0
    is_stopped: bool = False


def ladder_time(terms: TournamentTerms, clock: LadderClock, now_ms: int, hands_dealt: int) -> LadderTime:
    """Return where the ladder stands for the hand that would begin now."""
    is_stopped = not clock.base_ms or clock.stopped_at_ms > 0
    if terms.levels[0].hands:
        level, left = _by_hands(terms.levels, hands_dealt)
        begins = clock.base_ms if now_ms < clock.base_ms and not is_stopped else 0
        return LadderTime(level, hands_left=left, break_until_ms=begins, is_stopped=is_stopped)
    if is_stopped:
        elapsed = clock.stopped_at_ms - clock.base_ms if clock.base_ms else 0
        return LadderTime(_by_clock(terms.levels, elapsed)[0], is_stopped=True)
    if now_ms < clock.base_ms:
        return LadderTime(1, break_until_ms=clock.base_ms)
    level, level_end, break_end = _by_clock(terms.levels, now_ms - clock.base_ms)
    return LadderTime(
        level,
        next_level_at_ms=clock.base_ms + level_end if level_end else 0,
        break_until_ms=clock.base_ms + break_end if break_end else 0,
    )


def level_of_deal(terms: TournamentTerms, deal_no: int) -> int:
    """Return the level of a deal that is counted from 1, as Sarab counts its own (SB-28)."""
    return _by_hands(terms.levels, deal_no - 1)[0]


def _by_hands(levels: Sequence[BlindLevel], dealt: int) -> tuple[int, int]:
    """Return the level of the hand after so many, and how many hands it has left; 0 in the last one."""
    before = 0
    for number, level in enumerate(levels[:-1], 1):
        before += level.hands
        if dealt < before:
            return number, before - dealt
    return len(levels), 0


def _by_clock(levels: Sequence[BlindLevel], elapsed_ms: int) -> tuple[int, int, int]:
    """Return the level, when it ends, and when the break after it does where that has begun; 0 for never and none."""
    before = 0
    for number, level in enumerate(levels[:-1], 1):
        before += level.duration_ms
        if elapsed_ms < before:
            return number, before, 0
        before += level.break_after_ms
        if elapsed_ms < before:
            return number, 0, before
    return len(levels), 0, 0


def of_tournament(config: TableConfig) -> TableConfig:
    """Return a table's settings with the first level in those of its hands, where it is a tournament's.

    Sarab counts its deals by itself: its forced bets are those of the ladder.
    """
    levels = () if config.tournament is None else config.tournament.levels
    if not levels:
        return config
    first, hand = levels[0], config.hand
    hand = replace(hand, small_blind=first.small_blind, big_blind=first.big_blind)
    if hand.sarab is not None:
        bets = tuple([level.big_blind for level in levels])
        hand = replace(hand, sarab=replace(hand.sarab, forced_bets=bets, deals_per_level=max(1, first.hands)))
    return replace(config, hand=hand)


def terms_rules(terms: TournamentTerms, *, has_blinds: bool) -> Iterator[tuple[str, bool, str]]:
    """Yield what must hold of the terms: setting, whether it does, and what would."""
    name = terms.tournament_id
    yield "tournament_id", 0 < len(name) <= ID_CHARACTERS_MAX and name.isprintable(), "1 to 64 characters"
    yield "table_no", 1 <= terms.table_no <= TABLE_NO_MAX, f"1 to {TABLE_NO_MAX}"
    yield "clock_base_ms", terms.clock_base_ms >= 0, "0 (not begun) or milliseconds since the epoch"
    button = terms.first_button
    yield "first_button", button is None or 0 <= button < SEATS_MAX, "a seat"
    yield "levels", 1 <= len(terms.levels) <= LEVELS_MAX, f"1 to {LEVELS_MAX}"
    for number, level in enumerate(terms.levels):
        for setting, is_right, why in _level_rules(level, has_blinds=has_blinds):
            yield f"levels[{number}].{setting}", is_right, why
    but_last = terms.levels[:-1]
    by_hands = all(level.hands > 0 for level in but_last) and not any(
        level.duration_ms or level.break_after_ms for level in terms.levels
    )
    by_clock = all(level.duration_ms > 0 for level in but_last) and not any(level.hands for level in terms.levels)
    yield "levels", by_hands or by_clock, "lengths of all but the last, all by the clock or all by hands"
    if not has_blinds:
        yield "levels", by_hands, "this game counts deals (SB-28)"
        yield "levels", len({level.hands for level in but_last}) <= 1, "as many deals in every level (SB-28)"
    rises = all(before.big_blind <= after.big_blind for before, after in pairwise(terms.levels))
    yield "levels", rises, "big blinds never fall"


def _level_rules(level: BlindLevel, *, has_blinds: bool) -> Iterator[tuple[str, bool, str]]:
    most = STACK_MAX // 1000
    yield "big_blind", 1 <= level.big_blind <= most, "1 at least, and not too large"
    if has_blinds:
        yield "small_blind", 1 <= level.small_blind <= level.big_blind, "1 at least, not above the big blind"
        yield "ante", 0 <= level.ante <= level.big_blind * 9, "0, or not above nine big blinds"
    else:
        yield "small_blind", level.small_blind == 0, "this game has no blinds"
        yield "ante", level.ante == 0, "the forced bet is this game's ante"
    yield "ante_kind", level.ante_kind in {"each", "big_blind"}, "each or big_blind"
    yield "duration_ms", 0 <= level.duration_ms <= LEVEL_MS_MAX, "0 to a day"
    yield "hands", 0 <= level.hands <= LEVEL_HANDS_MAX, f"0 to {LEVEL_HANDS_MAX}"
    yield "break_after_ms", 0 <= level.break_after_ms <= LEVEL_MS_MAX, "0 to a day"
