"""How a sub-command finds the stack that it speaks to."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from diwan.chassis.access import Role
from diwan.chassis.keys import SigningKey
from diwan.cli.stack.layout import SERVICES, Addresses, Layout
from diwan.client import DiwanClient, DiwanError, connect

DEFAULT_DATA: Final = Path(".data")

DataOption = Annotated[
    Path, typer.Option("--data", envvar="DIWAN_DATA", help="The data directory of the stack.", show_default=True)
]


def program() -> str:
    """Return how this program was called: ``./run`` says so for itself, since nothing else is on a newcomer's PATH."""
    return os.environ.get("DIWAN_PROGRAM", "diwan")


async def first[Item](limit: int, items: AsyncIterator[Item]) -> list[Item]:
    """Return the first items, at most so many."""
    found: list[Item] = []
    async for item in items:
        found.append(item)
        if len(found) == limit:
            break
    return found


def refusal_text(error: DiwanError) -> str:
    """Return a refusal for a person: the sentence, which has the facts in it, then the reason for programs."""
    return f"{error.message} ({error.reason})" if error.message else str(error)


def running_stack(data: Path) -> tuple[Layout, Addresses]:
    """Return the stack that runs in a data directory; ends the command with a clear word where none does."""
    layout = Layout(data)
    addresses = layout.read_addresses()
    if addresses is None:
        raise typer.BadParameter(
            f"no stack runs in {layout.root}: start one with `{program()} up`, or name where it is (--data, DIWAN_DATA)",
            param_hint="--data",
        )
    return layout, addresses


def own_token(layout: Layout, subject: str, role: Role, *, seconds: int = 3600) -> str:
    """Return a token of the stack's own key: whoever can read the key file runs the stack."""
    if not layout.signing_key.exists():
        raise typer.BadParameter(f"{layout.root} holds no signing key: start a stack there first", param_hint="--data")
    return SigningKey.load(layout.signing_key).mint(subject, role, list(SERVICES), seconds=seconds)


def as_role[R](
    data: Path,
    command: str,
    work: Callable[[DiwanClient], Coroutine[Any, Any, R]],
    role: Role,
    *,
    subject: str = "cli",
) -> R:
    """Do something under a role in the stack of a data directory; a refusal ends the command with its reason."""

    async def connected() -> R:
        layout, addresses = running_stack(data)
        async with connect(addresses.services, own_token(layout, subject, role)) as client:
            return await work(client)

    try:
        return asyncio.run(connected())
    except DiwanError as error:
        typer.echo(f"diwan {command}: {refusal_text(error)}", err=True)
        raise typer.Exit(1) from None
