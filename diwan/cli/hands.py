"""``diwan hands``: a player's own hands, listed, or one told step by step as the player's seat saw it."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Annotated, Any

import typer
from rich.console import Console

from diwan.chassis.access import Role
from diwan.cli.replay import ReplayFailedError, Told, access, read_entries, show, verified
from diwan.cli.running import DEFAULT_DATA, DataOption, first, refusal_text
from diwan.client import DiwanError, connect
from diwan.client.tables import MyHand, Tables
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandStarted
from diwan.history import hand_steps
from diwan.wire.mapping import read_reveals


def hands(
    hand: Annotated[str, typer.Argument(help="A hand's id, to be told; left out, own hands are listed.")] = "",
    name: Annotated[str, typer.Option(help="Your player id.")] = "guest",
    table: Annotated[str, typer.Option(help="Only hands of this table.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
    address: Annotated[str, typer.Option(help="host:port of the table service, instead of a stack's.")] = "",
    token: Annotated[str, typer.Option(envvar="DIWAN_TOKEN", help="A token to call with, for --address.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="JSON, an object a line.")] = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """List your own hands, newest first; with HAND, tell that one with your own cards."""

    async def run() -> None:
        where, token_of = access(address, token, data)
        async with connect(where, token_of(Role.PLAYER, name)) as client:
            if hand:
                show(await told(client.tables, hand), Console(highlight=False), as_json=as_json)
            else:
                await _list(client.tables, table, limit, as_json=as_json)

    try:
        asyncio.run(run())
    except (DiwanError, ReplayFailedError) as error:
        typer.echo(f"diwan hands: {refusal_text(error) if isinstance(error, DiwanError) else error}", err=True)
        raise typer.Exit(1) from None


async def told(tables: Tables, hand_id: str) -> Told:
    """Read an own hand, and tell it once its chain and every own card hold; raises `ReplayFailedError`."""
    found = await tables.my_hand(hand_id)
    entries = read_entries([step.event for step in found.steps])
    started = next((entry.event for entry in entries if isinstance(entry.event, HandStarted | CapsaStarted)), None)
    if started is None:
        raise ReplayFailedError(f"the answer holds no beginning of hand {hand_id}")
    own = verified(started, read_reveals(found.reveals))
    return Told(hand_id, found.table_id, str(found.seat), found.is_ended, hand_steps(entries, own))


async def _list(tables: Tables, table_id: str, limit: int, *, as_json: bool) -> None:
    found = await first(limit, tables.my_hands(table_id=table_id, page_size=min(limit, 500)))
    for hand in found:
        print(json.dumps(as_builtins(hand), ensure_ascii=False) if as_json else _line(hand))
    if not found and not as_json:
        print("You have not been dealt into a hand yet.")


def as_builtins(hand: MyHand) -> dict[str, Any]:
    """Return a line as JSON has it."""
    return {
        "hand": hand.hand_id,
        "table": hand.table_id,
        "no": hand.hand_no,
        "game": hand.game,
        "started": _when(hand),
        "seat": hand.seat,
        "net": hand.net if hand.is_ended else None,
        "pot": hand.pot,
        "is_running": not hand.is_ended,
        "players": list(hand.players),
    }


def _line(hand: MyHand) -> str:
    net = f"{hand.net:+}" if hand.is_ended else "running"
    others = ", ".join(hand.players)
    return f"{hand.hand_id}  {_when(hand)} UTC  {hand.game:<7} seat {hand.seat}  {net:>9}  pot {hand.pot:<7} {others}"


def _when(hand: MyHand) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(hand.started_at_ms / 1000))
