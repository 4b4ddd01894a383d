"""The double entry, decided without a database: L1-L5, L7, L11, L12 and the floats of the bots' account."""

import pytest

from diwan.core.ledger.accounts import (
    AMOUNT_MAX,
    BOTS,
    BOTS_ISSUANCE,
    OPERATOR,
    STANDING,
    STARTING_GRANT,
    escrow_account,
    named_id,
    player_account,
)
from diwan.core.ledger.books import EMPTY, Account, Books, Transfer, fold, sums
from diwan.core.ledger.events import AccountOpened, LedgerCommitted
from diwan.core.ledger.posting import Decision, decide
from diwan.core.ledger.requests import Confirmation, Float, LinkedSet, Outcome, Result, Revocation

AMAL, DINA = player_account("amal"), player_account("dina")
SITTING = named_id(AMAL.account_id, "sitting")
ESCROW = escrow_account(SITTING)


def transfer(name: str, debit: AccountOpened, credit: AccountOpened, amount: int, **other: str) -> Transfer:
    fields = {"code": "test", "cause": "request/1", **other}
    return Transfer(named_id(AMAL.account_id, name), debit.account_id, credit.account_id, amount, **fields)


def given(*requests: LinkedSet | Revocation | Confirmation, bots_float: Float | None = None) -> Books:
    """Return the books with every standing account, two players with 1,000 chips each, and then the requests."""
    books = EMPTY
    for request in (
        LinkedSet((), opens=(*STANDING, AMAL, DINA)),
        LinkedSet((transfer("grant/amal", STARTING_GRANT, AMAL, 1000),)),
        LinkedSet((transfer("grant/dina", STARTING_GRANT, DINA, 1000),)),
        *requests,
    ):
        decision = decide(books, [request], 1, bots_float)
        assert decision.event is not None
        books = fold(books, [decision.event])
    return books


def when(books: Books, *requests: LinkedSet | Revocation | Confirmation) -> tuple[Decision, Books]:
    decision = decide(books, requests, 2)
    after = books if decision.event is None else fold(books, [decision.event])
    assert set(sums(after).values()) == {0}
    return decision, after


def result(outcome: Outcome) -> Result:
    (verdict,) = outcome.verdicts
    return verdict.result


def balance(books: Books, account: AccountOpened) -> int:
    return books.accounts[account.account_id].balance


def test_a_named_id_is_a_uuid_of_version_5_as_the_standard_library_makes_it():
    import uuid

    namespace = uuid.UUID(AMAL.account_id)

    assert named_id(AMAL.account_id, "é/1") == str(uuid.uuid5(namespace, "é/1"))


def test_a_transfer_moves_chips_and_its_entries_tell_before_and_after():
    books = given()

    decision, after = when(books, LinkedSet((transfer("t", AMAL, DINA, 300),)))

    assert [result(outcome) for outcome in decision.outcomes] == [Result.CREATED]
    assert (balance(after, AMAL), balance(after, DINA)) == (700, 1300)
    assert [(e.version, e.amount, e.previous_balance, e.balance) for e in decision.entries] == [
        (2, -300, 1000, 700),
        (2, 300, 1000, 1300),
    ]


def test_the_same_transfer_again_exists_and_moves_nothing():
    """L3."""
    request = LinkedSet((transfer("t", AMAL, DINA, 300),))
    books = given(request)

    decision, _ = when(books, request)

    assert result(decision.outcomes[0]) is Result.EXISTS
    assert decision.event is None
    assert decision.entries == ()


def test_the_same_transfer_twice_in_one_batch_is_applied_once():
    """L3."""
    request = LinkedSet((transfer("t", AMAL, DINA, 300),))

    decision, after = when(given(), request, request)

    assert [result(outcome) for outcome in decision.outcomes] == [Result.CREATED, Result.EXISTS]
    assert balance(after, AMAL) == 700


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (transfer("t", AMAL, DINA, 301), Result.EXISTS_WITH_DIFFERENT_AMOUNT),
        (transfer("t", STARTING_GRANT, DINA, 300), Result.EXISTS_WITH_DIFFERENT_DEBIT_ACCOUNT),
        (transfer("t", AMAL, BOTS, 300), Result.EXISTS_WITH_DIFFERENT_CREDIT_ACCOUNT),
        (transfer("t", AMAL, DINA, 300, code="other"), Result.EXISTS_WITH_DIFFERENT_CODE),
        (transfer("t", AMAL, DINA, 300, cause="request/2"), Result.EXISTS_WITH_DIFFERENT_CAUSE),
        (transfer("t", AMAL, DINA, 300, currency="MATCH"), Result.EXISTS_WITH_DIFFERENT_CURRENCY),
    ],
)
def test_the_same_id_with_other_content_is_refused_by_what_differs(changed, expected):
    """L4."""
    books = given(LinkedSet((transfer("t", AMAL, DINA, 300),)))

    decision, _ = when(books, LinkedSet((changed,)))

    assert result(decision.outcomes[0]) is expected
    assert decision.event is None


def test_nobody_spends_more_than_there_is_and_the_refused_id_stays_refused():
    """L2, L5: chips that come later do not make a refused transfer true."""
    request = LinkedSet((transfer("t", AMAL, DINA, 1001),))
    books = given()

    first, books = when(books, request)
    _, books = when(books, LinkedSet((transfer("more", OPERATOR, AMAL, 5000),)))
    second, books = when(books, request)
    third, books = when(books, LinkedSet((transfer("new id", AMAL, DINA, 1001),)))

    assert result(first.outcomes[0]) is Result.EXCEEDS_BALANCE
    assert result(second.outcomes[0]) is Result.ID_ALREADY_FAILED
    assert second.outcomes[0].verdicts[0].first_reason == "EXCEEDS_BALANCE"
    assert second.event is None
    assert result(third.outcomes[0]) is Result.CREATED


def test_twenty_buy_ins_of_the_whole_balance_in_one_batch_leave_one():
    """L2."""
    requests = [LinkedSet((transfer(f"t{i}", AMAL, DINA, 1000),)) for i in range(20)]

    decision, after = when(given(), *requests)

    results = [result(outcome) for outcome in decision.outcomes]
    assert results == [Result.CREATED] + [Result.EXCEEDS_BALANCE] * 19
    assert balance(after, AMAL) == 0


@pytest.mark.parametrize("amount", [0, -1, AMOUNT_MAX + 1, 2**63])
def test_an_amount_out_of_range_leaves_no_trace(amount):
    """L11."""
    decision, _ = when(given(), LinkedSet((transfer("t", AMAL, DINA, amount),), opens=(ESCROW,)))

    assert result(decision.outcomes[0]) is Result.AMOUNT_INVALID
    assert decision.event is None


def test_an_account_does_not_pay_itself():
    decision, _ = when(given(), LinkedSet((transfer("t", AMAL, AMAL, 1),)))

    assert result(decision.outcomes[0]) is Result.SAME_ACCOUNT
    assert decision.event is None


def test_an_unknown_account_is_refused_on_either_side():
    nobody = player_account("nobody")

    decision, _ = when(
        given(), LinkedSet((transfer("t1", nobody, AMAL, 1),)), LinkedSet((transfer("t2", AMAL, nobody, 1),))
    )

    assert [result(outcome) for outcome in decision.outcomes] == [Result.ACCOUNT_NOT_FOUND] * 2


def test_chips_of_another_currency_never_meet_the_wallets():
    """L12: neither by a forged transfer nor by a forged account."""
    match = AccountOpened(named_id(AMAL.account_id, "match"), "house", "match", "MATCH")
    books = given(LinkedSet((), opens=(match,)))

    decision, _ = when(
        books,
        LinkedSet((transfer("t1", AMAL, match, 1),)),
        LinkedSet((transfer("t2", AMAL, DINA, 1, currency="MATCH"),)),
    )

    assert [result(outcome) for outcome in decision.outcomes] == [Result.CURRENCY_MISMATCH] * 2


def test_balances_stay_within_what_every_client_can_read():
    books = given(LinkedSet((transfer("rich", OPERATOR, AMAL, AMOUNT_MAX - 1000),)))

    decision, _ = when(
        books, LinkedSet((transfer("t1", STARTING_GRANT, AMAL, 1),)), LinkedSet((transfer("t2", OPERATOR, DINA, 1001),))
    )

    assert [result(outcome) for outcome in decision.outcomes] == [Result.OVERFLOWS_BALANCE] * 2


def test_a_linked_set_that_fails_moves_nothing_opens_nothing_and_its_ids_stay_refused():
    linked = LinkedSet((transfer("t1", AMAL, ESCROW, 10), transfer("t2", ESCROW, DINA, 11)), opens=(ESCROW,))

    decision, after = when(given(), linked)

    assert [verdict.result for verdict in decision.outcomes[0].verdicts] == [
        Result.LINKED_FAILED,
        Result.EXCEEDS_BALANCE,
    ]
    assert not decision.outcomes[0].is_done
    assert ESCROW.account_id not in after.accounts
    assert balance(after, AMAL) == 1000
    assert decision.entries == ()
    again, _ = when(after, linked)
    assert {verdict.result for verdict in again.outcomes[0].verdicts} == {Result.ID_ALREADY_FAILED}


def test_a_set_that_names_a_transfer_twice_is_refused_whole():
    same = transfer("t", AMAL, DINA, 10)

    decision, after = when(given(), LinkedSet((same, same)))

    assert not decision.outcomes[0].is_done
    assert balance(after, AMAL) == 1000


def test_a_set_of_which_a_part_exists_is_not_completed():
    books = given(LinkedSet((transfer("t1", AMAL, DINA, 10),)))

    decision, after = when(books, LinkedSet((transfer("t1", AMAL, DINA, 10), transfer("t2", AMAL, DINA, 10))))

    assert [verdict.result for verdict in decision.outcomes[0].verdicts] == [Result.EXISTS, Result.LINKED_FAILED]
    assert not decision.outcomes[0].is_done
    assert balance(after, AMAL) == 990


def test_an_opening_brings_its_grant_once_even_under_another_id():
    omar = player_account("omar")

    def opening(name: str) -> LinkedSet:
        return LinkedSet((transfer(name, STARTING_GRANT, omar, 10_000),), opens=(omar,), is_opening=True)

    first, books = when(given(), opening("a"))
    second, books = when(books, opening("b"))

    assert (first.outcomes[0].has_opened, second.outcomes[0].has_opened) == (True, False)
    assert balance(books, omar) == 10_000


def test_an_account_that_is_there_keeps_its_grant_when_the_house_grants_something_else():
    omar = player_account("omar")

    def opening(amount: int) -> LinkedSet:
        return LinkedSet((transfer("grant", STARTING_GRANT, omar, amount),), opens=(omar,), is_opening=True)

    _, books = when(given(), opening(10_000))
    later, books = when(books, opening(5_000), LinkedSet((), opens=(omar,), is_opening=True))

    assert [outcome.is_done for outcome in later.outcomes] == [True, True]
    assert [outcome.has_opened for outcome in later.outcomes] == [False, False]
    assert balance(books, omar) == 10_000


def test_an_account_closes_empty_or_not_at_all_and_then_takes_nothing():
    books = given(LinkedSet((transfer("in", AMAL, ESCROW, 100),), opens=(ESCROW,)))
    short = LinkedSet((transfer("short", ESCROW, AMAL, 99),), closes=(ESCROW.account_id,))
    bare = LinkedSet((), closes=(ESCROW.account_id,))
    out = LinkedSet((transfer("out", ESCROW, AMAL, 100),), closes=(ESCROW.account_id,))
    late = LinkedSet((transfer("late", AMAL, ESCROW, 1),), opens=(ESCROW,))

    decision = decide(books, [short, bare, out, late], 3)

    assert [outcome.is_done for outcome in decision.outcomes] == [False, False, True, False]
    assert decision.outcomes[0].verdicts[0].result is Result.NOT_EMPTY
    assert decision.outcomes[3].verdicts[0].result is Result.ACCOUNT_CLOSED
    (escrow,) = (account for account in decision.accounts if account.account_id == ESCROW.account_id)
    assert (escrow.balance, escrow.is_closed) == (0, True)
    assert decision.event is not None
    assert decision.event.closings == (ESCROW.account_id,)
    assert fold(books, [decision.event]).accounts[ESCROW.account_id] == escrow, "the books can be rebuilt"


def test_a_closing_is_an_event_also_where_no_chip_moves_and_happens_once():
    books = given(LinkedSet((), opens=(ESCROW,)))
    closing = LinkedSet((), closes=(ESCROW.account_id,))

    first = decide(books, [closing], 3)
    assert first.event == LedgerCommitted((), (), (), 3, closings=(ESCROW.account_id,))
    again = decide(fold(books, [first.event]), [closing], 4)

    assert (again.event, again.accounts) == (None, ())


def test_a_set_that_fails_closes_nothing():
    books = given(LinkedSet((transfer("in", AMAL, ESCROW, 100),), opens=(ESCROW,)))
    another = escrow_account("another")
    failing = LinkedSet((), opens=(another,), closes=(another.account_id, ESCROW.account_id))

    decision = decide(books, [failing], 3)

    assert [outcome.is_done for outcome in decision.outcomes] == [False]
    assert (decision.event, decision.accounts) == (None, ())


def test_a_top_up_needs_its_buy_in_by_the_same_player_at_the_same_table():
    buy_in = transfer("in", AMAL, ESCROW, 100, cause="table/1")
    books = given(LinkedSet((buy_in,), opens=(ESCROW,)))

    def top_up(name: str, debit: AccountOpened, cause: str, first: str) -> LinkedSet:
        return LinkedSet((transfer(name, debit, ESCROW, 10, cause=cause),), tops_up=first)

    decision, _ = when(
        books,
        top_up("t1", AMAL, "table/1", buy_in.transfer_id),
        top_up("t2", DINA, "table/1", buy_in.transfer_id),
        top_up("t3", AMAL, "table/2", buy_in.transfer_id),
        top_up("t4", AMAL, "table/1", SITTING),
    )

    assert [result(outcome) for outcome in decision.outcomes] == [Result.CREATED] + [Result.SITTING_NOT_FOUND] * 3


def test_a_revoked_transfer_goes_back_once_if_it_had_happened():
    buy_in = transfer("in", AMAL, ESCROW, 100)
    books = given(LinkedSet((buy_in,), opens=(ESCROW,)))
    revocation = Revocation(buy_in.transfer_id, "TABLE_CLOSED", "table/1")

    first, books = when(books, revocation)
    second, books = when(books, revocation)

    assert (first.outcomes[0].is_done, second.outcomes[0].is_done) == (True, True)
    assert (balance(books, AMAL), balance(books, ESCROW)) == (1000, 0)
    assert second.event is None


def test_a_revoked_transfer_that_never_happened_never_happens():
    """L5: the buy-in that is still on its way when its table has given it up."""
    buy_in = transfer("in", AMAL, ESCROW, 100)

    _, books = when(given(), Revocation(buy_in.transfer_id, "TABLE_CLOSED", "table/1"))
    late, books = when(books, LinkedSet((buy_in,), opens=(ESCROW,)))

    assert late.outcomes[0].verdicts[0].result is Result.ID_ALREADY_FAILED
    assert balance(books, AMAL) == 1000


def test_a_confirmation_holds_only_for_the_very_transfer():
    buy_in = transfer("in", AMAL, ESCROW, 100)
    books = given(LinkedSet((buy_in,), opens=(ESCROW,)))

    decision, _ = when(
        books,
        Confirmation(buy_in.transfer_id, AMAL.account_id, ESCROW.account_id, 100),
        Confirmation(buy_in.transfer_id, AMAL.account_id, ESCROW.account_id, 101),
        Confirmation(buy_in.transfer_id, AMAL.account_id, DINA.account_id, 100),
        Confirmation(buy_in.transfer_id, DINA.account_id, ESCROW.account_id, 100),
        Confirmation(named_id(AMAL.account_id, "other"), AMAL.account_id, ESCROW.account_id, 100),
    )

    assert [outcome.is_done for outcome in decision.outcomes] == [True, False, False, False, False]


def test_the_bots_account_is_filled_by_a_ledger_line_of_its_own():
    buy_ins = [LinkedSet((transfer(f"bot{i}", BOTS, ESCROW, 400),), opens=(ESCROW,)) for i in range(3)]

    decision = decide(given(), buy_ins, 2, Float(low=100, amount=1000))

    assert [outcome.is_done for outcome in decision.outcomes] == [True] * 3
    assert decision.event is not None
    assert [(t.code, t.amount) for t in decision.event.transfers] == [
        ("bots_float", 1000),
        ("test", 400),
        ("test", 400),
        ("bots_float", 1000),
        ("test", 400),
    ]
    assert len({t.transfer_id for t in decision.event.transfers}) == 5


def test_without_a_float_the_bots_account_cannot_owe():
    decision, _ = when(given(), LinkedSet((transfer("bot", BOTS, ESCROW, 1),), opens=(ESCROW,)))

    assert result(decision.outcomes[0]) is Result.EXCEEDS_BALANCE


def test_a_float_whose_transfer_fails_is_not_issued():
    closed = Account(ESCROW.account_id, "escrow", SITTING, is_closed=True)
    books = given()
    books = Books({**books.accounts, ESCROW.account_id: closed}, books.transfers, books.refused)

    decision = decide(books, [LinkedSet((transfer("bot", BOTS, ESCROW, 1),))], 2, Float(low=100, amount=1000))

    assert result(decision.outcomes[0]) is Result.ACCOUNT_CLOSED
    assert decision.entries == ()


def test_issuance_accounts_are_the_only_ones_that_owe():
    books = given()

    owing = [account.kind for account in books.accounts.values() if account.balance < 0]
    assert owing == ["issuance"]
    assert books.accounts[BOTS_ISSUANCE.account_id].balance == 0
