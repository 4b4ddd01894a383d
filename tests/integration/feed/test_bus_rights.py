"""Each service's user on the bus can do its own work and nothing else (S3)."""

import asyncio
import json

import pytest

from diwan.chassis.bus import (
    FEEDS,
    SCRUBBER,
    Bus,
    BusError,
    BusUnavailable,
    ensure_consumers,
    ensure_stream,
    services,
    users,
)
from diwan.chassis.embedded import EmbeddedNats
from tests.integration.feed.conftest import wait_until

FORBIDDEN = (
    "$JS.API.STREAM.CREATE.X",
    "$JS.API.STREAM.UPDATE.FEED_table",
    "$JS.API.STREAM.DELETE.FEED_table",
    "$JS.API.STREAM.PURGE.FEED_table",
    "$JS.API.STREAM.NAMES",
    "$JS.API.STREAM.LIST",
    "$JS.API.STREAM.SNAPSHOT.FEED_table",
    "$JS.API.STREAM.RESTORE.FEED_table",
    "$JS.API.STREAM.MSG.DELETE.FEED_table",
    "$JS.API.CONSUMER.CREATE.FEED_table",
    "$JS.API.CONSUMER.CREATE.FEED_table.mine.>",
    "$JS.API.CONSUMER.DURABLE.CREATE.FEED_table.mine",
    "$JS.API.CONSUMER.DELETE.FEED_table.audit",
    "$JS.API.CONSUMER.INFO.FEED_table.audit",
    "$JS.API.DIRECT.GET.FEED_table",
    "$JS.API.INFO",
)


def refused_without_answer(user: str) -> list[str]:
    """Return what this user has no right to send."""
    subjects = list(FORBIDDEN)
    subjects += [f"ev.{service}.x" for service in FEEDS if service != user]
    subjects += [f"$JS.API.STREAM.MSG.GET.FEED_{service}" for service in FEEDS if user not in {service, SCRUBBER}]
    subjects += [f"$JS.API.CONSUMER.MSG.NEXT.FEED_table.{other}" for other in services() if other != user]
    return subjects


@pytest.mark.parametrize("user", services())
async def test_a_services_user_cannot_do_what_is_not_its_work(own_nats: EmbeddedNats, admin: Bus, user: str):
    bus = Bus.start(own_nats.url(user), user)
    await bus.ready()
    # Whoever may not send something is told so beside the answer, which then never comes.
    for subject in refused_without_answer(user):
        with pytest.raises(BusUnavailable):
            await bus.request(subject, b"{}", seconds=0.02)
    refusals: list[str] = []

    async def told(error: Exception) -> None:
        refusals.append(str(error).lower())

    bus._client._error_cb = told
    for subject in (">", "ev.>", "$JS.>", "_INBOX.>", *(f"_INBOX_{o}.>" for o in services() if o != user)):
        await bus._client.subscribe(subject)
        await wait_until(lambda subject=subject: any(subject.lower() in refusal for refusal in refusals), 5.0)
    await bus.close()

    assert (await admin.stream_state("table")).messages == 0


async def test_the_relays_user_reads_and_writes_its_own_stream_only(bus: Bus):
    assert (await bus.stream_state("table")).messages == 0
    assert await bus.message("table", 1) is None
    await bus.request("ev.table.x", b"body", {"Nats-Expected-Last-Sequence": "0"})

    assert (await bus.stream_state("table")).last_seq == 1
    with pytest.raises(BusError) as refused:
        await bus.request("ev.table.x", b"body", {"Nats-Expected-Last-Sequence": "0"})
    assert refused.value.code == 10071


async def test_set_up_is_done_again_without_harm(bus: Bus, admin: Bus):
    await bus.request("ev.table.x", b"body")

    await ensure_stream(admin, "table")
    await ensure_consumers(admin, "table")

    assert (await admin.stream_state("table")).messages == 1
    config = (await admin.request("$JS.API.STREAM.INFO.FEED_table", b""))["config"]
    kept = {name: config[name] for name in ("deny_delete", "deny_purge", "allow_direct", "discard", "storage")}
    assert kept == {
        "deny_delete": True,
        "deny_purge": True,
        "allow_direct": False,
        "discard": "new",
        "storage": "file",
    }


def test_users_name_no_wildcard_over_another_service():
    # The audit holds every copy against what it keeps (D14); the others look at their own.
    messages_of = {name: int(name in FEEDS) for name in services()} | {SCRUBBER: len(FEEDS)}
    for user in users(dict.fromkeys(services(), "x")):
        assert user.subscribe == [f"_INBOX_{user.name}.>"]
        assert not [s for s in user.publish if s.split(".")[0] in {"*", ">"} or s in {"ev.>", "$JS.API.>"}]
        assert json.dumps(user.publish).count("STREAM.MSG.GET") == messages_of[user.name]


async def test_a_service_that_starts_before_the_bus_connects_once_it_is_there(own_nats: EmbeddedNats):
    await asyncio.to_thread(own_nats.stop)
    bus = Bus.start(own_nats.url("table"), "table")
    with pytest.raises(BusUnavailable):
        await bus.ready(0.3)
    with pytest.raises(BusUnavailable):
        await bus.request("ev.table.x", b"body")

    await asyncio.to_thread(own_nats.start)
    await bus.ready(10.0)

    assert bus.is_connected
    await bus.close()


async def test_wrong_credentials_are_no_connection_and_no_end(own_nats: EmbeddedNats, admin: Bus):
    assert admin.is_connected
    bus = Bus.start(own_nats.url("table").replace("password-of-table", "wrong"), "table")

    with pytest.raises(BusUnavailable):
        await bus.ready(2.5)

    assert not bus.is_connected
    await bus.close()
