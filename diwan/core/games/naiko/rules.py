"""What may be done with powers, and why not. Reasons come in the order of RULES.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, assert_never

from diwan.core.hand.events import Power, Seat, TurnPower
from diwan.core.hand.settings import NaikoSettings
from diwan.core.hand.state import NOBODY, HandState, LiveHand, NaikoState, Place
from diwan.core.reasons import Reason

TURN_POWERS: Final[tuple[TurnPower, ...]] = ("hidden_glance", "sleeve_trick", "short_anchor")
"""The powers of one's own turn; the Seal Shield answers an Anchor instead."""


def settings_of(state: LiveHand) -> NaikoSettings:
    """Return a hand's settings of this game."""
    settings = state.deal.started.settings.naiko
    assert settings is not None, "a hand of Naiko begins with its settings"  # noqa: S101  (held by start_rules)
    return settings


def carousel_of(state: LiveHand) -> tuple[Power, ...]:
    """Return the powers on show, the same for everybody and for the whole hand (NK-5)."""
    deal = state.deal.started.naiko
    assert deal is not None, "a hand of Naiko begins with its carousel"  # noqa: S101  (held by start_rules)
    return deal.carousel


def cost_of(state: LiveHand, power: Power) -> int:
    """Return what a power costs at this table (NK-4)."""
    costs = settings_of(state).costs
    match power:
        case "hidden_glance":
            return costs.hidden_glance
        case "sleeve_trick":
            return costs.sleeve_trick
        case "short_anchor":
            return costs.short_anchor
        case "seal_shield":
            return costs.seal_shield
        case _:
            assert_never(power)


def activations_left(state: LiveHand, naiko: NaikoState) -> int:
    """Return how many powers the table may still use in this betting round; shields are not counted (NK-12)."""
    used = sum([1 for made in naiko.activations if made.street == state.street])
    return max(0, settings_of(state).activations_per_round - used)


def is_anchored(state: LiveHand, place: Place) -> bool:
    """Say whether an Anchor holds a seat in this betting round (NK-25, NK-29)."""
    naiko = state.naiko
    return naiko is not None and any(
        made.is_anchored and made.target == place and made.street == state.street for made in naiko.activations
    )


def why_not(state: HandState | None, seat: Seat, power: Power) -> Reason | None:
    """Return why a seat cannot use a power now, or None where it can: for views, at any time of a hand."""
    if not isinstance(state, LiveHand):
        return Reason.HAND_OVER
    naiko = state.naiko
    if naiko is None:
        return Reason.POWER_NOT_IN_GAME
    if power == "seal_shield":
        window = naiko.window
        return None if window is not None and state.deal.seats[window.target] == seat else Reason.NO_RESPONSE_WINDOW
    place = state.actor
    if naiko.window is not None:
        return Reason.WINDOW_OPEN
    if place == NOBODY or state.deal.seats[place] != seat:
        return Reason.NOT_YOUR_TURN
    return why_not_on_turn(state, naiko, place, power)


def why_not_on_turn(state: LiveHand, naiko: NaikoState, place: Place, power: TurnPower) -> Reason | None:
    """Return why the seat to act cannot use a power: what it would do with it apart, but somebody must be its target."""
    reason = _why_not_at_all(state, naiko, place, power)
    if reason is not None or power != "short_anchor":
        return reason
    reasons = [why_no_target(state, naiko, place, target) for target in range(len(state.stacks))]
    if None in reasons:
        return None
    is_one_anchored = Reason.TARGET_ALREADY_ANCHORED in reasons
    return Reason.TARGET_ALREADY_ANCHORED if is_one_anchored else Reason.TARGET_NOT_ELIGIBLE


def why_no_target(state: LiveHand, naiko: NaikoState, place: Place, target: Place) -> Reason | None:
    """Return why an Anchor cannot be aimed at a place (NK-26, NK-27, C7).

    Posting a blind is no action; being folded for by the clock, or checked, is one (finer point 10).
    """
    can_act = state.unfolded >> target & 1 and state.stacks[target]
    if target == place or not can_act or state.answered[target] >= 0:
        return Reason.TARGET_NOT_ELIGIBLE
    street = state.street
    if any(made.target == target and made.street == street for made in naiko.activations):
        return Reason.TARGET_ALREADY_ANCHORED
    return None


def targets(state: LiveHand) -> Iterator[Seat]:
    """Yield the seats at which the seat to act could aim an Anchor, its other conditions apart."""
    naiko, place = state.naiko, state.actor
    if naiko is None or place == NOBODY:
        return
    for target, seat in enumerate(state.deal.seats):
        if why_no_target(state, naiko, place, target) is None:
            yield seat


def can_shield(state: LiveHand, naiko: NaikoState, place: Place) -> bool:
    """Say whether an Anchor's target can answer: only then is there a window (NK-39, C10)."""
    return (
        "seal_shield" in carousel_of(state)
        and not naiko.shielded >> place & 1
        and naiko.destellos[place] >= cost_of(state, "seal_shield")
    )


def _why_not_at_all(state: LiveHand, naiko: NaikoState, place: Place, power: TurnPower) -> Reason | None:
    own = [made for made in naiko.activations if made.place == place]
    if power not in carousel_of(state):
        return Reason.POWER_NOT_IN_CAROUSEL
    if any(made.power == power for made in own):  # NK-9
        return Reason.POWER_ALREADY_USED
    turn = (state.street, state.answered[place])  # C4: a seat asked again has answered more lifts than before
    if any((made.street, made.answered) == turn for made in own):  # NK-10
        return Reason.ONE_POWER_PER_TURN
    if _is_too_late(state, place, power):
        return Reason.POWER_TOO_LATE
    if not activations_left(state, naiko):
        return Reason.ROUND_POWER_LIMIT
    if naiko.destellos[place] < cost_of(state, power):
        return Reason.NOT_ENOUGH_DESTELLOS
    return None


def _is_too_late(state: LiveHand, place: Place, power: TurnPower) -> bool:
    match power:
        case "hidden_glance":  # NK-17: there is no next round to look into
            return state.street == "river"
        case "sleeve_trick":  # NK-22
            return state.street != "preflop" or state.answered[place] >= 0
        case "short_anchor":
            return False
        case _:
            assert_never(power)
