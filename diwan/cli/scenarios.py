"""``diwan scenarios run``: the rules as cases."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from msgspec import to_builtins

from diwan.scenarios.format import GAMES_OF_THE_FORMAT
from diwan.scenarios.runner import Report, run_paths

app = typer.Typer(help="Run scenario files against the rules core.", no_args_is_help=True)


@app.callback()
def main() -> None:
    """Run scenario files against the rules core: no services, no database."""


@app.command()
def run(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Scenario files, or folders of .jsonl files.")],
    game: Annotated[str | None, typer.Option(help="Only scenarios of this game.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per scenario.")] = False,
) -> None:
    """Play scenarios and print every difference; exits 1 if anything failed, was unreadable, or none was found."""
    if game is not None and game not in GAMES_OF_THE_FORMAT:
        raise typer.BadParameter(f"games are {', '.join(GAMES_OF_THE_FORMAT)}", param_hint="--game")
    passed = failed = 0
    for report in run_paths(paths, game):
        passed += report.is_passed
        failed += not report.is_passed
        if as_json:
            print(_as_json(report))
        else:
            for failure in report.failures:
                print(f"{report.id}: {failure}")
    # With --json the standard output holds nothing but objects.
    closing = sys.stderr if as_json else sys.stdout
    if not passed + failed:
        print("no scenario found", file=sys.stderr)
    print(f"{passed} passed, {failed} failed", file=closing)
    if failed or not passed:
        raise typer.Exit(1)


def _as_json(report: Report) -> str:
    fields = {"id": report.id, "game": report.game, "passed": report.is_passed}
    failures = [
        {"where": each.where, "what": each.what, "expected": each.expected, "found": each.found}
        for each in report.failures
    ]
    return json.dumps({**fields, "file": report.file, "line": report.line, "failures": to_builtins(failures)})
