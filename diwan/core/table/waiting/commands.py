"""What may be asked of the line for a seat."""

from __future__ import annotations

from msgspec import Struct


class WaitForSeat(Struct, frozen=True):
    """Stand in line."""

    player: str
    now_ms: int


class StopWaiting(Struct, frozen=True):
    """Stand in line no more."""

    player: str
    now_ms: int


class ExpireHold(Struct, frozen=True):
    """Give up a seat that was kept for too long; the next in line gets it."""

    player: str
    now_ms: int


type WaitingCommand = WaitForSeat | StopWaiting | ExpireHold
