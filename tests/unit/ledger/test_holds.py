"""Chips set aside: each hold ends once, by whoever comes first (L2, L6)."""

import itertools

import pytest

from diwan.core.ledger.accounts import AMOUNT_MAX, OPERATOR
from diwan.core.ledger.requests import (
    FreezeChange,
    HoldPlacement,
    HoldPosting,
    HoldVoiding,
    LinkedSet,
    Result,
)
from tests.unit.ledger.ledgers import AMAL, DINA, NOON, POOL, an_id, available, balance, given, results, transfer, when

HOLD = HoldPlacement(transfer("hold", AMAL, POOL, 600, "entry"), 1000)
POST = HoldPosting(an_id("post"), an_id("hold"), 0, "c")
VOID = HoldVoiding(an_id("void"), an_id("hold"), "c")
EXPIRED = NOON + 1000


def test_what_is_held_can_be_spent_on_nothing_else():
    """L2."""
    books = given(HOLD)

    decision, after = when(
        books, LinkedSet((transfer("t", AMAL, DINA, 401),)), LinkedSet((transfer("u", AMAL, DINA, 400),))
    )

    assert results(decision.outcomes) == [Result.EXCEEDS_BALANCE, Result.CREATED]
    assert (balance(after, AMAL), available(after, AMAL)) == (600, 0)


def test_twenty_holds_of_the_whole_balance_leave_one():
    """L2."""
    asked = [HoldPlacement(transfer(f"h{i}", AMAL, POOL, 1000, "entry"), 1000) for i in range(20)]

    decision, after = when(given(), *asked)

    assert results(decision.outcomes).count(Result.CREATED) == 1
    assert results(decision.outcomes).count(Result.EXCEEDS_BALANCE) == 19
    assert available(after, AMAL) == 0


def test_a_posted_hold_is_a_transfer_that_names_it():
    books = given(HOLD)

    decision, after = when(books, POST)

    (posted,) = decision.event.transfers
    assert (posted.hold_id, posted.amount, posted.code) == (an_id("hold"), 600, "entry")
    assert (balance(after, AMAL), available(after, AMAL), balance(after, POOL)) == (400, 400, 600)


def test_a_part_is_posted_and_the_rest_is_free_again():
    decision, after = when(given(HOLD), HoldPosting(an_id("post"), an_id("hold"), 250, "c"))

    assert decision.outcomes[0].verdicts[0].amount == 250
    assert (balance(after, AMAL), available(after, AMAL), balance(after, POOL)) == (750, 750, 250)
    assert [(r.resolution, r.amount) for r in decision.event.resolutions] == [("posted", 250)]


def test_more_than_is_held_is_not_posted_and_the_hold_stays_open():
    books = given(HOLD)

    decision, after = when(books, HoldPosting(an_id("much"), an_id("hold"), 601, "c"), POST)

    assert results(decision.outcomes) == [Result.EXCEEDS_HOLD, Result.CREATED]
    assert after.refused == {an_id("much"): "EXCEEDS_HOLD"}


@pytest.mark.parametrize("order", list(itertools.permutations(["post", "void", "expire"])), ids="-".join)
def test_a_hold_ends_once_whoever_comes_first(order):
    """L6: chips are in the pool or with the player, never both, and there is one resolution."""
    books, resolutions, at_ms = given(HOLD), [], NOON + 1
    for step in order:
        if step == "expire":
            at_ms = EXPIRED
        asked = {"post": [POST], "void": [VOID], "expire": []}[step]
        decision, books = when(books, *asked, at_ms=at_ms)
        resolutions += () if decision.event is None else decision.event.resolutions

    assert [r.resolution for r in resolutions] == [{"post": "posted", "void": "voided", "expire": "expired"}[order[0]]]
    assert balance(books, AMAL) + balance(books, POOL) == 1000
    assert available(books, AMAL) == balance(books, AMAL)


@pytest.mark.parametrize("first", [POST, VOID])
def test_after_its_end_every_other_request_is_told_which(first):
    books = given(HOLD, first)

    decision, _ = when(
        books, HoldPosting(an_id("post2"), an_id("hold"), 0, "c"), HoldVoiding(an_id("void2"), an_id("hold"), "c")
    )

    told = Result.HOLD_ALREADY_POSTED if first is POST else Result.HOLD_ALREADY_VOIDED
    assert results(decision.outcomes) == [told, told]


def test_an_expired_hold_counts_as_expired_from_its_moment_on_whoever_looks():
    books = given(HOLD)

    early, _ = when(books, POST, at_ms=EXPIRED - 1)
    late, after = when(books, POST, LinkedSet((transfer("t", AMAL, DINA, 1000),)), at_ms=EXPIRED)

    assert results(early.outcomes) == [Result.CREATED]
    assert results(late.outcomes) == [Result.HOLD_ALREADY_EXPIRED, Result.CREATED]
    assert [r.resolution for r in late.event.resolutions] == ["expired"]
    assert balance(after, DINA) == 2000


def test_a_hold_without_an_end_never_expires():
    books = given(HoldPlacement(transfer("hold", AMAL, POOL, 600, "entry"), 0))

    decision, _ = when(books, at_ms=NOON * 1000)

    assert decision.event is None


@pytest.mark.parametrize("again", [HOLD, POST, VOID])
def test_the_same_request_again_exists_and_changes_nothing(again):
    """L3."""
    books = given(HOLD) if again is HOLD else given(HOLD, again)

    decision, _ = when(books, again)

    assert results(decision.outcomes) == [Result.EXISTS]
    assert decision.event is None


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (HoldPlacement(transfer("hold", DINA, POOL, 600, "entry"), 1000), Result.EXISTS_WITH_DIFFERENT_DEBIT_ACCOUNT),
        (HoldPlacement(transfer("hold", AMAL, DINA, 600, "entry"), 1000), Result.EXISTS_WITH_DIFFERENT_CREDIT_ACCOUNT),
        (HoldPlacement(transfer("hold", AMAL, POOL, 601, "entry"), 1000), Result.EXISTS_WITH_DIFFERENT_AMOUNT),
        (HoldPlacement(transfer("hold", AMAL, POOL, 600, "rebuy"), 1000), Result.EXISTS_WITH_DIFFERENT_CODE),
        (HoldPlacement(transfer("hold", AMAL, POOL, 600, "entry", "d"), 1000), Result.EXISTS_WITH_DIFFERENT_CAUSE),
        (HoldPlacement(transfer("hold", AMAL, POOL, 600, "entry"), 1001), Result.EXISTS_WITH_DIFFERENT_EXPIRY),
        (LinkedSet((transfer("hold", AMAL, POOL, 600, "entry"),)), Result.EXISTS_WITH_DIFFERENT_KIND),
        (HoldPosting(an_id("hold"), an_id("hold"), 0, "c"), Result.EXISTS_WITH_DIFFERENT_KIND),
    ],
)
def test_the_id_of_a_hold_with_other_content_is_refused_by_what_differs(changed, told):
    """L4: holds and transfers share one space of ids."""
    decision, _ = when(given(HOLD), changed)

    assert results(decision.outcomes) == [told]
    assert decision.event is None


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (HoldPosting(an_id("post"), an_id("hold"), 599, "c"), Result.EXISTS_WITH_DIFFERENT_AMOUNT),
        (HoldPosting(an_id("post"), an_id("other"), 0, "c"), Result.EXISTS_WITH_DIFFERENT_HOLD),
        (HoldPosting(an_id("post"), an_id("hold"), 0, "d"), Result.EXISTS_WITH_DIFFERENT_CAUSE),
        (LinkedSet((transfer("post", AMAL, POOL, 600, "entry"),)), Result.EXISTS_WITH_DIFFERENT_HOLD),
        (HoldPlacement(transfer("post", AMAL, POOL, 600, "entry"), 5), Result.EXISTS_WITH_DIFFERENT_KIND),
    ],
)
def test_the_id_of_a_posting_with_other_content_is_refused_by_what_differs(changed, told):
    """L4."""
    decision, _ = when(given(HOLD, POST), changed)

    assert results(decision.outcomes) == [told]
    assert decision.event is None


def test_a_hold_that_was_refused_stays_refused():
    """L5."""
    asked = HoldPlacement(transfer("hold", AMAL, POOL, 1001, "entry"), 1000)
    decision, books = when(given(), asked)

    again, _ = when(given(), LinkedSet((transfer("gift", DINA, AMAL, 500),)))
    later, _ = when(books, LinkedSet((transfer("gift", DINA, AMAL, 500),)), asked)

    assert results(decision.outcomes) == [Result.EXCEEDS_BALANCE]
    assert results(again.outcomes) == [Result.CREATED]
    assert results(later.outcomes) == [Result.CREATED, Result.ID_ALREADY_FAILED]
    assert later.outcomes[1].verdicts[0].first_reason == "EXCEEDS_BALANCE"


@pytest.mark.parametrize("asked", [POST, VOID])
def test_a_hold_that_is_not_there_is_not_found_and_the_id_stays_refused(asked):
    """L5."""
    decision, books = when(given(), asked)
    later, _ = when(books, HOLD, asked)

    assert results(decision.outcomes) == [Result.HOLD_NOT_FOUND]
    assert results(later.outcomes) == [Result.CREATED, Result.ID_ALREADY_FAILED]


def test_a_hold_opens_the_pool_that_it_is_for():
    from diwan.core.ledger.accounts import pool_account

    cup = pool_account("another")
    asked = HoldPlacement(transfer("hold", AMAL, cup, 10, "entry"), 1000, opens=(cup,))

    decision, after = when(given(), asked, HoldPosting(an_id("post"), an_id("hold"), 0, "c"))

    assert results(decision.outcomes) == [Result.CREATED, Result.CREATED]
    assert balance(after, cup) == 10


def test_a_refused_hold_opens_nothing():
    from diwan.core.ledger.accounts import pool_account

    cup = pool_account("another")

    _, after = when(given(), HoldPlacement(transfer("hold", AMAL, cup, 1001, "entry"), 1000, opens=(cup,)))

    assert cup.account_id not in after.accounts


def test_nothing_is_set_aside_on_an_account_that_may_owe():
    decision, _ = when(given(), HoldPlacement(transfer("hold", OPERATOR, AMAL, 1, "issue"), 1000))

    assert results(decision.outcomes) == [Result.EXCEEDS_BALANCE]


def test_a_frozen_account_places_no_hold_but_one_from_before_is_posted_or_voided():
    """What was promised before the freeze was promised to somebody who may have acted on it."""
    other = HoldPlacement(transfer("hold2", AMAL, POOL, 100, "entry"), 1000)
    books = given(HOLD, other, FreezeChange(an_id("f"), AMAL.account_id, is_frozen=True, cause="case"))

    decision, after = when(
        books,
        HoldPlacement(transfer("hold3", AMAL, POOL, 1, "entry"), 1000),
        POST,
        HoldVoiding(an_id("void"), an_id("hold2"), "c"),
    )

    assert results(decision.outcomes) == [Result.ACCOUNT_FROZEN, Result.CREATED, Result.CREATED]
    assert (balance(after, AMAL), available(after, AMAL)) == (400, 400)
    assert after.refused == {an_id("hold3"): "ACCOUNT_FROZEN"}


@pytest.mark.parametrize(
    ("since", "told"),
    [
        (LinkedSet((), closes=(POOL.account_id,)), Result.ACCOUNT_CLOSED),
        (LinkedSet((transfer("much", OPERATOR, POOL, AMOUNT_MAX - 599),)), Result.OVERFLOWS_BALANCE),
    ],
)
def test_a_hold_whose_taker_cannot_take_it_any_more_stays_open_and_can_be_voided(since, told):
    """L2, L6: the taker closed or became full since; nothing is posted, and the chips come free."""
    books = given(HOLD, since)

    decision, after = when(books, POST)
    voided, last = when(after, VOID)

    assert results((*decision.outcomes, *voided.outcomes)) == [told, Result.CREATED]
    assert (available(after, AMAL), available(last, AMAL)) == (400, 1000)
    assert balance(last, POOL) == balance(books, POOL)
