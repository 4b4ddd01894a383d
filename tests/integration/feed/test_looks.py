"""Who looked at hidden cards, and why, is for auditors: it is not on the bus, and the feed tells it to the audit alone."""

import asyncio
from hashlib import sha256
from uuid import uuid4

import asyncpg
import msgspec
import pytest

from diwan.api.feed.v1 import feed_service_pb2 as pb
from diwan.chassis.access import Caller, Role
from diwan.chassis.bus import Bus
from diwan.chassis.calls import Call
from diwan.chassis.database import Database
from diwan.chassis.feed import Consumer, scrub
from diwan.chassis.feed.envelope import event_of
from diwan.chassis.feed.relay import Relay
from diwan.chassis.feed.serving import FeedServicer
from diwan.chassis.store import NewEvent
from diwan.core.table.events import HandOpened
from diwan.wire.events import encode, type_id_of
from tests.integration.feed.conftest import FEED_ID, Fed, wait_until
from tests.integration.feed.test_consumer import wallet_bus
from tests.integration.feed.test_relay import relay_all, sequenced
from tests.integration.store.conftest import new_append

__all__ = ["wallet_bus"]

WHO = b"inspector-noor"


@pytest.fixture
async def looked_at(fed: Fed, bus: Bus) -> bytes:
    """A look among other events, on the bus; returns its body."""
    event = HandOpened(str(uuid4()), WHO.decode(), "auditor", "auditor", "a complaint", "case-7", 1_000)
    body = encode(event, nonce=bytes(range(16))).body
    append = new_append(uuid4(), events=2)
    look = NewEvent(type_id_of(HandOpened), 1, body, uuid4())
    await fed.store.append(msgspec.structs.replace(append, events=(append.events[0], look, append.events[1])))
    await sequenced(fed, 0)
    assert await relay_all(Relay(bus, fed.feed, "table")) == 3
    return body


async def test_the_bus_has_the_looks_place_and_hash_and_nothing_of_what_it_says(fed: Fed, bus: Bus, looked_at: bytes):
    messages = [await bus.message("table", number) for number in (1, 2, 3)]
    assert [bool(message.body) for message in messages] == [True, False, True]
    assert not any(WHO in repr(message).encode() for message in messages)
    event = event_of(FEED_ID, 2, messages[1].headers, messages[1].body)
    assert event is not None
    assert event.event.body_hash == sha256(looked_at).digest()
    assert event.event.hash == (await fed.feed.read(1, 1))[0].event.hash
    assert (await scrub(bus, fed.feed, "table")).is_equal


async def test_a_look_whose_hash_is_another_is_no_event(bus: Bus, looked_at: bytes):
    message = await bus.message("table", 2)
    for changed in (
        {**message.headers, "diwan-body-hash": bytes(32).hex()},
        {**message.headers, "diwan-body-hash": "nonsense"},
        {name: value for name, value in message.headers.items() if name != "diwan-body-hash"},
    ):
        assert event_of(FEED_ID, 2, changed, message.body) is None
    assert event_of(FEED_ID, 2, message.headers, b"x") is None
    assert event_of(FEED_ID, 2, message.headers, looked_at) is None


@pytest.mark.parametrize("needs_bodies", [True, False])
async def test_whoever_needs_bodies_reads_them_from_the_feed(
    fed: Fed, wallet_bus: Bus, looked_at: bytes, needs_bodies: bool
):
    taken = []

    async def apply(_connection: asyncpg.Connection, events) -> None:
        taken.extend(event.event for event in events)

    database = await Database.open(fed.database.url("table_rw"), size=2)
    consumer = Consumer(
        "wallet.table",
        FEED_ID,
        database,
        fed.feed if needs_bodies else Nothing(),
        apply,
        bus=wallet_bus,
        feed_service="table",
        durable="wallet",
        silence_seconds=0.2,
        needs_bodies=needs_bodies,
    )
    try:
        consumer.start()
        await wait_until(lambda: len(taken) == 3)
    finally:
        await consumer.close()
        await database.close()
    assert [event.version for event in taken] == [1, 2, 3]
    assert taken[1].body == (looked_at if needs_bodies else b"")
    assert bool(taken[1].body_hash) is not needs_bodies


class Nothing:
    """A feed that cannot be asked."""

    async def read(self, _after: int, _limit: int):
        await asyncio.sleep(0)
        return []


@pytest.mark.parametrize(
    ("role", "subject", "is_told"),
    [
        (Role.SERVICE, "audit", True),
        (Role.SERVICE, "wallet", False),
        (Role.SERVICE, "bots", False),
        (Role.OPERATOR, "audit", False),
        (Role.OPERATOR, "chief", False),
    ],
)
async def test_the_feed_tells_the_audit_alone_who_looked(fed: Fed, looked_at: bytes, role, subject, is_told):
    call = Call("/Read", "test", Caller(subject, role))
    response = await FeedServicer(fed.feed).Read(pb.ReadRequest(), call)
    first, look, last = (one.event for one in response.events)
    assert first.body
    assert last.body
    assert (look.body == looked_at, look.body_hash == sha256(looked_at).digest()) == (is_told, not is_told)
    assert (WHO in response.SerializeToString()) is is_told
