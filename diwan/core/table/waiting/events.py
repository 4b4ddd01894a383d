"""What happened in the line for a seat. Field by field the same as ``diwan/api/event/v1/waiting.proto``."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diwan.core.hand.events import Seat

type WaitCause = Literal["seated", "left", "expired", "closed", "not_invited"]


class SeatWanted(Struct, frozen=True, tag=True):
    """A person stands in line for a seat."""

    player: str
    wanted_at_ms: int


class SeatHeld(Struct, frozen=True, tag=True):
    """A free seat is kept for the first in line until a time."""

    seat: Seat
    player: str
    until_ms: int
    held_at_ms: int


class WaitEnded(Struct, frozen=True, tag=True):
    """A person stands in line no more; a seat that was kept is free again unless it was taken."""

    player: str
    cause: WaitCause
    ended_at_ms: int


type WaitingEvent = SeatWanted | SeatHeld | WaitEnded
