"""Times as texts, without a clock: days are counted from 1970-01-01 in the Gregorian calendar, UTC."""

from __future__ import annotations

from typing import NamedTuple

DAY_MS = 86_400_000


class Moment(NamedTuple):
    """A moment in UTC, to the second."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int


def moment(at_ms: int) -> Moment:
    """Return the moment of milliseconds since the epoch."""
    days, of_day = divmod(at_ms, DAY_MS)
    # Years that begin in March put the leap day last; 400 of them always have as many days.
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    months = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * months + 2) // 5 + 1
    month = months + 3 if months < 10 else months - 9
    year = year_of_era + 400 * era + (month <= 2)
    seconds = of_day // 1000
    return Moment(year, month, day, seconds // 3600, seconds // 60 % 60, seconds % 60)


def milliseconds(at: Moment) -> int:
    """Return the milliseconds since the epoch of a moment; the inverse of `moment`."""
    year = at.year - (at.month <= 2)
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (at.month + (-3 if at.month > 2 else 9)) + 2) // 5 + at.day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    days = era * 146_097 + day_of_era - 719_468
    return days * DAY_MS + (at.hour * 3600 + at.minute * 60 + at.second) * 1000


def iso(at_ms: int) -> str:
    """Return such as ``2026-01-02T15:20:30``."""
    at = moment(at_ms)
    return f"{at.year:04}-{at.month:02}-{at.day:02}T{at.hour:02}:{at.minute:02}:{at.second:02}"
