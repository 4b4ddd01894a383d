"""A migrated database of the audit, and feeds in memory: what a table played, and the ledger that paid for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from itertools import count
from pathlib import Path
from random import Random  # noqa: TID251  (tests may use chance)
from uuid import UUID

import asyncpg
import pytest

from diwan.chassis.database import OWNER, Database, ensure_roles, role_memberships
from diwan.chassis.embedded import EmbeddedPostgres
from diwan.chassis.feed import Consumer, FeedEvent
from diwan.chassis.migrate import migrate
from diwan.chassis.store import StoredEvent
from diwan.core.hashing import chain_start, feed_leaf
from diwan.core.ledger.accounts import (
    LEDGER_STREAM,
    STANDING,
    STARTING_GRANT,
    escrow_account,
    named_id,
    player_account,
)
from diwan.core.ledger.books import EMPTY, Transfer, evolve
from diwan.core.ledger.posting import decide
from diwan.core.ledger.requests import LinkedSet
from diwan.core.ledger.seats import TableSeats, follow
from diwan.core.log import LoggedEvent, StreamKind
from diwan.core.table.events import BuyInRequested, TopUpRequested
from diwan.signing.heads import Heads
from diwan.signing.notekey import LogSecret
from diwan.wire.events import encode
from services.audit.api import AuditServicer
from services.audit.app import MIGRATIONS
from services.audit.hands import HandVerifier
from services.audit.keeping import Keeper
from services.audit.money import LedgerExaminer, TableExaminer
from services.audit.register import Register
from tests.unit.verifier.logs import PlayedTable, chained, played

PASSWORDS = {role: f"password of {role}" for role in (OWNER, *role_memberships("audit"))}
LEDGER = UUID(LEDGER_STREAM)
TABLE_FEED, WALLET_FEED = 1, 2
_numbers = count(1)


class ListFeed:
    """A feed in memory; may be edited."""

    def __init__(self, feed_id: int, events: list[LoggedEvent]) -> None:
        self.feed_id = feed_id
        self.events = [self.event(number, event) for number, event in enumerate(events, 1)]

    def event(self, number: int, logged: LoggedEvent) -> FeedEvent:
        leaf = feed_leaf(self.feed_id, number, logged.stream_id, logged.version, logged.hash)
        stored = StoredEvent(
            UUID(bytes=logged.stream_id),
            logged.version,
            UUID(bytes=logged.event_id),
            UUID(bytes=logged.command_id),
            logged.epoch,
            logged.type_id,
            logged.schema_v,
            logged.recorded_at_ms,
            logged.body,
            logged.prev_hash,
            logged.hash,
        )
        return FeedEvent(self.feed_id, number, leaf, stored)

    async def read(self, after: int, limit: int) -> list[FeedEvent]:
        return [event for event in self.events if event.global_seq > after][:limit]


class Paid:
    """The ledger that a table's log brings about: grants, buy-ins, hands, chips home."""

    def __init__(self, table: PlayedTable, unpaid: Collection[str] = ()) -> None:
        self.rng = Random(1)
        self.books = EMPTY
        self.events: list[LoggedEvent] = []
        self.commits = []
        seats = TableSeats(str(table.stream))
        self.commit([LinkedSet((), opens=STANDING)], 0)
        for event, logged in zip(table.core, table.events, strict=True):
            if isinstance(event, BuyInRequested) and event.transfer_id not in unpaid:
                self._bring(event.player, event.transfer_id, event.transfer_id, event.amount, logged)
            if isinstance(event, TopUpRequested):
                sitting = next(s for s in seats.sittings if s.seat == event.seat)
                self._bring(sitting.player, sitting.sitting, event.transfer_id, event.amount, logged)
            seats, requests = follow(seats, event, logged.version)
            if requests:
                self.commit(requests, logged.recorded_at_ms)

    def _bring(self, player: str, sitting: str, transfer_id: str, amount: int, logged: LoggedEvent) -> None:
        main, escrow = player_account(player), escrow_account(sitting)
        grant_id = named_id(transfer_id, "grant")
        grant = Transfer(grant_id, STARTING_GRANT.account_id, main.account_id, amount, "starting_grant", "")
        cause = f"table/{UUID(bytes=logged.stream_id)}/{logged.version}"
        buy_in = Transfer(transfer_id, main.account_id, escrow.account_id, amount, "buy_in", cause)
        self.commit([LinkedSet((grant,), opens=(main,)), LinkedSet((buy_in,), opens=(escrow,))], logged.recorded_at_ms)

    def commit(self, requests, now_ms: int) -> None:
        decision = decide(self.books, requests, now_ms)
        assert all(outcome.is_done for outcome in decision.outcomes)
        if decision.event is not None:
            self.append(decision.event, now_ms)

    def append(self, event, now_ms: int) -> None:
        """Store a commit, allowed or not."""
        one = encode(event, nonce=self.rng.randbytes(16))
        stored = LoggedEvent(
            stream_id=LEDGER.bytes,
            version=0,
            event_id=self.rng.randbytes(16),
            command_id=self.rng.randbytes(16),
            epoch=1,
            type_id=one.type_id,
            schema_v=one.schema_v,
            recorded_at_ms=max(now_ms, self.events[-1].recorded_at_ms if self.events else 0),
            body=one.body,
            prev_hash=b"",
            hash=b"",
        )
        self.commits.append(event)
        self.events.append(stored)
        self.events = chained(self.events, chain_start(LEDGER.bytes, StreamKind.LEDGER))
        self.books = evolve(self.books, event)

    def put(self, at: int, event) -> None:
        """Write another commit in the place of one."""
        one = encode(event, nonce=bytes(16))
        fields = {name: getattr(self.events[at], name) for name in LoggedEvent.__struct_fields__}
        self.commits[at] = event
        self.events[at] = LoggedEvent(**{**fields, "body": one.body})
        self.events = chained(self.events, chain_start(LEDGER.bytes, StreamKind.LEDGER))


class Audit:
    """The audit's parts on a database, fed from memory."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.verifier = HandVerifier(database)
        self.keepers = {
            TABLE_FEED: Keeper(TABLE_FEED, StreamKind.TABLE, TableExaminer(), on_hand_ended=self.verifier.wake),
            WALLET_FEED: Keeper(WALLET_FEED, StreamKind.LEDGER, LedgerExaminer()),
        }

    def servicer(self) -> AuditServicer:
        """What answers over gRPC."""
        secrets, heads = [LogSecret(bytes(32))], Heads(Path("never written"))
        return AuditServicer(self.database, Register(self.database, "diwan.test", secrets, heads))

    async def take(self, *feeds: ListFeed, apply=None) -> None:
        """Take feeds in to their ends, all at once, as the service does."""
        consumers = [
            Consumer(
                f"audit-{feed.feed_id}",
                feed.feed_id,
                self.database,
                feed,
                apply or self.keepers[feed.feed_id].apply,
                silence_seconds=0.02,
            )
            for feed in feeds
        ]
        for consumer in consumers:
            consumer.start()
        try:
            async with asyncio.timeout(30):
                for consumer, feed in zip(consumers, feeds, strict=True):
                    while consumer.last_seq < feed.events[-1].global_seq:  # noqa: ASYNC110  (it has no event to wait for)
                        await asyncio.sleep(0.01)
        finally:
            for consumer in consumers:
                await consumer.close()
        for consumer in consumers:
            assert await consumer.quarantined() == []

    async def verify(self) -> None:
        """Verify every hand that is due."""
        while await self.verifier.verify_due():
            pass

    async def rows(self, sql: str, *arguments):
        return [tuple(row) for row in await self.database.run(lambda c: c.fetch(sql, *arguments))]

    async def kinds(self) -> list[str]:
        return [row[0] for row in await self.rows("select kind from finding order by finding_no")]


@pytest.fixture(scope="session")
def migrated(postgres: EmbeddedPostgres) -> str:
    """The name of a migrated database that tests copy."""

    async def prepare() -> None:
        await ensure_roles(postgres.superuser_url, "audit", PASSWORDS, database="audit_template")
        await migrate(postgres.url(OWNER, PASSWORDS[OWNER], "audit_template"), [MIGRATIONS])

    asyncio.run(prepare())
    return "audit_template"


@pytest.fixture
async def audit(postgres: EmbeddedPostgres, migrated: str) -> AsyncIterator[Audit]:
    name = f"audit_{next(_numbers)}"
    connection = await asyncpg.connect(postgres.superuser_url)
    await connection.execute(f"create database {name} template {migrated}")
    await connection.close()
    database = await Database.open(postgres.url("audit_rw", PASSWORDS["audit_rw"], name), size=4)
    yield Audit(database)
    await database.close()
    postgres.drop_database(name)


@pytest.fixture
def table() -> PlayedTable:
    """A table on which some hands were played, clocks, leavers and all."""
    return played(105, 5)


@pytest.fixture
def paid(table: PlayedTable) -> Paid:
    return Paid(table)
