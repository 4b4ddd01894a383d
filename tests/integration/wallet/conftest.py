"""A migrated database of the wallet, a ledger on it, and the sums that must hold whatever was done to it."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

import services.wallet
from diwan.chassis.database import OWNER, Database, ensure_roles, role_memberships
from diwan.chassis.embedded import EmbeddedPostgres
from diwan.chassis.migrate import migrate
from diwan.core.ledger.accounts import OPERATOR, player_account
from diwan.core.ledger.books import EMPTY, Account, Transfer, fold
from diwan.core.ledger.events import AccountOpened
from diwan.core.ledger.requests import Float, LinkedSet
from diwan.wire.events import decode
from services.wallet import statements
from services.wallet.ledger import Ledger

MIGRATIONS = Path(services.wallet.__file__).parent / "migrations"
PASSWORDS = {role: f"password of {role}" for role in (OWNER, *role_memberships("wallet"))}


@dataclass(frozen=True)
class Prepared:
    """A database with the wallet's schema."""

    server: EmbeddedPostgres
    name: str

    def url(self, role: str) -> str:
        return self.server.url(role, PASSWORDS[role], self.name)

    @property
    def superuser_url(self) -> str:
        return self.server.url("postgres", self.server.password, self.name)

    def connect(self) -> Callable[[], Awaitable[asyncpg.Connection]]:
        return lambda: asyncpg.connect(self.url("wallet_rw"))


_numbers = itertools.count(1)


async def copy(server: EmbeddedPostgres, template: str, name: str) -> None:
    connection = await asyncpg.connect(server.superuser_url)
    await connection.execute(f"create database {name} template {template}")
    await connection.close()


async def make(server: EmbeddedPostgres, name: str, template: str | None = None) -> Prepared:
    """Make a database of the wallet: by its migrations, or as a copy of one that was made so."""
    prepared = Prepared(server, name)
    if template is not None:
        await copy(server, template, name)
    await ensure_roles(server.superuser_url, "wallet", PASSWORDS, database=name)
    if template is None:
        await migrate(prepared.url(OWNER), [MIGRATIONS])
    return prepared


@pytest.fixture(scope="session")
def template(postgres: EmbeddedPostgres):
    asyncio.run(make(postgres, "wallet_template"))
    yield "wallet_template"
    postgres.drop_database("wallet_template")


@pytest.fixture
def prepared(postgres: EmbeddedPostgres, template: str):
    name = f"wallet_{next(_numbers)}"
    yield asyncio.run(make(postgres, name, template))
    postgres.drop_database(name)


@asynccontextmanager
async def running(prepared: Prepared, bots_float: Float | None = None) -> AsyncIterator[Ledger]:
    ledger = Ledger(prepared.connect(), bots_float=bots_float)
    await ledger.prepare()
    async with asyncio.TaskGroup() as group:
        group.create_task(ledger.run())
        try:
            yield ledger
        finally:
            await ledger.close()


@pytest.fixture
async def ledger(prepared: Prepared) -> AsyncIterator[Ledger]:
    async with running(prepared) as ledger:
        yield ledger


@pytest.fixture
async def database(prepared: Prepared) -> AsyncIterator[Database]:
    opened = await Database.open(prepared.url("wallet_rw"))
    yield opened
    await opened.close()


@pytest.fixture
async def superuser(prepared: Prepared) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(prepared.superuser_url)
    yield connection
    await connection.close()


def moving(transfer_id: str, debit: AccountOpened, credit: AccountOpened, amount: int, **other: str) -> LinkedSet:
    fields = {"code": "test", "cause": "test", **other}
    return LinkedSet((Transfer(transfer_id, debit.account_id, credit.account_id, amount, **fields),))


async def rich_players(ledger: Ledger, count: int, amount: int = 1000) -> list[AccountOpened]:
    """Open accounts with chips from the operator's issuance."""
    players = [player_account(f"player-{i}") for i in range(count)]

    async def open_one(player: AccountOpened) -> None:
        grant = moving(player.account_id, OPERATOR, player, amount).transfers
        done = await ledger.ask(LinkedSet(grant, opens=(player,)))
        assert done.outcome.is_done

    await asyncio.gather(*map(open_one, players))
    return players


CHECKS = {
    "L1 sum": "select coalesce(sum(balance), 0) from account",
    "L2 owing": "select count(*) from account where balance < 0 and kind <> 'issuance'",
    "L7 balance is the sum of entries": """
        select count(*) from account a
        left join (select account_id, sum(amount) as total, count(*) as n, max(version) as last, min(version) as first
                   from entry group by account_id) e using (account_id)
        where a.balance <> coalesce(total, 0) or a.version <> coalesce(n, 0) or a.version <> coalesce(last, 0)""",
    "L7 entries chain": """
        select count(*) from (select previous_balance, lag(balance, 1, 0::bigint)
            over (partition by account_id order by version) as before from entry) e where previous_balance <> before""",
    "two entries a transfer": """
        select count(*) from (select transfer_id from transfer t left join entry e using (transfer_id)
            group by transfer_id having count(*) <> 2 or sum(e.amount) <> 0) t""",
    "no id is both posted and refused": "select count(*) from transfer join refused using (transfer_id)",
    "L2 what is held": "select count(*) from account where held <> 0 and balance < held",
    "L6 held is the sum of open holds": """
        select count(*) from account a
        left join (select debit_account, sum(amount) as open from hold where resolution = '' group by 1) h
            on h.debit_account = a.account_id
        where a.held <> coalesce(h.open, 0)""",
    "L6 what a hold posted is its one transfer": """
        select count(*) from hold h full join (select * from transfer where hold_id is not null) t using (hold_id)
        where coalesce(h.posted, 0) <> coalesce(t.amount, 0) or (t.transfer_id::text is distinct from h.resolved_by
            and h.resolution in ('', 'posted', 'expired') and coalesce(h.resolved_by, '') <> '')""",
    "no id is both a hold and something else": """
        select count(*) from hold h where exists (select from transfer where transfer_id = h.hold_id)
            or exists (select from refused where transfer_id = h.hold_id)""",
    "tallies count what was posted": """
        select count(*) from tally full join (
            select account_id, code, (posted_at_ms / 86400000)::integer as day, count(*) as n, sum(abs(amount)) as total,
                max(posted_at_ms) as last
            from entry join account a using (account_id)
            where code in ('purchase', 'ad_reward', 'free_top_up') or (amount < 0 and code in
                ('starting_grant', 'issue', 'promotion', 'adjustment', 'gift'))
            group by 1, 2, 3) e using (account_id, code, day)
        where count is distinct from n or tally.amount is distinct from total or last_at_ms is distinct from last""",
    "one event a commit": """
        select count(*) from transfer t left join event e on e.version = t.ledger_version where e.version is null""",
}


async def faults(connection: asyncpg.Connection) -> list[str]:
    """Return the names of the ledger's invariants that do not hold, seen in one snapshot."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        return [name for name, query in CHECKS.items() if await connection.fetchval(query) != 0]


async def unlike_the_events(connection: asyncpg.Connection) -> list[str]:
    """Return the accounts whose rows differ in anything from what the events alone make of them, seen in one snapshot."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        events = await connection.fetch("select type_id, schema_v, body from event order by version")
        rows = await connection.fetch(statements.ACCOUNTS.partition("where")[0])
    books = fold(EMPTY, [decode(*event).event for event in events])
    stored = {row["account_id"]: Account(*row) for row in rows}
    return [key for key in sorted(stored.keys() | books.accounts.keys()) if stored.get(key) != books.accounts.get(key)]


@pytest.fixture
async def room(postgres: EmbeddedPostgres, prepared: Prepared, tmp_path: Path):
    from tests.integration.wallet.room import a_room

    async with a_room(postgres, prepared, tmp_path) as room:
        yield room
