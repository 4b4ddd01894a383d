"""What a policy may decide beside the acts of a betting round."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diwan.core.cards import Card
from diwan.core.policy.situation import Choice
from diwan.core.view import Seat

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


type Move = Choice | PowerUse | AnchorAnswer
"""Whatever a game may ask of a seat."""
