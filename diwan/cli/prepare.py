"""``diwan prepare``: databases, roles and streams on servers that are not ours."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated

import typer

from diwan.cli.stack.layout import SERVICES
from diwan.cli.stack.prepare import NotPreparedError, prepare_servers, roles_of


def variable_of(role: str) -> str:
    """Return the environment variable that holds a database role's password."""
    return f"DIWAN_PASSWORD_{role.upper()}"


def prepare(
    postgres_url: Annotated[str, typer.Option(envvar="DIWAN_POSTGRES_URL", help="PostgreSQL, as a superuser.")],
    nats_url: Annotated[str, typer.Option(envvar="DIWAN_NATS_URL", help="NATS, as a user who may do everything.")],
) -> None:
    """Make databases, roles, streams and durables for every service; safe to run again.

    The password of each database role is taken from DIWAN_PASSWORD_<ROLE>, such as DIWAN_PASSWORD_TABLE_RW.
    """
    roles = dict.fromkeys(role for service in SERVICES for role in roles_of(service))
    missing = [variable_of(role) for role in roles if not os.environ.get(variable_of(role))]
    if missing:
        raise typer.BadParameter(f"set {', '.join(missing)}")
    try:
        asyncio.run(prepare_servers(postgres_url, nats_url, SERVICES, lambda role: os.environ[variable_of(role)]))
    except NotPreparedError as error:
        typer.echo(f"diwan prepare: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(f"databases, roles and streams of {', '.join(SERVICES)} are in place")
