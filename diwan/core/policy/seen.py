"""From the view that a seat is sent to the situation that a policy decides in."""

from __future__ import annotations

from typing import Final

from diwan.core.cards import Card
from diwan.core.policy.situation import Options, Situation
from diwan.core.view import Decision, HandView, Seat, SeatedView, SeatView, TableView

_BOARD: Final = 5
_NOTHING: Final = Options(
    can_fold=False,
    can_check=False,
    can_call=False,
    call_amount=0,
    can_bet=False,
    can_raise=False,
    min_to=0,
    max_to=0,
)


def situation_of(view: SeatedView, seat: Seat) -> Situation:
    """Return the situation of a seat in a running hand; raises ValueError where there is none or it has no part in it.

    Where the open decision is another's, or an Anchor's answer, nothing is on offer.
    """
    hand = view.table.hand
    own = next((each for each in view.table.seats if each.seat == seat and each.in_hand and not each.has_folded), None)
    if hand is None or hand.street == "over" or own is None:
        raise ValueError(f"seat {seat} is in no hand")
    decision = hand.decision
    opponents = [each for each in view.table.seats if each.in_hand and not each.has_folded and each.seat != seat]
    discarded = view.discarded.get(seat)
    return Situation(
        own_cards=view.own_cards[seat],
        board=hand.board,
        street=hand.street,
        big_blind=_smallest_bet(view.table, hand),
        pot=hand.pot,
        own_bet=own.bet,
        own_stack=own.stack,
        opponents=len(opponents),
        acting_later=_acting_later(hand, seat, opponents, view.table.settings.seats),
        reachable=max((each.bet + each.stack for each in opponents), default=0),
        options=_options(decision) if decision is not None and decision.seat == seat else _NOTHING,
        next_card=_next_card(hand, view.glanced.get(seat)),
        dead=() if discarded is None else (discarded,),
    )


def _smallest_bet(table: TableView, hand: HandView) -> int:
    """Return the big blind, or where there is none the forced bet of this deal (SB-31)."""
    return table.settings.big_blind if hand.sarab is None else hand.sarab.forced_bet


def _next_card(hand: HandView, glanced: Card | None) -> Card | None:
    """Return the card that the seat has looked at, while it is the next to turn up.

    Before the flop a Trick may have taken it since (NK-19), and the view does not say in which order they were.
    """
    if glanced is None or glanced in hand.board or len(hand.board) == _BOARD:
        return None
    is_tricked = hand.naiko is not None and any("sleeve_trick" in each.used for each in hand.naiko.seats)
    return None if is_tricked and hand.street == "preflop" else glanced


def _acting_later(hand: HandView, seat: Seat, opponents: list[SeatView], seats: int) -> int:
    """Count the opponents from this seat clockwise to the button, the button included."""
    to_button = (hand.button - seat) % seats
    return sum(1 for each in opponents if (each.seat - seat) % seats <= to_button)


def _options(decision: Decision) -> Options:
    return Options(
        can_fold=decision.can_fold,
        can_check=decision.can_check,
        can_call=decision.can_call,
        call_amount=decision.call_amount,
        can_bet=decision.can_bet,
        can_raise=decision.can_raise,
        min_to=decision.min_to,
        max_to=decision.max_to,
        can_sarab=decision.can_sarab,
    )
