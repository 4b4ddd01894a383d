"""``diwan register``: keys of the register, what it signed, and a damaged copy of a feed begun anew."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit, urlunsplit

import typer

from diwan.chassis import bus
from diwan.chassis.access import Role
from diwan.chassis.bus import RETENTION_SECONDS, Bus, BusError, BusUnavailable
from diwan.chassis.embedded.files import kept_secret
from diwan.chassis.embedded.nats import ADMIN
from diwan.cli.running import DEFAULT_DATA, DataOption, as_role, running_stack
from diwan.cli.stack.witness import HOUSE, log_keys
from diwan.client import DiwanClient
from diwan.client.others import Feed
from diwan.core.transparency.note import NoteMalformed
from diwan.signing.notekey import LogSecret

READY_SECONDS: Final = 10.0

app = typer.Typer(help="The register: its keys, its checkpoints, the copies of the feeds.", no_args_is_help=True)

HouseOption = Annotated[str, typer.Option(help="The house's name, as the audit's setting house_name says it.")]


@app.command("new-key")
def new_key(file: Annotated[Path, typer.Argument(help="Where to write it; nothing is replaced.")]) -> None:
    """Make a new secret of the register, readable by its owner alone."""
    try:
        LogSecret.generate().save(file)
    except FileExistsError:
        typer.echo(f"diwan register new-key: {file} is there already", err=True)
        raise typer.Exit(1) from None
    typer.echo(f"written: {file}")


@app.command("keys")
def keys(file: Annotated[Path, typer.Argument(help="The secret's file.")], house: HouseOption = HOUSE) -> None:
    """Print the public keys of a secret, one a log: for witnesses to know and for policies."""
    try:
        secret = LogSecret.load(file)
    except (OSError, NoteMalformed) as error:
        typer.echo(f"diwan register keys: {error}", err=True)
        raise typer.Exit(1) from None
    for key in log_keys(secret, house):
        print(key.text)


@app.command("policy")
def policy(data: DataOption = DEFAULT_DATA) -> None:
    """Print whom the running house says to trust (C2SP tlog-policy)."""
    print(as_role(data, "register policy", lambda client: client.audit.register_policy(), Role.AUDITOR), end="")


@app.command("checkpoint")
def checkpoint(
    feed_id: Annotated[int, typer.Argument(min=1, help="1 tables, 2 wallet, 3 tournaments, 4 bots.")],
    size: Annotated[int, typer.Option(min=0, help="0 for the newest.")] = 0,
    is_newest: Annotated[bool, typer.Option("--newest", help="Also where too few witnesses have signed.")] = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Print a signed checkpoint: keep it elsewhere, and the house can never show you another history."""
    found = as_role(
        data,
        "register checkpoint",
        lambda client: client.audit.checkpoint(feed_id, size, proved=not is_newest),
        Role.AUDITOR,
    )
    print(found.note.decode(), end="")


@app.command("rebuild-copy")
def rebuild_copy(
    service: Annotated[str, typer.Argument(help=" or ".join(bus.FEEDS))],
    nats_url: Annotated[
        str | None, typer.Option(envvar="DIWAN_NATS_URL", help="As a user who may do everything; else the stack's own.")
    ] = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Drop the bus's copy of a service's feed and begin it anew; the relay fills it again with the same numbers."""
    if service not in bus.FEEDS:
        raise typer.BadParameter(f"{service} has no feed: {' or '.join(bus.FEEDS)}")
    url = nats_url or _own_nats_url(data)
    first = as_role(data, "register rebuild-copy", lambda client: _horizon(client, service), Role.OPERATOR)
    try:
        asyncio.run(_rebuild(url, service, first))
    except (BusError, BusUnavailable) as error:
        typer.echo(f"diwan register rebuild-copy: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(f"the copy of {service} begins anew at {first}; after a fork alarm, restart the {service} service")


def _own_nats_url(data: Path) -> str:
    layout, addresses = running_stack(data)
    if not addresses.nats:
        raise typer.BadParameter("this stack has a NATS of somebody else's: name it with --nats-url")
    parts = urlsplit(addresses.nats)
    return urlunsplit(parts._replace(netloc=f"{ADMIN}:{kept_secret(layout.nats_admin_password)}@{parts.netloc}"))


async def _horizon(client: DiwanClient, service: str) -> int:
    """Return the first number that is younger than what the bus keeps: found by halving, for times rise with numbers."""
    feed = client.feed(service)
    oldest_ms = int((time.time() - RETENTION_SECONDS) * 1_000)
    low, high = 0, (await feed.read(0, limit=1)).head
    while low < high:
        middle = (low + high) // 2
        if await _recorded_at(feed, middle) >= oldest_ms:
            high = middle
        else:
            low = middle + 1
    return low + 1


async def _recorded_at(feed: Feed, after: int) -> int:
    return (await feed.read(after, limit=1)).events[0].event.recorded_at_ms


async def _rebuild(url: str, service: str, first: int) -> None:
    admin = Bus.start(url, "setup")
    try:
        await admin.ready(READY_SECONDS)
        await bus.rebuild(admin, service, first_seq=first)
    finally:
        await admin.close()
