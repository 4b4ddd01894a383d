"""Reconciling what is set aside, frozen, counted and owed: an honest ledger holds, a spoiled one is found (L6)."""

import asyncio
import time
from uuid import uuid4

import pytest
import pytest_asyncio

from diwan.core.ledger.accounts import OPERATOR, player_account, pool_account
from diwan.core.ledger.books import Transfer
from diwan.core.ledger.policies import Policies, receipt_named
from diwan.core.ledger.requests import (
    ConsentChange,
    Expiry,
    FreezeChange,
    HoldPlacement,
    HoldPosting,
    HoldVoiding,
    Refund,
)
from services.wallet.reconcile.passing import Pass
from tests.integration.wallet.conftest import make, moving, rich_players, running
from tests.integration.wallet.sabotage import broken, look, look_through, owner_of

# One ledger for all of these tests. What spoils it does so in a transaction that is rolled back, and looks from inside it.
pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("holds")]

POOL = pool_account("t-1")


@pytest.fixture(scope="module")
def prepared(postgres, template):
    prepared = asyncio.run(make(postgres, "wallet_reconcile_holds", template))
    yield prepared
    postgres.drop_database(prepared.name)


async def place(ledger, player, amount, lasts_ms=3_600_000):
    hold = Transfer(str(uuid4()), player.account_id, POOL.account_id, amount, "entry", "test")
    done = await ledger.ask(HoldPlacement(hold, lasts_ms, (POOL,)))
    assert done.outcome.is_done
    return hold.transfer_id


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def holds(prepared):
    """Holds of every fate by name, beside grants, a purchase refunded too late, a freeze and a consent."""
    async with running(prepared) as ledger:
        amal, dina, omar = await rich_players(ledger, 3)
        names = {"open": await place(ledger, amal, 100), "posted": await place(ledger, amal, 50)}
        names |= {"voided": await place(ledger, dina, 70), "expired": await place(ledger, dina, 30, lasts_ms=1)}
        await ledger.ask(HoldPosting(str(uuid4()), names["posted"], 40, "test"))
        await ledger.ask(HoldVoiding(str(uuid4()), names["voided"], "test"))
        await asyncio.sleep(0.01)
        await ledger.ask(Expiry((names["expired"],)))
        policies = Policies(issued_a_day={"operator": 10_000})
        for _ in range(3):
            await ledger.ask(policies.issue(str(uuid4()), "operator", amal, 500, "test"))
        await ledger.ask(policies.bought("shop", "r-1", omar.owner, 5_000))
        await ledger.ask(moving(str(uuid4()), omar, dina, 5_900))
        await ledger.ask(Refund(receipt_named("purchase", "shop", "r-1"), "test"))
        await ledger.ask(ConsentChange(str(uuid4()), amal.account_id, is_given=True, cause="test"))
        await ledger.ask(FreezeChange(str(uuid4()), dina.account_id, is_frozen=True, cause="test"))
    return names


async def row_of(owner, hold_id):
    return await owner.fetchrow("select * from hold where hold_id = $1", hold_id)


async def test_an_honest_ledger_holds_at_every_version(prepared):
    full = await look(prepared)
    resumed = [await look(prepared, after) for after in range(1, full.ledger_version + 1)]

    assert broken(full) == {}
    assert full.checked["held"] == 4 + 1
    assert full.checked["issuance"] > 2
    assert [broken(report) for report in resumed] == [{}] * full.ledger_version


@pytest.mark.parametrize("name", ["voided", "expired"])
async def test_a_hold_that_was_never_released_is_found_at_its_end(prepared, holds, name):
    """The event ended it; the books still set the chips aside, consistently."""
    async with owner_of(prepared) as owner:
        row = await row_of(owner, holds[name])
        await owner.execute(
            "update hold set resolution = '', posted = 0, resolved_by = '', resolved_version = null where hold_id = $1",
            holds[name],
        )
        await owner.execute(
            "update account set held = held + $2 where account_id = $1", row["debit_account"], row["amount"]
        )
        report = await look_through(owner)

    assert broken(report) == {"held": row["resolved_version"]}
    assert report.first("held").account_id == str(row["debit_account"])
    assert f"hold {holds[name]} was {name}" in report.first("held").text
    assert "still open" in report.first("held").text


async def test_a_hold_that_is_long_overdue_is_found(prepared, holds):
    async with owner_of(prepared) as owner:
        row = await row_of(owner, holds["open"])
        await owner.execute(
            "update hold set expires_at_ms = $2 where hold_id = $1", holds["open"], int(time.time() - 3600) * 1000
        )
        report = await look_through(owner)

    assert broken(report) == {"held": row["placed_version"]}
    assert any("never released" in finding.text for finding in report.findings)


async def test_a_hold_ended_by_no_event_is_found(prepared, holds):
    async with owner_of(prepared) as owner:
        version = await owner.fetchval("select max(version) from event")
        row = await row_of(owner, holds["open"])
        await owner.execute(
            "update hold set resolution = 'voided', resolved_version = $2 where hold_id = $1", holds["open"], version
        )
        await owner.execute("update account set held = held - 100 where account_id = $1", row["debit_account"])
        report = await look_through(owner)

    assert broken(report) == {"held": version}
    assert "no event ended it" in report.first("held").text


async def test_a_changed_held_amount_is_found(prepared, holds):
    async with owner_of(prepared) as owner:
        row = await row_of(owner, holds["open"])
        await owner.execute("update account set held = held - 1 where account_id = $1", row["debit_account"])
        newest = await owner.fetchval(
            "select max(greatest(placed_version, resolved_version)) from hold where debit_account = $1",
            row["debit_account"],
        )
        full, resumed = await look_through(owner), await look_through(owner, row["placed_version"])

    assert broken(full) == broken(resumed) == {"held": newest}
    assert "has 99 set aside, its open holds say 100" in full.first("held").text


async def test_a_hold_posted_with_another_amount_and_a_transfer_without_its_hold_are_found(prepared, holds):
    async with owner_of(prepared) as owner:
        row = await row_of(owner, holds["posted"])
        await owner.execute("update hold set posted = 50 where hold_id = $1", holds["posted"])
        await owner.execute("update transfer set hold_id = null where hold_id = $1", holds["posted"])
        report = await look_through(owner)

    assert broken(report) == {"held": row["resolved_version"], "events": row["resolved_version"]}
    assert f"hold_id  instead of {holds['posted']}" in report.first("events").text


async def test_a_hold_in_the_books_alone_and_one_in_the_event_alone_are_found(prepared, holds):
    async with owner_of(prepared) as owner:
        row = await row_of(owner, holds["open"])
        await owner.execute("update hold set hold_id = gen_random_uuid() where hold_id = $1", holds["open"])
        report = await look_through(owner)

    texts = [finding.text for finding in report.findings]
    assert broken(report) == {"held": row["placed_version"]}
    assert any("is not in the books" in text for text in texts)
    assert any("in the books and not in the event" in text for text in texts)


async def test_a_changed_freeze_consent_and_shortfall_are_found(prepared):
    async with owner_of(prepared) as owner:
        await owner.execute("update account set is_frozen = false, has_top_up_consent = false")
        await owner.execute("update shortfall set amount = amount + 1")
        report = await look_through(owner)

    texts = [finding.text for finding in report.findings]
    assert list(broken(report)) == ["events"]
    assert any("has is_frozen False" in text for text in texts)
    assert any("has has_top_up_consent False" in text for text in texts)
    assert any("the shortfall of purchase" in text for text in texts)


async def test_a_changed_tally_is_found(prepared):
    async with owner_of(prepared) as owner:
        await owner.execute("update tally set amount = 1 where code = 'issue'")
        report = await look_through(owner)

    assert list(broken(report)) == ["issuance"]
    assert "the events issue 1500 in 3, the tally says 1 in 3" in report.first("issuance").text


async def test_what_goes_beyond_the_days_limit_is_found_at_its_transfer(prepared):
    async with owner_of(prepared) as owner:
        versions = [
            row[0]
            for row in await owner.fetch(
                "select ledger_version from transfer where debit_account = $1 and code = 'issue' order by 1",
                OPERATOR.account_id,
            )
        ]
        within = await Pass(owner, "settlement", {"operator": 1_500}).run()
        beyond = await Pass(owner, "settlement", {"operator": 1_499}).run(within.ledger_version - 1)

    assert broken(within) == {}
    assert broken(beyond) == {"issuance": versions[2]}
    assert "operator issued 1500 today, its limit is 1499" in beyond.first("issuance").text


async def test_an_account_that_no_event_touched_since_is_not_judged_by_what_is_not_known(prepared):
    """A pass that goes on knows a freeze only if it saw it."""
    async with owner_of(prepared) as owner:
        await owner.execute("update account set is_frozen = true where owner = $1", player_account("player-0").owner)
        version = await owner.fetchval("select max(version) from event")
        report = await look_through(owner, version)

    assert broken(report) == {}
