"""How many bots a table should have: pure, from what the feed told."""

from __future__ import annotations

from msgspec import Struct


class Occupancy(Struct, frozen=True):
    """A table as the bots see it. ``others`` are seats taken by anybody but our bots."""

    seats: int
    bots_fill: int
    others: int
    staying: int
    """Our bots that are seated or on their way to a seat."""
    leaving: int
    """Our bots that will stand up; they hold their seats until then."""
    is_closing: bool = False
    waiting: int = 0
    """People in line; seats are kept for them, and the table itself lets our bots go where none is free (CL-6)."""


def wanted_change(table: Occupancy) -> int:
    """Return how many bots should come, or -1 where one should make room.

    Bots fill a table up to ``bots_fill`` players. A full table with more players than that makes the next person wait:
    one bot goes after its hand (CL-6), one at a time, so that people who come one by one meet a table that is played.
    """
    if table.is_closing:
        return 0
    players = table.others + table.staying + table.waiting
    taken = players + table.leaving
    if players < table.bots_fill:
        return max(0, min(table.bots_fill - players, table.seats - taken))
    if table.waiting:
        return 0
    is_full = taken >= table.seats
    if is_full and table.staying and not table.leaving and players > table.bots_fill:
        return -1
    return 0
