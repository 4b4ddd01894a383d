"""What a table carries from hand to hand: the draw of the powers on show, and the destellos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from diwan.core.fairness import draw
from diwan.core.fairness.material import NO_SEEDS, Seeds
from diwan.core.hand.events import NaikoDeal, Power, Seat
from diwan.core.hand.settings import NaikoSettings
from diwan.core.hand.state import LiveHand

CAROUSELS: Final[tuple[tuple[Power, Power, Power], ...]] = (
    ("hidden_glance", "sleeve_trick", "short_anchor"),
    ("hidden_glance", "short_anchor", "seal_shield"),
    ("sleeve_trick", "short_anchor", "seal_shield"),
)
"""All that are possible: three of four powers, the Shield never without the Anchor (NK-5 to NK-7)."""

LABEL: Final = "carousel/v1"


def draw_carousel(secret: bytes, hand_id: str, seeds: Seeds = NO_SEEDS) -> tuple[Power, ...]:
    """Return the powers of a hand, drawn evenly from its committed secret and the seats' seeds (C3, NK-38)."""
    return CAROUSELS[draw(secret, LABEL, hand_id, (1,) * len(CAROUSELS), seeds=seeds)]


def gained(settings: NaikoSettings, destellos: int) -> int:
    """Return a seat's destellos after taking part in one more deal (NK-1); at the most there is nothing more."""
    return max(destellos, min(settings.max_destellos, destellos + settings.gain_per_deal))


def deal_of(
    settings: NaikoSettings, carousel: tuple[Power, ...], seats: Sequence[Seat], before: Mapping[Seat, int]
) -> NaikoDeal:
    """Return what a hand begins with, from what each seat had: 0 where it has just sat down (C1)."""
    return NaikoDeal(carousel, tuple([gained(settings, before.get(seat, 0)) for seat in seats]))


def destellos_of(state: LiveHand) -> dict[Seat, int]:
    """Return what each seat dealt in has left: the table carries it on to the next hand (NK-3)."""
    naiko = state.naiko
    return {} if naiko is None else dict(zip(state.deal.seats, naiko.destellos, strict=True))
