"""Paying a hand: one linked set that moves every loss to whoever won it, straight from escrow to escrow."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from diwan.core.ledger.accounts import escrow_account, named_id
from diwan.core.ledger.books import Transfer
from diwan.core.ledger.posting import LinkedSet


class Payoff(Struct, frozen=True):
    """What a hand brought one sitting: above zero won, below zero lost."""

    seat: int
    sitting: str
    amount: int


def settle(hand_id: str, payoffs: Sequence[Payoff], cause: str) -> LinkedSet:
    """Return the transfers of a settled hand: losers in seat order pay winners in seat order.

    At most one transfer less than there are seats that won or lost; ids follow from the hand and the two seats, so the
    same hand is paid once whatever is delivered again. Payoffs that do not sum to zero raise ValueError (L10).
    """
    if sum(payoff.amount for payoff in payoffs) != 0:
        raise ValueError("the payoffs of a hand sum to zero")
    ordered = sorted(payoffs, key=lambda payoff: payoff.seat)
    winners = [(payoff, payoff.amount) for payoff in ordered if payoff.amount > 0]
    transfers: list[Transfer] = []
    for loser in ordered:
        owed = max(-loser.amount, 0)
        while owed:
            winner, due = winners[0]
            amount = min(owed, due)
            transfers.append(_paid(hand_id, loser, winner, amount, cause))
            owed -= amount
            if amount == due:
                winners.pop(0)
            else:
                winners[0] = (winner, due - amount)
    return LinkedSet(tuple(transfers))


def _paid(hand_id: str, loser: Payoff, winner: Payoff, amount: int, cause: str) -> Transfer:
    return Transfer(
        named_id(hand_id, f"settle/{loser.seat}/{winner.seat}"),
        escrow_account(loser.sitting).account_id,
        escrow_account(winner.sitting).account_id,
        amount,
        "hand",
        cause,
    )
