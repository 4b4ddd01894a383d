"""The composition root: the parts of the table service, put together."""

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import grpc

from diwan.api.table.v1.table_service_pb2 import DESCRIPTOR
from diwan.api.table.v1.tournament_pb2 import DESCRIPTOR as TOURNAMENTS
from diwan.chassis.auth import service_tokens
from diwan.chassis.bus import FEEDS
from diwan.chassis.clock import DatabaseClock
from diwan.chassis.database import Database, assert_settings
from diwan.chassis.feed import Consumer, Feed, FeedTask
from diwan.chassis.feed.serving import served_feed
from diwan.chassis.keyfile import KeyFile, day_of
from diwan.chassis.migrate import VAULT, migrate
from diwan.chassis.pace import Pace
from diwan.chassis.peers import channel_credentials, start_bus
from diwan.chassis.server import Served
from diwan.chassis.service import Service
from diwan.chassis.settings import needed
from diwan.chassis.store import EventStore
from diwan.chassis.vault import HandVault
from diwan.core.evaluation import evaluate
from services.table import projections
from services.table.api import TableServicer
from services.table.codes import Guesses
from services.table.creating import Creation
from services.table.directing import TournamentTableServicer
from services.table.exclusions import Exclusions
from services.table.hands import Hands
from services.table.hosting import Hosts
from services.table.index import Index
from services.table.lobby import Lobby
from services.table.names import Names
from services.table.notices import NoticeBoard
from services.table.opening import Openings
from services.table.projections import CONSUMER
from services.table.replays import Replays
from services.table.saga import BuyIns, Wallet, WalletUnknown
from services.table.seats import Seats
from services.table.settings import TableSettings
from services.table.shredding import keep_shredding
from services.table.standing import Standing
from services.table.tables import Tables
from services.table.wallet import GrpcWallet

MIGRATIONS: Final = Path(__file__).parent / "migrations"
PROJECTION_SECONDS: Final = 0.2
"""How late the lobby and the list of hands may be; a hand just played is known from memory."""


class NoWallet:
    """Stands where no wallet was named: nobody can sit down, and everything else goes on."""

    async def fund_seat(self, **_: object) -> None:
        """Never answer."""
        raise WalletUnknown("no wallet is configured")


@asynccontextmanager
async def build(settings: TableSettings) -> AsyncIterator[Service]:
    """Put the service together; raises what connecting and checking raise."""
    # The first showdown would otherwise stop every table for as long as the evaluator's tables take to make.
    await asyncio.to_thread(evaluate, range(7))
    async with AsyncExitStack() as stack:
        if settings.migration_database_url is not None:
            await migrate(settings.migration_database_url.get_secret_value(), [VAULT, MIGRATIONS])
        database = await Database.open(
            needed(settings.database_url, "database_url"), size=settings.database_connections, application="table"
        )
        stack.push_async_callback(database.close)
        clock = await _checked_clock(database)
        vault = await _vault(settings, clock, stack)
        feed_task = _feed_task(settings, stack)
        store = await EventStore.open(
            needed(settings.database_url, "database_url"),
            pool_size=settings.database_connections,
            on_commit=feed_task.wake,
            application="table",
        )
        stack.push_async_callback(store.close)
        feed_task.start()
        stack.push_async_callback(feed_task.close)
        feed = Feed(database, FEEDS["table"])
        consumer = Consumer(
            CONSUMER, FEEDS["table"], database, feed, projections.apply, silence_seconds=PROJECTION_SECONDS
        )
        wallet = await _wallet(settings, stack)
        index, names, buy_ins = Index(database), Names(database), BuyIns(wallet)
        standing = Standing(database, store)
        tables = Tables(store, vault, index, buy_ins, names, settings.instance, standing)
        with _uncollected():
            await tables.begin()
        # Behind the tables: what the indexes missed can wait, open hands cannot.
        consumer.start()
        stack.push_async_callback(consumer.close)
        pace = Pace()
        exclusions = Exclusions(database, clock.now_ms)
        tables_max = settings.tables_per_player_max
        seats = Seats(tables, store, index, buy_ins, pace, exclusions, tables_per_player_max=tables_max)
        openings = Openings(tables, store, vault)
        hands = Hands(tables, openings, store, index)
        guesses = Guesses(database, clock.now_ms)
        hosts = Hosts(tables, index, names, pace, guesses, clock.now_ms, hosted_max=settings.tables_per_host_max)
        creation = Creation(tables, index, hosts, store, clock.now_ms)
        lobby = Lobby(tables, index, clock.now_ms)
        board = NoticeBoard(feed, index, lambda: consumer.last_seq, clock.now_ms)
        replays = Replays(hands, openings, store, standing, names, clock.now_ms, Pace())
        servicer = TableServicer(
            tables, seats, openings, hands, lobby, hosts, creation, exclusions, board, pace, replays
        )
        directing = TournamentTableServicer(tables, store, exclusions, clock.now_ms)
        yield Service(
            served=[
                Served(DESCRIPTOR.services_by_name["TableService"], servicer),
                Served(TOURNAMENTS.services_by_name["TournamentTableService"], directing),
                served_feed(feed),
            ],
            background={
                "claims": tables.keep_claims,
                "heartbeats": tables.heartbeats,
                "shredding": partial(keep_shredding, vault),
                "pulse": tables.keep_beating,
                "names": names.keep_looking_up,
                "standing": standing.keep_writing,
                "notices": board.keep_looking,
            },
            on_drain=tables.hand_over,
        )


@contextmanager
def _uncollected() -> Iterator[None]:
    """Let nothing be looked for that could be thrown away while a thousand tables come in, which all stay.

    What stands by then lives as long as the process: no collection need look at it again.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


async def _checked_clock(database: Database) -> DatabaseClock:
    await database.run(assert_settings)
    return await DatabaseClock.of(database)


async def _vault(settings: TableSettings, clock: DatabaseClock, stack: AsyncExitStack) -> HandVault:
    path = settings.master_key_file or settings.data_dir / "master.key"
    keyfile = KeyFile.open_or_create(path, oldest_day=day_of(clock.now_ms()))
    url = needed(settings.hand_secret_database_url, "hand_secret_database_url")
    vault = await HandVault.open(url, keyfile, clock.now_ms, keep_days=settings.dispute_window_days, pool_size=4)
    stack.push_async_callback(vault.close)
    return vault


def _feed_task(settings: TableSettings, stack: AsyncExitStack) -> FeedTask:
    bus = start_bus(settings)
    if bus is not None:
        stack.push_async_callback(bus.close)
    return FeedTask(needed(settings.sequencer_database_url, "sequencer_database_url"), FEEDS["table"], "table", bus)


async def _wallet(settings: TableSettings, stack: AsyncExitStack) -> Wallet:
    if settings.wallet_address is None or settings.service_key_file is None:
        return NoWallet()
    credentials = channel_credentials(settings)
    channel = (
        grpc.aio.insecure_channel(settings.wallet_address)
        if credentials is None
        else grpc.aio.secure_channel(settings.wallet_address, credentials)
    )
    stack.push_async_callback(channel.close)
    return GrpcWallet(channel, service_tokens(settings, "wallet"))
