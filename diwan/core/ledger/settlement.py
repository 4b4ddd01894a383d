"""Paying a hand: one linked set that moves every loss to whoever won it, straight from escrow to escrow."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from diwan.core.ledger.accounts import escrow_account, named_id, pot_account
from diwan.core.ledger.books import Transfer
from diwan.core.ledger.requests import LinkedSet


class Payoff(Struct, frozen=True):
    """What a hand brought one sitting: above zero won, below zero lost."""

    seat: int
    sitting: str
    amount: int


class Line(Struct, frozen=True):
    """What one pair of sittings settled between them (CS-66): chips that ``b`` pays ``a``, below zero the other way."""

    a: int
    a_sitting: str
    b: int
    b_sitting: str
    chips: int


class _Side(Struct, frozen=True):
    """A seat's escrow or the table's pot, with what it owes or is owed."""

    name: str
    account_id: str
    amount: int
    is_pot: bool = False


def settle(hand_id: str, payoffs: Sequence[Payoff], cause: str, table_id: str = "") -> LinkedSet:
    """Return the transfers of a hand: losers in seat order pay winners in seat order, the table's pot comes last.

    Payoffs that do not sum to zero leave chips in the pot of the table, or take what void hands left there (A6);
    without a table they raise ValueError (L10). At most one transfer less than there are sides that won or lost; ids
    follow from the hand and the two sides, so the same hand is paid once whatever is delivered again.
    """
    carried = -sum([payoff.amount for payoff in payoffs])
    if carried and not table_id:
        raise ValueError("the payoffs of a hand sum to zero")
    ordered = sorted(payoffs, key=lambda payoff: payoff.seat)
    sides = [_Side(str(p.seat), escrow_account(p.sitting).account_id, p.amount) for p in ordered]
    pot = pot_account(table_id)
    if carried:
        sides.append(_Side("pot", pot.account_id, carried, is_pot=True))
    winners = [(side, side.amount) for side in sides if side.amount > 0]
    transfers: list[Transfer] = []
    for loser in sides:
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
    return LinkedSet(tuple(transfers), opens=(pot,) if carried > 0 else ())


def settle_lines(hand_id: str, lines: Sequence[Line], cause: str) -> LinkedSet:
    """Return the transfers of a hand that is settled pair by pair, one for each line that moves chips, in their order.

    Each seat covers all its possible losses before it is dealt in (CS-65), so whatever the order none runs short. Ids
    follow from the hand and the pair; a pair that comes twice raises ValueError.
    """
    pairs = [frozenset((line.a, line.b)) for line in lines]
    if len(set(pairs)) != len(pairs):
        raise ValueError("a pair settles a hand once")
    return LinkedSet(tuple([_line(hand_id, line, cause) for line in lines if line.chips]))


def _line(hand_id: str, line: Line, cause: str) -> Transfer:
    a, b = escrow_account(line.a_sitting).account_id, escrow_account(line.b_sitting).account_id
    debit, credit = (b, a) if line.chips > 0 else (a, b)
    return Transfer(named_id(hand_id, f"line/{line.a}/{line.b}"), debit, credit, abs(line.chips), "line", cause)


def _paid(hand_id: str, loser: _Side, winner: _Side, amount: int, cause: str) -> Transfer:
    code = "carried_won" if loser.is_pot else "carried" if winner.is_pot else "hand"
    transfer_id = named_id(hand_id, f"settle/{loser.name}/{winner.name}")
    return Transfer(transfer_id, loser.account_id, winner.account_id, amount, code, cause)
