"""Which level is in force: by the time that levels have run, or by the hands played (TDA R23: for the next hand)."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.tournament.settings import Ladder


class LevelPoint(Struct, frozen=True):
    """A level from 1 (on a break: the one before it), and when it ends in running time; None: it stays for ever."""

    level_no: int
    is_break: bool
    ends_ms: int | None


def points(ladder: Ladder) -> Iterator[LevelPoint]:
    """Yield the levels and breaks of a ladder by time, in order."""
    breaks = {each.after_level: each.duration_ms for each in ladder.breaks}
    ends_ms = 0
    for level_no, level in enumerate(ladder.levels, 1):
        if level_no == len(ladder.levels):
            yield LevelPoint(level_no, is_break=False, ends_ms=None)
            return
        ends_ms += level.duration_ms
        yield LevelPoint(level_no, is_break=False, ends_ms=ends_ms)
        if level_no in breaks:
            ends_ms += breaks[level_no]
            yield LevelPoint(level_no, is_break=True, ends_ms=ends_ms)


def point_at(ladder: Ladder, elapsed_ms: int) -> LevelPoint:
    """Return what is in force after so much running time; before the start that is the first level."""
    for point in points(ladder):
        if point.ends_ms is None or elapsed_ms < point.ends_ms:
            return point
    raise AssertionError("the last level never ends")


def point_of_hands(ladder: Ladder, hands_played: int) -> LevelPoint:
    """Return the level of the hand after so many, for a ladder by hands."""
    left = hands_played
    for level_no, level in enumerate(ladder.levels, 1):
        if left < level.hands or level_no == len(ladder.levels):
            return LevelPoint(level_no, is_break=False, ends_ms=None)
        left -= level.hands
    raise AssertionError("the last level never ends")


def next_break_ms(ladder: Ladder, elapsed_ms: int) -> int | None:
    """Return the running time at which the next break begins, None where none follows."""
    begins_ms = 0
    for point in points(ladder):
        if point.is_break and begins_ms >= elapsed_ms:
            return begins_ms
        begins_ms = point.ends_ms or 0
    return None


def with_level_length(ladder: Ladder, level_ms: int) -> Ladder:
    """Return the ladder with all levels of one length, as a Spin's multiplier may say; 0 leaves it as it is."""
    if not level_ms:
        return ladder
    return replace(ladder, levels=tuple([replace(each, duration_ms=level_ms) for each in ladder.levels]))
