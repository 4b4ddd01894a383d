"""The composition root: everything that the audit is made of, and in which order it begins and ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from diwan.api.audit.v1.audit_service_pb2 import DESCRIPTOR
from diwan.chassis.auth import service_tokens
from diwan.chassis.bus import FEEDS, Bus
from diwan.chassis.database import Database, assert_settings
from diwan.chassis.feed import Consumer
from diwan.chassis.feed.remote import RemoteFeed
from diwan.chassis.migrate import migrate
from diwan.chassis.peers import channel_credentials, start_bus
from diwan.chassis.server import Served
from diwan.chassis.service import Service
from diwan.chassis.settings import needed
from diwan.core.log import StreamKind
from services.audit.api import AuditServicer
from services.audit.hands import HandVerifier
from services.audit.keeping import Keeper
from services.audit.money import LedgerExaminer, TableExaminer
from services.audit.register import build_register
from services.audit.scrubbing import CopyScrub
from services.audit.search.indexer import HandIndexer
from services.audit.settings import AuditSettings
from services.audit.standing import Standing
from services.audit.tournaments import TournamentExaminer, TournamentVerifier

MIGRATIONS: Final = Path(__file__).parent / "migrations"


@asynccontextmanager
async def build(settings: AuditSettings) -> AsyncIterator[Service]:
    """Build the audit from its settings; raises ValueError naming a setting that is missing."""
    if settings.migration_database_url is not None:
        await migrate(settings.migration_database_url.get_secret_value(), [MIGRATIONS])
    dsn = needed(settings.database_url, "database_url")
    async with AsyncExitStack() as stack:
        database = await Database.open(dsn, size=settings.database_connections, application="audit")
        stack.push_async_callback(database.close)
        await database.run(assert_settings)
        bus = start_bus(settings)
        if bus is not None:
            stack.push_async_callback(bus.close)
        verifier = HandVerifier(database, hands_at_once=settings.hands_at_once)
        tournaments = TournamentVerifier(database)
        keepers = {
            "table": Keeper(FEEDS["table"], StreamKind.TABLE, TableExaminer(), on_hand_ended=verifier.wake),
            "wallet": Keeper(FEEDS["wallet"], StreamKind.LEDGER, LedgerExaminer()),
            "tournament": Keeper(FEEDS["tournament"], StreamKind.TOURNAMENT, TournamentExaminer(tournaments.wake)),
        }
        register = build_register(settings, database)
        stack.callback(register.cosigner.close)
        background = {
            "hands": verifier.run,
            "index": HandIndexer(database).run,
            "tournaments": tournaments.run,
            **register.background,
        }
        for service, keeper in keepers.items():
            source = RemoteFeed(
                _address(settings, service),
                service_tokens(settings, service),
                credentials=channel_credentials(settings),
            )
            stack.push_async_callback(source.close)
            consumer = consumer_of(service, keeper, database, source, bus)
            consumer.start()
            stack.push_async_callback(consumer.close)
            background[f"standing-{service}"] = Standing(FEEDS[service], database, source).run
            if bus is not None:
                seconds = settings.scrub_seconds
                scrub = CopyScrub(FEEDS[service], service, database, source, bus, seconds=seconds)
                background[f"scrub-{service}"] = scrub.run
        yield Service(
            served=[Served(DESCRIPTOR.services_by_name["AuditService"], AuditServicer(database, register))],
            background=background,
        )


def consumer_of(service: str, keeper: Keeper, database: Database, source: RemoteFeed, bus: Bus | None) -> Consumer:
    """Return the reader of one service's feed."""
    return Consumer(
        f"audit-{service}",
        FEEDS[service],
        database,
        source,
        keeper.apply,
        bus=bus,
        feed_service=service,
        durable="audit",
        needs_bodies=True,
    )


def _address(settings: AuditSettings, service: str) -> str:
    address = {
        "table": settings.table_address,
        "wallet": settings.wallet_address,
        "tournament": settings.tournament_address,
    }[service]
    if address is None:
        raise ValueError(f"the setting {service}_address is missing")
    return address
