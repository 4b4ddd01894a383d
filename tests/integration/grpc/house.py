"""A small house on real connections, for the tests of server and client."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from diwan.api.feed.v1 import feed_service_pb2, feed_service_pb2_grpc
from diwan.api.table.v1 import table_service_pb2, table_service_pb2_grpc
from diwan.chassis.access import Role, rule_of
from diwan.chassis.calls import MESSAGE_BYTES_MAX, Call
from diwan.chassis.keys import SigningKey, write_jwks
from diwan.chassis.reasons import CATALOGUE
from diwan.chassis.server import Served
from diwan.chassis.service import Running, Service, serve
from diwan.chassis.settings import ServiceSettings
from diwan.core.decider import Rejected

FEED = feed_service_pb2.DESCRIPTOR.services_by_name["FeedService"]
TABLE = table_service_pb2.DESCRIPTOR.services_by_name["TableService"]


class Feed:
    """Answers or misbehaves as the number asked for says."""

    def __init__(self):
        self.calls = []
        self.began = asyncio.Event()
        self.may_end = asyncio.Event()

    async def Read(self, request, call: Call):  # noqa: N802
        self.calls.append(call)
        match request.after:
            case 1:
                raise Rejected("VERSION_OUT_OF_RANGE", version=41)
            case 2:
                raise RuntimeError("the password is swordfish")
            case 3:
                self.began.set()
                await self.may_end.wait()
            case 4:
                self.began.set()
                await asyncio.Event().wait()
        return feed_service_pb2.ReadResponse(head=request.after)


async def _not_here(_request, _call):
    raise Rejected("TABLE_NOT_FOUND")


async def _nothing_to_watch_here(_request, _call):
    raise Rejected("TABLE_NOT_FOUND")
    yield  # What makes it a stream.


class Table:
    """Streams of a table that only counts."""

    def __init__(self):
        self.open = 0
        self.ended = asyncio.Event()

    async def Watch(self, request, call):  # noqa: N802
        self.open += 1
        try:
            heartbeat = table_service_pb2.Heartbeat(version=request.after_version)
            yield table_service_pb2.WatchResponse(heartbeat=heartbeat).SerializeToString()
            await asyncio.Event().wait()
        finally:
            self.open -= 1
            self.ended.set()

    def Play(self, requests, call):  # noqa: N802
        return self._played(requests)

    async def _played(self, requests):
        async for request in requests:
            if request.HasField("action"):
                raise Rejected("NOT_YOUR_TURN", to_act=3)
            yield table_service_pb2.PlayResponse(heartbeat=table_service_pb2.Heartbeat(version=7))


for _method in TABLE.methods:
    if not hasattr(Table, _method.name):
        _refusing = _nothing_to_watch_here if _method.server_streaming else _not_here
        setattr(Table, _method.name, staticmethod(_refusing))


class House:
    """A running server with what a test needs to talk to it."""

    def __init__(self, channel, key, address, feed, table, running, stop):
        self.channel = channel
        self.key = key
        self.address = address
        self.feed = feed
        self.table = table
        self.running = running
        self.stop = stop
        self.stub = feed_service_pb2_grpc.FeedServiceStub(channel)
        self.tables = table_service_pb2_grpc.TableServiceStub(channel)

    def token(self, role=Role.SERVICE, *, key=None, **options):
        options = {"audience": "house", "subject": "bot:somebody" if role is Role.BOT else "somebody", **options}
        return [("authorization", f"Bearer {(key or self.key).mint(role=role, **options)}")]

    async def read(self, after=0, **options):
        options = {"timeout": 3.0, "metadata": self.token(), **options}
        return await self.stub.Read(feed_service_pb2.ReadRequest(after=after), **options)


@asynccontextmanager
async def a_house(folder: Path, *, table: object = None, **settings) -> AsyncIterator[House]:
    """Run a server for a feed and a table on a free port, or on the one that ``listen`` names."""
    key = SigningKey.load_or_generate(folder / "key.pem")
    write_jwks(folder / "jwks.json", [key])
    feed, table = Feed(), table or Table()
    stop, running = asyncio.Event(), asyncio.get_running_loop().create_future()

    @asynccontextmanager
    async def build(_settings):
        yield Service(served=[Served(FEED, feed), Served(TABLE, table)], background={})

    chosen = ServiceSettings(
        **{
            "service": "house",
            "jwks_file": folder / "jwks.json",
            "metrics_listen": None,
            "drain_seconds": 3,
            **settings,
        }
    )
    serving = asyncio.create_task(serve(chosen, build, stop=stop, on_running=running.set_result))
    await asyncio.wait({serving, running}, return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        serving.result()
    told: Running = running.result()
    try:
        async with grpc.aio.insecure_channel(told.address) as channel:
            yield House(channel, key, told.address, feed, table, told, stop)
    finally:
        stop.set()
        assert await serving == 0


async def eventually(condition, seconds=20.0):
    """Wait for what another process or grpc's own threads do; fails after so many seconds."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  (what is waited for sets no event of this loop)
            await asyncio.sleep(0.01)


async def refused(call):
    """Return the ErrorInfo of a refused call, after checking what every error must hold."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return checked(caught.value)


def checked(error):
    status = rpc_status.from_call(error)
    kinds = [detail.TypeName() for detail in status.details]
    assert kinds.count("google.rpc.ErrorInfo") == 1
    info = error_details_pb2.ErrorInfo.FromString(status.details[0].value)
    texts = {}
    for detail in status.details:
        message = error_details_pb2.LocalizedMessage()
        if detail.Unpack(message):
            texts[message.locale] = message.message
    assert texts.keys() == {"en", "ar"}
    assert texts["en"] == status.message
    assert info.domain == "diwan"
    assert CATALOGUE[info.reason].status is error.code()
    return info


def methods_of(*services):
    """Return the full gRPC name, the kind and the roles' complement of every method of some contracts."""
    for service in services:
        for method in service.methods:
            allowed = rule_of(method).roles
            outsider = next((role for role in Role if role not in allowed), None)
            yield f"/{service.full_name}/{method.name}", method, outsider


async def bare_call(channel, name, method, payload, **options):
    """Call any method with bytes and wait for its end, as no client library would let one."""
    if method.client_streaming:
        while True:
            call = channel.stream_stream(name)(**options)
            try:
                if payload is not None:
                    await call.write(payload)
                    await call.done_writing()
                return [message async for message in call]
            except grpc.aio.AioRpcError as error:
                # The server may refuse before it has read. A write that comes too late then hides its answer behind
                # grpc's own word, so the call is made again.
                if error.details() != "Internal error from Core":
                    raise
    if method.server_streaming:
        return [message async for message in channel.unary_stream(name)(payload or b"", **options)]
    return await channel.unary_unary(name)(payload or b"", **options)


async def check_hostile_calls(channel, token, services, *, message_bytes_max=MESSAGE_BYTES_MAX):
    """Every method refuses what no servicer should ever see, with a reason; returns how many were tried.

    ``token(role)`` gives call metadata. Works against any running service of the house.
    """
    tried = 0
    for name, method, outsider in methods_of(*services):
        insider = next(iter(rule_of(method).roles))
        options = {"timeout": 4.0, "metadata": token(insider)}
        attacks = [
            ("UNAUTHENTICATED", b"", {**options, "metadata": []}),
            ("UNAUTHENTICATED", b"", {**options, "metadata": [("authorization", "Bearer e30.e30.e30")]}),
            ("REQUEST_MALFORMED", b"\xff" * 64, options),
            ("MESSAGE_TOO_LARGE", b"\xfa\x01\x80\x80\x04" + b"x" * message_bytes_max, options),
        ]
        if outsider is not None:
            attacks.append(("PERMISSION_DENIED", b"", {**options, "metadata": token(outsider)}))
        if not method.server_streaming:
            attacks.append(("DEADLINE_REQUIRED", b"", {**options, "timeout": None}))
        for reason, payload, chosen in attacks:
            info = await refused(bare_call(channel, name, method, payload, **chosen))
            assert info.reason == reason, f"{name}: {info.reason} where {reason} was due"
            tried += 1
    return tried
