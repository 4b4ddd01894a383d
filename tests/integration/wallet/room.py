"""A whole wallet over gRPC beside a table service of which only the feed is there."""

import asyncio
import contextlib
import json
import os
import random  # noqa: TID251  (attacks may use chance)
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from diwan.api.wallet.v1 import wallet_service_pb2 as pb
from diwan.api.wallet.v1.wallet_service_pb2_grpc import WalletServiceStub
from diwan.chassis.access import Role
from diwan.chassis.auth import authenticator_of
from diwan.chassis.bus import FEEDS, Bus
from diwan.chassis.database import OWNER, Database, ensure_roles, role_memberships
from diwan.chassis.embedded import EmbeddedNats, EmbeddedPostgres
from diwan.chassis.feed import Feed, FeedTask
from diwan.chassis.feed.serving import served_feed
from diwan.chassis.keys import SigningKey, write_jwks
from diwan.chassis.migrate import migrate
from diwan.chassis.server import GrpcServer
from diwan.chassis.service import Running, serve
from diwan.chassis.settings import ServiceSettings
from diwan.chassis.store import EventStore
from services.wallet.app import build
from services.wallet.settings import WalletSettings
from tests.integration.wallet.conftest import Prepared, copy
from tests.integration.wallet.tables import Seat, TableLog

TABLE_PASSWORDS = {role: f"password of {role}" for role in (OWNER, *role_memberships("table"))}


@dataclass
class Refused(Exception):  # noqa: N818
    """An error as a client reads it."""

    code: grpc.StatusCode
    reason: str
    metadata: dict[str, str]


@dataclass
class TableSide:
    """What the wallet sees of the table service: its feed."""

    store: EventStore
    database: Database
    feed: Feed
    address: str


@dataclass
class Room:
    """A running wallet, the tables whose feed it follows, and callers with tokens."""

    key: SigningKey
    side: TableSide
    settings: WalletSettings
    address: str = ""
    channel: grpc.aio.Channel | None = None
    rng: random.Random = field(default_factory=lambda: random.Random(7))

    async def call(self, method: str, request, role: Role = Role.SERVICE, subject: str = "table", **options):
        """Call as somebody; raises `Refused` with what the error says."""
        token = self.key.mint(subject, role, "wallet", **options)
        stub = WalletServiceStub(self.channel)
        try:
            return await getattr(stub, method)(request, timeout=5, metadata=[("authorization", f"Bearer {token}")])
        except grpc.aio.AioRpcError as error:
            raise refused(error) from None
        except asyncio.CancelledError:
            # A channel that is closed beside us ends its calls so; a task that took it for its own end would stop unseen.
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise Refused(grpc.StatusCode.CANCELLED, "", {}) from None

    async def open_account(self, player: str, **fields) -> pb.OpenAccountResponse:
        request = pb.OpenAccountRequest(request_id=str(uuid4()), **fields)
        return await self.call("OpenAccount", request, Role.PLAYER, player)

    async def balance(self, player: str) -> int:
        return (await self.call("GetAccount", pb.GetAccountRequest(), Role.PLAYER, player)).account.balance

    async def totals(self) -> pb.GetTotalsResponse:
        return await self.call("GetTotals", pb.GetTotalsRequest(), Role.AUDITOR, "auditor")

    async def fund(self, table: TableLog, transfer_id: str, player: str, amount: int, **fields) -> str:
        fields = {"sitting": transfer_id, "code": "buy_in", **fields}
        request = pb.FundSeatRequest(
            transfer_id=transfer_id, player=player, table_id=str(table.table_id), amount=amount, **fields
        )
        return (await self.call("FundSeat", request)).result

    async def new_table(self) -> TableLog:
        table = TableLog(self.side.store, self.rng)
        await table.open()
        return table

    async def sit(self, table: TableLog, number: int, player: str, amount: int, *, is_bot: bool = False) -> Seat:
        """Take a seat by the whole saga: asked, funded over gRPC, told."""
        sitting = await table.ask_buy_in(number, player, amount, is_bot=is_bot)
        assert await self.fund(table, sitting, player, amount, is_bot=is_bot) in {"created", "exists"}
        await table.seat(number, player, sitting, amount, is_bot=is_bot)
        return table.seats[-1]

    async def caught_up(self, seconds: float = 30) -> pb.GetTotalsResponse:
        """Wait until the wallet has applied everything that the tables have said."""
        async with asyncio.timeout(seconds):
            while True:
                waiting = await self.side.database.run(lambda c: c.fetchval("select count(*) from outbox"))
                head = await self.side.feed.head()
                with contextlib.suppress(Refused):
                    totals = await self.totals()
                    if not waiting and totals.table_feed_cursor == head:
                        return totals
                await asyncio.sleep(0.02)

    def escrows(self, totals: pb.GetTotalsResponse) -> dict[str, int]:
        return {sitting.sitting: sitting.balance for sitting in totals.sittings}


def refused(error: grpc.aio.AioRpcError) -> Refused:
    status = rpc_status.from_call(error)
    if status is None:
        return Refused(error.code(), "", {})
    infos = [
        error_details_pb2.ErrorInfo.FromString(d.value) for d in status.details if d.type_url.endswith("ErrorInfo")
    ]
    assert len(infos) == 1, "exactly one ErrorInfo an error"
    return Refused(error.code(), infos[0].reason, dict(infos[0].metadata))


async def table_template(postgres: EmbeddedPostgres) -> str:
    """Migrate a table service's database once for all that are copied from it."""
    name = "wallet_table_template"
    if postgres.execute(f"select 1 from pg_database where datname = '{name}'") == "":
        await ensure_roles(postgres.superuser_url, "table", TABLE_PASSWORDS, database=name)
        await migrate(postgres.url(OWNER, TABLE_PASSWORDS[OWNER], name))
    return name


@asynccontextmanager
async def table_side(
    postgres: EmbeddedPostgres, name: str, folder: Path, nats: EmbeddedNats | None
) -> AsyncIterator[TableSide]:
    await copy(postgres, await table_template(postgres), name)
    await ensure_roles(postgres.superuser_url, "table", TABLE_PASSWORDS, database=name)
    urls = {role: postgres.url(role, TABLE_PASSWORDS[role], name) for role in TABLE_PASSWORDS}
    bus = None if nats is None else Bus.start(nats.url("table"), "table")
    feed_task = FeedTask(urls["table_seq"], FEEDS["table"], "table", bus)
    store = await EventStore.open(urls["table_rw"], on_commit=feed_task.wake)
    database = await Database.open(urls["table_seq"])
    feed = Feed(database, FEEDS["table"])
    settings = ServiceSettings(service="table", jwks_file=folder / "jwks.json")
    server = GrpcServer(settings, authenticator_of(settings), [served_feed(feed)])
    feed_task.start()
    try:
        yield TableSide(store, database, feed, await server.start())
    finally:
        await server.stop(1)
        await feed_task.close()
        if bus is not None:
            await bus.close()
        await store.close()
        await database.close()
        await asyncio.to_thread(postgres.drop_database, name)


def wallet_settings(
    prepared: Prepared, folder: Path, table_address: str, nats: EmbeddedNats | None = None, **more: object
) -> WalletSettings:
    return WalletSettings(
        **more,
        database_url=prepared.url("wallet_rw"),
        sequencer_database_url=prepared.url("wallet_seq"),
        jwks_file=folder / "jwks.json",
        service_key_file=folder / "key.pem",
        table_address=table_address,
        nats_url=None if nats is None else nats.url("wallet"),
        metrics_listen=None,
        bots_float_low=1_000,
        bots_float_amount=50_000,
        player_token_seconds_max=3600,
        drain_seconds=2,
    )


@asynccontextmanager
async def a_room(
    postgres: EmbeddedPostgres,
    prepared: Prepared,
    folder: Path,
    *,
    is_running: bool = True,
    nats: EmbeddedNats | None = None,
    **more: object,
) -> AsyncIterator[Room]:
    key = SigningKey.generate()
    key.save(folder / "key.pem")
    write_jwks(folder / "jwks.json", [key])
    async with table_side(postgres, f"{prepared.name}_table", folder, nats) as side:
        room = Room(key, side, wallet_settings(prepared, folder, side.address, nats, **more))
        if not is_running:
            yield room
            return
        async with served_here(room):
            yield room


@asynccontextmanager
async def served_here(room: Room) -> AsyncIterator[None]:
    """Run the wallet inside this process."""
    stop, running = asyncio.Event(), asyncio.get_running_loop().create_future()

    def on_running(told: Running) -> None:
        running.set_result(told)

    task = asyncio.create_task(serve(room.settings, build, stop=stop, on_running=on_running))
    await asyncio.wait({task, running}, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        await task
    room.address = running.result().address
    async with grpc.aio.insecure_channel(room.address) as room.channel:
        yield
        stop.set()
        assert await task == 0


class NotStarted(AssertionError):  # noqa: N818  (read as a sentence)
    """A wallet ended before it was ready."""


class Process:
    """The wallet as a process of its own, to be killed."""

    def __init__(self, room: Room, folder: Path) -> None:
        self._room = room
        self._ready = folder / "wallet.json"
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        room = self._room
        self._ready.unlink(missing_ok=True)
        settings = {
            **{
                name: str(value)
                for name, value in room.settings.model_dump().items()
                if isinstance(value, str | int | Path)
            },
            **{
                name: getattr(room.settings, name).get_secret_value()
                for name in ("database_url", "sequencer_database_url")
            },
            "ready_file": str(self._ready),
        }
        environment = {f"DIWAN_WALLET_{name.upper()}": value for name, value in settings.items()}
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "services.wallet"),
            env={**os.environ, **environment},
            cwd=Path(__file__).parents[3],
            stdout=asyncio.subprocess.DEVNULL,
        )
        async with asyncio.timeout(60):
            while not self._ready.exists():
                if self._process.returncode is not None:
                    raise NotStarted
                await asyncio.sleep(0.02)
        room.address = json.loads(self._ready.read_text())["address"]
        if room.channel is not None:
            await room.channel.close()
        room.channel = grpc.aio.insecure_channel(room.address)

    async def kill(self) -> None:
        assert self._process is not None
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def close(self) -> None:
        await self.kill()
        if self._room.channel is not None:
            await self._room.channel.close()
