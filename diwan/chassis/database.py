"""PostgreSQL as the services use it: units with a time limit, roles with least rights, pinned settings."""

import asyncio
import contextlib
import hashlib
import hmac
import re
import secrets
from base64 import b64encode
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final, Self
from urllib.parse import quote, urlsplit, urlunsplit

import asyncpg
import structlog

type Connection = asyncpg.Connection[asyncpg.Record]
type Pool = asyncpg.Pool[asyncpg.Record]

UNIT_SECONDS: Final = 5.0
"""Longest a unit may take before its connection is given up: clients wait 5 s for a unary call."""

CLOSE_SECONDS: Final = 5.0

# A backend that is killed between two statements can leave asyncpg in a state that it calls a fault of its own.
DATABASE_TROUBLE: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
"""What a unit fails with while the database is away, slow or being restarted; the work is tried again."""

# What the server reports as a statement's own fault: it was rolled back, and would fail again.
_OWN_FAULTS: Final = ("22", "23", "42")

OWNER: Final = "migrate"
"""Owns databases and tables, runs migrations, and is never used by a running service."""

GROUPS: Final = ("store_writer", "store_sequencer", "store_reader")
"""Roles without login that migrations grant to; a service's login roles are members."""

_IDENTIFIER: Final = re.compile(r"[a-z][a-z0-9_]{0,40}").fullmatch

_log = structlog.get_logger(__name__)
_left_running: set[asyncio.Task[Any]] = set()


class UnsafeSettings(Exception):  # noqa: N818
    """The server could lose or leak what it acknowledged: the service does not start."""


def is_own_fault(error: Exception) -> bool:
    """Tell a statement that can never work from a database that does not work now."""
    return isinstance(error, asyncpg.PostgresError) and (error.sqlstate or "")[:2] in _OWN_FAULTS


async def limited[T](connection: Connection, work: Coroutine[Any, Any, T], seconds: float) -> T:
    """Run ``work`` on ``connection``; if it overruns or the caller is cancelled, the connection is cut.

    A cut connection is the only state that is certain without asking a server which may not answer.
    Raises `TimeoutError` on an overrun: whether the work was committed is then unknown (D9).
    """
    task = asyncio.create_task(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if done:
            return task.result()
        raise TimeoutError(f"no answer from the database within {seconds} s")
    finally:
        if not task.done():
            connection.terminate()
            task.cancel()
            await asyncio.wait({task})
            task.cancelled() or task.exception()


async def shielded[T](work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` to its own end even when the caller is cancelled; the work must limit itself."""
    task = asyncio.create_task(work)
    _left_running.add(task)
    task.add_done_callback(_forget)
    return await asyncio.shield(task)


def _forget(task: asyncio.Task[Any]) -> None:
    _left_running.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.debug("unit_failed", error=repr(error))


class Database:
    """A pool of connections whose units of work each have a transaction and a time limit."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    @classmethod
    async def open(cls, dsn: str, *, size: int = 4, application: str = "diwan", is_checked: bool = True) -> Self:
        """Connect with at most ``size`` connections as a runtime role.

        Raises `UnsafeSettings` on a server or role that could lose or leak, and what asyncpg raises where it fails.
        Only a tool that reads as a superuser, who has no time limits, leaves the check out.
        """
        pool = await asyncpg.create_pool(
            dsn,
            min_size=1,
            max_size=size,
            timeout=UNIT_SECONDS,
            reset=_left_as_it_is,
            server_settings={"application_name": application},
        )
        database = cls(pool)
        try:
            if is_checked:
                await database.run(assert_settings)
        except BaseException:
            await database.close()
            raise
        return database

    async def run[T](self, work: Callable[[Connection], Awaitable[T]], *, seconds: float = UNIT_SECONDS) -> T:
        """Run ``work`` in one transaction, to its end even if the caller is cancelled.

        After an exception that is not ``work``'s own the outcome is unknown until it is re-read by id.
        """
        return await shielded(self._unit(work, seconds))

    async def _unit[T](self, work: Callable[[Connection], Awaitable[T]], seconds: float) -> T:
        proxy = await self.pool.acquire(timeout=seconds)
        connection: Connection = proxy  # type: ignore[assignment]  # The proxy offers the whole interface.
        try:
            return await limited(connection, _in_transaction(connection, work), seconds)
        finally:
            with contextlib.suppress(asyncpg.InterfaceError):
                await self.pool.release(proxy, timeout=seconds)

    async def close(self) -> None:
        """Close within a limit: a stuck query does not hold the shutdown."""
        try:
            await asyncio.wait_for(self.pool.close(), CLOSE_SECONDS)
        except TimeoutError:
            self.pool.terminate()


async def _left_as_it_is(_: Connection) -> None:
    """A unit is one transaction and leaves no session state, so asking the server to reset it would be a trip wasted."""


async def _in_transaction[T](connection: Connection, work: Callable[[Connection], Awaitable[T]]) -> T:
    async with connection.transaction():
        return await work(connection)


def dsn_for(base: str, *, role: str, password: str, database: str) -> str:
    """Return ``base`` (a PostgreSQL URL) with another role, password and database."""
    parts = urlsplit(base)
    host = parts.netloc.rpartition("@")[2]
    netloc = f"{quote(role, safe='')}:{quote(password, safe='')}@{host}"
    return urlunsplit(parts._replace(netloc=netloc, path=f"/{quote(database, safe='')}"))


def database_name(service: str) -> str:
    """Return the name of a service's database."""
    return f"diwan_{service}"


def role_memberships(service: str) -> dict[str, str | None]:
    """Return a service's login roles and the group that each belongs to."""
    roles: dict[str, str | None] = {
        f"{service}_rw": "store_writer",
        f"{service}_seq": "store_sequencer",
        f"{service}_ro": "store_reader",
    }
    if service == "table":
        roles["hand_secret_rw"] = None
    if service == "tournament":
        roles["draw_secret_rw"] = None
    return roles


_ROLE_SETTINGS: Final = {
    "transaction_timeout": "5s",
    "idle_in_transaction_session_timeout": "2s",
    "lock_timeout": "4s",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    # The DETAIL of a violated constraint quotes the row, bodies included.
    "log_error_verbosity": "terse",
}
_SECRET_ROLES: Final = frozenset({"hand_secret_rw", "draw_secret_rw"})
_SECRET_ROLE_SETTINGS: Final = {**_ROLE_SETTINGS, "log_min_error_statement": "panic", "log_statement": "none"}


async def ensure_roles(
    superuser_dsn: str, service: str, passwords: Mapping[str, str] | None = None, *, database: str | None = None
) -> dict[str, str]:
    """Make a service's database, its owner and its login roles, or bring them up to date; returns all passwords.

    ``passwords`` may name any of `role_memberships` and `OWNER`; a role that it does not name gets a new password, so
    whoever sets up several services of one server names the owner's. ``database`` is `database_name` if not given.
    """
    if not _IDENTIFIER(service) or not _IDENTIFIER(database or service):
        raise ValueError(f"{service!r} or {database!r} is not a name that needs no quoting")
    given = dict(passwords or {})
    chosen = {role: given.get(role) or secrets.token_urlsafe(24) for role in (OWNER, *role_memberships(service))}
    connection = await asyncpg.connect(superuser_dsn, timeout=UNIT_SECONDS)
    try:
        async with connection.transaction():
            # Two services set up at once would otherwise both create what they share.
            await connection.execute("select pg_advisory_xact_lock(hashtext('diwan/roles'))")
            await _ensure_shared(connection, chosen[OWNER])
            for role, group in role_memberships(service).items():
                await _ensure_login(connection, role, chosen[role], group)
        await _ensure_database(connection, service, database or database_name(service))
    finally:
        await connection.close(timeout=CLOSE_SECONDS)
    return chosen


async def _ensure_shared(connection: Connection, owner_password: str) -> None:
    for group in GROUPS:
        if not await connection.fetchval("select 1 from pg_roles where rolname = $1", group):
            await connection.execute(f"create role {group} nologin")
    await _ensure_login(connection, OWNER, owner_password, None)


async def _ensure_login(connection: Connection, role: str, password: str, group: str | None) -> None:
    if not await connection.fetchval("select 1 from pg_roles where rolname = $1", role):
        await connection.execute(f"create role {role} login nosuperuser nocreatedb nocreaterole noreplication")
    await connection.execute(f"alter role {role} password '{scram_verifier(password)}'")
    if role == OWNER:
        return
    settings = _SECRET_ROLE_SETTINGS if role in _SECRET_ROLES else _ROLE_SETTINGS
    for name, value in settings.items():
        await connection.execute(f"alter role {role} set {name} = '{value}'")
    if group is not None:
        await connection.execute(f"grant {group} to {role}")


async def _ensure_database(connection: Connection, service: str, name: str) -> None:
    if not await connection.fetchval("select 1 from pg_database where datname = $1", name):
        with contextlib.suppress(asyncpg.DuplicateDatabaseError, asyncpg.UniqueViolationError):
            await connection.execute(f"create database {name} owner {OWNER}")
    await connection.execute(f"alter database {name} owner to {OWNER}")
    # Group rights reach every database of the server: who may connect keeps the services apart.
    await connection.execute(f"revoke all on database {name} from public")
    await connection.execute(f"grant connect on database {name} to {', '.join(role_memberships(service))}")


def scram_verifier(password: str, *, iterations: int = 4096) -> str:
    """Return the SCRAM-SHA-256 verifier that PostgreSQL stores (RFC 5803), so that no password is in any statement."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    encoded = [b64encode(part).decode() for part in (salt, stored, server)]
    return f"SCRAM-SHA-256${iterations}:{encoded[0]}${encoded[1]}:{encoded[2]}"


_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "fsync": ("on",),
    "full_page_writes": ("on",),
    "synchronous_commit": ("on", "remote_apply"),
    "data_checksums": ("on",),
    "log_parameter_max_length_on_error": ("0",),
}
_REQUIRED_TIMEOUTS: Final = ("transaction_timeout", "idle_in_transaction_session_timeout")


async def assert_settings(connection: Connection, *, is_secret_role: bool = False) -> None:
    """Refuse to start on a server, or under a role, that could lose or leak; raises `UnsafeSettings`."""
    required = dict(_REQUIRED)
    if is_secret_role:
        required["log_min_error_statement"] = ("panic",)
    names = [*required, *_REQUIRED_TIMEOUTS]
    rows = await connection.fetch("select name, setting from pg_settings where name = any($1::text[])", names)
    found = {row["name"]: row["setting"] for row in rows}
    wrong = [
        f"{name} is {found.get(name)}, must be {' or '.join(allowed)}"
        for name, allowed in required.items()
        if found.get(name) not in allowed
    ]
    wrong += [f"{name} is not set" for name in _REQUIRED_TIMEOUTS if found.get(name) in (None, "0")]
    if wrong:
        raise UnsafeSettings("; ".join(wrong))
