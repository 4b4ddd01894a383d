"""``diwan phh``: Poker Hand History files checked by the rules, and hands written as such files."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from diwan.history.phh import Comparison, PhhError, Verdict, check_hand, read_documents

app = typer.Typer(help="Poker Hand History files (.phh, .phhs).", no_args_is_help=True)

_SUFFIXES = (".phh", ".phhs")
Paths = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files, or folders of .phh and .phhs files.")]


@app.callback()
def main() -> None:
    """Poker Hand History files (.phh, .phhs): no services, no database."""


@app.command()
def check(
    paths: Paths,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per hand.")] = False,
) -> None:
    """Replay histories through the rules and compare stacks and winners; exits 1 if any differs or none was found."""
    counts: Counter[Verdict] = Counter()
    reasons: Counter[str] = Counter()
    for name, found in _compared(paths):
        counts[found.verdict] += 1
        if as_json:
            print(json.dumps({"hand": name, **msgspec.to_builtins(found)}))
        elif found.verdict is Verdict.DIFFERS:
            print(f"{name}: {_difference(found)}")
        elif found.verdict is Verdict.NOT_COVERED:
            reasons[found.what] += 1
    for reason, count in reasons.most_common():
        print(f"not covered: {reason} ({count})")
    agree, differ, uncovered = (counts[verdict] for verdict in Verdict)
    # With --json the standard output holds nothing but objects.
    closing = sys.stderr if as_json else sys.stdout
    if not counts:
        print("no hand found", file=sys.stderr)
    print(f"{agree} hands agree, {differ} differ, {uncovered} not covered", file=closing)
    if differ or not counts:
        raise typer.Exit(1)


def _compared(paths: Sequence[Path]) -> Iterator[tuple[str, Comparison]]:
    for path in _files(paths):
        try:
            documents = read_documents(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, PhhError) as error:
            yield str(path), Comparison(Verdict.DIFFERS, what=f"cannot be read: {error}")
            continue
        for document in documents:
            name = f"{path}[{document.label}]" if document.label else str(path)
            yield name, check_hand(document.fields)


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the files that were named, and those of the format in folders, in order of their names."""
    for path in paths:
        if path.is_dir():
            yield from sorted(one for one in path.rglob("*") if one.suffix in _SUFFIXES and one.is_file())
        else:
            yield path


def _difference(found: Comparison) -> str:
    where = f"{found.where}: " if found.where else ""
    sides = f", history {found.expected}, rules {found.found}" if found.expected else ""
    return f"{where}{found.what}{sides}"
