"""The composition root: everything that the tournament service is made of, and in which order it begins and ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from diwan.api.tournament.v1.tournament_service_pb2 import DESCRIPTOR
from diwan.chassis.auth import service_tokens
from diwan.chassis.bus import FEEDS, Bus
from diwan.chassis.clock import DatabaseClock
from diwan.chassis.database import Database, assert_settings
from diwan.chassis.feed import Consumer, Feed, FeedTask
from diwan.chassis.feed.remote import RemoteFeed
from diwan.chassis.feed.serving import served_feed
from diwan.chassis.keyfile import KeyFile, day_of
from diwan.chassis.migrate import VAULT, migrate
from diwan.chassis.pace import Pace
from diwan.chassis.peers import channel_credentials, start_bus
from diwan.chassis.server import Served
from diwan.chassis.service import Service
from diwan.chassis.settings import needed
from diwan.chassis.store import EventStore
from diwan.chassis.vault import OF_DRAWS, HandVault
from diwan.client import DiwanClient, connect
from services.tournament import projections
from services.tournament.api import TournamentServicer
from services.tournament.couriers import Couriers
from services.tournament.creating import Creation
from services.tournament.entering import Entering
from services.tournament.following import Following
from services.tournament.index import Index
from services.tournament.lobby import Lobby
from services.tournament.notices import NoticeBoard
from services.tournament.settings import TournamentSettings
from services.tournament.tables import TableDesk
from services.tournament.tournaments import Tournaments
from services.tournament.views import Shown
from services.tournament.wallet import Payments

MIGRATIONS: Final = Path(__file__).parent / "migrations"
PROJECTION_SECONDS: Final = 0.2
"""How late the lobby may be; tournaments that live here are told from memory."""

CONSUMER: Final = "tournament_tables"
"""The name of the cursor in the table feed."""


@asynccontextmanager
async def build(settings: TournamentSettings) -> AsyncIterator[Service]:
    """Build the service from its settings; raises ValueError naming a setting that is missing."""
    if settings.migration_database_url is not None:
        await migrate(settings.migration_database_url.get_secret_value(), [VAULT, MIGRATIONS])
    dsn = needed(settings.database_url, "database_url")
    async with AsyncExitStack() as stack:
        bus = start_bus(settings)
        if bus is not None:
            stack.push_async_callback(bus.close)
        database = await Database.open(dsn, size=settings.database_connections, application="tournament")
        stack.push_async_callback(database.close)
        clock = await _clock(database)
        vault = await _vault(settings, clock, stack)
        feed_task = FeedTask(
            needed(settings.sequencer_database_url, "sequencer_database_url"),
            *(FEEDS["tournament"], settings.service, bus),
        )
        store = await EventStore.open(
            dsn, pool_size=settings.database_connections, on_commit=feed_task.wake, application="tournament"
        )
        stack.push_async_callback(store.close)
        feed_task.start()
        stack.push_async_callback(feed_task.close)
        feed = Feed(database, FEEDS["tournament"])
        projecting = Consumer(
            projections.CONSUMER,
            *(FEEDS["tournament"], database, feed, projections.apply),
            silence_seconds=PROJECTION_SECONDS,
        )
        projecting.start()
        stack.push_async_callback(projecting.close)
        index = Index(database)
        tournaments = Tournaments(store, vault, settings.instance, index)
        following = Following(tournaments.get)
        await database.run(following.load)
        desk, wallet = _clients(settings, stack)
        couriers = Couriers(
            desk.send,
            Payments(wallet.wallet).pay,
            at_once=settings.orders_at_once,
            alarm_seconds=settings.order_alarm_seconds,
        )
        tournaments.listen(couriers.happened)
        await tournaments.begin()
        stack.push_async_callback(couriers.close)
        consumer, source = follower(settings, database, following, bus)
        stack.push_async_callback(source.close)
        consumer.start()
        stack.push_async_callback(consumer.close)
        board = NoticeBoard(feed, index, lambda: projecting.last_seq, clock.now_ms)
        shown = Shown()
        servicer = TournamentServicer(
            tournaments,
            Creation(tournaments, clock.now_ms),
            Entering(tournaments, Pace(), desk.bans_of),
            Lobby(tournaments, index, shown),
            board,
            shown,
        )
        yield Service(
            served=[Served(DESCRIPTOR.services_by_name["TournamentService"], servicer), served_feed(feed)],
            background={
                "claims": tournaments.keep_claims,
                "heartbeats": tournaments.heartbeats,
                "couriers": couriers.keep_looking,
                "notices": board.keep_looking,
            },
            on_drain=tournaments.hand_over,
        )


@asynccontextmanager
async def operating(settings: TournamentSettings) -> AsyncIterator[Consumer]:
    """Build only what follows the table feed, at rest, for an operator's look at it and for `Consumer.release`."""
    dsn = needed(settings.database_url, "database_url")
    async with AsyncExitStack() as stack:
        database = await Database.open(dsn, size=2, application="tournament-operator")
        stack.push_async_callback(database.close)
        vault = await _vault(settings, await _clock(database), stack)
        store = await EventStore.open(dsn, pool_size=2, application="tournament-operator")
        stack.push_async_callback(store.close)
        tournaments = Tournaments(store, vault, settings.instance, Index(database))
        stack.push_async_callback(tournaments.hand_over)
        following = Following(tournaments.get)
        await database.run(following.load)
        consumer, source = follower(settings, database, following, None)
        stack.push_async_callback(source.close)
        yield consumer


async def _clock(database: Database) -> DatabaseClock:
    await database.run(assert_settings)
    return await DatabaseClock.of(database)


async def _vault(settings: TournamentSettings, clock: DatabaseClock, stack: AsyncExitStack) -> HandVault:
    path = settings.master_key_file or settings.data_dir / "draws.key"
    keyfile = KeyFile.open_or_create(path, oldest_day=day_of(clock.now_ms()))
    url = needed(settings.draw_secret_database_url, "draw_secret_database_url")
    vault = await HandVault.open(url, keyfile, clock.now_ms, pool_size=2, rows=OF_DRAWS)
    stack.push_async_callback(vault.close)
    return vault


def _clients(settings: TournamentSettings, stack: AsyncExitStack) -> tuple[TableDesk, DiwanClient]:
    """Return what tables and the wallet are asked by."""
    if settings.table_address is None or settings.wallet_address is None:
        raise ValueError("the settings table_address and wallet_address are needed")
    credentials = channel_credentials(settings)
    tables = connect(settings.table_address, service_tokens(settings, "table"), credentials=credentials)
    stack.push_async_callback(tables.close)
    wallet = connect(settings.wallet_address, service_tokens(settings, "wallet"), credentials=credentials)
    stack.push_async_callback(wallet.close)
    return TableDesk(tables.connection("table")), wallet


def follower(
    settings: TournamentSettings, database: Database, following: Following, bus: Bus | None
) -> tuple[Consumer, RemoteFeed]:
    """Return what follows the table feed."""
    if settings.table_address is None:
        raise ValueError("the setting table_address is missing")
    source = RemoteFeed(
        settings.table_address, service_tokens(settings, "table"), credentials=channel_credentials(settings)
    )
    consumer = Consumer(
        CONSUMER,
        *(FEEDS["table"], database, source, following.apply),
        bus=bus,
        feed_service="table",
        durable=settings.service,
    )
    return consumer, source
