"""The bus copy: the same numbers and bytes, refilled when behind, never forked (D3, D4, D5, D13, D14)."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
from uuid import uuid4

import asyncpg
import msgspec
import pytest

from diwan.chassis.bus import Bus, BusError, BusUnavailable, rebuild, stream_name
from diwan.chassis.embedded import EmbeddedNats
from diwan.chassis.feed import Feed, Fork, scrub
from diwan.chassis.feed import relay as relay_module
from diwan.chassis.feed.envelope import event_of
from diwan.chassis.feed.relay import Relay
from diwan.chassis.feed.task import FeedTask, sequence_all
from diwan.chassis.store import NewEvent
from tests.integration.feed.conftest import FEED_ID, Fed, head_reaches, wait_until
from tests.integration.store.conftest import new_append


async def sequenced(fed: Fed, events: int) -> None:
    await fed.append_many(events, list(fed.heads)[:4])
    connection = await fed.sequencer()
    while True:
        # A task of the test may number at the same time: rivals only collide.
        with contextlib.suppress(asyncpg.UniqueViolationError):
            await sequence_all(connection, FEED_ID)
            break
    await connection.close()


async def relay_all(relay: Relay) -> int:
    total = 0
    while events := await relay.step():
        total += events
    return total


async def test_d3_the_copy_has_the_feeds_numbers_bytes_and_cloudevents_attributes(fed: Fed, bus: Bus):
    await sequenced(fed, 250)
    relay = Relay(bus, fed.feed, "table", type_name=lambda type_id: f"diwan.Type{type_id}")

    assert await relay_all(relay) == 250

    state = await bus.stream_state("table")
    assert (state.messages, state.first_seq, state.last_seq, state.is_atomic) == (250, 1, 250, True)
    assert (await scrub(bus, fed.feed, "table")).is_equal
    event, message = (await fed.feed.read(16, 1))[0], await bus.message("table", 17)
    assert message is not None
    assert message.subject == f"ev.table.{event.event.stream_id}"
    assert message.headers["ce-id"] == str(event.event.event_id)
    assert message.headers["ce-type"] == "diwan.Type7"
    assert message.headers["ce-source"] == "/diwan/table"
    assert message.headers["ce-time"] == "1970-01-01T00:00:01.000Z"
    assert event_of(FEED_ID, 17, message.headers, message.body) == event


async def test_the_biggest_event_that_the_store_takes_fits_the_bus(fed: Fed, bus: Bus):
    append = new_append(uuid4())
    events = tuple(NewEvent(7, 1, os.urandom(61_440), uuid4()) for _ in range(2))
    await fed.store.append(msgspec.structs.replace(append, events=events))
    await sequenced(fed, 0)

    assert await relay_all(Relay(bus, fed.feed, "table")) == 2

    assert (await scrub(bus, fed.feed, "table")).is_equal


async def test_a_damaged_or_moved_message_is_no_event(fed: Fed, bus: Bus):
    await sequenced(fed, 1)
    await relay_all(Relay(bus, fed.feed, "table"))
    message = await bus.message("table", 1)
    assert message is not None

    assert event_of(FEED_ID, 1, message.headers, message.body) is not None
    assert event_of(FEED_ID, 2, message.headers, message.body) is None
    assert event_of(FEED_ID, 1, message.headers, message.body + b"x") is None
    assert event_of(FEED_ID, 1, {**message.headers, "diwan-version": "2"}, message.body) is None
    assert event_of(FEED_ID, 1, {k: v for k, v in message.headers.items() if k != "ce-id"}, message.body) is None


@pytest.mark.parametrize("is_atomic", [True, False])
async def test_d3_two_rivals_whose_answers_get_lost_still_make_one_copy(
    fed: Fed, bus: Bus, own_nats: EmbeddedNats, monkeypatch, is_atomic: bool
):
    other = Bus.start(own_nats.url("table"), "table")
    await other.ready()
    answers = lost = 0

    def lossy(one: Bus) -> None:
        really = one.request

        async def request(subject, payload, headers=None, **options):
            nonlocal answers, lost
            answer = await really(subject, payload, headers, **options)
            answers += subject.startswith("ev.")
            if subject.startswith("ev.") and answers % 5 == 0:
                lost += 1
                raise BusUnavailable("the answer was lost")
            return answer

        monkeypatch.setattr(one, "request", request)

    for one in (bus, other):
        lossy(one)
    total = 1_500 if is_atomic else 300
    refusals = 0

    async def rival(one: Bus) -> None:
        nonlocal refusals
        relay = Relay(one, fed.feed, "table")
        while (relay.relayed_seq or 0) < total:
            try:
                if relay.relayed_seq is None:
                    relay._last = await relay._look()
                    relay._is_atomic = is_atomic
                await relay.step()
            except (BusError, BusUnavailable):
                refusals += 1

    await sequenced(fed, total)
    await asyncio.gather(rival(bus), rival(other))
    await other.close()

    assert lost >= 3
    assert refusals >= 3
    assert (await scrub(bus, fed.feed, "table")).is_equal


@pytest.mark.parametrize("is_atomic", [True, False])
async def test_d3_the_server_itself_refuses_a_relay_that_would_leave_a_hole(fed: Fed, bus: Bus, is_atomic: bool):
    """No deduplication could: what it sends was never there. Nothing of it becomes part of the copy."""
    await sequenced(fed, 60)
    relay = Relay(bus, fed.feed, "table")
    await relay._publish_window(0, await fed.feed.read(0, 20))
    relay._last, relay._is_atomic = 40, is_atomic

    with pytest.raises(BusError) as refused:
        await relay.step()

    assert refused.value.code == 10071, "wrong last sequence"
    assert (await bus.stream_state("table")).last_seq == 20
    await relay_all(relay)
    assert (await scrub(bus, fed.feed, "table")).is_equal


async def test_d4_a_bus_ahead_of_the_store_is_a_fork_and_nothing_is_published(fed: Fed, bus: Bus, superuser_of):
    await sequenced(fed, 20)
    await relay_all(Relay(bus, fed.feed, "table"))
    superuser = await superuser_of(fed)
    await superuser.execute("alter table feed disable trigger all")
    await superuser.execute("delete from feed where global_seq > 15")

    with pytest.raises(Fork, match="the bus ends at 20, the feed at 15"):
        await Relay(bus, fed.feed, "table").step()

    assert (await bus.stream_state("table")).last_seq == 20


async def test_d4_a_bus_with_another_event_at_its_end_is_a_fork_the_task_alarms_and_stops(
    fed: Fed, bus: Bus, superuser_of
):
    """An old backup of the store came back and went on by itself: same numbers, other events."""
    await sequenced(fed, 20)
    await relay_all(Relay(bus, fed.feed, "table"))
    superuser = await superuser_of(fed)
    await superuser.execute("alter table feed disable trigger all")
    await superuser.execute("delete from feed where global_seq > 15")
    fed.heads.clear()  # other streams: those of before lack the events that were deleted
    await sequenced(fed, 30)
    assert await fed.feed.head() == 45, "the store is ahead again: only the content tells them apart"
    alarms: list[tuple[str, str]] = []
    task = FeedTask(
        fed.database.url("table_seq"), FEED_ID, "table", bus, alarm=lambda kind, message: alarms.append((kind, message))
    )
    task.start()

    async def alarmed() -> bool:
        return bool(alarms)

    await wait_until(alarmed)
    await sequenced(fed, 5)
    await asyncio.sleep(0.3)
    await task.close()

    assert [kind for kind, _ in alarms] == ["fork"]
    assert task.fork is not None
    assert (await bus.stream_state("table")).last_seq == 20


async def test_d4_an_old_copy_of_the_bus_store_is_refilled_with_the_same_numbers(
    fed: Fed, bus: Bus, own_nats: EmbeddedNats, tmp_path
):
    relay = Relay(bus, fed.feed, "table")
    await sequenced(fed, 300)
    await relay_all(relay)
    await asyncio.to_thread(own_nats.stop)
    shutil.copytree(own_nats.store, tmp_path / "old")
    await asyncio.to_thread(own_nats.start)
    await sequenced(fed, 200)

    async def relayed() -> bool:
        try:
            await relay_all(relay)
        except (BusError, BusUnavailable):
            return False
        return True

    await wait_until(relayed)
    assert (await bus.stream_state("table")).last_seq == 500
    await asyncio.to_thread(own_nats.stop)
    shutil.rmtree(own_nats.store)
    shutil.copytree(tmp_path / "old", own_nats.store)
    await asyncio.to_thread(own_nats.start)
    await sequenced(fed, 50)

    async def looked() -> bool:
        relay.look_again()
        return await relayed()

    await wait_until(looked)
    assert (await bus.stream_state("table")).last_seq == 550
    assert (await scrub(bus, fed.feed, "table")).is_equal


async def test_d5_a_lost_stream_is_rebuilt_from_the_horizon_with_the_same_numbers(fed: Fed, bus: Bus, admin: Bus):
    await sequenced(fed, 100)
    await relay_all(Relay(bus, fed.feed, "table"))

    await rebuild(admin, "table", first_seq=61)
    assert await relay_all(Relay(bus, fed.feed, "table")) == 40

    report = await scrub(bus, fed.feed, "table")
    assert (report.first_seq, report.last_seq, report.messages) == (61, 100, 40)
    assert report.is_equal


async def test_d14_the_scrub_names_missing_and_different_messages(fed: Fed, bus: Bus, admin: Bus, superuser_of):
    await sequenced(fed, 150)
    await relay_all(Relay(bus, fed.feed, "table"))
    config = (await admin.request("$JS.API.STREAM.INFO.FEED_table", b""))["config"]
    # The server holds "deny delete" for good, so the hole is made in a stream that never had it.
    await admin.request(f"$JS.API.STREAM.DELETE.{stream_name('table')}", b"")
    await admin.request("$JS.API.STREAM.CREATE.FEED_table", json.dumps({**config, "deny_delete": False}).encode())
    await relay_all(Relay(bus, fed.feed, "table"))
    await admin.request("$JS.API.STREAM.MSG.DELETE.FEED_table", b'{"seq": 70}')
    superuser = await superuser_of(fed)
    await superuser.execute("alter table event disable trigger all")
    await superuser.execute(
        "update event e set body = 'flipped' from feed f"
        " where f.stream_id = e.stream_id and f.version = e.version and f.global_seq = 99"
    )

    report = await scrub(bus, fed.feed, "table")

    assert (report.missing, report.different) == ((70,), (99,))
    assert not report.is_equal


async def test_d13_play_goes_on_without_the_bus_and_the_copy_catches_up(fed: Fed, bus: Bus, own_nats: EmbeddedNats):
    task = FeedTask(fed.database.url("table_seq"), FEED_ID, "table", bus)
    task.start()
    fed.store._group._on_commit = task.wake
    await fed.append_many(50)

    async def caught_up() -> bool:
        return task.relayed_seq == await fed.feed.head() > 0

    await wait_until(caught_up)
    await asyncio.to_thread(own_nats.stop)

    started = asyncio.get_running_loop().time()
    await fed.append_many(200)
    await head_reaches(fed, 250)
    assert asyncio.get_running_loop().time() - started < 5.0
    await asyncio.to_thread(own_nats.start)
    await wait_until(caught_up)
    await task.close()

    assert (await bus.stream_state("table")).last_seq == 250
    assert (await scrub(bus, fed.feed, "table")).is_equal


async def test_a_frozen_server_delays_but_forks_nothing(fed: Fed, bus: Bus, own_nats: EmbeddedNats, monkeypatch):
    """D9: a publish that timed out was stored all the same; the next look finds it."""
    monkeypatch.setattr(relay_module, "PUBLISH_SECONDS", 0.3)
    await sequenced(fed, 1)
    relay = Relay(bus, fed.feed, "table")
    await relay_all(relay)
    await sequenced(fed, 30)
    os.kill(own_nats.pid, signal.SIGSTOP)
    try:
        with pytest.raises(BusUnavailable):
            await relay.step()
    finally:
        os.kill(own_nats.pid, signal.SIGCONT)

    async def relayed() -> bool:
        try:
            await relay_all(relay)
        except (BusError, BusUnavailable):
            return False
        return (await bus.stream_state("table")).last_seq == 31

    await wait_until(relayed)
    assert (await scrub(bus, fed.feed, "table")).is_equal


async def test_of_the_table_services_feed_another_feed_knows_nothing(fed: Fed):
    await sequenced(fed, 3)

    assert await Feed(fed.reader, 2).read(0) == []
    assert len(await fed.feed.read(0)) == 3
