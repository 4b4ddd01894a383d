"""What everybody may know of powers in a hand, and who may see which card because of one (NK-41)."""

from __future__ import annotations

from diwan.core.games.naiko.rules import activations_left, carousel_of, cost_of, is_anchored, targets, why_not
from diwan.core.hand.events import Position, Power, Seat
from diwan.core.hand.state import NOBODY, LiveHand, NaikoState
from diwan.core.view import NaikoView, PowerView, SeatPowers, WindowView


def naiko_view(live: LiveHand, *, is_running: bool) -> NaikoView | None:
    """Return the public block of a hand of Naiko, None in other games."""
    naiko = live.naiko
    if naiko is None:
        return None
    window = naiko.window if is_running else None
    seats = live.deal.seats
    return NaikoView(
        carousel=carousel_of(live),
        activations_left=activations_left(live, naiko) if is_running else 0,
        seats=tuple([_seat_powers(live, naiko, seat, is_running=is_running) for seat in seats]),
        window=None
        if window is None
        else WindowView(seats[window.target], seats[live.actor], window.turn, window.deadline_ms),
        powers=_offers(live) if is_running else (),
    )


def glanced_by(live: LiveHand) -> dict[Seat, Position]:
    """Return the position that each seat has looked at (NK-18: nobody else sees the card)."""
    return _positions(live, "hidden_glance")


def discarded_by(live: LiveHand) -> dict[Seat, Position]:
    """Return the position that each seat has thrown away (NK-23)."""
    return _positions(live, "sleeve_trick")


def _positions(live: LiveHand, power: Power) -> dict[Seat, Position]:
    if live.naiko is None:
        return {}
    return {live.deal.seats[made.place]: made.position for made in live.naiko.activations if made.power == power}


def _seat_powers(live: LiveHand, naiko: NaikoState, seat: Seat, *, is_running: bool) -> SeatPowers:
    place = live.deal.places[seat]
    used: list[Power] = [made.power for made in naiko.activations if made.place == place]
    if naiko.shielded >> place & 1:
        used.append("seal_shield")
    return SeatPowers(seat, naiko.destellos[place], tuple(used), is_running and is_anchored(live, place))


def _offers(live: LiveHand) -> tuple[PowerView, ...]:
    """Return every power on show as it stands for whoever is asked: the seat to act, for the Shield the target."""
    if live.actor == NOBODY:
        return ()
    actor = live.deal.seats[live.actor]
    asked = actor if live.window is None else live.deal.seats[live.window.target]
    offers: list[PowerView] = []
    for power in carousel_of(live):
        seat = asked if power == "seal_shield" else actor
        reason = why_not(live, seat, power)
        aims = tuple(targets(live)) if power == "short_anchor" and reason is None else ()
        offers.append(PowerView(power, seat, cost_of(live, power), reason or "", aims))
    return tuple(offers)
