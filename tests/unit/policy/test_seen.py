"""What a policy makes of the view that its seat is sent."""

from __future__ import annotations

import random  # noqa: TID251  (tests may use chance)

import pytest
from msgspec.structs import replace

from diwan.core.cards import parse_cards
from diwan.core.policy import choose
from diwan.core.policy.betting import bet
from diwan.core.policy.holdem import HOLDEM
from diwan.core.policy.seen import situation_of
from diwan.core.policy.style import MIDDLE
from diwan.core.view import Decision, HandView, SeatedView, SeatView, Settings, TableView

OWN = parse_cards("As Kd")


def seat(number: int, stack: int, bet: int = 0, *, in_hand: bool = True, has_folded: bool = False) -> SeatView:
    return SeatView(
        seat=number,
        player=f"p{number}",
        display_name=f"p{number}",
        is_bot=False,
        stack=stack,
        status="playing",
        in_hand=in_hand,
        has_folded=has_folded,
        is_all_in=stack == 0 and in_hand,
        bet=bet,
    )


def on_the_turn() -> TableView:
    """Given six seats, the button at 5: 1 decides against 0, 3 and 4; 2 has folded, 5 is not dealt in."""
    decision = Decision(
        seat=1,
        turn=40,
        deadline_ms=10,
        can_fold=True,
        can_check=False,
        can_call=True,
        call_amount=30,
        can_bet=False,
        can_raise=True,
        min_to=60,
        max_to=170,
        pot_to=170,
    )
    hand = HandView("h", 7, "turn", 5, parse_cards("Ah 7c 2d 9s"), 110, (), decision, bytes(32), "holdem", 2)
    seats = (
        seat(0, 90),
        seat(1, 170),
        seat(2, 50, has_folded=True),
        seat(3, 400, 30),
        seat(4, 0, 10),
        seat(5, 900, in_hand=False),
    )
    settings = Settings("t", "holdem", "no_limit", 1, 2, 20, 6, 40, 200)
    return TableView("t", 41, 1, settings, seats, hand, None, is_closing=False, is_closed=False)


def seated(table: TableView) -> SeatedView:
    return SeatedView(table, {1: OWN})


def test_a_view_becomes_the_situation_of_the_seat_to_act():
    situation = situation_of(seated(on_the_turn()), 1)

    assert (situation.own_cards, situation.street, len(situation.board)) == (OWN, "turn", 4)
    assert (situation.pot, situation.own_bet, situation.own_stack, situation.big_blind) == (110, 0, 170, 2)
    assert situation.opponents == 3
    assert situation.acting_later == 2, "3 and 4 sit before the button, 0 behind it has acted"
    assert situation.reachable == 430
    assert (situation.price, situation.options.min_to, situation.options.max_to) == (30, 60, 170)


def test_seats_that_cannot_win_the_pot_change_nothing():
    """Given other chips in front of folded and absent seats, then the situation is the same."""
    table = on_the_turn()
    others = tuple(replace(seat, stack=7) if seat.seat in {2, 5} else seat for seat in table.seats)

    assert situation_of(seated(replace(table, seats=others)), 1) == situation_of(seated(table), 1)


@pytest.mark.parametrize("hand", [None, "over", "folded"])
def test_who_is_in_no_hand_has_no_situation(hand):
    table = on_the_turn()
    assert table.hand is not None
    seen = {
        None: seated(replace(table, hand=None)),
        "over": seated(replace(table, hand=replace(table.hand, street="over"))),
        "folded": SeatedView(table, {2: OWN}),
    }[hand]

    with pytest.raises(ValueError, match="in no hand"):
        situation_of(seen, 2 if hand == "folded" else 1)
    assert choose(seen, 2 if hand == "folded" else 1, bytes(32)) is None


def test_nothing_is_on_offer_while_another_decides():
    options = situation_of(SeatedView(on_the_turn(), {3: OWN}), 3).options

    allowed = [options.can_fold, options.can_check, options.can_call, options.can_lift, options.can_sarab]
    assert allowed == [False] * 5


def test_nothing_is_decided_before_the_cards_have_come():
    assert choose(SeatedView(on_the_turn(), {}), 1, bytes(32)) is None


def test_a_situation_from_a_view_can_be_decided():
    assert bet(situation_of(seated(on_the_turn()), 1), random.Random(1).randrange, MIDDLE, HOLDEM).kind in {
        "call",
        "raise",
    }
