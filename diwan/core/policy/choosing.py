"""The one way in: from what a seat is sent to what its bot does."""

from __future__ import annotations

from diwan.core.policy.betting import bet
from diwan.core.policy.capsa import CapsaSeen, capsa_move
from diwan.core.policy.drawing import chance_of
from diwan.core.policy.holdem import HOLDEM
from diwan.core.policy.moves import Move
from diwan.core.policy.naiko import naiko_move
from diwan.core.policy.omaha import OMAHA
from diwan.core.policy.sarab import sarab_choice
from diwan.core.policy.seen import situation_of
from diwan.core.policy.style import MIDDLE, Style
from diwan.core.view import Seat, SeatedView


def choose(view: SeatedView | CapsaSeen, seat: Seat, secret: bytes, style: Style = MIDDLE) -> Move | None:
    """Return what a seat does, or None where nothing is asked of it or its cards have not come yet.

    The same view and secret give the same move. It depends on the seat's own cards, on what is on the table and on the
    legal actions; not on who plays, nor on whether they are people (F10). Raises ValueError for a game without a policy.
    """
    if isinstance(view, CapsaSeen):
        return capsa_move(view, seat, style)
    hand = view.table.hand
    if hand is None or hand.street == "over" or not view.own_cards.get(seat):
        return None
    if hand.game == "naiko":
        return naiko_move(view, seat, secret, style)
    decision = hand.decision
    if decision is None or decision.seat != seat:
        return None
    situation, chance = situation_of(view, seat), chance_of(secret, hand.hand_id, decision.turn, "act")
    match hand.game:
        case "holdem":
            return bet(situation, chance, style, HOLDEM)
        case "omaha":
            return bet(situation, chance, style, OMAHA)
        case "sarab":
            is_void_unless_bet = hand.sarab is not None and hand.sarab.is_void_unless_bet
            return sarab_choice(situation, chance, style, is_void_unless_bet=is_void_unless_bet)
        case _:
            raise ValueError(f"there is no policy for {hand.game}")
