"""Freezing, reversals and refunds: new postings that name the old, and nothing that unmakes what a table stands on."""

import pytest

from diwan.core.ledger.accounts import (
    BOTS,
    HOUSE,
    OPERATOR,
    PURCHASE,
    escrow_account,
    named_id,
    pot_account,
)
from diwan.core.ledger.books import Transfer
from diwan.core.ledger.corrections import REFUNDED
from diwan.core.ledger.moves import GIVES_ALTHOUGH_FROZEN, MOVES, WITHHELD_WHILE_FROZEN
from diwan.core.ledger.policies import Policies
from diwan.core.ledger.requests import (
    ConsentChange,
    FreezeChange,
    HoldPlacement,
    LinkedSet,
    Refund,
    Result,
    Reversal,
    Revocation,
)
from tests.unit.ledger.ledgers import AMAL, DINA, POOL, an_id, available, balance, given, results, transfer, when

FREEZE = FreezeChange(an_id("freeze"), AMAL.account_id, is_frozen=True, cause="case 1")
THAW = FreezeChange(an_id("thaw"), AMAL.account_id, is_frozen=False, cause="case 1")
ISSUED = LinkedSet((transfer("t", OPERATOR, AMAL, 300, "issue"),))
BACK = Reversal(an_id("back"), an_id("t"), "operator/o: wrong")
POLICIES = Policies()
BOUGHT = POLICIES.bought("store", "r1", "amal", 500)
BOUGHT_ID = BOUGHT.transfer.transfer_id
SITTING = named_id(AMAL.account_id, "sitting")
ESCROW = escrow_account(SITTING)


def test_a_frozen_account_gives_nothing_and_the_id_stays_refused():
    books = given(FREEZE)

    decision, after = when(books, LinkedSet((transfer("t", AMAL, DINA, 1, "gift"),)))
    later, _ = when(after, THAW, LinkedSet((transfer("t", AMAL, DINA, 1, "gift"),)))

    assert results(decision.outcomes) == [Result.ACCOUNT_FROZEN]
    assert results(later.outcomes) == [Result.CREATED, Result.ID_ALREADY_FAILED]


@pytest.mark.parametrize("code", sorted({move.code for move in MOVES if move.credit == "player"} | {"reversal"}))
def test_what_is_due_reaches_a_frozen_account_and_what_is_given_does_not(code):
    """Settlement never fails because somebody was frozen."""
    books = given(LinkedSet((transfer("house", OPERATOR, HOUSE, 100, "issue"),)), FREEZE)

    decision, _ = when(books, LinkedSet((transfer("t", HOUSE, AMAL, 5, code),)))

    assert results(decision.outcomes) == [Result.ACCOUNT_FROZEN if code in WITHHELD_WHILE_FROZEN else Result.CREATED]


@pytest.mark.parametrize("code", sorted({move.code for move in MOVES if move.debit == "player"} | {"reversal"}))
def test_only_the_house_takes_from_a_frozen_account(code):
    decision, _ = when(given(FREEZE), LinkedSet((transfer("t", AMAL, HOUSE, 5, code),)))

    assert results(decision.outcomes) == [Result.CREATED if code in GIVES_ALTHOUGH_FROZEN else Result.ACCOUNT_FROZEN]


def test_a_thawed_account_gives_again():
    decision, _ = when(given(FREEZE, THAW), LinkedSet((transfer("t", AMAL, DINA, 1),)))

    assert results(decision.outcomes) == [Result.CREATED]


@pytest.mark.parametrize("account", [HOUSE, POOL, OPERATOR, escrow_account(an_id("none"))])
def test_only_a_players_account_is_frozen(account):
    decision, _ = when(given(), FreezeChange(an_id("f"), account.account_id, is_frozen=True, cause="c"))

    assert results(decision.outcomes) == [Result.ACCOUNT_NOT_FOUND]
    assert decision.event is None


def test_consent_is_recorded_when_it_changes_and_only_then():
    given_ = ConsentChange(an_id("yes"), AMAL.account_id, is_given=True, cause="player/amal")
    again = ConsentChange(an_id("yes2"), AMAL.account_id, is_given=True, cause="player/amal")

    decision, after = when(given(), given_, again)

    assert results(decision.outcomes) == [Result.CREATED, Result.EXISTS]
    assert len(decision.event.consents) == 1
    assert after.accounts[AMAL.account_id].has_top_up_consent


def test_a_reversal_is_a_transfer_back_that_names_the_old():
    decision, after = when(given(ISSUED), BACK)

    (posted,) = decision.event.transfers
    assert (posted.debit_account, posted.credit_account, posted.amount, posted.reverses, posted.code) == (
        AMAL.account_id,
        OPERATOR.account_id,
        300,
        an_id("t"),
        "reversal",
    )
    assert balance(after, AMAL) == 1000
    assert after.reversed_by == {an_id("t"): an_id("back")}


def test_a_transfer_is_taken_back_once_and_the_same_request_again_exists():
    """L3."""
    books = given(ISSUED, BACK)

    decision, _ = when(books, BACK, Reversal(an_id("back2"), an_id("t"), "c"))

    assert results(decision.outcomes) == [Result.EXISTS, Result.ALREADY_REVERSED]


def test_the_same_reversal_twice_in_one_batch_is_one():
    decision, _ = when(given(ISSUED), BACK, BACK, Reversal(an_id("back2"), an_id("t"), "c"))

    assert results(decision.outcomes) == [Result.CREATED, Result.EXISTS, Result.ALREADY_REVERSED]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (Reversal(an_id("back"), an_id("t"), "other"), Result.EXISTS_WITH_DIFFERENT_CAUSE),
        (Reversal(an_id("back"), an_id("u"), "operator/o: wrong"), Result.EXISTS_WITH_DIFFERENT_REVERSES),
        (Reversal(an_id("t"), an_id("t"), "c"), Result.EXISTS_WITH_DIFFERENT_REVERSES),
        (LinkedSet((transfer("back", AMAL, OPERATOR, 300, "reversal"),)), Result.EXISTS_WITH_DIFFERENT_REVERSES),
    ],
)
def test_the_id_of_a_reversal_with_other_content_is_refused_by_what_differs(changed, told):
    """L4."""
    decision, _ = when(given(ISSUED, BACK), changed)

    assert results(decision.outcomes) == [told]
    assert decision.event is None


def test_a_reversal_is_not_reversed():
    decision, _ = when(given(ISSUED, BACK), Reversal(an_id("forth"), an_id("back"), "c"))

    assert results(decision.outcomes) == [Result.NOT_REVERSIBLE]


def test_what_was_spent_since_is_not_taken_back_and_the_id_stays_refused():
    """L2, L5."""
    books = given(ISSUED, LinkedSet((transfer("spent", AMAL, DINA, 1100),)))

    decision, after = when(books, BACK)
    later, _ = when(after, LinkedSet((transfer("gain", DINA, AMAL, 1100),)), BACK)

    assert results(decision.outcomes) == [Result.EXCEEDS_BALANCE]
    assert results(later.outcomes) == [Result.CREATED, Result.ID_ALREADY_FAILED]


def test_a_reversal_never_takes_what_is_held():
    """L2."""
    books = given(ISSUED, HoldPlacement(transfer("hold", AMAL, POOL, 1100, "entry"), 1000))

    decision, _ = when(books, BACK)

    assert results(decision.outcomes) == [Result.EXCEEDS_BALANCE]


def test_a_transfer_that_is_not_there_is_not_taken_back():
    decision, after = when(given(), BACK)
    later, _ = when(after, ISSUED, BACK)

    assert results(decision.outcomes) == [Result.TRANSFER_NOT_FOUND]
    assert results(later.outcomes) == [Result.CREATED, Result.ID_ALREADY_FAILED]


@pytest.mark.parametrize(
    ("debit", "credit", "code"),
    [
        (AMAL, ESCROW, "buy_in"),
        (AMAL, ESCROW, "top_up"),
        (ESCROW, AMAL, "cash_out"),
        (ESCROW, AMAL, "buy_in_returned"),
        (ESCROW, escrow_account(an_id("2")), "hand"),
        (ESCROW, escrow_account(an_id("2")), "line"),
        (ESCROW, pot_account("t"), "carried"),
        (pot_account("t"), ESCROW, "carried_won"),
        (AMAL, DINA, "nothing that is known"),
        (BOTS, ESCROW, "buy_in"),
    ],
)
def test_what_a_tables_stacks_stand_for_is_never_taken_back(debit, credit, code):
    """Escrow = stack holds whatever an operator asks for."""
    opens = tuple(account for account in (debit, credit) if account.kind in {"escrow", "pot"})
    books = given(
        LinkedSet((), opens=opens),
        LinkedSet((transfer("fund", OPERATOR, debit, 10),)) if debit is not AMAL else ISSUED,
        LinkedSet((transfer("x", debit, credit, 10, code),)),
    )

    decision, _ = when(books, Reversal(an_id("back"), an_id("x"), "c"))

    assert results(decision.outcomes) == [Result.NOT_REVERSIBLE]
    assert decision.event.transfers == ()


def test_no_move_of_an_escrow_or_a_pot_is_reversible():
    assert not [m for m in MOVES if {m.debit, m.credit} & {"escrow", "pot"} and (m.is_reversible or m.asked_by)]
    assert not [m for m in MOVES if "issuance" in {m.debit, m.credit} and m.asked_by]


def test_a_refund_takes_the_purchase_back_once():
    """L3."""
    books = given(BOUGHT)

    decision, after = when(books, Refund(BOUGHT_ID, "refund"), Refund(BOUGHT_ID, "said otherwise"))

    assert results(decision.outcomes) == [Result.CREATED, Result.EXISTS]
    assert [outcome.verdicts[0].amount for outcome in decision.outcomes] == [500, 500]
    assert (balance(after, AMAL), balance(after, PURCHASE)) == (1000, 0)
    assert after.reversed_by[BOUGHT_ID] == named_id(BOUGHT_ID, "refunded")
    assert [t.code for t in decision.event.transfers] == [REFUNDED]
    assert not after.accounts[AMAL.account_id].is_frozen


def test_what_was_spent_of_a_refunded_purchase_is_recorded_and_freezes_the_account():
    books = given(BOUGHT, LinkedSet((transfer("spent", AMAL, DINA, 1300),)))

    decision, after = when(books, Refund(BOUGHT_ID, "refund"))
    again, _ = when(after, Refund(BOUGHT_ID, "refund"))

    (outcome,) = decision.outcomes
    assert (outcome.verdicts[0].amount, outcome.shortfall) == (200, 300)
    assert after.accounts[AMAL.account_id].is_frozen
    assert balance(after, AMAL) == 0
    assert (again.outcomes[0].verdicts[0].amount, again.outcomes[0].shortfall) == (200, 300)
    assert again.event is None


def test_a_refund_of_a_purchase_that_is_all_spent_moves_nothing_and_happens_once():
    books = given(BOUGHT, LinkedSet((transfer("spent", AMAL, DINA, 1500),)))

    decision, after = when(books, Refund(BOUGHT_ID, "refund"))
    later, last = when(after, LinkedSet((transfer("gain", DINA, AMAL, 900),)), Refund(BOUGHT_ID, "refund"))

    assert decision.event.transfers == ()
    assert decision.outcomes[0].shortfall == 500
    assert results(later.outcomes) == [Result.CREATED, Result.EXISTS]
    assert balance(last, AMAL) == 900
    assert results(when(last, Reversal(an_id("b"), BOUGHT_ID, "c"))[0].outcomes) == [Result.ALREADY_REVERSED]


def test_a_refund_leaves_alone_what_is_held_for_somebody_else():
    """L2."""
    books = given(BOUGHT, HoldPlacement(transfer("hold", AMAL, POOL, 1200, "entry"), 1000))

    decision, after = when(books, Refund(BOUGHT_ID, "refund"))

    assert (decision.outcomes[0].verdicts[0].amount, decision.outcomes[0].shortfall) == (300, 200)
    assert available(after, AMAL) == 0


def test_a_purchase_whose_refund_came_first_is_never_credited():
    decision, after = when(given(), Refund(BOUGHT_ID, "refund"))
    later, last = when(after, BOUGHT, Refund(BOUGHT_ID, "refund"))

    assert results(decision.outcomes) == [Result.CREATED]
    assert results(later.outcomes) == [Result.ID_ALREADY_FAILED, Result.EXISTS]
    assert later.outcomes[0].verdicts[0].first_reason == "PURCHASE_REFUNDED"
    assert balance(last, AMAL) == 1000


def test_a_purchase_that_an_operator_took_back_is_not_refunded_again():
    books = given(BOUGHT, Reversal(an_id("back"), BOUGHT_ID, "c"))

    decision, _ = when(books, Refund(BOUGHT_ID, "refund"), Refund(BOUGHT_ID, "refund"))

    assert results(decision.outcomes) == [Result.ALREADY_REVERSED] * 2
    assert decision.event is None


def test_a_back_end_takes_back_no_purchase_of_another_ones_player_nor_hears_of_it():
    books = given(BOUGHT)
    taken, after = when(books, Refund(BOUGHT_ID, "refund", players="red/"))
    mine, last = when(after, Refund(BOUGHT_ID, "refund", players="am"))
    late, _ = when(last, Refund(BOUGHT_ID, "refund", players="red/"))

    assert results((*taken.outcomes, *late.outcomes)) == [Result.ON_BEHALF_OF_NOT_ALLOWED] * 2
    assert (taken.event, late.event) == (None, None)
    assert results(mine.outcomes) == [Result.CREATED]


def test_what_is_ruled_out_is_no_refusal_of_a_hold_that_has_the_id():
    """L5: transfers and holds share one space of ids, so with the hold there no such transfer can come to be anyway."""
    held, receipt = (
        transfer("hold", AMAL, POOL, 10, "entry"),
        Transfer(BOUGHT_ID, AMAL.account_id, POOL.account_id, 10, "entry", "c"),
    )
    books = given(HoldPlacement(held, 1000), HoldPlacement(receipt, 1000))

    decision, after = when(books, Revocation(an_id("hold"), "TABLE_CLOSED", "table/1"), Refund(BOUGHT_ID, "c"))
    later, _ = when(after, LinkedSet((held,)), BOUGHT)

    assert [outcome.is_done for outcome in decision.outcomes] == [True, True]
    assert decision.event is None
    assert results(later.outcomes) == [Result.EXISTS_WITH_DIFFERENT_KIND] * 2


def test_a_refund_whose_id_a_hold_has_is_refused_and_moves_nothing():
    refund_id = named_id(BOUGHT_ID, "refunded")
    books = given(BOUGHT, HoldPlacement(Transfer(refund_id, AMAL.account_id, POOL.account_id, 10, "entry", "c"), 1000))

    decision, _ = when(books, Refund(BOUGHT_ID, "c"))

    assert results(decision.outcomes) == [Result.EXISTS_WITH_DIFFERENT_KIND]
    assert decision.event is None
