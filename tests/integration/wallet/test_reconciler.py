"""The wallet's own reconciling: in the background and on demand."""

import asyncio
from uuid import uuid4

import asyncpg
import pytest

from diwan.core.decider import Rejected
from services.wallet.reconcile.reconciler import Reconciler
from tests.integration.wallet.conftest import moving
from tests.integration.wallet.sabotage import a_history, broken, middle, owner_of

pytestmark = pytest.mark.usefixtures("played")


@pytest.fixture
async def played(ledger):
    return await a_history(ledger)


def a_reconciler(prepared, **options):
    given = {"every_seconds": 0.01, "full_seconds": 3600, **options}
    return Reconciler(lambda: asyncpg.connect(prepared.url("wallet_rw")), "settlement", **given)


async def test_the_background_looks_at_everything_once_and_then_at_what_is_new(prepared, ledger, played):
    reconciler = a_reconciler(prepared)

    first = await reconciler.look()
    idle = await reconciler.look()
    await ledger.ask(moving(str(uuid4()), played[0], played[1], 1))
    new = await reconciler.look()

    assert (first.is_full, idle.is_full, new.is_full) == (True, False, False)
    assert (idle.checked["events"], new.checked["events"]) == (0, 1)
    assert new.ledger_version == first.ledger_version + 1


async def test_a_finding_is_one_alarm(prepared, monkeypatch):
    alarms = []
    monkeypatch.setattr(
        "services.wallet.reconcile.reconciler.raise_alarm", lambda kind, message: alarms.append((kind, message))
    )
    async with owner_of(prepared, is_kept=True) as owner:
        row = await middle(owner)
        await owner.execute("update transfer set amount = amount + 1 where transfer_id = $1", row["transfer_id"])
    reconciler = a_reconciler(prepared, full_seconds=0)

    for _ in range(3):
        await reconciler.look()

    ((kind, message),) = alarms
    assert kind == "reconcile"
    assert message.startswith("events: transfer")
    assert message.endswith(f"(ledger version {row['ledger_version']})")


async def test_what_the_sums_alone_tell_is_looked_for_in_everything(prepared, played, monkeypatch):
    """A balance that no new event has touched: the sum is off at once, and the next pass says where."""
    alarms = []
    monkeypatch.setattr("services.wallet.reconcile.reconciler.raise_alarm", lambda _, message: alarms.append(message))
    reconciler = a_reconciler(prepared)
    await reconciler.look()
    async with owner_of(prepared, is_kept=True) as owner:
        await owner.execute("update account set balance = balance + 1 where account_id = $1", played[0].account_id)

    looks = [await reconciler.look() for _ in range(3)]

    assert [look.is_full for look in looks] == [False, True, False]
    assert list(broken(looks[0])) == ["sum"]
    assert list(broken(looks[1])) == ["sum", "balances"]
    assert len(alarms) == 3


async def test_the_background_outlives_its_database(prepared, ledger, played, superuser):
    """A killed backend, a database that is away: nothing is concluded, and the next look finds what there is."""
    reconciler = a_reconciler(prepared)
    task = asyncio.create_task(reconciler.run())
    for _ in range(30):
        await superuser.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where usename = 'wallet_rw' and query like '%ledger_version > %'"
        )
        await asyncio.sleep(0.01)
    await ledger.ask(moving(str(uuid4()), played[0], played[1], 1))
    report = await reconciler.on_demand()

    assert not task.done()
    assert broken(report) == {}
    task.cancel()


async def test_a_pass_that_takes_too_long_is_fetched_later(prepared, monkeypatch):
    """Its caller is told to ask again, and gets the result of that very pass."""
    monkeypatch.setattr("services.wallet.reconcile.reconciler.DEMAND_SECONDS", 0.0)
    reconciler = a_reconciler(prepared)
    with pytest.raises(Rejected) as told:
        await reconciler.on_demand()
    monkeypatch.setattr("services.wallet.reconcile.reconciler.DEMAND_SECONDS", 5.0)
    report, again = await reconciler.on_demand(), await reconciler.on_demand()

    assert told.value.reason == "RECONCILE_RUNNING"
    assert broken(report) == broken(again) == {}
