"""Makes on servers what the services need before they start: databases, roles, streams and durables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import asyncpg

from diwan.chassis import bus
from diwan.chassis.bus import BusError, BusUnavailable
from diwan.chassis.database import OWNER, ensure_roles, role_memberships


class NotPreparedError(Exception):
    """A server cannot be reached or prepared; the text says which, where and why, without its password."""


def roles_of(service: str) -> tuple[str, ...]:
    """Return the database roles of a service, its tables' owner first."""
    return (OWNER, *role_memberships(service))


async def prepare_servers(
    postgres_url: str, nats_url: str, services: Sequence[str], password_of: Callable[[str], str]
) -> None:
    """Bring both servers up to date; running it again changes nothing.

    ``postgres_url`` is a superuser's, ``nats_url`` that of a user who may do everything; ``password_of`` gives the
    password of a database role. Raises `NotPreparedError`.
    """
    try:
        # One service after the other: what they share is made once.
        for service in services:
            await ensure_roles(postgres_url, service, {role: password_of(role) for role in roles_of(service)})
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise NotPreparedError(f"PostgreSQL at {_place(postgres_url)}: {error}") from error
    try:
        await bus.set_up(nats_url)
    except (OSError, BusError, BusUnavailable) as error:
        raise NotPreparedError(f"NATS at {_place(nats_url)}: {error}") from error


def _place(url: str) -> str:
    """Return a URL's host and port: neither user nor password belongs in a message."""
    return urlsplit(url).netloc.rpartition("@")[2] or "(a URL such as scheme://user:password@host:port is needed)"
