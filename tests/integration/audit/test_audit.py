"""The audit keeps what the feeds show and finds what does not hold (P5, P8, L1, L2, L10, D1, D6)."""

from __future__ import annotations

import asyncio
from random import Random  # noqa: TID251  (tests may use chance)
from uuid import UUID, uuid4, uuid5

import asyncpg
import pytest
from msgspec.structs import replace

from diwan.api.audit.v1 import audit_service_pb2 as pb
from diwan.core import merkle
from diwan.core.decider import Rejected
from diwan.core.hand import events as hand
from diwan.core.hashing import chain_start, uuid_text
from diwan.core.ledger.events import LedgerCommitted
from diwan.core.log import LoggedEvent, StreamKind
from diwan.core.table.commands import RefuseBuyIn, RequestSeat
from services.audit.hands import HandVerifier
from tests.integration.audit.conftest import LEDGER, TABLE_FEED, WALLET_FEED, ListFeed, Paid
from tests.unit.verifier.forging import Insider
from tests.unit.verifier.logs import PlayedTable, chained, played


async def status(audit) -> pb.GetStatusResponse:
    return await audit.servicer().GetStatus(pb.GetStatusRequest(), None)


def feeds(table, paid):
    return ListFeed(TABLE_FEED, table.events), ListFeed(WALLET_FEED, paid.events)


async def expect_honest(audit, table, paid):
    """Everything is there, everything holds."""
    told = await status(audit)
    assert [(feed.service, feed.cursor) for feed in told.feeds] == [
        ("table", len(table.events)),
        ("wallet", len(paid.events)),
    ]
    for feed, (events, feed_id) in zip(
        told.feeds, ((table.events, TABLE_FEED), (paid.events, WALLET_FEED)), strict=True
    ):
        leaves = [event.leaf_hash for event in ListFeed(feed_id, events).events]
        assert feed.root == merkle.root(leaves)
    assert await audit.kinds() == []
    assert (told.hands_verified, told.hands_not_verified, told.hands_cannot_say) == (len(table.hand_ids), 0, 0)
    balances = {row[0]: row[1] for row in await audit.rows("select account_id, balance from ledger_account")}
    assert balances == {account.account_id: account.balance for account in paid.books.accounts.values()}
    assert sum(balances.values()) == 0
    assert await audit.rows("select transfer_id from due where state <> 1") == []
    assert await audit.rows("select transfer_id from posted where state = 0 and code in ('hand', 'cash_out')") == []


async def test_honest_feeds_raise_no_alarm(audit, table, paid):
    await audit.take(*feeds(table, paid))
    await audit.verify()
    await expect_honest(audit, table, paid)
    hands = await audit.rows("select count(*) from posted where code = 'hand'")
    assert hands[0][0] > 0


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_it_does_not_matter_which_feed_comes_first(audit, table, paid, order):
    both = feeds(table, paid)
    for number in order:
        await audit.take(both[number])
    await audit.verify()
    await expect_honest(audit, table, paid)


async def test_a_crash_at_any_point_repeats_nothing_and_skips_nothing(audit, table, paid):
    """D6: the work of a unit and its cursor are one; here every third unit fails when all of it was done."""
    rng = Random(3)

    def shaken(keeper):
        async def apply(connection, events):
            await keeper.apply(connection, events)
            if rng.random() < 0.3:
                raise asyncpg.AdminShutdownError("terminating connection due to administrator command")

        return apply

    for feed in feeds(table, paid):
        small = ListFeed(feed.feed_id, [])
        for start in range(0, len(feed.events), 40):
            small.events = feed.events[: start + 40]
            await audit.take(small, apply=shaken(audit.keepers[feed.feed_id]))
    await audit.verify()
    await expect_honest(audit, table, paid)


async def test_what_was_taken_in_is_not_taken_in_again(audit, table, paid):
    both = feeds(table, paid)
    for _ in range(2):
        await audit.take(*both)
        await audit.verify()
    await expect_honest(audit, table, paid)


async def test_kept_events_are_the_exact_bytes_and_are_never_rewritten(audit, table, paid):
    """H1, H2."""
    await audit.take(*feeds(table, paid))
    bodies = await audit.rows("select body, hash from kept_event where feed_id = 1 order by global_seq")
    assert bodies == [(event.body, event.hash) for event in table.events]
    for statement in ("update kept_event set body = ''", "delete from kept_event", "truncate finding"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await audit.database.run(lambda c, statement=statement: c.execute(statement))


# --- forged tables --------------------------------------------------------------------------------------------------


async def test_a_flipped_byte_is_one_finding_and_the_rest_is_still_checked(audit, table, paid):
    one = Insider(table, 1)
    at = one.find(hand.TurnBegan)
    body = bytearray(one.events[at].body)
    body[-1] ^= 1
    one.change_stored(at, body=bytes(body))
    table.events = one.events
    await audit.take(*feeds(table, paid))
    await audit.verify()
    found = await audit.rows("select kind, version, global_seq, hand_id from finding order by finding_no")
    assert found[0] == ("HASH_DIFFERS", at + 1, at + 1, "")
    assert ("HASH_DIFFERS", at + 1, at + 1, one.hand_id) in found
    told = await status(audit)
    # The hand behind it has its secret's commitment in that hand, so it cannot be verified past the fault either.
    assert told.hands_not_verified >= 1
    assert told.hands_verified >= 1


async def test_a_forged_hand_is_found_by_deciding_again(audit, table, paid):
    """P8: the insider has made every hash anew; the chain holds, the hand does not."""
    one = Insider(table, 2)
    at = one.find(hand.HandEnded)
    one.change(at, digest=bytes(32))
    table.events = one.rehash()
    await audit.take(*feeds(table, paid))
    await audit.verify()
    found = await audit.rows("select kind, version, hand_id, feed_id from finding")
    assert found == [("DIGEST_DIFFERS", at + 1, one.hand_id, TABLE_FEED)]
    verdict = await audit.servicer().GetHandVerdict(pb.GetHandVerdictRequest(hand_id=one.hand_id), None)
    assert verdict.verdict == pb.VERDICT_NOT_VERIFIED
    assert "DIGEST_DIFFERS at version" in verdict.detail
    assert verdict.acts > 0


async def test_a_number_left_out_is_a_gap_and_does_not_stop_the_rest(audit, table, paid):
    """D1, as a bus that skips would show it."""
    table_feed, _ = feeds(table, paid)
    keeper = audit.keepers[TABLE_FEED]
    await audit.database.run(lambda c: keeper.apply(c, table_feed.events[:10]))
    await audit.database.run(lambda c: keeper.apply(c, table_feed.events[11:20]))
    assert await audit.kinds() == ["FEED_GAP", "VERSION_GAP", "TABLE_AT_ODDS"]
    assert (await status(audit)).feeds[0].cursor == 10
    await audit.database.run(lambda c: keeper.apply(c, table_feed.events[10:11]))
    told = (await status(audit)).feeds[0]
    assert told.cursor == 20
    assert told.root == merkle.root([event.leaf_hash for event in table_feed.events[:20]])


async def test_a_leaf_that_is_not_of_its_event_is_found(audit, table, paid):
    table_feed, wallet_feed = feeds(table, paid)
    table_feed.events[7] = replace(table_feed.events[7], leaf_hash=bytes(32))
    await audit.take(table_feed, wallet_feed)
    assert await audit.kinds() == ["LEAF_DIFFERS"]


async def test_an_event_of_newer_code_is_a_finding_not_a_skip(audit, table, paid):
    """H4."""
    one = Insider(table, 0)
    at = one.find(hand.TurnBegan)
    one.change_stored(at, type_id=777)
    table.events = one.rehash()
    await audit.take(*feeds(table, paid))
    await audit.verify()
    assert set(await audit.kinds()) == {"UNKNOWN_EVENT", "TABLE_AT_ODDS"}
    assert (await status(audit)).hands_cannot_say >= 1


async def test_text_that_no_database_keeps_does_not_stop_the_audit(audit, table, paid):
    """Nothing that an event says may end the watch over what follows."""
    one = Insider(table, 1)
    at = one.start()
    one.change(at, hand_id="\0" + one.hand_id[1:])
    table.events = one.rehash()
    await audit.take(*feeds(table, paid))
    await audit.verify()
    kinds = await audit.kinds()
    assert kinds[:2] == ["MALFORMED", "TABLE_AT_ODDS"]
    assert (await status(audit)).feeds[0].cursor == len(table.events)
    assert (await status(audit)).hands_verified >= 1


async def test_an_id_that_is_none_is_found(audit, table, paid):
    one = Insider(table, 1)
    one.change(one.start(), hand_id="the second hand")
    table.events = one.rehash()
    await audit.take(*feeds(table, paid))
    await audit.verify()
    assert {"TABLE_AT_ODDS", "HAND_ID_INVALID"} <= set(await audit.kinds())


async def test_a_hash_of_no_size_is_found(audit, table, paid):
    table_feed, wallet_feed = feeds(table, paid)
    last = table_feed.events[-1]
    table_feed.events[-1] = replace(last, event=replace(last.event, hash=b"short", version=-1))
    await audit.take(table_feed, wallet_feed)
    assert await audit.kinds() == ["LEAF_DIFFERS", "VERSION_GAP", "TABLE_AT_ODDS"]


async def test_two_streams_of_one_feed_are_two_chains(audit):
    other = played(7, 2)
    elsewhere = PlayedTable(Random(4), uuid4())
    elsewhere.sit(3)
    elsewhere.play_hand()
    mixed = []
    left, right = list(other.events), list(elsewhere.events)
    while left or right:
        source = left if left and (not right or len(left) % 2) else right
        mixed.append(source.pop(0))
    await audit.take(ListFeed(TABLE_FEED, mixed))
    await audit.verify()
    assert await audit.kinds() == []
    assert (await status(audit)).hands_verified == 3


# --- forged ledgers -------------------------------------------------------------------------------------------------


def hand_commit(paid: Paid, code: str = "hand") -> int:
    """The index of a commit that pays a hand, not the last one."""
    return next(at for at, c in enumerate(paid.commits) if any(t.code == code for t in c.transfers))


async def test_a_payoff_of_another_amount_is_found(audit, table, paid):
    at = hand_commit(paid)
    commit = paid.commits[at]
    first = replace(commit.transfers[0], amount=commit.transfers[0].amount + 1)
    paid.put(at, replace(commit, transfers=(first, *commit.transfers[1:])))
    await audit.take(*feeds(table, paid))
    found = await audit.rows("select kind, feed_id, version, stream_id from finding where kind = 'TRANSFER_DIFFERS'")
    assert found == [("TRANSFER_DIFFERS", WALLET_FEED, at + 1, LEDGER)]


async def test_what_is_posted_in_a_ledger_of_its_own_pays_nothing(audit, table, paid):
    """L1: an insider's second stream in the wallet's feed moves no chips in the wallet's books."""
    other = UUID("00000000-0000-4000-8000-00000000001e")
    events = [
        LoggedEvent(**{name: getattr(one, name) for name in LoggedEvent.__struct_fields__} | {"stream_id": other.bytes})
        for one in paid.events
    ]
    forged = chained(events, chain_start(other.bytes, StreamKind.LEDGER))
    await audit.take(ListFeed(TABLE_FEED, table.events), ListFeed(WALLET_FEED, forged))
    found = await audit.rows("select kind, stream_id from finding where feed_id = 2 and version = 1")
    assert ("OUT_OF_PLACE", other) in found
    assert await audit.rows("select 1 from posted") == []


async def test_a_payoff_to_somebody_else_is_found(audit, table, paid):
    at = hand_commit(paid)
    commit = paid.commits[at]
    escrows = [account for c in paid.commits for account in c.accounts if account.kind == "escrow"]
    taken = {commit.transfers[0].credit_account, commit.transfers[0].debit_account}
    other = next(account.account_id for account in escrows if account.account_id not in taken)
    paid.put(at, replace(commit, transfers=(replace(commit.transfers[0], credit_account=other), *commit.transfers[1:])))
    await audit.take(*feeds(table, paid))
    assert "TRANSFER_DIFFERS" in await audit.kinds()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_a_hand_that_was_never_paid_is_found(audit, table, paid, order):
    at = hand_commit(paid)
    commit = paid.commits[at]
    paid.put(at, LedgerCommitted((), (), (), commit.committed_at_ms))
    both = feeds(table, paid)
    for number in order:
        await audit.take(both[number])
    found = await audit.rows("select kind, feed_id, version from finding where kind = 'TRANSFER_MISSING' order by 3")
    version = int(commit.transfers[0].cause.rpartition("/")[2])
    assert found == [("TRANSFER_MISSING", TABLE_FEED, version)] * len(commit.transfers)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_a_payment_that_no_table_asked_for_is_found(audit, table, paid, order):
    at = hand_commit(paid)
    commit = paid.commits[at]
    invented = replace(commit.transfers[0], transfer_id=uuid_text(bytes(16)), amount=1)
    paid.put(at, replace(commit, transfers=(*commit.transfers, invented)))
    both = feeds(table, paid)
    for number in order:
        await audit.take(both[number])
    assert "TRANSFER_WITHOUT_CAUSE" in await audit.kinds()


@pytest.mark.parametrize("cause", ["", "operator/7", "table/none/7", "table/7f0c4a52-95b4-5b52-9b0e-3a4f5d6c7b8a/7"])
async def test_nothing_leaves_an_escrow_under_another_name(audit, table, paid, cause):
    at = hand_commit(paid)
    commit = paid.commits[at]
    taken = replace(commit.transfers[0], transfer_id=uuid_text(bytes(16)), amount=1, code="correction", cause=cause)
    paid.put(at, replace(commit, transfers=(*commit.transfers, taken)))
    await audit.take(*feeds(table, paid))
    assert "TRANSFER_WITHOUT_CAUSE" in await audit.kinds()


async def test_chips_put_into_an_escrow_from_nowhere_show_at_its_cash_out(audit, table, paid):
    out = hand_commit(paid, "cash_out")
    sitting = next(t.debit_account for t in paid.commits[out].transfers if t.code == "cash_out")
    into = next(at for at, c in enumerate(paid.commits) if any(t.credit_account == sitting for t in c.transfers))
    commit = paid.commits[into]
    grant = replace(commit.transfers[0], transfer_id=uuid_text(bytes(16)), credit_account=sitting, amount=3)
    paid.put(into, replace(commit, transfers=(*commit.transfers, grant)))
    await audit.take(*feeds(table, paid))
    assert await audit.kinds() == ["ESCROW_NOT_EMPTY"]


async def test_a_buy_in_that_is_given_up_goes_back_and_nothing_is_found(audit):
    """A revoked transfer that had happened is returned; one that had not never happens."""
    one = PlayedTable(Random(5))
    one.sit(3)
    for name, amount in (("late", 300), ("never", 400)):
        one.do(RequestSeat(name, is_bot=False, seat=None, amount=amount, transfer_id=sitting_of(one, name),
                           post_at_once=True, now_ms=one.now_ms))  # fmt: skip
        one.do(RefuseBuyIn(sitting_of(one, name), "UNAVAILABLE", one.now_ms))
    one.play_hand()
    paid = Paid(one, unpaid={sitting_of(one, "never")})
    assert [t.code for c in paid.commits for t in c.transfers].count("buy_in_returned") == 1
    for feed in feeds(one, paid):
        await audit.take(feed)
    assert await audit.kinds() == []
    back = next(at for at, c in enumerate(paid.commits) if any(t.code == "buy_in_returned" for t in c.transfers))
    assert await audit.rows("select state from posted where code = 'buy_in_returned'") == [(1,)]
    assert paid.commits[back].transfers[0].amount == 300


def sitting_of(one, name):
    return str(uuid5(one.stream, name))


async def test_an_account_closes_once_empty_and_for_ever(audit, paid):
    at = next(number for number, commit in enumerate(paid.commits) if commit.closings)
    commit = paid.commits[at]
    closed = commit.closings[0]
    player = next(t.credit_account for t in commit.transfers if t.debit_account == closed)
    again = replace(commit.transfers[0], transfer_id="t5", debit_account=player, credit_account=closed, amount=1)
    paid.put(len(paid.commits) - 1, LedgerCommitted((), (again,), (), 1, closings=(closed, "nobody", player)))
    await audit.take(ListFeed(WALLET_FEED, paid.events))
    kinds = await audit.kinds()

    assert kinds.count("ACCOUNT_CLOSED") == 3
    assert kinds.count("ESCROW_NOT_EMPTY") == 1


async def test_the_double_entry_is_held(audit, paid):
    """L1, L2, L3: twice, from nowhere, of nothing, of what is not there."""
    commit = paid.commits[hand_commit(paid)]
    one = commit.transfers[0]
    fresh = replace(one, code="test", cause="test")
    bad = LedgerCommitted(
        (paid.commits[0].accounts[0],),
        (
            one,
            replace(fresh, transfer_id="t1", debit_account="nobody"),
            replace(fresh, transfer_id="t2", debit_account=one.credit_account, credit_account=one.credit_account),
            replace(fresh, transfer_id="t3", amount=0),
            replace(fresh, transfer_id="t4", amount=10**12),
        ),
        (),
        1,
    )
    paid.put(len(paid.commits) - 1, bad)
    await audit.take(ListFeed(WALLET_FEED, paid.events))
    kinds = await audit.kinds()
    for kind in (
        "ACCOUNT_OPENED_TWICE",
        "TRANSFER_TWICE",
        "ACCOUNT_UNKNOWN",
        "TRANSFER_UNBALANCED",
        "BALANCE_BELOW_ZERO",
    ):
        assert kind in kinds
    assert kinds.count("ACCOUNT_UNKNOWN") == 2
    assert (await audit.rows("select sum(balance) from ledger_account"))[0][0] == 0


# --- answers --------------------------------------------------------------------------------------------------------


async def test_two_verifiers_give_one_verdict_and_one_finding(audit, table, paid):
    one = Insider(table, 0)
    one.change(one.find(hand.HandEnded), digest=bytes(32))
    table.events = one.rehash()
    await audit.take(*feeds(table, paid))
    await asyncio.gather(*(HandVerifier(audit.database).verify_due() for _ in range(3)))
    await audit.verify()
    assert await audit.kinds() == ["DIGEST_DIFFERS"]


async def test_the_verifier_works_by_itself(audit, table, paid):
    task = asyncio.create_task(audit.verifier.run())
    try:
        await audit.take(*feeds(table, paid))
        async with asyncio.timeout(20):
            while (await status(audit)).hands_verified < len(table.hand_ids):  # noqa: ASYNC110  (asked as a caller would)
                await asyncio.sleep(0.02)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_findings_come_by_page_in_order(audit, table, paid):
    table_feed, _ = feeds(table, paid)
    table_feed.events = [replace(event, leaf_hash=bytes(32)) for event in table_feed.events[:23]]
    await audit.take(table_feed)
    api = audit.servicer()
    numbers, token, pages = [], "", 0
    while True:
        page = await api.ListFindings(pb.ListFindingsRequest(page_size=5, page_token=token), None)
        numbers += [finding.finding_no for finding in page.findings]
        pages += 1
        if not (token := page.next_page_token):
            break
    assert numbers == list(range(1, 24))
    assert pages == 5
    everything = await api.ListFindings(pb.ListFindingsRequest(), None)
    assert len(everything.findings) == 23
    first = everything.findings[0]
    assert (first.kind, first.feed_id, first.global_seq, first.version) == ("LEAF_DIFFERS", 1, 1, 1)
    assert first.stream_id == str(table.stream)
    assert first.found_at_ms > 1_600_000_000_000


@pytest.mark.parametrize(
    ("request_fields", "reason"),
    [
        ({"page_size": -1}, "PAGE_SIZE_INVALID"),
        ({"page_token": "!"}, "PAGE_TOKEN_INVALID"),
        ({"page_token": "ZmluZGluZy94"}, "PAGE_TOKEN_INVALID"),
        ({"page_token": "ZmluZGluZy85OTk5OTk5OTk5OTk5OTk5OTk5OTk5"}, "PAGE_TOKEN_INVALID"),
    ],
)
async def test_bad_pages_are_refused_with_a_reason(audit, request_fields, reason):
    with pytest.raises(Rejected) as refusal:
        await audit.servicer().ListFindings(pb.ListFindingsRequest(**request_fields), None)
    assert refusal.value.reason == reason


@pytest.mark.parametrize(
    ("hand_id", "reason"),
    [
        ("", "ID_INVALID"),
        ("x" * 10_000, "ID_INVALID"),
        ("7f0c4a52-95b4-5b52-9b0e-3a4f5d6c7b8a", "HAND_NOT_FOUND"),
    ],
    ids=["none", "no id", "unseen"],
)
async def test_a_hand_that_was_never_seen_has_no_verdict(audit, hand_id, reason):
    with pytest.raises(Rejected) as refusal:
        await audit.servicer().GetHandVerdict(pb.GetHandVerdictRequest(hand_id=hand_id), None)
    assert refusal.value.reason == reason


async def test_a_hand_that_still_runs_cannot_be_said_of(audit, table):
    one = Insider(table)
    table.events = table.events[: one.find(hand.Acted)]
    await audit.take(ListFeed(TABLE_FEED, table.events))
    await audit.verify()
    answer = await audit.servicer().GetHandVerdict(pb.GetHandVerdictRequest(hand_id=one.hand_id), None)
    assert answer.verdict == pb.VERDICT_CANNOT_SAY
