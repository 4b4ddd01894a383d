"""Hands paid pair by pair."""

import pytest

from diwan.core.ledger.accounts import BOTS, OPERATOR, escrow_account, named_id
from diwan.core.ledger.requests import LinkedSet, Result
from diwan.core.ledger.settlement import Line, Payoff, settle, settle_lines
from tests.unit.ledger.ledgers import balance, given, results, transfer, when

HAND = named_id(BOTS.account_id, "hand")
SITTINGS = [named_id(BOTS.account_id, f"sitting/{seat}") for seat in range(4)]
ESCROWS = [escrow_account(sitting) for sitting in SITTINGS]


def line(a: int, b: int, chips: int) -> Line:
    return Line(a, SITTINGS[a], b, SITTINGS[b], chips)


def test_every_line_of_a_pair_is_a_transfer_of_its_own_in_the_order_told():
    """CS-66: a player sees against whom how much was won, not only the sum."""
    paid = settle_lines(HAND, [line(1, 2, 30), line(1, 3, -20), line(2, 3, 0)], "table/t/9")

    assert [(t.debit_account, t.credit_account, t.amount, t.code) for t in paid.transfers] == [
        (ESCROWS[2].account_id, ESCROWS[1].account_id, 30, "line"),
        (ESCROWS[1].account_id, ESCROWS[3].account_id, 20, "line"),
    ]
    assert len({t.transfer_id for t in paid.transfers}) == 2


def test_the_same_hand_is_paid_once_whatever_is_delivered_again():
    """L3."""
    paid = settle_lines(HAND, [line(0, 1, 30), line(0, 2, -20)], "table/t/9")
    funds = LinkedSet(tuple(transfer(f"f{i}", OPERATOR, e, 100) for i, e in enumerate(ESCROWS)), opens=tuple(ESCROWS))

    decision, after = when(given(funds), paid, paid)

    assert results(decision.outcomes) == [Result.CREATED] * 2 + [Result.EXISTS] * 2
    assert [balance(after, escrow) for escrow in ESCROWS] == [110, 70, 120, 100]


@pytest.mark.parametrize("lines", [[line(0, 1, 5), line(1, 0, 5)], [line(0, 1, 5), line(0, 1, 6)]])
def test_a_pair_that_comes_twice_is_no_settlement(lines):
    with pytest.raises(ValueError, match="once"):
        settle_lines(HAND, lines, "c")


def test_without_a_table_nothing_is_carried():
    """L10."""
    with pytest.raises(ValueError, match="zero"):
        settle(HAND, [Payoff(0, SITTINGS[0], -5)], "c")
