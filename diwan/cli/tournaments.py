"""``diwan tournaments``: find, announce, enter, watch and run tournaments of a running stack."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

import typer
from google.protobuf.json_format import MessageToDict

from diwan.chassis.access import Role
from diwan.cli.play.words import BETTING_GAMES
from diwan.cli.running import DEFAULT_DATA, DataOption, as_role, first, program
from diwan.client import DiwanClient
from diwan.client.tournaments import Conditions, TournamentEntry, TournamentView

app = typer.Typer(help="Find, announce, enter, watch and run tournaments.", no_args_is_help=True)

JsonOption = Annotated[bool, typer.Option("--json", help="JSON, one object a line.")]
TournamentArgument = Annotated[str, typer.Argument(help="The tournament's id.")]
ReasonOption = Annotated[str, typer.Option(help="Why; kept for ever.")]
SHARES_SHOWN = 10
KINDS = ("sit_and_go", "spin", "scheduled")


def as_operator(data: DataOption, command: str, work: Any) -> Any:
    """Do something as the house."""
    return as_role(data, f"tournaments {command}", work, Role.OPERATOR)


def _print_json(message: Any) -> None:
    print(json.dumps(MessageToDict(message, preserving_proto_field_name=True), ensure_ascii=False))


@app.command("templates")
def list_templates(as_json: JsonOption = False, data: DataOption = DEFAULT_DATA) -> None:
    """List the templates that `create` takes."""
    for template in as_operator(data, "templates", lambda client: client.tournaments.templates()):
        if as_json:
            _print_json(template)
        else:
            print(f"{template.name:<20} {_summary(template.conditions)}")


@app.command("create")
def create(
    template: Annotated[str, typer.Argument(help="A template's name; `templates` lists them.")],
    name: Annotated[str, typer.Option(help="The name in the lobby; the template's where left out.")] = "",
    starts_in: Annotated[int, typer.Option(min=0, help="Of a scheduled one: seconds from now to the start.")] = 0,
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Announce a tournament; prints its id."""
    starts_at = int(time.time() * 1000) + starts_in * 1000 if starts_in else 0

    async def work(client: DiwanClient) -> TournamentView:
        return (await client.tournaments.create(template, name=name, starts_at_ms=starts_at)).tournament

    view = as_operator(data, "create", work)
    if as_json:
        _print_json(view)
    else:
        print(view.tournament_id)


@app.command("list")
def list_tournaments(
    kind: Annotated[str, typer.Option(help="Only sit_and_go, spin or scheduled.")] = "",
    game: Annotated[str, typer.Option(help="Only this game.")] = "",
    is_all: Annotated[bool, typer.Option("--all", help="Also those that are over.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """List tournaments, newest first."""
    for given, known, option in ((kind, KINDS, "--kind"), (game, BETTING_GAMES, "--game")):
        if given and given not in known:
            raise typer.BadParameter(f"{given} is none of {', '.join(known)}", param_hint=option)
    phases = ("announced", "registering", "seating", "playing", "paying", "finished") if is_all else ()
    wanted: dict[str, Any] = {"kinds": [kind] if kind else [], "games": [game] if game else [], "phases": phases}

    async def work(client: DiwanClient) -> list[TournamentEntry]:
        return await first(limit, client.tournaments.found(page_size=min(limit, 100), **wanted))

    entries = as_operator(data, "list", work)
    if not entries and not as_json and (kind or game):
        print("No tournament fits.")
    elif not entries and not as_json:
        print(f"No tournament is announced. Announce one with: {program()} tournaments create sit_and_go_6")
    for entry in entries:
        if as_json:
            _print_json(entry)
        else:
            field = f"{entry.players_left} of {entry.entries} left" if entry.phase == "playing" else _field(entry)
            print(f"{entry.tournament_id}  {entry.name:<16} {entry.phase:<12} {field:<18} pool {entry.pool}")
            print(f"    {_summary(entry.conditions)}")


def _field(entry: TournamentEntry) -> str:
    return f"{entry.entries} of {entry.conditions.players_max} entered"


@app.command("show")
def show(tournament: TournamentArgument, as_json: JsonOption = False, data: DataOption = DEFAULT_DATA) -> None:
    """Show a tournament: its conditions, how it stands, and who stands where."""

    async def work(client: DiwanClient) -> Any:
        found = await client.tournaments.get(tournament)
        return found, [each async for each in client.tournaments.standings(tournament)]

    found, standings = as_operator(data, "show", work)
    if as_json:
        _print_json(found)
        for standing in standings:
            _print_json(standing)
        return
    print(f"{found.tournament.name}: {_summary(found.conditions)}")
    for line in _terms(found.conditions):
        print(f"  {line}")
    print(f"{found.tournament.phase}; {_standing_line(found.tournament)}")
    for standing in standings:
        place = f"{standing.place}." if standing.place else ""
        prize = f"  prize {standing.prize}" if standing.prize else ""
        print(f"  {place:<6}{standing.player:<24} {standing.status:<11} {standing.stack or ''}{prize}")


def _summary(conditions: Conditions) -> str:
    bots = f", bots up to {conditions.bots_up_to}" if conditions.has_bots else ", no bots"
    price = f"{conditions.entry}+{conditions.fee}" if conditions.fee else str(conditions.entry)
    low, high = conditions.players_min, conditions.players_max
    field = f"{high} players" if low == high else f"{low} to {high} players"
    return f"{conditions.kind} of {conditions.game}, entry {price}, {field}, stack {conditions.starting_stack}{bots}"


def _terms(conditions: Conditions) -> list[str]:
    """Return what may be won, how likely, and how fast it goes."""
    lines = []
    for line in conditions.multipliers:
        shares = "/".join(f"{share / 1000:g}" for share in line.shares)
        lines.append(f"{line.times}x: {line.weight} of {line.weights}, pool {line.pool}, split {shares} %")
    least = max(
        (each.entries_min for each in conditions.payouts if each.entries_min <= conditions.players_min), default=0
    )
    for payout in conditions.payouts:
        if not least <= payout.entries_min <= conditions.players_max:
            continue  # A field of that size there cannot be.
        shares = ", ".join(f"{share / 1000:g}" for share in payout.shares[:SHARES_SHOWN])
        more = f" ... ({len(payout.shares)} places)" if len(payout.shares) > SHARES_SHOWN else ""
        lines.append(f"prizes from {payout.entries_min} entries on: {shares} % of the pool{more}")
    levels = conditions.ladder.levels
    shown = ", ".join(f"{level.small_blind}/{level.big_blind}" for level in levels[:6])
    length = f"{levels[0].duration_ms / 60_000:g} min" if levels[0].duration_ms else f"{levels[0].hands} hands"
    lines.append(f"levels of {length}: {shown}{', ...' if len(levels) > 6 else ''}")
    if conditions.entries.late_levels:
        lines.append(f"entries until the end of level {conditions.entries.late_levels}")
    return lines


def _standing_line(view: TournamentView) -> str:
    parts = [_count(view.entries, "entry", "entries")]
    if view.tables:
        parts.append(f"{view.players_left} left at {_count(view.tables, 'table', 'tables')}")
    parts.append(f"pool {view.pool}")
    if view.multiplier:
        parts.append(f"multiplier {view.multiplier}x")
    if view.level.level_no:
        level = view.level
        blinds = f"{level.small_blind}/{level.big_blind}" + (f" ante {level.ante}" if level.ante else "")
        parts.append(f"level {level.level_no} ({blinds})" + (", break" if level.is_break else ""))
    if view.is_hand_for_hand:
        parts.append("hand for hand")
    if view.is_paused:
        parts.append("paused")
    return ", ".join(parts)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


@app.command("register")
def register(
    tournament: TournamentArgument,
    player: Annotated[str, typer.Option(help="Who enters.")],
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Enter a player; the account is opened where there is none."""

    async def work(client: DiwanClient) -> Any:
        await client.wallet.open_account()
        return (await client.tournaments.register(tournament)).own

    own = as_role(data, "tournaments register", work, Role.PLAYER, subject=player)
    if as_json:
        _print_json(own)
    else:
        print(f"{player}: {own.status}")
        print(f"To play: {program()} play --tournament {tournament} --name {player}")


@app.command("watch")
def watch(
    tournament: TournamentArgument,
    player: Annotated[str, typer.Option(help="Follow this player's seat as well.")] = "",
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Follow a tournament to its end."""

    async def work(client: DiwanClient) -> None:
        async with client.tournaments.watch(tournament) as story:
            async for message in story:
                if as_json:
                    _print_json(message)
                elif message.WhichOneof("message") == "own":
                    print(f"  you: {_own_line(message.own)}")
                elif message.update.HasField("view"):
                    print(f"{message.update.view.phase}: {_standing_line(message.update.view)}")

    if player:
        as_role(data, "tournaments watch", work, Role.PLAYER, subject=player)
    else:
        as_operator(data, "watch", work)


def _own_line(own: Any) -> str:
    if own.table_id:
        return f"table {own.table_no} ({own.table_id}), seat {own.seat}, {own.stack} chips"
    if own.is_moving:
        return f"on the way to table {own.moving_to} with {own.stack} chips"
    place = f", place {own.place}" if own.place else ""
    return f"{own.status}{place}" + (f", prize {own.prize}" if own.prize else "")


@app.command("cancel")
def cancel(tournament: TournamentArgument, reason: ReasonOption, data: DataOption = DEFAULT_DATA) -> None:
    """Call a tournament off: before play everything goes back, afterwards by the published policy."""
    as_operator(data, "cancel", lambda client: client.tournaments.cancel(tournament, reason))
    print("called off; what everybody is due is on its way")


@app.command("pause")
def pause(tournament: TournamentArgument, reason: ReasonOption, data: DataOption = DEFAULT_DATA) -> None:
    """Start no new hand and let the clock stand."""
    as_operator(data, "pause", lambda client: client.tournaments.pause(tournament, reason))
    print("paused after the running hands")


@app.command("resume")
def resume(tournament: TournamentArgument, reason: ReasonOption, data: DataOption = DEFAULT_DATA) -> None:
    """Go on."""
    as_operator(data, "resume", lambda client: client.tournaments.resume(tournament, reason))
    print("goes on")


@app.command("remove")
def remove(
    tournament: TournamentArgument,
    player: Annotated[str, typer.Argument(help="Who is taken out.")],
    reason: ReasonOption,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Take a player out; the chips leave play."""
    as_operator(data, "remove", lambda client: client.tournaments.remove(tournament, player, reason))
    print(f"{player} is taken out after the hand")
