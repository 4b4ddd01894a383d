"""Puts the bots service together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

from diwan.api.bots.v1 import bots_service_pb2
from diwan.chassis.access import Role
from diwan.chassis.auth import service_tokens
from diwan.chassis.bus import FEEDS
from diwan.chassis.database import Database, assert_settings
from diwan.chassis.feed import Consumer
from diwan.chassis.feed.remote import RemoteFeed
from diwan.chassis.keys import SigningKey, TokenSource
from diwan.chassis.migrate import migrate
from diwan.chassis.peers import channel_credentials, start_bus
from diwan.chassis.server import Served
from diwan.chassis.service import Service
from diwan.chassis.settings import needed
from diwan.client import DiwanClient, connect
from diwan.client.tables import Tables
from diwan.core.cards import DECK
from diwan.core.evaluation import evaluate
from services.bots.api import BotsServicer
from services.bots.leader import lead
from services.bots.manager import FeedPlace, Manager, ThinkTime
from services.bots.projections import TableProjection
from services.bots.roster import Roster
from services.bots.settings import BotsSettings

MIGRATIONS: Final = Path(__file__).parent / "migrations"
TABLE: Final = "table"


@asynccontextmanager
async def build(settings: BotsSettings) -> AsyncIterator[Service]:
    """Build the parts; yields them as a service."""
    if settings.migration_database_url is not None:
        await migrate(needed(settings.migration_database_url, "migration_database_url"), [MIGRATIONS])
    dsn = needed(settings.database_url, "database_url")
    # The evaluation's tables are made now: the first bot to see a flop would keep all others waiting.
    evaluate(DECK[:5])
    async with AsyncExitStack() as stack:
        credentials = channel_credentials(settings)
        database = await Database.open(dsn, size=settings.database_connections, application=settings.service)
        stack.push_async_callback(database.close)
        await database.run(assert_settings)
        # Each bot has a token of its own over these connections; the service's token is good for the feed alone.
        client = connect({TABLE: settings.table_address}, _no_token, credentials=credentials)
        stack.push_async_callback(client.close)
        bus = start_bus(settings)
        if bus is not None:
            stack.push_async_callback(bus.close)
        source = RemoteFeed(settings.table_address, service_tokens(settings, TABLE), credentials=credentials)
        stack.push_async_callback(source.close)
        projection = TableProjection()
        consumer = Consumer(
            "bots",
            FEEDS[TABLE],
            database,
            source,
            projection.apply,
            bus=bus,
            feed_service=TABLE,
            durable=settings.service,
        )
        consumer.start()
        stack.push_async_callback(consumer.close)
        manager = Manager(
            Roster(database),
            partial(_tables_for, client, _key_of(settings), settings.token_issuer),
            FeedPlace(lambda: consumer.last_seq, lambda: projection.touched_seq),
            bots_max=settings.bots_max,
            think_time=ThinkTime(settings.think_ms_min, settings.think_ms_max),
        )
        service = bots_service_pb2.DESCRIPTOR.services_by_name["BotsService"]
        yield Service(
            served=[Served(service, BotsServicer(manager, lambda: consumer.last_seq))],
            background={"bots": lambda: lead(dsn, manager.run)},
        )


def _key_of(settings: BotsSettings) -> SigningKey:
    if settings.service_key_file is None:
        raise ValueError("service_key_file is needed: bots play under tokens of their own")
    return SigningKey.load(settings.service_key_file)


def _no_token() -> str:
    raise RuntimeError("whoever plays names a bot")


def _tables_for(client: DiwanClient, key: SigningKey, issuer: str, player: str) -> Tables:
    """Return the table service under a bot's own token: the role bot, this bot alone, the table service alone."""
    return client.with_token(TokenSource(key, player, Role.BOT, TABLE, issuer=issuer)).tables
