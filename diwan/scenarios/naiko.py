"""What a Naiko scenario carries from hand to hand beside stacks and button: destellos (FORMAT.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import ValidationError, convert

from diwan.core.decider import Rejected
from diwan.core.games.naiko.carousel import CAROUSELS, deal_of, gained
from diwan.core.games.naiko.game import checked
from diwan.core.hand.events import Chips, NaikoDeal, Power
from diwan.core.hand.settings import NaikoSettings
from diwan.scenarios.format import FormatError, Json, whole_numbers
from diwan.scenarios.played import PlayedHand


def read_settings(raw: Json) -> NaikoSettings:
    """Return the settings of this game; one that makes no sense is refused."""
    try:
        return checked(convert(dict(raw), NaikoSettings))
    except ValidationError as error:
        raise FormatError(f"rules: {error}") from None
    except Rejected as refusal:
        raise FormatError(f"rules: {refusal}") from None


class Destellos:
    """Every seat's destellos, from hand to hand. The first hand's are given, or the gain of a first deal (C1)."""

    def __init__(self, settings: NaikoSettings, scenario: Json) -> None:
        self.settings = settings
        self._first = True
        seats = len(scenario["stacks"])
        self.balances = whole_numbers(scenario.get("destellos", [gained(settings, 0)] * seats), "destellos")
        if len(self.balances) != seats:
            raise FormatError("destellos: one number a seat is needed")

    def deal(self, stacks: Sequence[Chips], script: Json) -> NaikoDeal:
        """Return what a hand begins with; who is dealt in gains, from the second hand on."""
        seats = [seat for seat, stack in enumerate(stacks) if stack]
        carousel = _carousel(script.get("carousel", list(CAROUSELS[0])))
        if self._first:
            self._first = False
            return NaikoDeal(carousel, tuple(self.balances[seat] for seat in seats))
        return deal_of(self.settings, carousel, seats, dict(enumerate(self.balances)))

    def take(self, played: PlayedHand) -> None:
        """Go on from a hand to the next one."""
        self.balances = played.destellos or self.balances


def _carousel(raw: Any) -> tuple[Power, ...]:
    try:
        return convert(raw, tuple[Power, ...])
    except ValidationError as error:
        raise FormatError(f"carousel: {error}") from None
