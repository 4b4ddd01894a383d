"""What a policy may decide beside the acts of a betting round."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diwan.core.cards import Card
from diwan.core.policy.situation import Choice
from diwan.core.view import Chips, Seat

type TurnPower = Literal["hidden_glance", "sleeve_trick", "short_anchor"]


class PowerUse(Struct, frozen=True):
    """A power of Naiko on one's own turn, before the act. ``target`` is of the Anchor, ``discard`` of the Trick."""

    power: TurnPower
    target: Seat | None = None
    discard: Card | None = None

    def __repr__(self) -> str:
        return f"PowerUse({self.power}, target={self.target}, cards withheld)"


class AnchorAnswer(Struct, frozen=True):
    """How an Anchor's target answers within its window."""

    answer: Literal["seal_shield", "pass"]


class SetRows(Struct, frozen=True):
    """Thirteen cards in three rows: front, middle, back. Not final is a draft (CS-20)."""

    rows: tuple[tuple[Card, ...], tuple[Card, ...], tuple[Card, ...]]
    is_final: bool

    def __repr__(self) -> str:
        return f"SetRows(is_final={self.is_final}, cards withheld)"


class CallAnswer(Struct, frozen=True):
    """Whether the seat plays its set (CS-30)."""

    answer: Literal["play", "surrender"]


class StakeAnswer(Struct, frozen=True):
    """A stake between two seats: an offer accepted, or an offer or agreement ended (CS-62)."""

    other: Seat
    unit: Chips
    is_accepted: bool


class ReserveMove(Struct, frozen=True):
    """What to do about a stack below the reserve (CS-65): bring ``amount`` more chips, or leave the seat."""

    kind: Literal["top_up", "stand_up"]
    amount: Chips


type Move = Choice | PowerUse | AnchorAnswer | SetRows | CallAnswer | StakeAnswer | ReserveMove
"""Whatever a game may ask of a seat."""
