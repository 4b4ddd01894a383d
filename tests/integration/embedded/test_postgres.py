"""The embedded PostgreSQL: real, durable by its settings, closed by default, able to come back from kill -9."""

import os
import shutil
import signal
import stat
import sys
import tempfile
import time
from pathlib import Path

import asyncpg
import pytest

from diwan.chassis.embedded import DirectoryInUseError, EmbeddedError, EmbeddedPostgres, Process
from diwan.chassis.embedded.identity import reachable_home, reachable_programs
from diwan.chassis.embedded.process import wait_until


async def setting(url: str, name: str) -> str:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval("select current_setting($1)", name)
    finally:
        await connection.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fsync", "on"),
        ("full_page_writes", "on"),
        ("synchronous_commit", "on"),
        ("data_checksums", "on"),
        ("listen_addresses", "127.0.0.1"),
        ("log_parameter_max_length", "0"),
        ("log_parameter_max_length_on_error", "0"),
        ("password_encryption", "scram-sha-256"),
        ("server_encoding", "UTF8"),
    ],
)
async def test_the_settings_that_promises_rest_on_are_pinned(postgres, name, value):
    assert await setting(postgres.superuser_url, name) == value


async def test_pinned_settings_are_not_loosened_by_alter_system(postgres):
    connection = await asyncpg.connect(postgres.superuser_url)
    await connection.execute("alter system set fsync = off")
    await connection.execute("select pg_reload_conf()")
    try:
        assert await setting(postgres.superuser_url, "fsync") == "on"
    finally:
        await connection.execute("alter system reset fsync")
        await connection.close()


async def test_no_password_or_a_wrong_one_is_refused_over_tcp_and_socket(postgres):
    for url in (
        f"postgresql://postgres@127.0.0.1:{postgres.port}/postgres",
        postgres.url("postgres", "wrong", "postgres"),
    ):
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(url, password="" if "wrong" not in url else None)
    sockets = list(postgres.log_path.parent.glob(".s.PGSQL.*[0-9]"))
    assert sockets
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(host=str(sockets[0].parent), port=postgres.port, user="postgres", password="wrong")


def test_password_files_are_readable_by_their_owner_only(postgres):
    secret_files = [path for path in postgres.log_path.parent.glob("superuser.*") if path.is_file()]

    assert {stat.S_IMODE(path.stat().st_mode) for path in secret_files} == {0o600}
    assert len(postgres.password) >= 40


async def test_a_role_with_its_own_password_reaches_only_what_it_may(postgres, fresh_database):
    postgres.execute("create role narrow login password 'it''s / narrow'")
    try:
        assert await setting(fresh_database.url("narrow", "it's / narrow"), "is_superuser") == "off"
    finally:
        postgres.execute("drop role narrow")


def test_ensure_database_makes_it_once_whatever_its_name(postgres):
    name = 'odd "name"'
    postgres.ensure_database(name)
    postgres.ensure_database(name)
    assert postgres.execute("select current_database()", database=name).strip() == name
    postgres.drop_database(name)
    assert name not in postgres.execute("select datname from pg_database").splitlines()


def test_errors_of_the_server_are_raised_with_its_message(postgres):
    with pytest.raises(EmbeddedError, match="no_such_table"):
        postgres.execute("select * from no_such_table")


def test_what_was_committed_outlives_stop_and_start_on_the_same_port(tmp_path):
    server = EmbeddedPostgres(tmp_path)
    with server:
        first_port = server.port
        server.execute("create table kept as select 7 as n")
    assert not server.is_alive()
    with server:
        assert server.port == first_port
        assert server.execute("select n from kept").strip() == "7"


def test_a_second_stack_in_the_same_folder_is_refused_and_the_first_goes_on(tmp_path):
    with EmbeddedPostgres(tmp_path) as first:
        with pytest.raises(DirectoryInUseError, match=str(os.getpid())):
            EmbeddedPostgres(tmp_path).start()
        assert first.execute("select 1").strip() == "1"


def test_kill_9_loses_nothing_that_was_committed(tmp_path):
    server = EmbeddedPostgres(tmp_path)
    with server:
        server.execute("create table kept as select 7 as n")
        os.kill(server.pid, signal.SIGKILL)
        assert wait_until(lambda: not server.is_alive(), 10)
        server.start()
        assert server.execute("select n from kept").strip() == "7"


def test_a_stale_owner_whose_number_a_stranger_has_now_is_no_obstacle(tmp_path):
    server = EmbeddedPostgres(tmp_path)
    with server:
        os.kill(server.pid, signal.SIGKILL)
        assert wait_until(lambda: not server.is_alive(), 10)
    stranger = Process([sys.executable, "-c", "import time; time.sleep(60)"], log_path=tmp_path / "stranger.log")
    pid_file = server.cluster / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    pid_file.write_text("\n".join([str(stranger.pid), *lines[1:]]) + "\n")
    try:
        with server:
            assert server.execute("select 1").strip() == "1"
        assert stranger.is_alive()
    finally:
        stranger.stop()


def test_a_set_up_that_was_interrupted_is_begun_anew(tmp_path):
    half = tmp_path / "postgres" / "data.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    with EmbeddedPostgres(tmp_path) as server:
        assert server.execute("select 1").strip() == "1"


def test_an_orphaned_server_is_ended_before_its_folder_is_used_again(tmp_path):
    """Given a parent killed with -9, its PostgreSQL follows it and the folder serves the next stack."""
    script = (
        "import sys, time; from pathlib import Path; from diwan.chassis.embedded import EmbeddedPostgres\n"
        "server = EmbeddedPostgres(Path(sys.argv[1])); server.start(); print(server.pid, flush=True); time.sleep(60)"
    )
    log = tmp_path / "parent.log"
    data_dir = tmp_path / "stack"
    parent = Process([sys.executable, "-c", script, str(data_dir)], log_path=log, cwd=Path.cwd())
    assert wait_until(lambda: log.read_text().strip().isdigit(), 30)
    orphan = int(log.read_text())
    os.kill(parent.pid, signal.SIGKILL)
    parent.stop()

    with EmbeddedPostgres(data_dir) as server:
        assert server.execute("select 1").strip() == "1"

    assert wait_until(lambda: not Path(f"/proc/{orphan}").exists(), 10)


def test_a_fixed_port_that_is_taken_is_reported(tmp_path, postgres):
    with pytest.raises(EmbeddedError, match="Address already in use"):
        EmbeddedPostgres(tmp_path, port=postgres.port).start()


def test_a_long_path_costs_the_socket_but_not_the_server(tmp_path):
    with EmbeddedPostgres(tmp_path / ("long " * 20)) as server:
        assert server.execute("select 1").strip() == "1"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("is_open", [True, False])
def test_without_user_namespaces_root_uses_an_unprivileged_user_and_a_folder_it_can_reach(monkeypatch, is_open):
    """Given a kernel without user namespaces, the server runs as somebody else, out of reach things elsewhere."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755 if is_open else 0o700)
    shelter = Path("/tmp") / f"diwan-shelter-{os.getpid()}"
    monkeypatch.setattr("diwan.chassis.embedded.identity.SHELTER", shelter)
    monkeypatch.setattr("diwan.chassis.embedded.identity._can_pass", lambda _: is_open)
    monkeypatch.setattr("diwan.chassis.embedded.postgres.server_identity", lambda: "user:65534:65534")
    try:
        with EmbeddedPostgres(folder) as server:
            process = Path(f"/proc/{server.pid}")
            assert process.stat().st_uid == 65534
            assert (process / "exe").readlink().is_relative_to(shelter) is not is_open
            assert server.cluster.is_relative_to(folder if is_open else shelter)
            assert server.execute("select 1").strip() == "1"
    finally:
        for made in (folder, shelter):
            shutil.rmtree(made, ignore_errors=True)


def test_programs_and_folders_that_everybody_reaches_are_used_where_they_are(tmp_path):
    assert reachable_home(tmp_path / "x", "same") == tmp_path / "x"
    assert reachable_programs(tmp_path, "namespace:1:1", libraries=tmp_path) == tmp_path


def test_stop_is_quick_with_a_client_in_the_middle_of_a_transaction(tmp_path):
    server = EmbeddedPostgres(tmp_path)
    server.start()
    client = Process(
        [sys.executable, "-c", _IDLE_CLIENT, server.superuser_url], log_path=tmp_path / "client.log", cwd=Path.cwd()
    )
    assert wait_until(lambda: "in transaction" in (tmp_path / "client.log").read_text(), 20)
    begun = time.monotonic()
    server.stop()
    client.stop()
    assert time.monotonic() - begun < 10


_IDLE_CLIENT = """
import asyncio, asyncpg, sys
async def main():
    connection = await asyncpg.connect(sys.argv[1])
    async with connection.transaction():
        await connection.execute("select 1")
        print("in transaction", flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""
