"""Which movements of chips there are: between which kinds of account, and who may ask for each.

Nobody asks for a movement out of or into a sitting's escrow or a table's pot, nor out of an issuance account, by naming
the two accounts: those follow from a table's events, or from a request of their own.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from diwan.core.ledger.events import AccountKind

OPERATOR: Final = "operator"
SERVICE: Final = "service"


class Move(Struct, frozen=True):
    """One movement. ``asked_by`` are the roles that may ask for it by its accounts; ``comes_from`` says what else does.

    ``is_reversible``: an operator may take it back. What a table's stacks or a hold on them stand for never is: the
    escrow would no longer be the stack.
    """

    code: str
    debit: AccountKind
    credit: AccountKind
    asked_by: frozenset[str] = frozenset()
    comes_from: str = ""
    is_reversible: bool = True


def _asked(code: str, debit: AccountKind, credit: AccountKind, *roles: str) -> Move:
    return Move(code, debit, credit, frozenset(roles))


def _own(code: str, debit: AccountKind, credit: AccountKind, comes_from: str, *, is_reversible: bool = False) -> Move:
    return Move(code, debit, credit, frozenset(), comes_from, is_reversible)


_ENTRIES: Final = ("entry", "re_entry", "rebuy", "add_on")

MOVES: Final = (
    *(_asked(code, giver, "pool", SERVICE) for code in _ENTRIES for giver in ("player", "bots")),
    *(_asked(code, "pool", taker, SERVICE) for code in ("prize", "bounty") for taker in ("player", "bots")),
    _asked("refund", "pool", "player", SERVICE),
    _asked("refund", "pool", "bots", SERVICE),
    # A code of its own: what operators give is counted apart from what a tournament's rules give back.
    _asked("operator_refund", "pool", "player", OPERATOR),
    _asked("operator_refund", "pool", "bots", OPERATOR),
    _asked("fee", "pool", "house", SERVICE),
    _asked("fee", "house", "pool", SERVICE),
    _asked("guarantee", "house", "pool", SERVICE),
    _asked("guarantee", "pool", "house", SERVICE),
    _asked("adjustment", "player", "house", OPERATOR),
    _asked("adjustment", "house", "player", OPERATOR),
    _asked("gift", "player", "player", SERVICE, OPERATOR),
    _own("starting_grant", "issuance", "player", "OpenAccount", is_reversible=True),
    _own("issue", "issuance", "player", "Issue", is_reversible=True),
    _own("issue", "issuance", "house", "Issue", is_reversible=True),
    _own("promotion", "issuance", "player", "Issue", is_reversible=True),
    _own("promotion", "issuance", "house", "Issue", is_reversible=True),
    _own("purchase", "issuance", "player", "CreditPurchase", is_reversible=True),
    _own("purchase_refunded", "player", "issuance", "RefundPurchase"),
    _own("ad_reward", "issuance", "player", "CreditAdReward", is_reversible=True),
    _own("free_top_up", "issuance", "player", "TopUp", is_reversible=True),
    _own("bots_float", "issuance", "bots", "a payment that the bots' account is short of"),
    *(_own("buy_in", giver, "escrow", "FundSeat") for giver in ("player", "bots")),
    *(_own("top_up", giver, "escrow", "FundSeat") for giver in ("player", "bots")),
    *(_own("buy_in_returned", "escrow", taker, "the table's log") for taker in ("player", "bots")),
    *(_own("top_up_returned", "escrow", taker, "the table's log") for taker in ("player", "bots")),
    _own("hand", "escrow", "escrow", "the table's log"),
    _own("line", "escrow", "escrow", "the table's log"),
    _own("carried", "escrow", "pot", "the table's log"),
    _own("carried_won", "pot", "escrow", "the table's log"),
    _own("match_entry", "escrow", "pot", "the table's log"),
    *(_own("match_prize", "pot", taker, "the table's log") for taker in ("player", "bots")),
    *(_own("carried_returned", "pot", taker, "the table's log") for taker in ("player", "bots")),
    *(_own("cash_out", "escrow", taker, "the table's log") for taker in ("player", "bots")),
)
"""All of them, but for reversals, which go from where the reversed transfer went to where it came from."""

REVERSAL: Final = "reversal"

_BY_NAME: Final = {(move.code, move.debit, move.credit): move for move in MOVES}

GIVES_ALTHOUGH_FROZEN: Final = frozenset({"adjustment", "purchase_refunded", REVERSAL})
"""What is taken from a frozen account all the same: it is frozen so that the house can take back, not the player give."""

WITHHELD_WHILE_FROZEN: Final = frozenset({"ad_reward", "free_top_up", "gift"})
"""What a frozen account does not get: gifts of the house and of others. What is due to it still arrives."""


def may_ask(code: str, debit: AccountKind, credit: AccountKind, role: str) -> bool:
    """Whether a role may ask for this movement by naming the two accounts."""
    move = _BY_NAME.get((code, debit, credit))
    return move is not None and role in move.asked_by


def is_reversible(code: str, debit: AccountKind, credit: AccountKind) -> bool:
    """Whether an operator may take such a transfer back; an unknown one never."""
    move = _BY_NAME.get((code, debit, credit))
    return move is not None and move.is_reversible
