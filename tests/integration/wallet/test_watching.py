"""Following a balance: what there is, at once and after every change, for any number of watchers."""

import asyncio
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from diwan.chassis.database import Database
from diwan.core.decider import Rejected
from diwan.core.ledger.accounts import OPERATOR, pool_account
from diwan.core.ledger.books import Transfer
from diwan.core.ledger.requests import FreezeChange, HoldPlacement
from services.wallet import watching
from services.wallet.ledger import Ledger
from services.wallet.watching import Balances
from tests.integration.wallet.conftest import moving, rich_players, running


@asynccontextmanager
async def followed(prepared, heartbeat_seconds=0.2):
    """A ledger whose commits wake the balances, and the balances."""
    database = await Database.open(prepared.url("wallet_rw"), size=4)
    balances = Balances(database, heartbeat_seconds=heartbeat_seconds)
    async with running(prepared) as ledger:
        assert isinstance(ledger, Ledger)
        task = asyncio.create_task(balances.run())
        try:
            yield ledger, balances
        finally:
            task.cancel()
            await asyncio.wait({task})
            await database.close()


async def until(stream, is_wanted):
    """Return the accounts that a stream tells up to the one that is wanted."""
    told = []
    async with asyncio.timeout(10):
        async for account in stream:
            if account is not None:
                told.append(account)
                if is_wanted(account):
                    return told
    raise AssertionError("the stream ended")


async def test_a_watcher_is_told_at_once_and_after_every_kind_of_change(prepared):
    async with followed(prepared) as (ledger, balances):
        (amal,) = await rich_players(ledger, 1)
        pool = pool_account("cup")
        stream = balances.watch(amal.account_id)
        first = await until(stream, lambda account: account.balance == 1_000)
        await ledger.ask(moving(str(uuid4()), OPERATOR, amal, 7))
        balances.wake()
        second = await until(stream, lambda account: account.balance == 1_007)
        hold = Transfer(str(uuid4()), amal.account_id, pool.account_id, 100, "entry", "c")
        await ledger.ask(HoldPlacement(hold, 1_500, opens=(pool,)))
        third = await until(stream, lambda account: account.held == 100)
        await ledger.ask(FreezeChange(str(uuid4()), amal.account_id, is_frozen=True, cause="c"))
        fourth = await until(stream, lambda account: account.is_frozen)
        # On a slow machine the hold may be over by then.
        last = fourth if not fourth[-1].held else await until(stream, lambda account: not account.held)
        await stream.aclose()

    assert [len(told) for told in (first, second, third)] == [1, 1, 1]
    assert last[-1].available == 1_007


async def test_a_quiet_account_sends_heartbeats_only(prepared):
    async with followed(prepared) as (ledger, balances):
        (amal,) = await rich_players(ledger, 1)
        stream = balances.watch(amal.account_id)
        told = [await anext(stream) for _ in range(4)]
        await stream.aclose()

    assert told[0].owner == "player-0"
    assert told[1:] == [None, None, None]


async def test_many_changes_may_be_told_as_one_but_the_last_is_always_told(prepared):
    """A slow reader costs nothing: there is one state to tell, not a queue."""
    async with followed(prepared) as (ledger, balances):
        (amal,) = await rich_players(ledger, 1)
        streams = [balances.watch(amal.account_id) for _ in range(20)]
        for stream in streams:
            await anext(stream)
        for _ in range(100):
            await ledger.ask(moving(str(uuid4()), OPERATOR, amal, 1))
            balances.wake()
        told = await asyncio.gather(*(until(stream, lambda account: account.balance == 1_100) for stream in streams))
        for stream in streams:
            await stream.aclose()

    assert all(1 <= len(each) < 100 for each in told)
    assert all([a.version for a in each] == sorted({a.version for a in each}) for each in told)


async def test_what_came_and_went_while_a_reader_was_slow_is_not_told_as_what_there_is(prepared):
    """A freeze moves no chip and counts no entry: lifted again, the account is what the reader was told before."""
    async with followed(prepared) as (ledger, balances):
        (amal,) = await rich_players(ledger, 1)
        stream = balances.watch(amal.account_id)
        first = await anext(stream)
        for is_frozen in (True, False):
            await ledger.ask(FreezeChange(str(uuid4()), amal.account_id, is_frozen=is_frozen, cause="c"))
            await balances.look()
        told = [await anext(stream) for _ in range(3)]
        await stream.aclose()

    assert not first.is_frozen
    assert [account for account in told if account is not None and account.is_frozen] == []


async def test_an_account_that_is_not_there_is_not_watched(prepared):
    async with followed(prepared) as (_ledger, balances):
        with pytest.raises(Rejected, match="ACCOUNT_NOT_FOUND"):
            await anext(balances.watch(pool_account("none").account_id))


async def test_there_is_room_for_so_many_watchers_and_no_more(prepared, monkeypatch):
    """P12."""
    monkeypatch.setattr(watching, "WATCHERS_MAX", 2)
    async with followed(prepared) as (ledger, balances):
        (amal,) = await rich_players(ledger, 1)
        streams = [balances.watch(amal.account_id) for _ in range(3)]
        for stream in streams[:2]:
            await anext(stream)
        with pytest.raises(Rejected, match="SERVER_BUSY"):
            await anext(streams[2])
        await streams[0].aclose()
        assert (await anext(balances.watch(amal.account_id))).owner == "player-0"
        await streams[1].aclose()


async def test_the_looks_go_on_after_the_database_was_away(prepared, superuser):
    async with followed(prepared) as (ledger, balances):
        (amal,) = await rich_players(ledger, 1)
        stream = balances.watch(amal.account_id)
        await anext(stream)
        await superuser.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where usename = 'wallet_rw' and datname = current_database()"
        )
        balances.wake()
        await ledger.ask(moving(str(uuid4()), OPERATOR, amal, 7))
        told = await until(stream, lambda account: account.balance == 1_007)
        await stream.aclose()

    assert told[-1].version == 2
