"""From the view that a seat is sent to the situation that a policy decides in."""

from __future__ import annotations

from diwan.core.cards import Card
from diwan.core.policy.situation import Options, Situation
from diwan.core.view import Decision, HandView, SeatView, TableView


def situation_of(table: TableView, own_cards: tuple[Card, ...]) -> Situation:
    """Return the situation of the seat whose decision is open; raises ValueError where none is."""
    hand = table.hand
    if hand is None or hand.decision is None or hand.street == "over":
        raise ValueError("nobody has a decision")
    decision = hand.decision
    seats = {seat.seat: seat for seat in table.seats}
    own = seats[decision.seat]
    opponents = [seat for seat in table.seats if seat.in_hand and not seat.has_folded and seat.seat != decision.seat]
    return Situation(
        own_cards=own_cards,
        board=hand.board,
        street=hand.street,
        big_blind=table.settings.big_blind,
        pot=hand.pot,
        own_bet=own.bet,
        own_stack=own.stack,
        opponents=len(opponents),
        acting_later=_acting_later(hand, decision, opponents, table.settings.seats),
        reachable=max((seat.bet + seat.stack for seat in opponents), default=0),
        options=_options(decision),
    )


def _acting_later(hand: HandView, decision: Decision, opponents: list[SeatView], seats: int) -> int:
    """Count the opponents from this seat clockwise to the button, the button included."""
    to_button = (hand.button - decision.seat) % seats
    return sum(1 for seat in opponents if (seat.seat - decision.seat) % seats <= to_button)


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
