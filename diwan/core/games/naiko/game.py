"""How Naiko differs from hold'em in play; what its powers do is in `deciding`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Final

from diwan.core.decider import Rejected
from diwan.core.games.holdem import Holdem
from diwan.core.games.naiko.carousel import CAROUSELS
from diwan.core.games.naiko.rules import TURN_POWERS, is_anchored, why_not_on_turn
from diwan.core.hand.betting import pot_sized
from diwan.core.hand.events import Chips, NaikoDeal, TurnPower
from diwan.core.hand.settings import NaikoSettings
from diwan.core.hand.state import LiveHand, Place
from diwan.core.reasons import Reason

if TYPE_CHECKING:
    from diwan.core.hand.commands import StartHand

DESTELLOS_MAX: Final = 100
"""Balances and costs above this are mistyped settings."""

ACTIVATIONS_MAX: Final = 100
RESPONSE_SECONDS_MAX: Final = 600


class Naiko(Holdem):
    """Hold'em with powers (NK-1 to NK-42)."""

    name: ClassVar[str] = "naiko"
    has_powers: ClassVar[bool] = True

    def start_rules(self, command: StartHand) -> Iterator[tuple[str, bool, str]]:
        """Yield what must hold of the beginning: settings, one of three carousels, everybody's destellos."""
        yield from super().start_rules(command)
        settings, deal = command.settings.naiko, command.naiko
        if settings is None or deal is None:
            return
        yield from setting_rules(settings)
        yield "carousel", _is_carousel(deal), "three different powers; with the Shield comes the Anchor (NK-6, NK-7)"
        yield "destellos", len(deal.destellos) == len(command.seats), "one balance a seat"
        is_kept = all(0 <= each <= settings.max_destellos for each in deal.destellos)
        yield "destellos", is_kept, f"0 to {settings.max_destellos} each (NK-1)"

    def highest_lift(self, state: LiveHand, place: Place, price: Chips) -> Chips | None:
        """Return the highest total of a bet or raise: under an Anchor the pot-sized one (NK-25, NK-30, C8)."""
        if is_anchored(state, place):
            return pot_sized(state, place, price)
        return super().highest_lift(state, place, price)

    def usable_powers(self, state: LiveHand, place: Place) -> tuple[TurnPower, ...]:
        """Return the powers that the seat to act may use now."""
        naiko = state.naiko
        if naiko is None:
            return ()
        return tuple([power for power in TURN_POWERS if why_not_on_turn(state, naiko, place, power) is None])


def checked(settings: NaikoSettings) -> NaikoSettings:
    """Return the settings; raises SETTING_INVALID, which says which one is wrong and why."""
    for setting, is_right, why in setting_rules(settings):
        if not is_right:
            raise Rejected(Reason.SETTING_INVALID, setting=setting, why=why)
    return settings


def setting_rules(settings: NaikoSettings) -> Iterator[tuple[str, bool, str]]:
    """Yield every setting with whether it makes sense and what would."""
    most = settings.max_destellos
    costs = settings.costs
    each = (costs.hidden_glance, costs.sleeve_trick, costs.short_anchor, costs.seal_shield)
    yield "max_destellos", 0 <= most <= DESTELLOS_MAX, f"0 to {DESTELLOS_MAX}"
    yield "gain_per_deal", 0 <= settings.gain_per_deal <= most, "0 to max_destellos"
    yield "costs", all(0 <= cost <= DESTELLOS_MAX for cost in each), f"0 to {DESTELLOS_MAX} each"
    is_number = 0 <= settings.activations_per_round <= ACTIVATIONS_MAX
    yield "activations_per_round", is_number, f"0 (no powers) to {ACTIVATIONS_MAX}"
    is_time = 1 <= settings.response_seconds <= RESPONSE_SECONDS_MAX
    yield "response_seconds", is_time, f"1 to {RESPONSE_SECONDS_MAX}"


def _is_carousel(deal: NaikoDeal) -> bool:
    return len(deal.carousel) == 3 and frozenset(deal.carousel) in {frozenset(one) for one in CAROUSELS}
