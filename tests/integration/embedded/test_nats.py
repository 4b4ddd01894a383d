"""The embedded NATS: JetStream on disk at every acknowledgement, and users who may only what they were given."""

import asyncio
import json
import os
import signal
import stat

import nats
import nats.errors
import pytest
from nats.js.errors import APIError

from diwan.chassis.embedded import DirectoryInUseError, EmbeddedError, EmbeddedNats, NatsUser
from diwan.chassis.embedded.process import wait_until

RELAY = NatsUser(name="relay", password="relay-password", publish=["ev.1.>"], subscribe=["_INBOX_relay.>"])
READER = NatsUser(name="reader", password="reader-password", publish=[], subscribe=["ev.1.>", "_INBOX_reader.>"])


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with EmbeddedNats(tmp_path_factory.mktemp("bus"), [RELAY, READER]) as running:
        yield running


async def connect(url, **options):
    errors = []

    async def remember(error):
        errors.append(error)

    client = nats.NATS()
    try:
        await client.connect(url, allow_reconnect=False, error_cb=remember, **options)
    except BaseException:
        await client.close()
        raise
    return client, errors


def test_every_message_is_on_disk_before_it_is_acknowledged(server):
    jetstream = server.configuration().split("jetstream: ")[1].split("\n}")[0] + "\n}"

    assert json.loads(jetstream)["sync_interval"] == "always"
    assert json.loads(jetstream)["store_dir"] == str(server.store)


def test_the_configuration_names_passwords_and_is_private(server):
    files = [server.store.parent / name for name in ("nats.conf", "admin.password")]
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600, 0o600]


async def test_admin_sets_up_a_stream_and_a_user_publishes_where_it_may(server):
    admin, _ = await connect(server.admin_url)
    await admin.jetstream().add_stream(name="FEED_1", subjects=["ev.1.>"])
    relay, errors = await connect(server.url("relay"), inbox_prefix="_INBOX_relay")

    ack = await relay.jetstream().publish("ev.1.table.x", b"body")

    assert (ack.stream, ack.seq, errors) == ("FEED_1", 1, [])
    await relay.close()
    await admin.jetstream().delete_stream("FEED_1")
    await admin.close()


@pytest.mark.parametrize("subject", ["ev.2.table.x", "$JS.API.STREAM.DELETE.FEED_1", "anything"])
async def test_a_user_publishes_nowhere_else(server, subject):
    relay, errors = await connect(server.url("relay"))
    await relay.publish(subject, b"")
    await relay.flush()
    assert await asyncio.to_thread(wait_until, lambda: errors, 5)
    assert "permissions violation" in str(errors[0]).lower()
    await relay.close()


async def test_a_user_without_rights_to_publish_reads_only_its_subjects(server):
    reader, errors = await connect(server.url("reader"))
    await reader.subscribe(">")
    await reader.flush()
    assert await asyncio.to_thread(wait_until, lambda: errors, 5)
    assert "permissions violation" in str(errors[0]).lower()

    errors.clear()
    await reader.publish("ev.1.table.x", b"")
    await reader.flush()
    assert await asyncio.to_thread(wait_until, lambda: errors, 5)
    assert "permissions violation" in str(errors[0]).lower()
    await reader.close()


@pytest.mark.parametrize("credentials", ["", "relay:wrong@", "nobody:x@"])
async def test_who_has_no_password_gets_no_connection(server, credentials):
    with pytest.raises(nats.errors.Error, match=r"(?i)authorization|no servers"):
        await connect(f"nats://{credentials}127.0.0.1:{server.port}", connect_timeout=2)


def test_there_is_no_url_for_a_user_who_does_not_exist(server):
    with pytest.raises(EmbeddedError, match="nobody"):
        server.url("nobody")


def test_a_second_stack_in_the_same_folder_is_refused(server):
    with pytest.raises(DirectoryInUseError, match=str(os.getpid())):
        EmbeddedNats(server.store.parent.parent).start()


async def test_kill_9_loses_nothing_that_was_acknowledged_and_the_urls_stay(tmp_path):
    with EmbeddedNats(tmp_path, [RELAY]) as server:
        admin, _ = await connect(server.admin_url)
        await admin.jetstream().add_stream(name="FEED_1", subjects=["ev.1.>"])
        for number in range(20):
            await admin.jetstream().publish("ev.1.t", str(number).encode())
        os.kill(server.pid, signal.SIGKILL)
        assert await asyncio.to_thread(wait_until, lambda: not server.is_alive(), 10)
        await admin.close()

        server.start()

        again, _ = await connect(server.admin_url)
        state = (await again.jetstream().stream_info("FEED_1")).state
        assert (state.first_seq, state.last_seq, state.messages) == (1, 20, 20)
        await again.close()


def test_a_permission_that_the_server_does_not_understand_is_refused_before_it_starts(tmp_path):
    broken = NatsUser(name="broken", password="x", publish=["ev..x"], subscribe=[])
    with pytest.raises(EmbeddedError, match="configuration"):
        EmbeddedNats(tmp_path, [broken]).start()


async def test_the_store_keeps_its_bound(tmp_path):
    with EmbeddedNats(tmp_path, file_store_bytes_max=1024**2) as server:
        admin, _ = await connect(server.admin_url)
        with pytest.raises(APIError, match=r"(?i)storage|resource"):
            await admin.jetstream().add_stream(name="BIG", subjects=["b"], max_bytes=2 * 1024**2)
        await admin.close()


def test_a_password_that_clients_would_garble_is_refused(tmp_path):
    with pytest.raises(EmbeddedError, match="URL-safe"):
        EmbeddedNats(tmp_path, [NatsUser(name="x", password="a@b", publish=[], subscribe=[])])
