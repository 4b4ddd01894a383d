"""The wallet on a real NATS: hands are paid at once over the bus, and all the same without it (D4, D13)."""

import asyncio
import time

import pytest

from diwan.chassis.bus import FEEDS, Bus, services, set_up, users
from diwan.chassis.database import Database
from diwan.chassis.embedded import EmbeddedNats
from diwan.chassis.feed import Feed, scrub
from tests.integration.wallet.conftest import faults
from tests.integration.wallet.room import a_room

GRANT = 10_000


@pytest.fixture
def nats(tmp_path):
    """A NATS of the test's own, with a user a service, to be stopped and started at will."""
    with EmbeddedNats(
        tmp_path / "nats", users({service: f"password-of-{service}" for service in services()})
    ) as server:
        asyncio.run(set_up(server.admin_url))
        yield server


async def paid(room, table, seconds):
    """Return how long it takes until the last hand is paid."""
    began = time.monotonic()
    async with asyncio.timeout(seconds):
        while room.escrows(await room.totals()) != table.escrows():  # noqa: ASYNC110  (another service is asked)
            await asyncio.sleep(0.01)
    return time.monotonic() - began


async def copied(postgres_url, nats):
    """Wait until the wallet's own copy on the bus is whole; returns what was compared."""
    database = await Database.open(postgres_url)
    bus = Bus.start(nats.admin_url, "admin")
    await bus.ready(10)
    try:
        async with asyncio.timeout(20):
            report = await scrub(bus, Feed(database, FEEDS["wallet"]), "wallet")
            while not report.is_equal:
                await asyncio.sleep(0.1)
                report = await scrub(bus, Feed(database, FEEDS["wallet"]), "wallet")
    finally:
        await bus.close()
        await database.close()
    return report


async def test_hands_and_cash_outs_go_on_while_the_bus_is_gone(postgres, prepared, tmp_path, nats, superuser):
    """D13: losing NATS slows things down and loses nothing; afterwards both copies are whole again."""
    async with a_room(postgres, prepared, tmp_path, nats=nats) as room:
        table = await room.new_table()
        for number, name in enumerate(("amal", "dina", "omar")):
            await room.open_account(name)
            await room.sit(table, number, name, 1_000)
        await room.caught_up()
        over_the_bus = []
        for _ in range(5):
            await table.play()
            over_the_bus.append(await paid(room, table, 20))

        await asyncio.to_thread(nats.stop)
        for _ in range(5):
            await table.play()
        await table.leave(table.seats[0])
        await table.play()
        totals = await room.caught_up()
        assert room.escrows(totals) == table.escrows()
        assert await room.balance("amal") == GRANT - 1_000 + table.home["amal"]

        await asyncio.to_thread(nats.start)
        await table.play()
        for seat in list(table.seats):
            await table.leave(seat)
        totals = await room.caught_up()
        report = await copied(prepared.url("wallet_seq"), nats)

        assert room.escrows(totals) == {}
        assert (totals.sum, list(totals.quarantined_tables)) == (0, [])
        assert report.messages == await superuser.fetchval("select version from stream")
    assert await faults(superuser) == []
    assert min(over_the_bus) < 0.8, "the bus tells sooner than the look at the feed after a second's silence"
