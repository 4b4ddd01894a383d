"""Effects exactly once and in order, whatever the bus does (D6, D7, D8)."""

import asyncio
import random  # noqa: TID251  (attacks need chance)
from collections import defaultdict
from uuid import UUID, uuid4

import pytest

from diwan.chassis.bus import Bus
from diwan.chassis.database import Database
from diwan.chassis.embedded import EmbeddedNats
from diwan.chassis.feed import Consumer, Feed, scrub
from diwan.chassis.feed.relay import Relay
from diwan.chassis.feed.task import FeedTask, sequence_all
from tests.integration.feed.conftest import FEED_ID, Fed, wait_until

EFFECTS = """
create table if not exists effect (
    stream_id uuid not null, version bigint not null, global_seq bigint not null, body bytea not null,
    n bigserial primary key);
grant select, insert on effect to store_writer;
grant usage on sequence effect_n_seq to store_writer;
"""


class Effects:
    """A consumer's side: a table that takes an event as often as it is applied, with faults on demand."""

    def __init__(self, fed: Fed) -> None:
        self.fed = fed
        self.poison: set[UUID] = set()
        self.crashes_left = 0
        self.applied = 0
        self.alarms: list[tuple[str, str]] = []
        self.opened: list[Database] = []

    async def apply(self, connection, events) -> None:
        for event in events:
            if event.event.stream_id in self.poison:
                raise ValueError(f"cannot apply {event.global_seq}")
            await connection.execute(
                "insert into effect (stream_id, version, global_seq, body) values ($1, $2, $3, $4)",
                *(event.event.stream_id, event.event.version, event.global_seq, event.event.body),
            )
        self.applied += len(events)
        if self.crashes_left > 0:
            self.crashes_left -= 1
            connection.terminate()
            raise ConnectionError("the process died before its commit")

    async def consumer(self, bus: Bus | None, *, name: str = "wallet.table", source=None, silence=0.2) -> Consumer:
        database = await Database.open(self.fed.database.url("table_rw"), size=2)
        self.opened.append(database)
        return Consumer(
            name,
            FEED_ID,
            database,
            source or self.fed.feed,
            self.apply,
            bus=bus,
            feed_service="table",
            durable="wallet",
            alarm=lambda kind, message: self.alarms.append((kind, message)),
            silence_seconds=silence,
        )

    async def rows(self):
        return await self.fed.reader.run(lambda c: c.fetch("select * from effect order by n"))


@pytest.fixture
async def effects(fed: Fed, superuser_of):
    superuser = await superuser_of(fed)
    await superuser.execute(EFFECTS)
    await superuser.execute("grant select on effect to store_sequencer")
    made = Effects(fed)
    yield made
    for database in made.opened:
        await database.close()


@pytest.fixture
async def wallet_bus(own_nats: EmbeddedNats, admin: Bus):  # noqa: ARG001  (it makes the durables)
    opened = Bus.start(own_nats.url("wallet"), "wallet")
    await opened.ready()
    yield opened
    await opened.close()


async def sequenced(fed: Fed, events: int, streams: int = 4) -> None:
    while len(fed.heads) < streams:
        await fed.append(uuid4())
        events -= 1
    await fed.append_many(events, list(fed.heads)[:streams])
    connection = await fed.sequencer()
    await sequence_all(connection, FEED_ID)
    await connection.close()


async def relay_all(relay: Relay) -> None:
    while await relay.step():
        pass


async def check_effects(effects: Effects) -> None:
    rows, events = await effects.rows(), await effects.fed.all()
    assert sorted((r["global_seq"], r["body"]) for r in rows) == [(e.global_seq, e.event.body) for e in events]
    by_stream = defaultdict(list)
    for row in rows:
        by_stream[row["stream_id"]].append(row["version"])
    assert all(versions == sorted(versions) for versions in by_stream.values())


async def test_d6_events_delivered_by_the_bus_take_effect_once_in_order(fed: Fed, bus: Bus, wallet_bus: Bus, effects):
    consumer = await effects.consumer(wallet_bus, silence=30.0)
    consumer.start()
    await sequenced(fed, 300)
    relay = Relay(bus, fed.feed, "table")
    await relay_all(relay)
    await wait_until(lambda: consumer.last_seq == 300)
    await sequenced(fed, 5)

    started = asyncio.get_running_loop().time()
    await relay_all(relay)
    await wait_until(lambda: consumer.last_seq == 305)
    assert asyncio.get_running_loop().time() - started < 2.0, "the bus is the fast path, not the silence"
    await consumer.close()

    assert [r["global_seq"] for r in await effects.rows()] == list(range(1, 306))
    await check_effects(effects)


async def test_acknowledged_events_do_not_come_again(fed: Fed, bus: Bus, wallet_bus: Bus, admin: Bus, effects):
    await sequenced(fed, 300)
    await relay_all(Relay(bus, fed.feed, "table"))
    consumer = await effects.consumer(wallet_bus)
    consumer.start()
    await wait_until(lambda: consumer.last_seq == 300)

    async def all_acknowledged() -> bool:
        info = await admin.request("$JS.API.CONSUMER.INFO.FEED_table.wallet", b"")
        return info["num_ack_pending"] == 0 and info["num_pending"] == 0 and info["ack_floor"]["stream_seq"] == 300

    await wait_until(all_acknowledged)
    await consumer.close()


async def test_silence_of_the_bus_is_answered_by_the_feed(fed: Fed, wallet_bus: Bus, effects):
    await sequenced(fed, 700)
    consumer = await effects.consumer(wallet_bus)
    consumer.start()

    await wait_until(lambda: consumer.last_seq == 700)

    await consumer.close()
    await check_effects(effects)


async def test_without_any_bus_the_feed_alone_is_enough(fed: Fed, effects):
    consumer = await effects.consumer(None, silence=0.05)
    consumer.start()
    await sequenced(fed, 50)

    await wait_until(lambda: consumer.last_seq == 50)

    await consumer.close()
    await check_effects(effects)


async def test_d6_holes_and_damage_on_the_bus_are_filled_from_the_feed(
    fed: Fed, bus: Bus, wallet_bus: Bus, effects, monkeypatch
):
    await sequenced(fed, 200)
    relay = Relay(bus, fed.feed, "table")
    really = relay._headers
    monkeypatch.setattr(
        relay, "_headers", lambda e: {**really(e), **({"diwan-version": "0"} if e.global_seq % 7 == 3 else {})}
    )
    await relay_all(relay)
    reads: list[int] = []

    class Counted:
        async def read(self, after, limit):
            reads.append(after)
            return await fed.feed.read(after, limit)

    consumer = await effects.consumer(wallet_bus, source=Counted(), silence=30.0)
    consumer.start()
    await wait_until(lambda: consumer.last_seq == 200)
    await consumer.close()

    assert reads[0] == 2
    await check_effects(effects)


async def test_d6_crashing_consumers_on_one_durable_with_the_bus_stopped_between_apply_each_event_once(
    fed: Fed, bus: Bus, wallet_bus: Bus, own_nats: EmbeddedNats, effects
):
    effects.crashes_left = 7
    second_bus = Bus.start(own_nats.url("wallet"), "wallet")
    consumers = [await effects.consumer(wallet_bus), await effects.consumer(second_bus)]
    task = FeedTask(fed.database.url("table_seq"), FEED_ID, "table", bus)
    task.start()
    for consumer in consumers:
        consumer.start()
    for round_number in range(3):
        await fed.append_many(150, [uuid4() for _ in range(5)])
        if round_number == 1:
            await asyncio.to_thread(own_nats.stop)
            await fed.append_many(50)
            await asyncio.to_thread(own_nats.start)

    async def done() -> bool:
        found: int = await fed.reader.run(lambda c: c.fetchval("select count(*) from effect"))
        return found >= 500

    await wait_until(done, 40.0)
    for consumer in consumers:
        await consumer.close()
    await task.close()
    await second_bus.close()

    assert effects.applied > 500, "some transactions were rolled back after their effect"
    await check_effects(effects)
    assert effects.alarms == []
    assert await consumers[0].quarantined() == []


async def test_killed_backends_of_sequencer_relay_and_consumer_lose_nothing_and_set_nothing_aside(
    fed: Fed, bus: Bus, wallet_bus: Bus, effects, superuser_of
):
    superuser = await superuser_of(fed)
    consumer = await effects.consumer(wallet_bus)
    task = FeedTask(fed.database.url("table_seq"), FEED_ID, "table", bus)
    task.start()
    consumer.start()
    kills = events = 0
    while kills < 12:
        await fed.append_many(20, list(fed.heads)[:4])
        events += 20
        kills += await superuser.fetchval(
            "select count(pg_terminate_backend(pid)) from (select pid from pg_stat_activity"
            " where datname = current_database() and usename in ('table_seq', 'table_rw')"
            " and application_name not in ('store', 'store-writer', 'reader') order by random() limit 3)"
        )

    await wait_until(lambda: consumer.last_seq == events == task.relayed_seq, 40.0)
    assert await consumer.quarantined() == []
    assert (await scrub(bus, fed.feed, "table")).is_equal
    await consumer.close()
    await task.close()
    await check_effects(effects)


async def test_a_slow_consumer_may_be_killed_before_its_commit_and_nothing_is_lost(fed: Fed, effects):
    await sequenced(fed, 20)
    entered = asyncio.Event()

    async def never_ends(connection, events) -> None:
        await effects_apply(connection, events)
        entered.set()
        await asyncio.sleep(3)
        connection.terminate()

    effects_apply = effects.apply
    effects.apply = never_ends
    first = await effects.consumer(None, silence=0.05)
    first.start()
    await entered.wait()
    assert await effects.rows() == []
    effects.apply = effects_apply
    second = await effects.consumer(None, silence=0.05)
    second.start()
    await wait_until(lambda: second.last_seq == 20)
    await first.close()
    await second.close()

    await check_effects(effects)


async def test_d7_poison_sets_its_stream_aside_with_an_alarm_and_the_others_go_on(fed: Fed, effects):
    await sequenced(fed, 40, streams=4)
    sick = next(iter(fed.heads))
    effects.poison.add(sick)
    consumer = await effects.consumer(None, silence=0.05)
    consumer.start()
    await wait_until(lambda: consumer.last_seq == 40)
    await sequenced(fed, 8, streams=4)
    await wait_until(lambda: consumer.last_seq == 48)

    set_aside = await consumer.quarantined()
    events = [e for e in await fed.all() if e.event.stream_id == sick]
    assert [(q.stream_id, q.first_seq, q.events) for q in set_aside] == [(sick, events[0].global_seq, len(events))]
    assert "cannot apply" in set_aside[0].error
    assert [kind for kind, _ in effects.alarms] == ["poison"]
    assert sick not in {row["stream_id"] for row in await effects.rows()}

    with pytest.raises(ValueError, match="cannot apply"):
        await consumer.release(sick)
    assert (await consumer.quarantined())[0].events == len(events)
    effects.poison.clear()
    assert await consumer.release(sick) == len(events)
    assert await consumer.quarantined() == []
    await sequenced(fed, 8, streams=4)
    await wait_until(lambda: consumer.last_seq == 56)
    await consumer.close()

    await check_effects(effects)


async def test_d7_a_fault_of_the_surroundings_is_no_poison(fed: Fed, effects):
    await sequenced(fed, 10)
    faults = iter([ConnectionError("down"), TimeoutError("slow"), OSError("gone")])
    effects_apply = effects.apply

    async def faulty(connection, events) -> None:
        for fault in faults:
            raise fault
        await effects_apply(connection, events)

    effects.apply = faulty
    consumer = await effects.consumer(None, silence=0.05)
    consumer.start()
    await wait_until(lambda: consumer.last_seq == 10)
    await consumer.close()

    assert await consumer.quarantined() == []
    assert effects.alarms == []
    await check_effects(effects)


async def test_d8_events_redelivered_out_of_order_change_nothing(fed: Fed, bus: Bus, wallet_bus: Bus, effects):
    """Somebody else on the durable takes messages and gives them back late."""
    await sequenced(fed, 60)
    await relay_all(Relay(bus, fed.feed, "table"))
    thief = await wallet_bus.pull("table", "wallet")
    stolen = await thief.messages(2.0)
    while len(stolen) < 20:
        stolen += await thief.messages(2.0)
    consumer = await effects.consumer(wallet_bus)
    consumer.start()
    await wait_until(lambda: consumer.last_seq == 60)
    for message in random.sample(stolen, len(stolen)):
        await message.nak()
    await sequenced(fed, 10)
    await relay_all(Relay(bus, fed.feed, "table"))
    await wait_until(lambda: consumer.last_seq == 70)
    await consumer.close()

    await check_effects(effects)


async def test_a_source_that_is_away_is_asked_again(fed: Fed, effects):
    await sequenced(fed, 10)
    feed = Feed(fed.reader, FEED_ID)
    refusals = iter([ConnectionError("away")] * 3)

    class Away:
        async def read(self, after, limit):
            for refusal in refusals:
                raise refusal
            return await feed.read(after, limit)

    consumer = await effects.consumer(None, source=Away(), silence=0.05)
    consumer.start()
    await wait_until(lambda: consumer.last_seq == 10)
    await consumer.close()
    await check_effects(effects)
