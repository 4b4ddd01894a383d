"""Orders are carried until they are confirmed, one at a time a table, under the same ids (P1, P2)."""

import asyncio
from types import SimpleNamespace
from uuid import UUID

import pytest

from diwan.chassis.alarms import ALARMS
from diwan.core.decider import Rejected
from diwan.core.tournament import commands as c
from diwan.core.tournament import orders as o
from diwan.core.tournament.decide import advance
from services.tournament import couriers as module
from services.tournament.couriers import Couriers
from services.tournament.tables import order_id_of
from services.tournament.wallet import Unanswered, transfer_id_of
from tests.property.tournament_fields import sit_and_go
from tests.property.tournament_sim import START_MS, TOURNAMENT_ID, Simulation


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(module, "RETRY_SECONDS", (0.005,))
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.001)


class Actor:
    """A tournament that is decided without a store."""

    def __init__(self, players=4, size=2):
        self.simulation = Simulation(sit_and_go(players, size), players, 1)
        self.simulation.next_secret = self.simulation.secret(1)
        self.tournament_id = UUID(TOURNAMENT_ID)
        self.is_gone = False
        self.clock = SimpleNamespace(now_ms=lambda: START_MS)
        self.simulation.create()
        self.commands = []
        self.told = None

    @property
    def state(self):
        return self.simulation.state

    async def ask(self, build):
        self.decide(build(self.state))

    def decide(self, command):
        self.commands.append(command)
        events, self.simulation.state = advance(self.state, command, self.simulation.chance_now())
        if self.told is not None and events:
            self.told(self, events)


class World:
    """Tables and wallet as the test wants them; ``fails`` says how often an order fails first."""

    def __init__(self, fails=0, refuses=None):
        self.sent = []
        self.paid = []
        self.fails = fails
        self.refuses = refuses or {}

    async def send_order(self, _tournament_id, _config, order):
        self.sent.append(order)
        await asyncio.sleep(0)
        if self.fails:
            self.fails -= 1
            raise Unanswered("nobody there")

    async def send_payment(self, tournament_id, order):
        self.paid.append((transfer_id_of(tournament_id, order), order))
        await asyncio.sleep(0)
        if self.fails:
            self.fails -= 1
            raise Unanswered("nobody there")
        return self.refuses.get(order.payment.key, "")


async def carried(actor, world, until, *, alarm_seconds=60.0):
    couriers = Couriers(world.send_order, world.send_payment, at_once=4, alarm_seconds=alarm_seconds)
    actor.told = couriers.happened
    couriers.happened(actor, ())
    async with asyncio.timeout(5):
        while not until():  # noqa: ASYNC110  (what is looked at is done by tasks of the courier)
            await asyncio.sleep(0.002)
    await couriers.close()


def entered(actor, players=4):
    for number in range(players):
        actor.decide(c.Enter(f"p{number}", is_bot=False, now_ms=START_MS))


async def test_a_payment_is_asked_for_under_one_id_until_the_wallet_has_answered():
    actor, world = Actor(), World(fails=3)
    actor.decide(c.Enter("ann", is_bot=False, now_ms=START_MS))

    await carried(actor, world, lambda: not len(actor.state.payments))

    assert len(world.paid) == 4
    assert len({transfer_id for transfer_id, _ in world.paid}) == 1
    reports = [each for each in actor.commands if isinstance(each, c.ReportPayment)]
    assert [(each.key, each.is_refused) for each in reports] == [("entry/1", False)]
    assert actor.state.accepted == 1


async def test_a_refused_entry_is_reported_with_the_wallets_reason():
    actor, world = Actor(), World(refuses={"entry/1": "EXCEEDS_BALANCE"})
    actor.decide(c.Enter("ann", is_bot=False, now_ms=START_MS))

    await carried(actor, world, lambda: not len(actor.state.payments))

    report = next(each for each in actor.commands if isinstance(each, c.ReportPayment))
    assert (report.is_refused, report.reason) == (True, "EXCEEDS_BALANCE")
    assert actor.state.accepted == 0


def refund_refused():
    """Return a tournament that owes a refund which the wallet refuses."""
    actor, world = Actor(), World(refuses={"refund/1": "ACCOUNT_FROZEN"})
    actor.decide(c.Enter("ann", is_bot=False, now_ms=START_MS))
    actor.decide(c.ReportPayment("entry/1", 0, is_refused=False, reason="", now_ms=START_MS))
    actor.decide(c.Withdraw("ann", START_MS))
    return actor, world


async def test_what_is_owed_and_refused_is_not_asked_for_again_at_once():
    """Every attempt is a transfer and an event for ever: an account that stays shut must not fill the logs."""
    actor, world = refund_refused()
    loop = asyncio.get_running_loop()
    until = loop.time() + 0.3

    await carried(actor, world, lambda: loop.time() > until)

    assert [order.name for _, order in world.paid] == ["refund/1"]
    assert actor.state.payments["refund/1"].attempt_no == 1


async def test_what_is_owed_and_refused_is_asked_for_until_it_is_paid(monkeypatch):
    monkeypatch.setattr(module, "REFUSED_SECONDS", (0.005,))
    actor, world = refund_refused()

    def is_paid():
        if len(world.paid) > 3:
            world.refuses.clear()
        return not len(actor.state.payments)

    await carried(actor, world, is_paid)

    names = [order.name for _, order in world.paid]
    assert names[:4] == ["refund/1", "refund/1#1", "refund/1#2", "refund/1#3"]
    assert len(set(names)) == len(names)


async def test_no_order_overtakes_another_at_its_table_while_nobody_answers():
    """Given a table service that answers nothing three times, then its first order is repeated before any other."""
    actor, world = Actor(), World()
    entered(actor)
    await carried(actor, world, lambda: len(world.sent) >= 2 and not len(actor.state.payments))
    assert actor.state.phase == "seating"
    tables = {order.table_id for order in world.sent}
    assert tables == {table.table_id for table in actor.state.tables.values()}

    failing = World(fails=6)
    await carried(actor, failing, lambda: not failing.fails and len(failing.sent) >= 8)

    for table_id in tables:
        ids = [(type(order), order_id_of(order)) for order in failing.sent if order.table_id == table_id]
        assert ids[0][0] is o.OpenTable
        assert ids == sorted(ids, key=ids.index), "an order is left only for good"
        assert set(ids) == {ids[0]}, "the table is not ready yet: nothing else is wanted there"


async def test_an_order_that_fails_for_long_is_an_alarm_and_goes_on():
    actor, world = Actor(), World(fails=50)
    entered(actor)
    before = ALARMS.labels("order")._value.get()

    await carried(actor, world, lambda: not world.fails and not len(actor.state.payments), alarm_seconds=0.01)

    assert ALARMS.labels("order")._value.get() > before
    assert actor.state.accepted == 4


async def test_what_a_table_refuses_is_asked_again_later():
    """A refusal may be of the past: what made it so is on its way to the tournament."""

    class Refusing(World):
        async def send_order(self, tournament_id, config, order):
            await super().send_order(tournament_id, config, order)
            if len(self.sent) < 4:
                raise Rejected("SEAT_TAKEN")

    actor, world = Actor(), Refusing()
    entered(actor)

    await carried(actor, world, lambda: len(world.sent) >= 4)

    assert len({order_id_of(order) for order in world.sent}) == len(actor.state.tables)
