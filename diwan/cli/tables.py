"""``diwan tables``: open, list and close tables, and list hands, over the public contract."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Final

import typer
from rich.cells import cell_len

from diwan.chassis.access import Role
from diwan.cli.running import DEFAULT_DATA, DataOption, as_role, first, program
from diwan.client import DiwanClient

GAMES: Final = ("holdem", "omaha", "naiko", "sarab", "capsa")

app = typer.Typer(help="Open, list and close tables; list hands.", no_args_is_help=True)

JsonOption = Annotated[bool, typer.Option("--json", help="JSON, an object a line.")]


def as_operator[R](data: DataOption, command: str, work: Callable[[DiwanClient], Coroutine[Any, Any, R]]) -> R:
    """Do something as the operator of the stack in a data directory; a refusal ends the command with its reason."""
    return as_role(data, command, work, Role.OPERATOR)


@app.command("open")
def open_table(
    name: Annotated[str, typer.Argument(help="The name shown in the lobby.")],
    game: Annotated[str, typer.Option(help=" or ".join(GAMES))] = GAMES[0],
    small_blind: Annotated[int, typer.Option(min=1, help="Chips.")] = 5,
    big_blind: Annotated[int, typer.Option(min=1, help="Chips; in Sarab the forced bet.")] = 10,
    unit: Annotated[int, typer.Option(min=1, help="Capsa: chips a unit.")] = 10,
    seats: Annotated[int, typer.Option(min=2, max=9, help="In Capsa at most 4.")] = 6,
    bots: Annotated[int, typer.Option(min=0, max=9, help="Bots fill empty seats up to so many players.")] = 0,
    pot_limit: Annotated[bool, typer.Option(help="Pot-limit where the game is no-limit by itself.")] = False,
    decision_seconds: Annotated[int, typer.Option(min=1, help="The decision clock.")] = 20,
    is_match: Annotated[
        bool, typer.Option("--match", help="A match of Sarab to its last player, with coins instead of chips.")
    ] = False,
    entry: Annotated[int, typer.Option(min=0, help="What entering the match costs; the winner takes the entries.")] = 0,
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Open a table; prints its id."""
    if game not in GAMES:
        raise typer.BadParameter(f"{game} is not played here: {', '.join(GAMES)}", param_hint="--game")
    if game == "capsa":
        config = {"name": name, "capsa": {"unit": unit}, "seats": min(seats, 4), "bots_fill": min(bots, 4)}
        _open(data, config, as_json=as_json)
        return
    hand: dict[str, Any] = {"game": "sarab", "decision_seconds": decision_seconds}
    if not is_match:
        hand |= {"game": game, "big_blind": big_blind}
    if not is_match and game != "sarab":
        hand["small_blind"] = small_blind
    if pot_limit:
        hand["limit"] = "pot_limit"
    config = {"name": name, "hand": hand, "seats": seats, "bots_fill": bots}
    if is_match:
        config |= {"chips": "CHIP_SOURCE_MATCH", "match": {"entry_fee": entry}}
    _open(data, config, as_json=as_json)


def _open(data: DataOption, config: dict[str, Any], *, as_json: bool) -> None:
    table = as_operator(data, "tables open", lambda client: client.tables.create(config))
    print(json.dumps({"table": table.table_id, "name": config["name"]}) if as_json else table.table_id)


@app.command("list")
def list_tables(as_json: JsonOption = False, data: DataOption = DEFAULT_DATA) -> None:
    """List open tables with who sits there."""

    async def work(client: DiwanClient) -> list[Any]:
        return [table async for table in client.tables.open_tables()]

    tables = as_operator(data, "tables list", work)
    if not tables and not as_json:
        print(f"No table is open. Open one with: {program()} tables open NAME --bots 4")
    longest = max([16, *(cell_len(table.config.name) for table in tables)])
    for table in tables:
        game, stakes = _game(table.config), _stakes(table.config)
        players = [seat.display_name or seat.player for seat in table.seats]
        if as_json:
            line = {
                "table": table.table_id,
                "name": table.config.name,
                "game": game,
                "stakes": stakes,
            }
            print(json.dumps(line | {"players": players}, ensure_ascii=False))
        else:
            gap = " " * (longest - cell_len(table.config.name))
            what = f"{table.config.name}{gap} {game:<8} {stakes:<9}"
            print(f"{table.table_id}  {what} {len(players)} of {table.config.seats} seats")
            print(f"    {', '.join(players) or 'nobody yet'}")


def _game(config: Any) -> str:
    return str(config.capsa.game if config.HasField("capsa") else config.hand.game)


def _stakes(config: Any) -> str:
    if config.HasField("capsa"):
        return f"{config.capsa.unit} a unit"
    hand = config.hand
    return f"{hand.small_blind}/{hand.big_blind}" if hand.small_blind else str(hand.big_blind)


@app.command("close")
def close_table(table: Annotated[str, typer.Argument(help="The table's id.")], data: DataOption = DEFAULT_DATA) -> None:
    """End a table after its running hand; everybody's chips go home."""
    as_operator(data, "tables close", lambda client: client.tables.close(table))
    print("closing after the running hand")


@app.command("hands")
def list_hands(
    table: Annotated[str, typer.Option(help="Only hands of this table.")] = "",
    player: Annotated[str, typer.Option(help="Only hands of this player.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """List hands, newest first; `diwan replay HAND` tells one."""

    async def work(client: DiwanClient) -> list[Any]:
        return await first(limit, client.tables.hands(table_id=table, player=player, page_size=min(limit, 500)))

    hands = as_operator(data, "tables hands", work)
    if not hands and not as_json:
        print("No such hand has been dealt yet.")
    for hand in hands:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(hand.started_at_ms / 1000))
        is_running = hand.last_version == 0
        if as_json:
            line = {"hand": hand.hand_id, "table": hand.table_id, "no": hand.hand_no, "started": when, "pot": hand.pot}
            print(json.dumps(line | {"is_running": is_running, "players": list(hand.players)}, ensure_ascii=False))
        else:
            state = "running" if is_running else f"pot {hand.pot}"
            print(f"{hand.hand_id}  {when} UTC  no. {hand.hand_no:<5} {state:<12} {', '.join(hand.players)}")
