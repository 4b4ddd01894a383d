"""The table service on a real database, beside a wallet that does as it is told."""

import asyncio
import contextlib
from contextlib import asynccontextmanager
from uuid import uuid4

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from diwan.api.event.v1 import hand_pb2, table_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.api.table.v1.table_service_pb2_grpc import TableServiceStub
from diwan.api.wallet.v1 import wallet_service_pb2
from diwan.chassis.access import BOT_PREFIX, Role
from diwan.chassis.auth import authenticator_of
from diwan.chassis.database import OWNER, ensure_roles, role_memberships
from diwan.chassis.keys import SigningKey, write_jwks
from diwan.chassis.migrate import VAULT, migrate
from diwan.chassis.server import GrpcServer, Served
from diwan.chassis.service import serve
from diwan.chassis.settings import ServiceSettings
from diwan.core.decider import Rejected
from services.table.app import MIGRATIONS, build
from services.table.settings import TableSettings

PASSWORDS = {role: f"password of {role}" for role in (OWNER, *role_memberships("table"))}
WALLET = wallet_service_pb2.DESCRIPTOR.services_by_name["WalletService"]


async def prepare(postgres, name):
    await ensure_roles(postgres.superuser_url, "table", PASSWORDS, database=name)
    await migrate(postgres.url(OWNER, PASSWORDS[OWNER], name), [VAULT, MIGRATIONS])


PLAIN = {"name": "Test", "pause_ms": 1, "time_bank_seconds": 0}
"""Settings of tables in tests: no time that a test would have to wait for."""


class Wallet:
    """Moves chips once an id, refuses what a test says, or does not answer."""

    def __init__(self):
        self.transfers = {}
        self.calls = 0
        self.refusal = None
        self.is_away = False

    async def FundSeat(self, request, _call):  # noqa: N802
        self.calls += 1
        if self.is_away:
            raise Rejected("SERVICE_UNAVAILABLE", needed="database")
        if self.refusal is not None and request.transfer_id not in self.transfers:
            raise Rejected(self.refusal)
        existed = request.transfer_id in self.transfers
        self.transfers[request.transfer_id] = request
        return wallet_service_pb2.FundSeatResponse(result="exists" if existed else "created")

    async def _not_here(self, _request, _call):
        raise Rejected("METHOD_UNKNOWN")

    async def _no_stream(self, _request, _call):
        raise Rejected("METHOD_UNKNOWN")
        yield


for _method in WALLET.methods:
    if not hasattr(Wallet, _method.name):
        setattr(Wallet, _method.name, Wallet._no_stream if _method.server_streaming else Wallet._not_here)


def named(name, role):
    """Return a name that a token of the role may have: those of bots begin with a prefix."""
    return f"{BOT_PREFIX}{name}" if role is Role.BOT else name


class House:
    """Addresses, keys and stubs of a running table service."""

    def __init__(self, address, key, wallet, stop=None, serving=None):
        self.address = address
        self.key = key
        self.wallet = wallet
        self.stop = stop
        self.serving = serving
        self.channel = grpc.aio.insecure_channel(address)
        self.stub = TableServiceStub(self.channel)

    def metadata(self, subject, role=Role.PLAYER, **options):
        token = self.key.mint(subject, role, "table", **options)
        return (("authorization", f"Bearer {token}"),)

    async def call(self, method, request, subject="host", role=None, *, seconds=5.0):
        """Call a unary method; by default the host is an operator and everybody else a player."""
        role = role or (Role.OPERATOR if subject == "host" else Role.PLAYER)
        return await getattr(self.stub, method)(request, timeout=seconds, metadata=self.metadata(subject, role))

    async def refused(self, method, request, subject="host", role=None):
        """Return the reason and metadata of a refusal."""
        try:
            await self.call(method, request, subject, role)
        except grpc.aio.AioRpcError as error:
            return error_of(error)
        raise AssertionError(f"{method} was not refused")

    async def create(self, **config):
        of_hand = hand_pb2.HandSettings.DESCRIPTOR.fields_by_name
        hand = {key: config.pop(key) for key in of_hand if key in config}
        wanted = table_pb2.TableConfig(**PLAIN | config, hand=hand_pb2.HandSettings(**hand))
        request = pb.CreateTableRequest(request_id=str(uuid4()), config=wanted)
        return (await self.call("CreateTable", request)).table.table_id

    async def sit(self, table_id, player, *, amount=100, seat=None, post=False, role=Role.PLAYER, request_id=None):
        request = pb.SitDownRequest(
            request_id=request_id or str(uuid4()), table_id=table_id, seat=seat, amount=amount, post_at_once=post
        )
        return await self.call("SitDown", request, player, role)

    async def view(self, table_id):
        return (await self.call("GetTable", pb.GetTableRequest(table_id=table_id))).table

    async def until(self, table_id, condition, seconds=10.0):
        """Return the first view for which the condition holds."""
        async with asyncio.timeout(seconds):
            async for view in self.views(table_id):
                if condition(view):
                    return view
        raise AssertionError("the table's story ended before")

    async def views(self, table_id, after_version=0):
        call = self.stub.Watch(
            pb.WatchRequest(table_id=table_id, after_version=after_version),
            metadata=self.metadata("host", Role.OPERATOR),
        )
        try:
            async for message in call:
                if message.WhichOneof("message") == "update" and message.update.HasField("view"):
                    yield message.update.view
        finally:
            call.cancel()

    async def act(self, table_id, player, turn, kind="fold", to=0, *, request_id=None, is_all_in=False):
        number = 0 if is_all_in else hand_pb2.ActionKind.Value(f"ACTION_KIND_{kind.upper()}")
        action = pb.Action(turn=turn, kind=number, to=to, is_all_in=is_all_in)
        request = pb.ActRequest(request_id=request_id or str(uuid4()), table_id=table_id, action=action)
        return (await self.call("Act", request, player)).result

    async def close(self):
        await self.channel.close()
        if self.stop is not None:
            self.stop.set()
            await asyncio.wait_for(self.serving, 20)


def error_of(error):
    status = rpc_status.from_call(error)
    assert status is not None, error
    infos = [detail for detail in status.details if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR)]
    assert len(infos) == 1, "exactly one ErrorInfo an error"
    info = error_details_pb2.ErrorInfo()
    infos[0].Unpack(info)
    return info.reason, dict(info.metadata)


def player_of(view, seat):
    return next(each.player for each in view.seats if each.seat == seat)


def has_decision(view):
    return view.HasField("hand") and view.hand.HasField("decision")


class Seat:
    """A `Play` stream by hand, to be cut and misused."""

    def __init__(self, house, table_id, player, *, after_version=0, role=Role.PLAYER):
        self.call = house.stub.Play(metadata=house.metadata(player, role))
        self.table_id = table_id
        self.after_version = after_version
        self.player = player
        self.view = None
        self.private = None
        self.events = []
        self.results = {}

    async def __aenter__(self):
        attach = pb.Attach(table_id=self.table_id, after_version=self.after_version)
        await self.call.write(pb.PlayRequest(attach=attach))
        return self

    async def __aexit__(self, *_):
        self.call.cancel()

    async def read(self, seconds=5.0):
        async with asyncio.timeout(seconds):
            message = await self.call.read()
        assert message is not grpc.aio.EOF, "the stream ended"
        match message.WhichOneof("message"):
            case "update":
                self.events += message.update.events
                if message.update.HasField("view"):
                    self.view = message.update.view
                if message.update.HasField("result"):
                    self.results[message.update.result.request_id] = message.update.result
            case "private":
                self.private = message.private
            case "result":
                self.results[message.result.request_id] = message.result
        return message

    async def until(self, condition, seconds=10.0):
        async with asyncio.timeout(seconds):
            while not condition(self):
                await self.read()
        return self

    async def act(self, kind, to=0, *, turn=None, request_id=None):
        """Send a decision; returns its request id."""
        request_id = request_id or str(uuid4())
        number = hand_pb2.ActionKind.Value(f"ACTION_KIND_{kind.upper()}")
        turn = self.view.hand.decision.turn if turn is None else turn
        action = pb.Action(turn=turn, kind=number, to=to)
        await self.call.write(pb.PlayRequest(request_id=request_id, action=action))
        return request_id

    async def result(self, request_id):
        await self.until(lambda seat: request_id in seat.results)
        return self.results[request_id]


def settings_for(postgres, name, folder, wallet_address, **changes):
    def url(role):
        return postgres.url(role, PASSWORDS[role], name)

    return TableSettings(
        **{
            "database_url": url("table_rw"),
            "sequencer_database_url": url("table_seq"),
            "hand_secret_database_url": url("hand_secret_rw"),
            "master_key_file": folder / "master.key",
            "jwks_file": folder / "jwks.json",
            "service_key_file": folder / "key.pem",
            "wallet_address": wallet_address,
            "metrics_listen": None,
            "drain_seconds": 2,
            "access_log": "failures",
            "tables_per_player_max": 100,
            **changes,
        }
    )


@asynccontextmanager
async def a_wallet(folder):
    wallet = Wallet()
    settings = ServiceSettings(
        service="wallet", jwks_file=folder / "jwks.json", metrics_listen=None, access_log="failures"
    )
    authenticator = authenticator_of(settings)
    await authenticator.refresh()
    server = GrpcServer(settings, authenticator, [Served(WALLET, wallet)])
    wallet.address = await server.start()
    try:
        yield wallet
    finally:
        await server.stop(0.2)


def keys_in(folder):
    key = SigningKey.load_or_generate(folder / "key.pem")
    write_jwks(folder / "jwks.json", [key])
    return key


@asynccontextmanager
async def a_house(postgres, name, folder, *, wallet=None, **changes):
    """Run the service in this process; with a wallet given, beside that one."""
    key = keys_in(folder)
    async with contextlib.AsyncExitStack() as stack:
        if wallet is None:
            wallet = await stack.enter_async_context(a_wallet(folder))
        stop, running = asyncio.Event(), asyncio.get_running_loop().create_future()
        settings = settings_for(postgres, name, folder, wallet.address, **changes)
        serving = asyncio.create_task(serve(settings, build, stop=stop, on_running=running.set_result))
        await asyncio.wait({serving, running}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
        house = House((await running).address, key, wallet, stop, serving)
        try:
            yield house
        finally:
            await house.close()
