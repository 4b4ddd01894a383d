"""What is known of a Capsa hand so far: positions, never cards (DESIGN 3).

Lists run over the seats dealt in, in the order of ``CapsaStarted.seats``; a place in them is called a *place* here, a
number at the table a *seat*.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diwan.core.games.capsa.events import (
    Answer,
    Arrangement,
    CapsaStarted,
    NaturalShown,
    PairSettled,
    SetLocked,
    ShownSet,
    Standing,
)
from diwan.core.hand.events import Chips, HandEnded, Position, Seat
from diwan.core.hand.state import NOBODY, Place

type Phase = Literal["setting", "declaring"]


class CapsaDeal(Struct, frozen=True):
    """What does not change during a hand."""

    started: CapsaStarted
    seats: tuple[Seat, ...]
    places: dict[Seat, Place]
    stacks: tuple[Chips, ...]  # before the settlement
    order: tuple[Place, ...]  # clockwise from the left of the dealer


class SeatPlay(Struct, frozen=True):
    """What one place has done in this hand."""

    natural: NaturalShown | None = None
    draft: Arrangement | None = None  # the last one saved
    usable_draft: Arrangement | None = None  # the last complete and legal one
    locked: SetLocked | None = None
    answer: Answer | None = None
    changes: int = 0  # drafts saved and sets taken back


class LiveCapsa(Struct, frozen=True):
    """A hand that is being played."""

    deal: CapsaDeal
    stacks: tuple[Chips, ...]
    holdings: tuple[tuple[Position, ...], ...]
    plays: tuple[SeatPlay, ...]
    phase: Phase
    asked: Place  # who must say whether they play, or NOBODY
    turn: int
    deadline_ms: int
    standings: tuple[Standing, ...]
    shown: tuple[ShownSet, ...]
    lines: tuple[PairSettled, ...]
    is_void: bool = False

    @property
    def setters(self) -> list[Place]:
        """Places without a natural, clockwise from the left of the dealer (CS-81: the others do not set)."""
        return [place for place in self.deal.order if self.plays[place].natural is None]


class EndedCapsa(Struct, frozen=True):
    """A hand that is over, with the state in which it ended."""

    last: LiveCapsa
    ended: HandEnded


type CapsaState = LiveCapsa | EndedCapsa

__all__ = ["NOBODY", "CapsaDeal", "CapsaState", "EndedCapsa", "LiveCapsa", "Phase", "Place", "SeatPlay"]
