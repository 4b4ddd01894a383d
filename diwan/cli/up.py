"""``diwan up``: the whole house until Ctrl-C."""

from __future__ import annotations

import shlex
import signal
import threading
from types import FrameType
from typing import Annotated

import typer

from diwan.chassis.access import Role
from diwan.chassis.embedded.process import EmbeddedError
from diwan.cli.running import DEFAULT_DATA, DataOption, program
from diwan.cli.stack.prepare import NotPreparedError
from diwan.cli.stack.stack import Stack, print_report


def up(
    data: DataOption = DEFAULT_DATA,
    postgres_url: Annotated[
        str | None, typer.Option(envvar="DIWAN_POSTGRES_URL", help="A PostgreSQL server, as a superuser.")
    ] = None,
    nats_url: Annotated[
        str | None, typer.Option(envvar="DIWAN_NATS_URL", help="A NATS server, as a user who may do everything.")
    ] = None,
) -> None:
    """Run every service until Ctrl-C, on embedded PostgreSQL and NATS unless others are named. Data is kept."""
    stop = threading.Event()

    def stop_asked(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    stack = Stack(data, report=print_report, postgres_url=postgres_url, nats_url=nats_url)
    try:
        stack.start()
    except (EmbeddedError, NotPreparedError, OSError) as error:
        typer.echo(f"diwan up: {error}", err=True)
        if isinstance(error, OSError):
            typer.echo(f"{program()} doctor --data {shlex.quote(str(data))} looks for the reason.", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop_asked)
        _say_where(stack)
        stop.wait()
        typer.echo("stopping ...")
    finally:
        stack.stop()


def _say_where(stack: Stack) -> None:
    typer.echo(f"\nThe house is open. Data: {stack.layout.root}")
    for service, address in stack.places.services.items():
        typer.echo(f"  {service:<10} gRPC {address:<22} metrics http://{stack.places.metrics[service]}/metrics")
    typer.echo(f"Whom to trust of the register: {stack.layout.register_policy}")
    typer.echo("\nTokens for development (send as `authorization: Bearer TOKEN`):")
    for role in (Role.OPERATOR, Role.BACKEND, Role.PLAYER, Role.AUDITOR):
        typer.echo(f"  {role.value:<8} {stack.token(f'dev-{role.value}', role)}")
    typer.echo(f"\nMore of them: {program()} token NAME --role player. Stop with Ctrl-C.")
