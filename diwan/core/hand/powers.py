"""Folding the events of Naiko's powers: a record, like all of `evolve`."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from diwan.core.hand.events import (
    AnchorAnswered,
    AnchorDeclared,
    AnchorSettled,
    CardGlanced,
    CardSwapped,
    DeadlineMoved,
    DestellosReturned,
    HandStarted,
    NaikoEvent,
    WindowOpened,
)
from diwan.core.hand.state import Activation, LiveHand, NaikoState, Place, Window


def open_naiko(started: HandStarted) -> NaikoState | None:
    """Return what a hand of Naiko begins with, None in other games."""
    return None if started.naiko is None else NaikoState(started.naiko.destellos)


def evolve_powers(state: LiveHand, event: NaikoEvent) -> LiveHand:
    """Return the state after an event that only Naiko has."""
    naiko = state.naiko
    assert naiko is not None, "powers are used in Naiko only"  # noqa: S101
    places = state.deal.places
    match event:
        case CardGlanced():
            place = places[event.seat]
            made = Activation(place, "hidden_glance", state.street, state.answered[place], event.position)
            return replace(state, naiko=_activated(naiko, made, event.cost))
        case CardSwapped():
            place = places[event.seat]
            made = Activation(place, "sleeve_trick", state.street, state.answered[place], event.discarded)
            return replace(
                state,
                holdings=_swapped(state, place, event),
                next_position=event.taken + 1,
                naiko=_activated(naiko, made, event.cost),
            )
        case AnchorDeclared():
            place, target = places[event.seat], places[event.target]
            made = Activation(place, "short_anchor", state.street, state.answered[place], target=target)
            return replace(state, naiko=_activated(naiko, made, event.cost))
        case WindowOpened():
            window = Window(places[event.seat], event.turn, event.deadline_ms, event.remaining_ms)
            return replace(state, naiko=replace(naiko, window=window))
        case AnchorAnswered():
            return replace(state, naiko=_answered(naiko, places[event.seat], event))
        case AnchorSettled():
            settled = replace(naiko.activations[-1], is_anchored=not event.is_blocked)
            return replace(state, naiko=replace(naiko, activations=(*naiko.activations[:-1], settled)))
        case DestellosReturned():
            return replace(state, naiko=replace(naiko, destellos=event.destellos, window=None))
        case _:
            assert_never(event)


def after_deadline_moved(state: LiveHand, event: DeadlineMoved) -> LiveHand:
    """Return the state after a deadline moved: the turn's, or that of the response window which the event names."""
    naiko = state.naiko
    if naiko is None or naiko.window is None or naiko.window.turn != event.turn:
        return replace(state, deadline_ms=event.deadline_ms)
    return replace(state, naiko=replace(naiko, window=replace(naiko.window, deadline_ms=event.deadline_ms)))


def _activated(naiko: NaikoState, made: Activation, cost: int) -> NaikoState:
    return replace(naiko, activations=(*naiko.activations, made), destellos=_paid(naiko.destellos, made.place, cost))


def _answered(naiko: NaikoState, place: Place, event: AnchorAnswered) -> NaikoState:
    if event.answer == "pass":
        return replace(naiko, window=None)
    return replace(
        naiko,
        window=None,
        shielded=naiko.shielded | 1 << place,
        destellos=_paid(naiko.destellos, place, event.cost),
    )


def _paid(destellos: tuple[int, ...], place: Place, cost: int) -> tuple[int, ...]:
    left = [*destellos]
    left[place] -= cost
    return tuple(left)


def _swapped(state: LiveHand, place: Place, event: CardSwapped) -> tuple[tuple[int, ...], ...]:
    """The new card takes the slot of the one that was thrown away."""
    holdings = [*state.holdings]
    holdings[place] = tuple([event.taken if one == event.discarded else one for one in holdings[place]])
    return tuple(holdings)
