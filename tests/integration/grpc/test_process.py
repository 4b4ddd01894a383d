"""A service as a process of its own: how it starts, what it writes, how it ends."""

import asyncio
import base64
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from diwan.api.table.v1 import table_service_pb2
from diwan.chassis.access import Role
from diwan.chassis.auth import Authenticator, JwksUrl
from diwan.chassis.keys import SigningKey, write_jwks
from diwan.client import DiwanError, connect
from diwan.core.decider import Rejected
from tests.integration.grpc.house import Table, a_house, eventually

SECRET = bytes(range(100, 132))

SERVICE = """
import asyncio, sys
from contextlib import asynccontextmanager
import structlog
from diwan.api.feed.v1 import feed_service_pb2
from diwan.chassis.server import Served
from diwan.chassis.service import Service, run_service
from diwan.chassis.settings import ServiceSettings, settings_config
from diwan.core.fairness import Secret

class HouseSettings(ServiceSettings):
    model_config = settings_config("house")
    service: str = "house"

class Feed:
    async def Read(self, request, call):
        if request.after == 9:
            secret = Secret(bytes(range(100, 132)))
            structlog.get_logger().info("dealing", secret=secret, seed=secret.hex(), note=secret)
            raise RuntimeError("deck")
        if request.after == 8:
            await asyncio.Event().wait()
        return feed_service_pb2.ReadResponse(head=request.after)

@asynccontextmanager
async def build(settings):
    if settings.nats_url:
        await asyncio.Event().wait()
    yield Service(served=[Served(feed_service_pb2.DESCRIPTOR.services_by_name["FeedService"], Feed())])

sys.exit(run_service(HouseSettings, build))
"""


class Process:
    def __init__(self, folder, **settings):
        self.key = SigningKey.generate()
        write_jwks(folder / "jwks.json", [self.key])
        self.ready = folder / "ready.json"
        self.output = folder / "log"
        chosen = {
            "jwks_file": folder / "jwks.json",
            "ready_file": self.ready,
            "metrics_listen": "",
            "database_url": "postgresql://house_rw:swordfish@db/diwan_house",
            "drain_seconds": 5,
            **settings,
        }
        environment = {f"DIWAN_HOUSE_{name.upper()}": str(value) for name, value in chosen.items()}
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-c", SERVICE],
                env={**os.environ, **environment},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    async def running(self):
        await eventually(lambda: self.ready.exists() or self.process.poll() is not None)
        return json.loads(self.ready.read_text())

    async def ended(self):
        return await asyncio.wait_for(asyncio.to_thread(self.process.wait), 15)

    def lines(self):
        return [json.loads(line) for line in self.output.read_text().splitlines()]


@pytest.fixture
def a_process(tmp_path):
    started = []

    def start(**settings):
        started.append(Process(tmp_path, **settings))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
        each.process.wait()


async def test_a_process_serves_until_it_is_told_to_stop_and_logs_json_only(a_process):
    house = a_process()
    told = await house.running()
    async with connect(told["address"], house.key.mint("x", Role.SERVICE, "house")) as client:
        assert (await client.feed("house").read(3)).head == 3
    house.process.send_signal(signal.SIGTERM)

    assert await house.ended() == 0
    assert [line["event"] for line in house.lines()] == [
        "settings",
        "token_keys_read",
        "serving",
        "call",
        "draining",
        "ended",
    ]
    assert told["pid"] == house.process.pid
    assert not house.ready.exists()


async def test_no_secret_and_no_password_gets_into_the_log(a_process):
    """S1 and S6, for what this process writes."""
    house = a_process()
    told = await house.running()
    token = house.key.mint("x", Role.SERVICE, "house")
    async with connect(told["address"], token) as client:
        with pytest.raises(DiwanError, match="INTERNAL") as caught:
            await client.feed("house").read(9)
    house.process.send_signal(signal.SIGTERM)
    await house.ended()

    log = house.output.read_bytes()
    for form in (SECRET, SECRET.hex().encode(), base64.b64encode(SECRET), b"swordfish", token.encode()):
        assert form not in log
    (failed,) = [line for line in house.lines() if line["event"] == "call_failed"]
    assert failed["incident"] == caught.value.metadata["incident"]
    assert "RuntimeError: deck" in failed["exception"]
    (dealing,) = [line for line in house.lines() if line["event"] == "dealing"]
    assert failed["correlation_id"] == dealing["correlation_id"]


async def test_wrong_settings_end_the_process_at_once_with_a_sentence(a_process):
    house = a_process(listen="nowhere", database_connections="swordfish")

    assert await house.ended() == 2
    text = house.output.read_text()
    assert text.startswith("the settings are wrong")
    assert "listen" in text
    assert "swordfish" not in text


async def test_a_taken_port_is_a_clear_failure(a_process, tmp_path):
    async with a_house(tmp_path) as other:
        house = a_process(listen=other.address)

        assert await house.ended() == 1
        assert f"cannot listen on {other.address}" in house.output.read_text()


async def test_a_process_that_does_not_serve_yet_ends_at_the_first_signal(a_process):
    house = a_process(nats_url="nats://nowhere:1")
    await eventually(lambda: b'"settings"' in house.output.read_bytes())
    # The line is written before the loop takes signals over: Python's own handling ends the process as well.
    house.process.send_signal(signal.SIGINT)

    assert await house.ended() is not None
    assert not house.ready.exists()


async def test_a_second_ctrl_c_does_not_wait_for_calls(a_process):
    house = a_process(drain_seconds=60)
    told = await house.running()
    async with connect(told["address"], house.key.mint("x", Role.SERVICE, "house")) as client:
        hanging = asyncio.create_task(client.feed("house").read(8))
        house.process.send_signal(signal.SIGINT)
        await eventually(lambda: b'"draining"' in house.output.read_bytes())
        began = time.monotonic()
        house.process.send_signal(signal.SIGINT)

        assert await house.ended() == 1
        assert time.monotonic() - began < 5
        hanging.cancel()


class Misbehaving(Table):
    """Fails in its clean-up, after its caller has gone."""

    async def Watch(self, request, call):  # noqa: N802
        self.open += 1
        try:
            yield table_service_pb2.WatchResponse(heartbeat=table_service_pb2.Heartbeat(version=1))
            await asyncio.Event().wait()
        finally:
            self.open -= 1
            self.ended.set()
            if request.after_version == 1:
                raise RuntimeError("clean-up failed")
            if request.after_version == 2:
                raise Rejected("TABLE_CLOSED")


@pytest.mark.parametrize(("how", "streams"), [(0, 40), (1, 6), (2, 6)])
async def test_streams_that_are_dropped_leave_nothing_behind(tmp_path, how, streams):
    """A5: cancelled, cut with their connection, or failing while they are cleaned up."""
    table = Misbehaving()
    async with asyncio.timeout(30), a_house(tmp_path, table=table, streams_per_caller_max=1000) as house:
        await house.read()
        tasks_before = len(asyncio.all_tasks())
        for _ in range(3):
            async with grpc.aio.insecure_channel(house.address) as channel:
                watch = channel.unary_stream("/diwan.api.table.v1.TableService/Watch")
                request = table_service_pb2.WatchRequest(after_version=how).SerializeToString()
                calls = [watch(request, metadata=house.token()) for _ in range(streams)]
                for call in calls:
                    await call.read()
                assert table.open == streams
                for call in calls[: streams // 2]:
                    call.cancel()
                table.ended.clear()
            await eventually(lambda: table.open == 0)
        assert (await house.read(7)).head == 7
        await eventually(lambda: len(asyncio.all_tasks()) <= tasks_before)


@contextmanager
def an_issuer(document):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(document())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/jwks.json"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def test_keys_are_fetched_from_an_issuer_and_again_for_a_key_that_is_new(tmp_path, monkeypatch):
    """A7."""
    old, new = SigningKey.generate(), SigningKey.generate()
    served = [old]

    def document():
        write_jwks(tmp_path / "set.json", served)
        return (tmp_path / "set.json").read_bytes()

    with an_issuer(document) as url:
        door = Authenticator(JwksUrl(url), audience="house", issuer="diwan", player_token_seconds_max=300)
        await door.refresh()
        assert (await door.authenticate(f"Bearer {old.mint('a', Role.OPERATOR, 'house')}")).subject == "a"
        served.append(new)
        monkeypatch.setattr("diwan.chassis.auth._UNKNOWN_KEY_SECONDS", 0)

        assert (await door.authenticate(f"Bearer {new.mint('b', Role.OPERATOR, 'house')}")).subject == "b"
        monkeypatch.setattr("diwan.chassis.auth._KEY_SET_BYTES_MAX", 10)
        with pytest.raises(ValueError, match="too large"):
            await door.refresh()


def a_certificate(folder, name, issuer=None):
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer[0].subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
    )
    certificate = builder.sign(issuer[1] if issuer else key, hashes.SHA256())
    (folder / f"{name}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / f"{name}.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate, key


async def test_with_an_authority_only_its_certificates_are_let_in(tmp_path):
    """mTLS: the client without a certificate gets no answer, the one with it does."""
    authority = a_certificate(tmp_path, "authority")
    a_certificate(tmp_path, "server", authority)
    a_certificate(tmp_path, "client", authority)
    pem = {path.name: path.read_bytes() for path in tmp_path.glob("*.???") if path.suffix in {".crt", ".key"}}
    settings = {
        "tls_certificate_file": tmp_path / "server.crt",
        "tls_key_file": tmp_path / "server.key",
        "tls_client_ca_file": tmp_path / "authority.crt",
    }
    async with a_house(tmp_path, **settings) as house:
        token = house.key.mint("x", Role.SERVICE, "house")
        known = grpc.ssl_channel_credentials(pem["authority.crt"], pem["client.key"], pem["client.crt"])
        stranger = grpc.ssl_channel_credentials(pem["authority.crt"])
        async with connect(house.address, token, credentials=known) as client:
            assert (await client.feed("house").read(7)).head == 7
        async with grpc.aio.secure_channel(house.address, stranger) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await channel.unary_unary("/diwan.api.feed.v1.FeedService/Read")(b"", timeout=3)

    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
