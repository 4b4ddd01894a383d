"""The composition root: everything that the wallet is made of, and in which order it begins and ends."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

import asyncpg

from diwan.api.wallet.v1.wallet_service_pb2 import DESCRIPTOR
from diwan.chassis.auth import service_tokens
from diwan.chassis.bus import FEEDS, Bus
from diwan.chassis.database import UNIT_SECONDS, Connection, Database, assert_settings
from diwan.chassis.feed import Consumer, Feed, FeedTask
from diwan.chassis.feed.remote import RemoteFeed
from diwan.chassis.feed.serving import served_feed
from diwan.chassis.migrate import migrate
from diwan.chassis.peers import channel_credentials, start_bus
from diwan.chassis.server import Served
from diwan.chassis.service import Service
from diwan.chassis.settings import needed
from diwan.core.ledger.requests import Float
from services.wallet.api import WalletServicer
from services.wallet.asking import Asking
from services.wallet.expiring import Expiring
from services.wallet.ledger import Ledger
from services.wallet.reconcile.reconciler import Reconciler
from services.wallet.settings import WalletSettings
from services.wallet.settlement import Settlement
from services.wallet.watching import Balances

CONSUMER: Final = "settlement"
"""The name of the cursor in the table feed."""

MIGRATIONS: Final = Path(__file__).parent / "migrations"

LEDGER_SETTINGS: Final = {
    # The statements are planned once: their arrays differ only in length.
    "plan_cache_mode": "force_generic_plan",
    # A plan that was made while a table was empty must not read the whole of it for every commit once it is full.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}


@asynccontextmanager
async def build(settings: WalletSettings) -> AsyncIterator[Service]:
    """Build the wallet from its settings; raises ValueError naming a setting that is missing."""
    if settings.migration_database_url is not None:
        await migrate(settings.migration_database_url.get_secret_value(), [MIGRATIONS])
    writer = needed(settings.database_url, "database_url")
    bots_float = Float(settings.bots_float_low, settings.bots_float_amount)
    async with AsyncExitStack() as stack:
        bus = start_bus(settings)
        if bus is not None:
            stack.push_async_callback(bus.close)
        feed_task = FeedTask(
            needed(settings.sequencer_database_url, "sequencer_database_url"),
            *(FEEDS["wallet"], settings.service, bus),
        )
        database = await Database.open(writer, size=settings.database_connections, application="wallet")
        stack.push_async_callback(database.close)
        await database.run(assert_settings)
        connect = _connector(writer, "wallet-ledger", **LEDGER_SETTINGS)
        balances = Balances(database)

        def committed() -> None:
            feed_task.wake()
            balances.wake()

        ledger = Ledger(connect, bots_float=bots_float, on_commit=committed)
        await ledger.prepare()
        consumer, source = _consumer(settings, database, bots_float, committed, bus)
        stack.push_async_callback(source.close)
        feed_task.start()
        stack.push_async_callback(feed_task.close)
        consumer.start()
        stack.push_async_callback(consumer.close)
        reconciler = Reconciler(
            _connector(
                writer, "wallet-reconcile", transaction_timeout="1h", idle_in_transaction_session_timeout="1min"
            ),
            CONSUMER,
            every_seconds=settings.reconcile_seconds,
            full_seconds=settings.reconcile_full_seconds,
            limits=settings.issued_a_day,
        )
        servicer = WalletServicer(
            Asking(ledger, database), reconciler, balances, settings.policies(), consumer=CONSUMER
        )
        yield Service(
            served=[
                Served(DESCRIPTOR.services_by_name["WalletService"], servicer),
                served_feed(Feed(database, FEEDS["wallet"])),
            ],
            background={
                "ledger": ledger.run,
                "reconcile": reconciler.run,
                "balances": balances.run,
                "holds": Expiring(ledger, database).run,
            },
        )


@asynccontextmanager
async def settlement_consumer(settings: WalletSettings) -> AsyncIterator[Consumer]:
    """Build only what follows the table feed, at rest: for an operator's look at it and for `Consumer.release`."""
    database = await Database.open(needed(settings.database_url, "database_url"), size=2, application="wallet-operator")
    bots_float = Float(settings.bots_float_low, settings.bots_float_amount)
    consumer, source = _consumer(settings, database, bots_float, lambda: None, None)
    try:
        yield consumer
    finally:
        await source.close()
        await database.close()


def _consumer(
    settings: WalletSettings, database: Database, bots_float: Float, on_posted: Callable[[], None], bus: Bus | None
) -> tuple[Consumer, RemoteFeed]:
    if settings.table_address is None:
        raise ValueError("the setting table_address is missing")
    source = RemoteFeed(
        settings.table_address, service_tokens(settings, "table"), credentials=channel_credentials(settings)
    )
    settlement = Settlement(bots_float, on_posted=on_posted)
    consumer = Consumer(
        CONSUMER,
        FEEDS["table"],
        database,
        source,
        settlement.apply,
        bus=bus,
        feed_service="table",
        durable="wallet",
    )
    return consumer, source


def _connector(dsn: str, application: str, **server_settings: str) -> Callable[[], Awaitable[Connection]]:
    async def connect() -> Connection:
        connection: Connection = await asyncpg.connect(
            dsn, timeout=UNIT_SECONDS, server_settings={"application_name": application, **server_settings}
        )
        return connection

    return connect
