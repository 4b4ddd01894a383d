"""Capsa Susun: set, say whether to play, answer offers of stakes, and keep the reserve (CS-18, CS-30, CS-62, CS-65).

Naturals are not declared by anybody: the server finds them and takes their holders out of the hand (CS-69, CS-81).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.games.capsa.reserve import reserve_of
from diwan.core.games.capsa.settings import CapsaSettings, PairUnit
from diwan.core.games.capsa.view import CapsaDecision, CapsaHandView, CapsaOwnView, CapsaView, Chips, RowsView, Seat
from diwan.core.policy.capsa_sets import Rows, best_set, value_of_set
from diwan.core.policy.moves import CallAnswer, Move, ReserveMove, SetRows, StakeAnswer
from diwan.core.policy.style import Style

_STAKE_UNITS: Final = 3
"""A middling bot plays for up to so many times the table's unit against one opponent."""

_RESERVE_SHARE: Final = 0.5
"""A stake is accepted while the reserve takes no more than this of the stack: one bad hand then ends nobody's evening."""


class StakeOffer(Struct, frozen=True):
    """A stake that another seat offers to this one (CS-62)."""

    other: Seat
    unit: Chips


class CapsaSeen(Struct, frozen=True, kw_only=True):
    """A table of Capsa as a seat sees it: the hand, if one is shown, and what stands between hands.

    ``settings`` are those that the hand was dealt by, or the next one will be; with the stakes that pairs agreed upon.
    ``seats`` are those that the next hand would be dealt to, this one among them. ``stack_max`` is what the table lets a
    seat bring.
    """

    settings: CapsaSettings
    hand: CapsaView | None = None
    seats: tuple[Seat, ...] = ()
    stack: Chips = 0
    stack_max: Chips = 0
    offers: tuple[StakeOffer, ...] = ()


def capsa_move(seen: CapsaSeen, seat: Seat, style: Style) -> Move | None:
    """Return what a seat does: in the hand, else about its stakes and its reserve; None where nothing is asked of it.

    No chance is drawn: what to set is the same whoever asks, and hides itself until the reveal.
    """
    hand = seen.hand
    decision = None if hand is None else hand.hand.decision
    if hand is not None and decision is not None and seat in decision.seats:
        own = next((each for each in hand.own if each.seat == seat), None)
        move = None if own is None else _in_hand(hand.hand, decision, own, seen.settings, style)
        if move is not None:
            return move
    return _answered_offer(seen, seat, style) or _reserve(seen, seat)


def _in_hand(
    hand: CapsaHandView, decision: CapsaDecision, own: CapsaOwnView, settings: CapsaSettings, style: Style
) -> Move | None:
    match decision.kind:
        case "set":
            return None if own.locked is not None else _set(own, settings)
        case "answer":
            is_lost = decision.can_surrender and _is_lost(hand, own, settings, style)
            return CallAnswer("surrender" if is_lost else "play")


def _set(own: CapsaOwnView, settings: CapsaSettings) -> SetRows:
    """Save the best set as a draft first, so that who is cut off then is not set by the server (CS-28); then lock it."""
    draft = own.draft
    if draft is not None and draft.is_complete and not draft.is_fouled:
        return SetRows(_rows(draft), is_final=True)
    return SetRows(best_set(own.cards, settings).rows, is_final=False)


def _rows(view: RowsView) -> Rows:
    return view.front, view.middle, view.back


def _is_lost(hand: CapsaHandView, own: CapsaOwnView, settings: CapsaSettings, style: Style) -> bool:
    """Say whether the set is expected to lose more than surrendering costs (CS-53).

    Who has surrendered already pays those who play, and has nothing to fear from those who do not. A loose style hopes.
    """
    set_ = own.locked
    if set_ is None or set_.is_fouled:
        return set_ is not None
    rivals = [each for each in hand.seats if each.seat != own.seat and each.natural is None]
    surrendered = sum([each.answer == "surrender" for each in rivals])
    playing = len(rivals) - surrendered
    price = settings.surrender.price
    expected = value_of_set(_rows(set_), settings) * playing + price * surrendered
    return expected * 100 / style.looseness < -price * playing


def _answered_offer(seen: CapsaSeen, seat: Seat, style: Style) -> StakeAnswer | None:
    """Answer the first offer: accepted up to a few of the table's units, where the reserve leaves enough behind.

    Who offers does not matter (F10).
    """
    for offer in seen.offers:
        agreed = _with_stake(seen.settings, seat, offer)
        is_modest = offer.unit * 100 <= seen.settings.unit * _STAKE_UNITS * style.looseness
        is_covered = reserve_of(agreed, seat, _dealt(seen, seat, offer.other)) <= _RESERVE_SHARE * seen.stack
        return StakeAnswer(offer.other, offer.unit, is_accepted=is_modest and is_covered)
    return None


def _with_stake(settings: CapsaSettings, seat: Seat, offer: StakeOffer) -> CapsaSettings:
    pair = {seat, offer.other}
    others = tuple([each for each in settings.pair_units if {each.a, each.b} != pair])
    return replace(settings, pair_units=(*others, PairUnit(min(pair), max(pair), offer.unit)))


def _dealt(seen: CapsaSeen, *more: Seat) -> Iterable[Seat]:
    return sorted({*seen.seats, *more})


def _reserve(seen: CapsaSeen, seat: Seat) -> ReserveMove | StakeAnswer | None:
    """See to the reserve where the stack does not cover it: top up, give up a dear stake, or make room (CS-65)."""
    if seat not in seen.seats or (seen.hand is not None and seen.hand.hand.phase != "over"):
        return None
    reserve = reserve_of(seen.settings, seat, seen.seats)
    if seen.stack >= reserve:
        return None
    if seen.stack_max >= reserve:
        return ReserveMove("top_up", seen.stack_max - seen.stack)
    dear = [each for each in seen.settings.pair_units if seat in {each.a, each.b} and each.unit > seen.settings.unit]
    if dear:
        dearest = max(dear, key=lambda each: (each.unit, each.a, each.b))
        other = dearest.b if dearest.a == seat else dearest.a
        return StakeAnswer(other, dearest.unit, is_accepted=False)
    return ReserveMove("stand_up", 0)
