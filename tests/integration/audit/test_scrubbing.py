"""The bus's copy held against what the audit keeps: damage, holes, and a copy that knows more than its feed (D14, D4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from diwan.chassis.bus import SCRUBBER, Bus, rebuild, services, subject_of, users
from diwan.chassis.embedded import EmbeddedNats
from diwan.chassis.feed.envelope import headers_of
from services.audit.scrubbing import CopyScrub
from tests.integration.audit.conftest import TABLE_FEED, ListFeed

PASSWORDS = {service: f"password-of-{service}" for service in services()}


@pytest.fixture(scope="module")
def nats(tmp_path_factory: pytest.TempPathFactory):
    with EmbeddedNats(tmp_path_factory.mktemp("bus"), users(PASSWORDS)) as server:
        yield server


@pytest.fixture
async def admin(nats: EmbeddedNats) -> AsyncIterator[Bus]:
    bus = Bus.start(nats.admin_url, "setup")
    await bus.ready()
    await rebuild(bus, "table", first_seq=1)
    yield bus
    await bus.close()


@pytest.fixture
async def bus(nats: EmbeddedNats, admin: Bus) -> AsyncIterator[Bus]:
    """As the audit's own user: the rights that it has are enough, and it has no others."""
    await admin.ready()
    bus = Bus.start(nats.url(SCRUBBER), SCRUBBER)
    await bus.ready()
    yield bus
    await bus.close()


async def copied(admin: Bus, events) -> None:
    for event in events:
        headers = headers_of(event, "table") | {"Nats-Expected-Last-Sequence": str(event.global_seq - 1)}
        await admin.request(subject_of("table", str(event.event.stream_id)), event.event.body, headers)


def scrub_of(audit, feed: ListFeed, bus: Bus, alarms: list) -> CopyScrub:
    return CopyScrub(
        TABLE_FEED, "table", audit.database, feed, bus, seconds=0.01, alarm=lambda *told: alarms.append(told)
    )


async def test_a_copy_that_is_one_raises_no_alarm_from_whichever_number_it_begins(audit, table, admin, bus):
    alarms: list = []
    feed = ListFeed(TABLE_FEED, table.events)
    await audit.take(feed)
    scrub = scrub_of(audit, feed, bus, alarms)
    assert (await scrub.look()).is_well, "empty"
    await copied(admin, feed.events)
    found = await scrub.look()
    assert (found.first, found.last, found.is_well) == (1, len(feed.events), True)
    await rebuild(admin, "table", first_seq=31)
    await copied(admin, feed.events[30:])
    assert (await scrub.look()).is_well
    assert alarms == []
    assert await audit.kinds() == []


async def test_a_message_that_is_not_the_event_is_found_and_told_once_and_a_rebuilt_copy_is_well(
    audit, table, admin, bus
):
    alarms: list = []
    feed = ListFeed(TABLE_FEED, table.events)
    await audit.take(feed)
    await copied(admin, feed.events[:40])
    wrong = feed.events[40]
    headers = headers_of(wrong, "table") | {"Nats-Expected-Last-Sequence": "40"}
    await admin.request(subject_of("table", str(wrong.event.stream_id)), b"another body", headers)
    await copied(admin, feed.events[41:])
    scrub = scrub_of(audit, feed, bus, alarms)
    for _ in range(3):
        assert (await scrub.look()).damaged == (41,)
    assert [kind for kind, _ in alarms] == ["copy"]
    assert await audit.rows("select kind, global_seq from finding") == [("COPY_DAMAGED", 41)]
    # The way out: the copy is dropped and filled again with the same numbers.
    await rebuild(admin, "table", first_seq=1)
    await copied(admin, feed.events)
    assert (await scrub.look()).is_well


async def test_a_copy_with_more_than_its_feed_means_that_the_feed_was_taken_back(audit, table, admin, bus):
    """D4: the database of yesterday under the bus of today."""
    alarms: list = []
    feed = ListFeed(TABLE_FEED, table.events)
    await audit.take(feed)
    await copied(admin, feed.events)
    del feed.events[-10:]
    scrub = scrub_of(audit, feed, bus, alarms)
    assert (await scrub.look()).ahead == len(table.events)
    assert (await scrub.look()).ahead == len(table.events)
    assert [kind for kind, _ in alarms] == ["fork"]
    assert await audit.kinds() == ["COPY_AHEAD"]


@pytest.mark.parametrize("damage", ["flip", "cut", "index"])
async def test_damage_on_the_bus_s_own_disk_is_found_within_one_look(audit, table, nats, admin, bus, damage):
    """D14: a flipped bit, a file cut short, a lost index; whatever the server itself makes of them."""
    alarms: list = []
    feed = ListFeed(TABLE_FEED, table.events)
    await audit.take(feed)
    await copied(admin, feed.events)
    await asyncio.to_thread(nats.stop)
    messages = next(nats._directory.glob("**/FEED_table/msgs"))
    block = max(messages.glob("*.blk"))
    raw = bytearray(block.read_bytes())
    if damage == "flip":
        raw[len(raw) // 2] ^= 8
        block.write_bytes(raw)
    elif damage == "cut":
        block.write_bytes(raw[: len(raw) * 2 // 3])
    for index in messages.glob("index.db"):
        index.unlink()
    await asyncio.to_thread(nats.start)
    async with asyncio.timeout(30):
        while not (admin.is_connected and bus.is_connected):  # noqa: ASYNC110  (a connection has no event to wait for)
            await asyncio.sleep(0.05)
    found = await scrub_of(audit, feed, bus, alarms).look()
    # What the server drops with its checksums, to the end of the file, is not damage but a copy that is behind.
    if damage == "index":
        assert found.is_well
        assert found.last == len(feed.events)
    else:
        assert not found.is_well or found.last < len(feed.events)
    assert [kind for kind, _ in alarms] == ([] if found.is_well else ["copy"])
    if not found.is_well:
        await rebuild(admin, "table", first_seq=1)
        found = await scrub_of(audit, feed, bus, alarms).look()
    await copied(admin, feed.events[found.last :])
    assert (await scrub_of(audit, feed, bus, alarms).look()).last == len(feed.events)
