"""Real servers for tests: one PostgreSQL and one NATS a test process, a database of its own a test."""

import itertools
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from diwan.chassis.embedded import EmbeddedNats, EmbeddedPostgres

_numbers = itertools.count(1)


def pytest_configure() -> None:
    """A shell that starts us in the background ignores SIGINT for us, and so for every program that a test interrupts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put modules that wait and modules that compute beside each other, of both those that may take longest first.

    Else all workers wait at the beginning, or at the end one is busy and the others wait for it.
    """
    modules = {item.path: _may_take(item) for item in items}
    place = {}
    for is_waiting in (True, False):
        alike = [path for path in sorted(modules, key=modules.__getitem__, reverse=True) if _waits(path) is is_waiting]
        place |= {path: number / len(alike) for number, path in enumerate(alike)}
    items.sort(key=lambda item: place[item.path])


def _waits(path: Path) -> bool:
    return "integration" in path.parts


def _may_take(item: pytest.Item) -> float:
    of_module = item.getparent(pytest.Module)
    mark = None if of_module is None else of_module.get_closest_marker("timeout")
    return 0.0 if mark is None else mark.args[0]


@dataclass(frozen=True)
class FreshDatabase:
    """An empty database for one test, dropped afterwards."""

    server: EmbeddedPostgres
    name: str

    @property
    def superuser_url(self) -> str:
        return self.url("postgres", self.server.password)

    def url(self, role: str, password: str) -> str:
        return self.server.url(role, password, self.name)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """The test process's PostgreSQL, with fsync on as in earnest. Never stop it; start your own for that."""
    with EmbeddedPostgres(tmp_path_factory.mktemp("postgres")) as server:
        yield server


@pytest.fixture
def fresh_database(postgres: EmbeddedPostgres) -> Iterator[FreshDatabase]:
    database = FreshDatabase(postgres, f"test_{next(_numbers)}")
    postgres.ensure_database(database.name)
    yield database
    postgres.drop_database(database.name)


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedNats]:
    """The test process's NATS, to be used as its admin. Never stop it; start your own, with users, for that."""
    with EmbeddedNats(tmp_path_factory.mktemp("nats")) as server:
        yield server
