"""Starts and stops a whole house: PostgreSQL, NATS, databases and roles, keys, then the services."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

from diwan.chassis import bus
from diwan.chassis.access import Role
from diwan.chassis.database import dsn_for
from diwan.chassis.embedded.files import DirectoryLock, free_port
from diwan.chassis.embedded.nats import EmbeddedNats
from diwan.chassis.embedded.postgres import EmbeddedPostgres
from diwan.chassis.embedded.process import EmbeddedError
from diwan.chassis.embedded.supervisor import Child, Reporter, Supervised, Supervisor
from diwan.chassis.keys import SigningKey, write_jwks
from diwan.cli.stack.environment import (
    DEVELOPMENT_TOKEN_SECONDS,
    Places,
    environment_of,
    settings_of,
)
from diwan.cli.stack.layout import SERVICES, Addresses, Layout
from diwan.cli.stack.prepare import prepare_servers
from diwan.cli.stack.witness import HOUSE, chosen_address, prepare_witness

READY_SECONDS: Final = 60.0
READY_PAUSE_SECONDS: Final = 0.02
LOG_TAIL_LINES: Final = 3
HOST: Final = "127.0.0.1"


class Stack:
    """A house that runs in one data directory. One process at a time may own the directory.

    ``postgres_url`` (as a superuser) and ``nats_url`` (as a user who may do everything) name servers that are there
    already; without them embedded ones are started. ``overrides`` are further settings by service and field.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        report: Reporter,
        services: tuple[str, ...] = SERVICES,
        postgres_url: str | None = None,
        nats_url: str | None = None,
        overrides: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.layout = Layout(data_dir)
        self.services = services
        self.postgres: EmbeddedPostgres | None = None
        self.nats: EmbeddedNats | None = None
        self._postgres_url = postgres_url
        self._nats_url = nats_url
        self._overrides = overrides or {}
        self._report = report
        self._supervisor = Supervisor(report)
        self._lock = DirectoryLock(self.layout.root)
        self._children: dict[str, Child] = {}
        self._places: Places | None = None

    # Life

    def start(self) -> None:
        """Start everything; returns once every service answers. Stops what was started if anything fails."""
        self.layout.prepare()
        self._lock.acquire()
        try:
            key = SigningKey.load_or_generate(self.layout.signing_key)
            write_jwks(self.layout.jwks, [key])
            postgres_url = self._start_postgres()
            nats_url = self._start_nats()
            self._places = self._choose_places(postgres_url, nats_url)
            asyncio.run(prepare_servers(postgres_url, nats_url, self.services, self._role_password))
            if "audit" in self.services:
                self._start_witness()
            self._start_services()
            own_nats = self._places.nats_url if self._nats_url is None else ""
            self.layout.write_addresses(Addresses(os.getpid(), self._places.services, self._places.metrics, own_nats))
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop everything in reverse order; nothing that was started here is left running."""
        with undisturbed():
            self.layout.addresses.unlink(missing_ok=True)
            try:
                self._supervisor.stop()
            finally:
                self._lock.release()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # Where it is

    @property
    def places(self) -> Places:
        """Where the parts are; only once started."""
        if self._places is None:
            raise RuntimeError("the stack has not been started")
        return self._places

    def child(self, service: str) -> Child:
        """Return a service's process, for tests that kill it."""
        return self._children[service]

    def log_tail(self, service: str) -> str:
        """Return the last lines of a service's log."""
        path = self.layout.logs / f"{service}.log"
        lines = path.read_text(errors="replace").splitlines() if path.exists() else []
        return "\n".join(lines[-LOG_TAIL_LINES:])

    @property
    def restarts(self) -> Mapping[str, int]:
        """How often each part has been brought back."""
        return self._supervisor.restarts

    def key(self) -> SigningKey:
        """Return the key that signs this stack's tokens."""
        return SigningKey.load(self.layout.signing_key)

    def admin_nats_url(self) -> str:
        """Return the bus as a user who may do everything, for set-up and checks."""
        if self._nats_url is not None:
            return self._nats_url
        if self.nats is None:
            raise RuntimeError("the stack has not been started")
        return self.nats.admin_url

    def token(self, subject: str, role: Role) -> str:
        """Return a development token for every service of this stack."""
        return self.key().mint(subject, role, list(SERVICES), seconds=DEVELOPMENT_TOKEN_SECONDS)

    # Steps of the start

    def _start_postgres(self) -> str:
        if self._postgres_url is not None:
            return self._postgres_url
        self.postgres = EmbeddedPostgres(self.layout.root)
        self._keep(self.postgres)
        return self.postgres.superuser_url

    def _start_nats(self) -> str:
        if self._nats_url is not None:
            return self._nats_url
        users = bus.users({service: self.layout.password(f"nats-{service}") for service in self.services})
        self.nats = EmbeddedNats(self.layout.root, users)
        self._keep(self.nats)
        return self.nats.admin_url

    def _role_password(self, role: str) -> str:
        return self.layout.password(f"postgres-{role}")

    def _keep(self, server: Supervised) -> None:
        self._report(server.name, "starting")
        self._supervisor.start(server)

    def _choose_places(self, postgres_url: str, nats_url: str) -> Places:
        """Free ports, kept for the life of the stack: a service that is restarted is found where it was."""
        parts = urlsplit(nats_url)
        where = parts.netloc.rpartition("@")[2]
        return Places(
            postgres_url=postgres_url,
            nats_url=f"{parts.scheme}://{where}",
            services={service: f"{HOST}:{free_port()}" for service in SERVICES},
            metrics={service: f"{HOST}:{free_port()}" for service in SERVICES},
        )

    def _start_witness(self) -> None:
        """A program of its own, as everybody else's witness is one."""
        address = chosen_address(self.layout) or f"{HOST}:{free_port()}"
        folder = prepare_witness(self.layout, address, self._overrides.get("audit", {}).get("house_name", HOUSE))
        child = Child(
            "witness",
            [sys.executable, "-m", "diwan.witness", "run", str(folder.path), "--listen", address],
            log_dir=self.layout.logs,
            env=environment_of("witness", {}),
        )
        self._children["witness"] = child
        self._keep(child)

    def _start_services(self) -> None:
        """All at once: each waits for what it needs by itself, as it must when another is restarted later."""
        for service in self.services:
            self._start_service(service)
        end = time.monotonic() + READY_SECONDS
        for service in self.services:
            while not self._serves(service):
                if self._supervisor.restarts[service] or time.monotonic() > end:
                    raise EmbeddedError(f"{service} does not come up; its log ends with:\n{self.log_tail(service)}")
                time.sleep(READY_PAUSE_SECONDS)

    def _start_service(self, service: str) -> None:
        settings = settings_of(service, self.layout, self.places) | dict(self._overrides.get(service, {}))
        ready = self.layout.ready_file(service)
        ready.unlink(missing_ok=True)
        child = Child(
            service,
            [sys.executable, "-m", f"services.{service}"],
            log_dir=self.layout.logs,
            env=environment_of(service, settings),
        )
        self._children[service] = child
        self._keep(child)

    def _serves(self, service: str) -> bool:
        """Whether the process that we started says that it serves; a file left by a killed one names another pid."""
        try:
            told = json.loads(self.layout.ready_file(service).read_bytes())
        except (FileNotFoundError, ValueError):
            return False
        return bool(told["pid"] == self._children[service].pid)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore SIGINT and SIGTERM inside: an impatient second Ctrl-C must not leave processes or files behind.

    What is done inside takes bounded time. Python handles signals in the main thread alone, so elsewhere it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def superuser_database_url(places: Places, database: str) -> str:
    """Return the superuser's URL of one of the stack's databases, for checks and tests."""
    parts = urlsplit(places.postgres_url)
    return dsn_for(
        places.postgres_url, role=parts.username or "postgres", password=parts.password or "", database=database
    )


def print_report(name: str, what: str, *, lock: threading.Lock = threading.Lock()) -> None:  # noqa: B008
    """Say what happens to the parts of a stack, from whichever thread."""
    with lock:
        print(f"  {name}: {what}", file=sys.stderr, flush=True)
