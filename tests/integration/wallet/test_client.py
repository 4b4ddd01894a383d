"""The client library's words for chips, as the page for developers shows them, against a running wallet."""

import asyncio
from uuid import uuid4

import pytest

from diwan.chassis.access import Role
from diwan.client import AccountName, DiwanError, connect, movement
from diwan.client.tables import new_request_id
from diwan.core.ledger.accounts import player_account
from tests.integration.wallet.room import a_room, served_here

CUP = str(uuid4())


def client_of(room, role, subject):
    return connect({"wallet": room.address}, room.key.mint(subject, role, "wallet"))


def an_entry(amount):
    return movement(AccountName("player", "amal"), AccountName("pool", CUP), amount, code="entry", cause=f"cup/{CUP}")


async def test_a_back_end_credits_what_was_bought_and_watched_once_and_takes_it_back(room):
    """L3: a receipt is used once."""
    async with client_of(room, Role.BACKEND, "app") as client:
        await client.wallet.open_account(player="amal")
        bought = [await client.wallet.credit_purchase("play-store", "r1", "amal", 5_000) for _ in range(2)]
        seen = [await client.wallet.credit_ad_reward("ads", "view-1", "amal") for _ in range(2)]
        back = await client.wallet.refund_purchase("play-store", "r1", reason="refunded by the store")

    assert [done.result for done in (*bought, *seen)] == ["created", "exists"] * 2
    assert (seen[0].amount, seen[1].account.balance) == (500, 15_500)
    assert (back.result, back.amount, back.shortfall, back.account.balance) == ("created", 5_000, 0, 10_500)


async def test_a_top_up_that_nobody_asked_for_needs_consent(room):
    async with client_of(room, Role.BACKEND, "app") as client, client_of(room, Role.SERVICE, "cup") as cup:
        await client.wallet.open_account(player="amal")
        assert await cup.wallet.transfer_linked([an_entry(9_000), an_entry(100)]) == ["created"] * 2
        with pytest.raises(DiwanError) as refused:
            await client.wallet.top_up(player="amal", is_automatic=True)
        account = await client.wallet.set_top_up_consent(player="amal", is_given=True)
        done = await client.wallet.top_up(player="amal", is_automatic=True)

    assert refused.value.reason == "CONSENT_REQUIRED"
    assert account.has_top_up_consent
    assert (done.result, done.amount, done.account.balance) == ("created", 2_000, 2_900)


async def state_of(client, hold_id):
    hold = await client.wallet.get_hold(hold_id)
    return hold.state, hold.amount, hold.posted


async def test_a_hold_tells_how_it_stands_and_how_it_ended(room):
    """L6: it ends once; what has expired is, whether or not its end is written yet."""
    async with client_of(room, Role.SERVICE, "cup") as client, client_of(room, Role.AUDITOR, "carla") as auditor:
        await client.wallet.open_account(player="amal")
        posted, voided, expired = (an_entry(amount) for amount in (500, 400, 300))
        for entry, lasts_ms in ((posted, 0), (voided, 0), (expired, 1)):
            await client.wallet.place_hold(entry, lasts_ms=lasts_ms)
        opened = await state_of(auditor, posted.transfer_id)
        done = new_request_id()
        await client.wallet.post_hold(posted.transfer_id, amount=100, cause=f"cup/{CUP}", transfer_id=done)
        await client.wallet.void_hold(voided.transfer_id, cause=f"cup/{CUP}")
        ended = [await state_of(auditor, entry.transfer_id) for entry in (posted, voided, expired)]
        told = await auditor.wallet.get_hold(posted.transfer_id)
        with pytest.raises(DiwanError) as unknown:
            await auditor.wallet.get_hold(str(uuid4()))

    assert opened == ("open", 500, 0)
    assert ended == [("posted", 500, 100), ("voided", 400, 0), ("expired", 300, 0)]
    assert (told.code, told.cause, told.resolved_by, told.currency) == ("entry", f"cup/{CUP}", done, "CHIP")
    assert told.debit_account_id == player_account("amal").account_id
    assert unknown.value.reason == "HOLD_NOT_FOUND"


async def test_a_balance_is_followed_over_a_server_that_goes_and_comes_back(postgres, prepared, tmp_path):
    """What changed while the line was lost is told, what did not change is not told again."""
    async with a_room(postgres, prepared, tmp_path, is_running=False) as room:
        async with served_here(room):
            host_and_port = room.address
            async with client_of(room, Role.SERVICE, "cup") as cup:
                await cup.wallet.open_account(player="amal")
            client = connect({"wallet": room.address}, room.key.mint("app", Role.BACKEND, "wallet"))
            balance = client.wallet.watch_balance(player="amal")
            first = await anext(balance)
            async with client_of(room, Role.SERVICE, "cup") as cup:
                await cup.wallet.transfer_linked([an_entry(100)])
            second = await anext(balance)
        room.settings = room.settings.model_copy(update={"listen": host_and_port})
        async with served_here(room), client, balance:
            waiting = asyncio.create_task(anext(balance))
            async with client_of(room, Role.SERVICE, "cup") as cup:
                await cup.wallet.transfer_linked([an_entry(40)])
            third = await asyncio.wait_for(waiting, 20)

    assert [told.balance for told in (first, second, third)] == [10_000, 9_900, 9_860]


async def test_a_service_holds_posts_a_part_and_is_told_that_it_did(room):
    """L6."""
    async with client_of(room, Role.SERVICE, "cup") as client:
        await client.wallet.open_account(player="amal")
        entry = an_entry(500)
        held = await client.wallet.place_hold(entry, lasts_ms=600_000)
        posted = await client.wallet.post_hold(entry.transfer_id, amount=300, cause=f"cup/{CUP}")
        with pytest.raises(DiwanError) as second:
            await client.wallet.void_hold(entry.transfer_id, cause=f"cup/{CUP}")
        account = await client.wallet.get_account(player="amal")

    assert (held.result, held.debit.held, held.expires_at_ms > 0) == ("created", 500, True)
    assert (posted.result, posted.amount) == ("created", 300)
    assert second.value.reason == "HOLD_ALREADY_POSTED"
    assert (account.balance, account.held) == (9_700, 0)


async def test_what_operators_refund_out_of_pools_counts_into_their_limit_of_the_day(postgres, prepared, tmp_path):
    """A caps' back door: chips of a pool are as good as issued ones to whom they go."""
    pool, amal = AccountName("pool", CUP), AccountName("player", "amal")
    async with (
        a_room(postgres, prepared, tmp_path, operators_a_day=100) as room,
        client_of(room, Role.SERVICE, "cup") as cup,
        client_of(room, Role.OPERATOR, "olga") as olga,
    ):
        await cup.wallet.open_account(player="amal")
        await cup.wallet.transfer_linked([an_entry(1_000)])
        why = {"cause": "called off"}
        with pytest.raises(DiwanError) as by_the_rules:
            await olga.wallet.transfer(pool, amal, 10, code="refund", **why)
        first = await olga.wallet.transfer(pool, amal, 70, code="operator_refund", **why)
        with pytest.raises(DiwanError) as over:
            await olga.wallet.transfer(pool, amal, 31, code="operator_refund", **why)
        with pytest.raises(DiwanError) as issued:
            await olga.wallet.issue("amal", 31, reason="called off")
        by_the_cup = await cup.wallet.transfer(pool, amal, 500, code="refund", cause=f"cup/{CUP}")
        last = await olga.wallet.transfer(pool, amal, 30, code="operator_refund", **why)
        books = await olga.wallet.reconcile()

    assert by_the_rules.value.reason == "MOVE_NOT_ALLOWED"
    assert [refused.value.reason for refused in (over, issued)] == ["ISSUANCE_LIMIT"] * 2
    assert [done.result for done in (first, by_the_cup, last)] == ["created"] * 3
    assert all(check.holds for check in books.checks)
    assert last.credit.balance == 9_600
