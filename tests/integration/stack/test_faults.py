"""kill -9 of each service in mid-play, and the bus gone: nothing lost, nothing doubled, play goes on."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from diwan.chassis.access import Role
from diwan.cli.demo.checks import check_audit, check_copies, check_hands, check_ledger
from diwan.cli.demo.command import DEMO_SETTINGS
from diwan.cli.demo.gather import close_tables, everything_applied, gather, until, wallet_totals
from diwan.cli.demo.play import Count, open_tables
from diwan.cli.stack.stack import Stack
from diwan.client import connect, new_request_id
from diwan.core.hand.events import Acted, HandEnded
from diwan.wire.events import decode

pytestmark = pytest.mark.timeout(300)


class LivingHouse:
    """A stack on which bots play while a test hurts it."""

    def __init__(self, stack):
        self.stack = stack
        self.count = Count()
        self.table_ids = []
        self.totals = []

    def client(self, subject="test", role=Role.OPERATOR):
        return connect(self.stack.places.services, self.stack.token(subject, role))

    async def follow(self, client, table_id):
        async with client.tables.watch(table_id, patience_seconds=120) as messages:
            async for message in messages:
                for stored in message.update.events:
                    event = decode(stored.type_id, stored.schema_version, stored.body).event
                    self.count.hands += isinstance(event, HandEnded)
                    self.count.actions += isinstance(event, Acted)

    async def plays_on(self, hands=4, seconds=60.0):
        """Wait until so many more hands have ended."""
        wanted = self.count.hands + hands

        async def has_played():
            return self.count.hands >= wanted

        await until(f"{hands} more hands", has_played, seconds)

    async def is_sound(self):
        """Close everything and run every check of the demo on what is left."""
        async with self.client() as client:
            await close_tables(client, self.table_ids)
            await everything_applied(client)
            evidence = await gather(client, self.stack, self.totals)
        checked = await asyncio.to_thread(check_hands, evidence)
        results = [*checked.results, check_ledger(evidence), check_copies(evidence)]
        results.append(check_audit(evidence, checked.hands))
        assert [result for result in results if not result.holds] == []


@asynccontextmanager
async def living_house(folder, tables=2) -> AsyncIterator[LivingHouse]:
    stack = Stack(folder, report=lambda *_: None, overrides=DEMO_SETTINGS)
    await asyncio.to_thread(stack.start)
    followers = []
    try:
        house = LivingHouse(stack)
        async with house.client() as client:
            house.table_ids = await open_tables(client, tables)
            followers = [asyncio.create_task(house.follow(client, each)) for each in house.table_ids]
            await house.plays_on(3)
            yield house
            for follower in followers:
                assert not follower.done() or follower.exception() is None
    finally:
        for follower in followers:
            follower.cancel()
        await asyncio.gather(*followers, return_exceptions=True)
        await asyncio.to_thread(stack.stop)


async def test_every_service_is_killed_in_mid_play_and_nothing_is_lost_or_doubled(tmp_path):
    """P1, P2, H9: kill -9 of table, wallet, bots and audit, one after the other, then two at once."""
    async with living_house(tmp_path) as house:
        for victims in (("table",), ("wallet",), ("bots",), ("audit",), ("table", "wallet")):
            for victim in victims:
                os.kill(house.stack.child(victim).pid, signal.SIGKILL)
            await house.plays_on()
            async with house.client() as client:
                house.totals.append(await wallet_totals(client))

        await house.is_sound()

        assert all(house.stack.restarts[victim] >= 1 for victim in ("table", "wallet", "bots", "audit"))


async def test_a_buy_in_whose_wallet_is_killed_under_it_takes_effect_once(tmp_path):
    """The transfer is on its way to a frozen wallet, which is then killed: the saga asks again with the same id."""
    async with (
        living_house(tmp_path, tables=1) as house,
        house.client("backend", Role.BACKEND) as backend,
        house.client("amal", Role.PLAYER) as amal,
    ):
        table = await backend.tables.create(
            {"name": "Quiet", "hand": {"small_blind": 5, "big_blind": 10}, "seats": 2, "bots_fill": 0}
        )
        house.table_ids.append(table.table_id)
        await amal.wallet.open_account()
        wallet = house.stack.child("wallet").pid
        os.kill(wallet, signal.SIGSTOP)
        request_id = new_request_id()
        sitting = asyncio.create_task(amal.tables.sit_down(table.table_id, 600, request_id=request_id))

        async def is_reserved():
            return any(seat.player == "amal" for seat in (await backend.tables.get(table.table_id)).seats)

        await until("the buy-in is on its way", is_reserved)
        os.kill(wallet, signal.SIGKILL)
        answer = await sitting

        again = await amal.tables.sit_down(table.table_id, 600, request_id=request_id)
        assert again.result.is_replayed
        assert again.result.first_version == answer.result.first_version
        assert (await amal.wallet.get_account()).balance == 10_000 - 600
        await house.is_sound()
        assert (await amal.wallet.get_account()).balance == 10_000


async def test_an_action_sent_to_a_table_that_is_killed_under_it_takes_effect_once(tmp_path):
    """P2: the action waits in the frozen table's socket when it is killed; the retry with the same id plays it once."""
    async with living_house(tmp_path, tables=1) as house, house.client("backend", Role.BACKEND) as backend:
        config = {"hand": {"small_blind": 5, "big_blind": 10, "decision_seconds": 60}, "seats": 2, "pause_ms": 1}
        table = await backend.tables.create({"name": "Duel", **config})
        house.table_ids.append(table.table_id)
        players = {name: house.client(name, Role.PLAYER) for name in ("amal", "rami")}
        for client in players.values():
            await client.wallet.open_account()
            await client.tables.sit_down(table.table_id, 500, post_at_once=True)

        async def is_open():
            return (await backend.tables.get(table.table_id)).hand.decision.turn > 0

        await until("a decision is open", is_open)
        view = await backend.tables.get(table.table_id)
        decision = view.hand.decision
        name = next(seat.player for seat in view.seats if seat.seat == decision.seat)
        pid = house.stack.child("table").pid
        os.kill(pid, signal.SIGSTOP)
        request_id = new_request_id()
        act = asyncio.create_task(
            players[name].tables.act(table.table_id, decision.turn, "call", request_id=request_id)
        )
        await asyncio.sleep(0.3)  # long enough for the bytes to lie in the frozen process's socket
        os.kill(pid, signal.SIGKILL)
        answer = await act

        again = await players[name].tables.act(table.table_id, decision.turn, "call", request_id=request_id)
        assert again.is_replayed
        assert (again.first_version, again.last_version) == (answer.first_version, answer.last_version)
        for client in players.values():
            await client.tables.stand_up(table.table_id)
            await client.close()
        await house.is_sound()


@pytest.mark.parametrize(
    "seconds", [pytest.param(8, id="short"), pytest.param(120, id="two-minutes", marks=pytest.mark.soak)]
)
async def test_play_and_cash_outs_go_on_while_the_bus_is_gone(tmp_path, seconds):
    """D13: the bus is frozen; hands are dealt, chips go home by Feed.Read; when it is back the copy is whole again."""
    async with (
        living_house(tmp_path) as house,
        house.client("amal", Role.PLAYER) as amal,
        house.client("backend", Role.BACKEND) as backend,
    ):
        table = await backend.tables.create(
            {"name": "Quiet", "hand": {"small_blind": 5, "big_blind": 10}, "seats": 2, "bots_fill": 0}
        )
        house.table_ids.append(table.table_id)
        await amal.wallet.open_account()
        await amal.tables.sit_down(table.table_id, 600)
        began = time.monotonic()
        os.kill(house.stack.nats.pid, signal.SIGSTOP)
        try:
            await house.plays_on()
            await amal.tables.stand_up(table.table_id)

            async def chips_are_home():
                return (await amal.wallet.get_account()).balance == 10_000

            await until("chips go home without the bus", chips_are_home, 60)
            while time.monotonic() < began + seconds:
                await house.plays_on(2)
        finally:
            os.kill(house.stack.nats.pid, signal.SIGCONT)
        await house.plays_on(2)
        await house.is_sound()


async def test_the_bus_server_and_the_database_server_are_killed_and_play_goes_on(tmp_path):
    """P1: kill -9 of NATS, then of PostgreSQL with all its children, in mid-play."""
    async with living_house(tmp_path) as house:
        os.kill(house.stack.nats.pid, signal.SIGKILL)
        await house.plays_on()
        os.kill(house.stack.postgres.pid, signal.SIGKILL)
        await house.plays_on(seconds=90)
        await house.is_sound()
