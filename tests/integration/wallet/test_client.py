"""The client library's words for chips, as the page for developers shows them, against a running wallet."""

from uuid import uuid4

import pytest

from diwan.chassis.access import Role
from diwan.client import AccountName, DiwanError, connect, movement

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
