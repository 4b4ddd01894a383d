"""How a session at a table ends, and what a tournament puts around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import NamedTuple


class Ending(Enum):
    """Why a session is over."""

    LEFT = auto()
    """The player wants to go: the seat is still there."""
    SEAT_GONE = auto()
    REPLACED = auto()
    """Another device plays on."""


class Around(NamedTuple):
    """What a table shows of the tournament that it belongs to."""

    above: Callable[[], Sequence[str]]
    """Lines above the table: the level, what comes next, who is left."""
    conditions: Callable[[], Sequence[str]]
