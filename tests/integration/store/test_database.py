"""Roles, pinned settings, migrations, and units with their limits."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from diwan.chassis.database import OWNER, Database, UnsafeSettings, assert_settings, dsn_for, ensure_roles
from diwan.chassis.embedded import EmbeddedPostgres
from diwan.chassis.migrate import MigrationFailed, migrate
from tests.integration.store.conftest import PASSWORDS, Prepared, prepare


@pytest.fixture
async def connect(prepared: Prepared):
    opened: list[asyncpg.Connection] = []

    async def as_role(role: str) -> asyncpg.Connection:
        opened.append(await asyncpg.connect(prepared.url(role)))
        return opened[-1]

    yield as_role
    for connection in opened:
        await connection.close()


@pytest.mark.parametrize(
    ("role", "statement"),
    [
        ("table_rw", "create table mine (n int)"),
        ("table_rw", "delete from stream"),
        ("table_rw", "select * from outbox"),
        ("table_rw", "insert into feed values (1, 1, gen_random_uuid(), 1, '\\x')"),
        ("table_rw", "alter table event disable trigger all"),
        ("table_rw", "set role migrate"),
        ("table_seq", "insert into outbox (stream_id, version) values (gen_random_uuid(), 1)"),
        ("table_seq", "update stream set epoch = 0"),
        ("table_seq", "select * from command"),
        ("table_ro", "insert into inbox values ('x', 0)"),
        ("table_ro", "select * from command"),
        ("hand_secret_rw", "select * from event"),
        ("hand_secret_rw", "select * from stream"),
    ],
)
async def test_a_role_may_do_only_its_own_work(connect, role: str, statement: str):
    connection = await connect(role)

    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await connection.execute(statement)


async def test_a_role_of_one_service_cannot_connect_to_the_database_of_another(
    prepared: Prepared, postgres: EmbeddedPostgres
):
    passwords = await ensure_roles(postgres.superuser_url, "strange", {OWNER: PASSWORDS[OWNER]})
    try:
        for role in ("strange_rw", "strange_seq", "strange_ro"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await asyncpg.connect(postgres.url(role, passwords[role], prepared.name))
            own = await asyncpg.connect(postgres.url(role, passwords[role], "diwan_strange"))
            await own.close()
    finally:
        postgres.drop_database("diwan_strange")


async def test_roles_log_in_with_scram_and_a_wrong_password_is_refused(prepared: Prepared, superuser):
    kept = await superuser.fetch("select rolname, rolpassword from pg_authid where rolname = any($1)", list(PASSWORDS))

    assert {row["rolname"] for row in kept if row["rolpassword"].startswith("SCRAM-SHA-256$")} == set(PASSWORDS)
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(prepared.server.url("table_rw", "wrong", prepared.name))


async def test_ensuring_roles_again_keeps_the_data_and_sets_the_passwords(prepared: Prepared, superuser):
    before = await superuser.fetchval("select count(*) from event")

    await ensure_roles(prepared.server.superuser_url, "table", PASSWORDS, database=prepared.name)

    connection = await asyncpg.connect(prepared.url("table_rw"))
    assert await connection.fetchval("select count(*) from event") == before
    await connection.close()


async def test_runtime_roles_pass_the_settings_check(connect):
    for role in ("table_rw", "table_seq", "table_ro"):
        await assert_settings(await connect(role))
    await assert_settings(await connect("hand_secret_rw"), is_secret_role=True)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("synchronous_commit", "off"), ("transaction_timeout", "0"), ("log_parameter_max_length_on_error", "100")],
)
async def test_a_setting_that_could_lose_or_leak_stops_the_start(connect, setting: str, value: str):
    connection = await connect("table_rw")
    await connection.execute(f"set {setting} = '{value}'")

    with pytest.raises(UnsafeSettings, match=setting):
        await assert_settings(connection)


async def test_a_service_does_not_open_its_database_under_a_role_without_limits(prepared: Prepared):
    with pytest.raises(UnsafeSettings, match="transaction_timeout"):
        await Database.open(prepared.superuser_url)

    as_a_tool = await Database.open(prepared.superuser_url, is_checked=False)
    await as_a_tool.close()


async def test_the_ordinary_role_does_not_pass_as_the_role_of_secrets(connect):
    with pytest.raises(UnsafeSettings, match="log_min_error_statement"):
        await assert_settings(await connect("table_rw"), is_secret_role=True)


async def test_four_migrations_at_once_all_succeed_and_a_service_adds_its_own_folder(
    postgres: EmbeddedPostgres, tmp_path: Path
):
    (tmp_path / "20270101000000_own.sql").write_text("-- migrate:up\ncreate table own (n int);\n-- migrate:down\n")
    await ensure_roles(postgres.superuser_url, "table", PASSWORDS, database="at_once")
    url = postgres.url(OWNER, PASSWORDS[OWNER], "at_once")
    try:
        await asyncio.gather(*(migrate(url, [tmp_path]) for _ in range(4)))

        connection = await asyncpg.connect(url)
        tables = {r[0] for r in await connection.fetch("select tablename from pg_tables where schemaname = 'public'")}
        await connection.close()
        assert {"event", "feed", "inbox", "own"} <= tables

        (tmp_path / "20261231000000_late.sql").write_text("-- migrate:up\nselect 1;\n-- migrate:down\n")
        with pytest.raises(MigrationFailed):
            await migrate(url, [tmp_path])
    finally:
        postgres.drop_database("at_once")


async def test_a_failed_migration_says_why_without_the_password(postgres: EmbeddedPostgres, tmp_path: Path):
    (tmp_path / "20270101000000_bad.sql").write_text("-- migrate:up\ncreate nonsense;\n-- migrate:down\n")
    try:
        with pytest.raises(MigrationFailed, match="nonsense") as failed:
            await prepare(postgres, "failed_migration", (tmp_path,))
        assert PASSWORDS[OWNER] not in str(failed.value)
    finally:
        postgres.drop_database("failed_migration")


async def test_the_owner_of_a_unit_may_be_cancelled_and_the_unit_still_ends(prepared: Prepared):
    database = await Database.open(prepared.url("table_rw"), size=1)
    ended = asyncio.Event()

    async def slow(connection):
        await connection.execute("select pg_sleep(0.2)")
        await connection.execute("insert into inbox values ('cancelled owner', 1)")
        ended.set()

    caller = asyncio.create_task(database.run(slow))
    await asyncio.sleep(0.05)
    caller.cancel()
    assert (await asyncio.gather(caller, return_exceptions=True))[0].__class__ is asyncio.CancelledError
    await ended.wait()

    found = await database.run(lambda c: c.fetchval("select last_seq from inbox where consumer = 'cancelled owner'"))
    assert found == 1
    await database.close()


async def test_a_unit_that_overruns_is_cut_and_the_pool_serves_the_next(prepared: Prepared):
    database = await Database.open(prepared.url("table_rw"), size=1)

    with pytest.raises(TimeoutError):
        await database.run(lambda c: c.execute("select pg_sleep(5)"), seconds=0.2)

    assert await database.run(lambda c: c.fetchval("select 1")) == 1
    await database.close()


async def test_a_storm_of_cancellations_leaks_no_connection(prepared: Prepared):
    database = await Database.open(prepared.url("table_rw"), size=2)
    tasks = [asyncio.create_task(database.run(lambda c: c.execute("select pg_sleep(0.001)"))) for _ in range(100)]
    for number, task in enumerate(tasks):
        if number % 2:
            task.cancel()
        if number % 10 == 0:
            await asyncio.sleep(0.001)
    await asyncio.gather(*tasks, return_exceptions=True)

    assert await asyncio.gather(*(database.run(lambda c: c.fetchval("select 1")) for _ in range(10))) == [1] * 10
    await database.close()


def test_a_url_is_turned_to_another_role_and_database_with_odd_passwords_quoted():
    base = "postgresql://postgres:x@127.0.0.1:5432/postgres?sslmode=disable"

    assert (
        dsn_for(base, role="table_rw", password="a@b/c", database="diwan_table")
        == "postgresql://table_rw:a%40b%2Fc@127.0.0.1:5432/diwan_table?sslmode=disable"
    )
