"""``diwan find``: hands by who played, where, when, for how much, and what was unusual about them."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import typer

from diwan.chassis.access import Role
from diwan.cli.running import DEFAULT_DATA, DataOption, as_role
from diwan.client import DiwanClient
from diwan.client.others import Audit, FoundHand

FLAGS: Final = ("void", "clock", "operator", "interrupted", "powers", "all-in", "refusals", "looked-at", "bots-only")
RESULTS: Final = ("uncontested", "showdown", "void")
VERDICTS: Final = ("", "verified", "not verified", "cannot say")
CHIPS: Final = ("", "wallet", "match", "tournament")
PAGE_HANDS: Final = 500

_AGO: Final = re.compile(r"([0-9]{1,6})([smhdw])").fullmatch
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

PlayerOption = Annotated[list[str] | None, typer.Option("--player", help="Dealt in; again for hands of several.")]
TableOption = Annotated[str, typer.Option(help="At this table.")]
TournamentOption = Annotated[str, typer.Option(help="In this tournament.")]
GameOption = Annotated[list[str] | None, typer.Option("--game", help="Of this game; again for others too.")]
FromOption = Annotated[
    str, typer.Option("--from", help="Begun since: 2026-11-30, 2026-11-30T14:05, or 90m, 3d ago. UTC.")
]
ToOption = Annotated[str, typer.Option("--to", help="Begun before, likewise.")]
PotMinOption = Annotated[int, typer.Option(min=0, help="Chips played for, at least.")]
PotMaxOption = Annotated[int, typer.Option(min=0, help="At most.")]
ResultOption = Annotated[
    list[str] | None, typer.Option("--result", help=f"{', '.join(RESULTS)}; again for others too.")
]
FlagOption = Annotated[list[str] | None, typer.Option("--flag", help=f"{', '.join(FLAGS)}; again: all of them.")]
WithoutOption = Annotated[list[str] | None, typer.Option("--without", help="None of these flags.")]


def find(
    player: PlayerOption = None,
    table: TableOption = "",
    tournament: TournamentOption = "",
    game: GameOption = None,
    since: FromOption = "",
    until: ToOption = "",
    pot_min: PotMinOption = 0,
    pot_max: PotMaxOption = 0,
    result: ResultOption = None,
    flag: FlagOption = None,
    without: WithoutOption = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="JSON, an object a line.")] = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Find hands, newest first; all conditions must hold. `diwan replay HAND` tells one."""
    sought = selection(
        player, table, tournament, game, since, until, pot_min, pot_max, result, flag, without, now=datetime.now(UTC)
    )

    async def work(client: DiwanClient) -> int:
        count = 0
        async for hand in found(client.audit, sought, limit):
            print(json.dumps(as_builtins(hand), ensure_ascii=False) if as_json else line(hand))
            count += 1
        return count

    if not as_role(data, "find", work, Role.OPERATOR) and not as_json:
        print("No hand fits.")


def selection(
    player: list[str] | None,
    table: str,
    tournament: str,
    game: list[str] | None,
    since: str,
    until: str,
    pot_min: int,
    pot_max: int,
    result: list[str] | None,
    flag: list[str] | None,
    without: list[str] | None,
    *,
    now: datetime,
) -> dict[str, Any]:
    """Return the fields of a HandFilter; ends the command at a word that is none."""
    return {
        "players": player or [],
        "table_id": table,
        "tournament_id": tournament,
        "games": game or [],
        "from_ms": moment(since, now, "--from"),
        "to_ms": moment(until, now, "--to"),
        "pot_min": pot_min,
        "pot_max": pot_max,
        "results": _names(result, RESULTS, "HAND_RESULT_", "--result"),
        "flags": _names(flag, FLAGS, "HAND_FLAG_", "--flag"),
        "without_flags": _names(without, FLAGS, "HAND_FLAG_", "--without"),
    }


def moment(text: str, now: datetime, option: str) -> int:
    """Return milliseconds since the epoch for a date, a time or how long ago; 0 for no text."""
    if not text:
        return 0
    if (ago := _AGO(text)) is not None:
        at = now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    else:
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is no date, time or span such as 3d", param_hint=option) from None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(int(at.timestamp() * 1000), 0)


def _names(words: list[str] | None, known: tuple[str, ...], prefix: str, option: str) -> list[str]:
    for word in words or []:
        if word not in known:
            raise typer.BadParameter(f"{word!r} is none of {', '.join(known)}", param_hint=option)
    return [prefix + word.replace("-", "_").upper() for word in words or []]


async def found(audit: Audit, sought: dict[str, Any], limit: int) -> AsyncIterator[FoundHand]:
    """Iterate over hands that fit, at most so many; says on the standard error what the index lacks yet."""
    token, left, is_told = "", limit, False
    while True:
        page = await audit.find_page(sought, page_size=min(left, PAGE_HANDS), page_token=token)
        if page.waiting and not is_told:
            is_told = True
            print(f"{page.waiting} ended hands cannot be found yet: the index is being made", file=sys.stderr)
        for hand in page.hands:
            yield hand
        left -= len(page.hands)
        token = page.next_page_token
        if left <= 0 or not token:
            return


def as_builtins(hand: FoundHand) -> dict[str, Any]:
    """Return a found hand as JSON has it."""
    return {
        "hand": hand.hand_id,
        "table": hand.table_id,
        "table_name": hand.table_name,
        "tournament": hand.tournament_id or None,
        "no": hand.hand_no,
        "game": hand.game,
        "limit": hand.bet_limit or None,
        "stake": hand.stake,
        "chips": CHIPS[hand.chips] or None,
        "started": when(hand.started_at_ms),
        "ended": when(hand.ended_at_ms),
        "result": RESULTS[hand.result - 1],
        "pot": hand.pot,
        "flags": [FLAGS[number - 1] for number in hand.flags],
        "verdict": VERDICTS[hand.verdict] or None,
        "seats": [{"seat": each.seat, "player": each.player, "payoff": each.payoff} for each in hand.seats],
    }


def line(hand: FoundHand) -> str:
    """Return a found hand as a line for people."""
    flags = ", ".join(FLAGS[number - 1] for number in hand.flags)
    players = ", ".join(f"{each.player} {each.payoff:+}" for each in hand.seats)
    told = f"  [{flags}]" if flags else ""
    return (
        f"{hand.hand_id}  {when(hand.started_at_ms)} UTC  {hand.game:<7} {RESULTS[hand.result - 1]:<11}"
        f" pot {hand.pot:<8} {players}{told}"
    )


def when(at_ms: int) -> str:
    """Return a time in UTC, to the second."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at_ms / 1000))
