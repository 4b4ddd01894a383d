"""What the house gives: how much, how often, to whom, and each receipt once."""

import pytest

from diwan.core.ledger.accounts import (
    AD_REWARD,
    AMOUNT_MAX,
    HOUSE,
    OPERATOR,
    PURPOSES,
    STARTING_GRANT,
    TOP_UP,
    escrow_account,
    player_account,
    pool_account,
)
from diwan.core.ledger.books import Account, Tally
from diwan.core.ledger.policies import ISSUED_AS, Policies, examine, receipt_named
from diwan.core.ledger.requests import ConsentChange, FreezeChange, LinkedSet, Policy, Result
from tests.unit.ledger.ledgers import AMAL, DAY, DINA, NOON, an_id, balance, given, results, transfer, when

HOUR = 3_600_000
POLICIES = Policies(
    top_up=Policy(count_a_day=2, cool_down_ms=HOUR, below=500),
    top_up_amount=200,
    ad_reward=Policy(count_a_day=3, cool_down_ms=60_000),
    ad_reward_amount=50,
    purchase=Policy(count_a_day=2, amount_a_day=1000),
)
POOR = LinkedSet((transfer("poor", AMAL, DINA, 900),))
CONSENT = ConsentChange(an_id("yes"), AMAL.account_id, is_given=True, cause="player/amal")
NEXT_DAY = 11 * DAY


def top_up(name: str, *, is_automatic: bool = False):
    return POLICIES.free_top_up(an_id(name), "amal", is_automatic=is_automatic)


def test_a_free_top_up_brings_what_the_house_says_once_by_its_id():
    """L3."""
    decision, after = when(given(POOR), top_up("a"), top_up("a"))

    assert results(decision.outcomes) == [Result.CREATED, Result.EXISTS]
    assert [outcome.verdicts[0].amount for outcome in decision.outcomes] == [200, 200]
    assert (balance(after, AMAL), balance(after, TOP_UP)) == (300, -200)


def test_a_retry_after_the_house_changed_the_amount_is_still_the_same_request():
    books = given(POOR, top_up("a"))

    decision, _ = when(books, Policies(top_up_amount=9).free_top_up(an_id("a"), "amal", is_automatic=False))

    assert results(decision.outcomes) == [Result.EXISTS]
    assert decision.outcomes[0].verdicts[0].amount == 200


def test_nobody_who_holds_enough_is_topped_up_and_the_id_stays_refused():
    """L5."""
    decision, after = when(given(), top_up("a"))
    later, _ = when(after, POOR, top_up("a"), top_up("b"))

    assert results(decision.outcomes) == [Result.TOP_UP_NOT_BELOW]
    assert results(later.outcomes) == [Result.CREATED, Result.ID_ALREADY_FAILED, Result.CREATED]


def test_top_ups_keep_their_distance_and_the_refusal_says_when():
    books = given(POOR, top_up("a"))

    early, _ = when(books, top_up("b"), at_ms=NOON + HOUR - 1)
    late, _ = when(books, top_up("b"), at_ms=NOON + HOUR)

    assert results(early.outcomes) == [Result.TOO_SOON]
    assert early.outcomes[0].verdicts[0].next_at_ms == NOON + HOUR
    assert results(late.outcomes) == [Result.CREATED]


def test_the_distance_holds_across_midnight():
    books = given(POOR, top_up("a"), at_ms=NEXT_DAY - 1)

    decision, _ = when(books, top_up("b"), at_ms=NEXT_DAY)

    assert results(decision.outcomes) == [Result.TOO_SOON]


def test_there_are_only_so_many_a_day_and_the_next_day_begins_anew():
    books = given(POOR, top_up("a"))
    _, books = when(books, top_up("b"), LinkedSet((transfer("p", AMAL, DINA, 400),)), at_ms=NOON + HOUR)

    today, _ = when(books, top_up("c"), at_ms=NOON + 2 * HOUR)
    tomorrow, _ = when(books, top_up("c"), at_ms=NEXT_DAY)

    assert results(today.outcomes) == [Result.DAILY_LIMIT]
    assert today.outcomes[0].verdicts[0].next_at_ms == NEXT_DAY
    assert results(tomorrow.outcomes) == [Result.CREATED]


def test_two_in_one_batch_are_as_far_apart_as_two_in_two():
    decision, _ = when(given(POOR), top_up("a"), top_up("b"))

    assert results(decision.outcomes) == [Result.CREATED, Result.TOO_SOON]


def test_nothing_comes_by_itself_without_standing_consent():
    """TB-2."""
    decision, after = when(given(POOR), top_up("a", is_automatic=True))
    with_consent, _ = when(after, CONSENT, top_up("b", is_automatic=True))

    assert results(decision.outcomes) == [Result.CONSENT_REQUIRED]
    assert results(with_consent.outcomes) == [Result.CREATED, Result.CREATED]


def test_a_frozen_account_gets_no_top_up_and_no_reward_but_what_it_paid_for():
    books = given(POOR, FreezeChange(an_id("f"), AMAL.account_id, is_frozen=True, cause="c"))

    decision, after = when(
        books, top_up("a"), POLICIES.watched("ads", "v1", "amal"), POLICIES.bought("store", "r1", "amal", 10)
    )

    assert results(decision.outcomes) == [Result.ACCOUNT_FROZEN, Result.ACCOUNT_FROZEN, Result.CREATED]
    # The view is not lost: it can be presented when the account is free again.
    assert after.refused.keys() == {an_id("a")}


def test_a_receipt_is_used_once_whoever_presents_it_with_whatever():
    """L3, L4."""
    bought = POLICIES.bought("store", "r1", "amal", 100)
    books = given(bought)

    decision, after = when(
        books,
        bought,
        POLICIES.bought("store", "r1", "amal", 101),
        POLICIES.bought("store", "r1", "dina", 100),
        POLICIES.bought("other", "r1", "amal", 100),
    )

    assert results(decision.outcomes) == [
        Result.EXISTS,
        Result.EXISTS_WITH_DIFFERENT_AMOUNT,
        Result.EXISTS_WITH_DIFFERENT_CREDIT_ACCOUNT,
        Result.CREATED,
    ]
    assert balance(after, AMAL) == 1200


def test_a_receipt_is_in_no_event():
    """What a player paid with is nobody's business who reads the feed."""
    decision, _ = when(given(), POLICIES.bought("store", "receipt-7", "amal", 100))

    assert "receipt-7" not in str(decision.event)


@pytest.mark.parametrize(
    ("first", "capped", "told"),
    [
        (POLICIES.bought("s", "r1", "amal", 600), POLICIES.bought("s", "r2", "amal", 401), Result.DAILY_LIMIT),
        (POLICIES.watched("s", "r1", "amal"), POLICIES.watched("s", "r2", "amal"), Result.TOO_SOON),
    ],
)
def test_a_capped_receipt_is_not_lost(first, capped, told):
    """A receipt's id follows from the receipt, so a refusal of the day leaves it free: presented again it is credited."""
    books = given(first)

    decision, after = when(books, capped)
    later, _ = when(after, capped, at_ms=NEXT_DAY)

    assert results(decision.outcomes) == [told]
    assert decision.event is None
    assert results(later.outcomes) == [Result.CREATED]


def test_a_receipt_for_a_player_who_has_no_account_yet_is_not_lost():
    grant = POLICIES.bought("s", "r1", "omar", 10)
    decision, after = when(given(), grant)

    later, _ = when(after, LinkedSet((), opens=(player_account("omar"),)), grant)

    assert results(decision.outcomes) == [Result.ACCOUNT_NOT_FOUND]
    assert results(later.outcomes) == [Result.CREATED]


def test_an_issuance_account_brings_only_so_much_into_play_a_day():
    policies = Policies(issued_a_day={"ad_reward": 120}, ad_reward=Policy(), ad_reward_amount=50)
    views = [policies.watched("ads", f"v{i}", player) for i, player in enumerate(["amal", "dina", "amal"])]

    decision, after = when(given(), *views)
    later, _ = when(after, views[2], at_ms=NEXT_DAY)

    assert results(decision.outcomes) == [Result.CREATED, Result.CREATED, Result.ISSUANCE_LIMIT]
    assert decision.outcomes[2].verdicts[0].next_at_ms == NEXT_DAY
    assert balance(after, AD_REWARD) == -100
    assert results(later.outcomes) == [Result.CREATED]


def test_a_limit_is_reached_to_the_chip():
    policies = Policies(issued_a_day={"operator": 100})

    decision, _ = when(
        given(),
        policies.issue(an_id("a"), "operator", AMAL, 99, "c"),
        policies.issue(an_id("b"), "operator", AMAL, 2, "c"),
        policies.issue(an_id("c"), "operator", AMAL, 1, "c"),
    )

    assert results(decision.outcomes) == [Result.CREATED, Result.ISSUANCE_LIMIT, Result.CREATED]


def test_operators_together_give_only_so_much_a_day_whatever_it_is_called():
    policies = Policies(operators_a_day=100)
    books = given(LinkedSet((transfer("fill", OPERATOR, HOUSE, 500),)))

    decision, _ = when(
        books,
        policies.issue(an_id("a"), "operator", AMAL, 40, "c"),
        policies.issue(an_id("b"), "promotion", AMAL, 40, "c"),
        policies.moving((transfer("d", HOUSE, AMAL, 21, "adjustment"),), ()),
        policies.moving((transfer("e", AMAL, HOUSE, 999, "adjustment"),), ()),
        policies.moving((transfer("f", HOUSE, AMAL, 20, "adjustment"),), ()),
    )

    assert results(decision.outcomes) == [
        Result.CREATED,
        Result.CREATED,
        Result.ISSUANCE_LIMIT,
        Result.CREATED,
        Result.CREATED,
    ]


def test_refunds_by_operators_out_of_all_pools_count_as_given_and_those_of_tournaments_do_not():
    policies = Policies(operators_a_day=100)
    pools = [pool_account(f"cup {number}") for number in range(2)]
    fill = [transfer(f"fill {n}", OPERATOR, pool, 500) for n, pool in enumerate(pools)]
    books = given(LinkedSet(tuple(fill), opens=tuple(pools)))

    decision, after = when(
        books,
        policies.moving((transfer("a", pools[0], AMAL, 60, "operator_refund"),), ()),
        policies.moving((transfer("b", pools[1], DINA, 41, "operator_refund"),), ()),
        policies.moving((transfer("c", pools[1], DINA, 300, "refund"),), ()),
        policies.issue(an_id("d"), "operator", AMAL, 41, "c"),
        policies.moving((transfer("e", pools[1], DINA, 40, "operator_refund"),), ()),
    )

    assert results(decision.outcomes) == [
        Result.CREATED,
        Result.ISSUANCE_LIMIT,
        Result.CREATED,
        Result.ISSUANCE_LIMIT,
        Result.CREATED,
    ]
    later, _ = when(after, policies.moving((transfer("f", pools[0], AMAL, 1, "operator_refund"),), ()))
    assert results(later.outcomes) == [Result.ISSUANCE_LIMIT]


def test_gifts_of_one_player_are_limited_a_day():
    policies = Policies(gift_a_day=100)

    decision, _ = when(
        given(),
        policies.moving((transfer("a", AMAL, DINA, 60, "gift"),), ()),
        policies.moving((transfer("b", AMAL, DINA, 41, "gift"),), ()),
        policies.moving((transfer("c", DINA, AMAL, 100, "gift"),), ()),
    )

    assert results(decision.outcomes) == [Result.CREATED, Result.DAILY_LIMIT, Result.CREATED]


def test_an_opening_beyond_the_days_grants_is_refused_and_may_come_again():
    policies = Policies(starting_grant=100, issued_a_day={"starting_grant": 100})
    first, second = (policies.opening(player_account(name)) for name in ("omar", "nour"))

    decision, after = when(given(at_ms=NOON - DAY), first, second)
    later, last = when(after, second, at_ms=NEXT_DAY)

    assert results(decision.outcomes) == [Result.CREATED, Result.ISSUANCE_LIMIT]
    assert player_account("nour").account_id not in after.accounts
    assert results(later.outcomes) == [Result.CREATED]
    assert balance(last, player_account("nour")) == 100


def test_a_set_that_fails_counts_towards_no_limit():
    policies = Policies(gift_a_day=100)
    both = policies.moving((transfer("a", AMAL, DINA, 60, "gift"), transfer("b", DINA, AMAL, 5000, "x")), ())

    decision, _ = when(given(), both, policies.moving((transfer("c", AMAL, DINA, 100, "gift"),), ()))

    assert results(decision.outcomes) == [Result.LINKED_FAILED, Result.EXCEEDS_BALANCE, Result.CREATED]


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (Policy(), None),
        (Policy(needs_consent=True), (Result.CONSENT_REQUIRED, 0)),
        (Policy(below=100), (Result.TOP_UP_NOT_BELOW, 0)),
        (Policy(below=101), None),
        (Policy(cool_down_ms=10), (Result.TOO_SOON, NOON + 5)),
        (Policy(cool_down_ms=5), None),
        (Policy(count_a_day=1), (Result.DAILY_LIMIT, NEXT_DAY)),
        (Policy(count_a_day=2), None),
        (Policy(amount_a_day=29), (Result.DAILY_LIMIT, NEXT_DAY)),
        (Policy(amount_a_day=30), None),
    ],
)
def test_each_rule_refuses_at_its_edge(policy, told):
    account = Account("a", "player", "amal", balance=100)

    assert examine(policy, account, 100, 10, Tally(1, 20, NOON - 5), Tally(), NOON) == told


def test_a_receipts_id_follows_from_purpose_provider_and_receipt():
    ids = {receipt_named(*each) for each in [("purchase", "a", "b"), ("ad_reward", "a", "b"), ("purchase", "a", "c")]}

    assert len(ids) == 3
    assert receipt_named("purchase", "a", "b") in ids


def test_every_way_into_play_but_the_bots_float_has_a_code_that_is_counted():
    assert ISSUED_AS.keys() == PURPOSES - {"bots"}
    assert STARTING_GRANT.owner in PURPOSES


def test_what_may_still_be_issued_today_is_what_the_limit_leaves():
    policies = Policies(issued_a_day={"operator": 100})

    operator = Account("a", "issuance", "operator", balance=-500)
    purchase = Account("b", "issuance", "purchase", balance=-500)

    assert policies.issuable(operator, 30) == 70
    assert policies.issuable(operator, 130) == 0
    assert policies.issuable(purchase, 30) == AMOUNT_MAX - 500


def test_chips_at_a_table_are_chips_that_one_has():
    """Whoever sits with a stack is not topped up, in the same batch as the buy-in no more than later."""
    sitting = escrow_account(an_id("sitting"))
    buy_in = LinkedSet((transfer("buy", AMAL, sitting, 800, "buy_in"),), opens=(sitting,))
    lost = LinkedSet((transfer("lost", sitting, DINA, 600, "hand"),))

    together, after = when(given(), buy_in, top_up("a"))
    later, _ = when(after, top_up("b"))
    poorer, _ = when(after, lost, top_up("c"))

    assert results(together.outcomes) == [Result.CREATED, Result.TOP_UP_NOT_BELOW]
    assert results(later.outcomes) == [Result.TOP_UP_NOT_BELOW]
    assert results(poorer.outcomes) == [Result.CREATED, Result.CREATED]
