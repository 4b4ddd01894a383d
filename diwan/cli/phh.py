"""``diwan phh``: Poker Hand History files checked by the rules, and hands written as such files."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
import typer
from rich.console import Console

from diwan.cli.imported import SUFFIX, ImportedFile, UnreadableFileError, read_file, write_file
from diwan.cli.replay import PUBLIC, ReplayFailedError, Told, Wanted, access, over_grpc, wanted_hand
from diwan.cli.replay import show as tell_hand
from diwan.cli.running import DEFAULT_DATA, DataOption
from diwan.client import DiwanError
from diwan.core.fairness import Reveal
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandEnded, HandStarted, HoleCardsDealt
from diwan.history import Entry, hand_events, hand_steps
from diwan.history.phh import (
    Comparison,
    Export,
    NotCovered,
    PhhError,
    Verdict,
    check_hand,
    export_hand,
    read_documents,
    read_hand,
)
from diwan.wire.imported import import_hand

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


@app.command("import")
def import_(
    paths: Paths,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write to; it is made if need be.")],
) -> None:
    """Store histories as hands that can be told and verified; exits 1 if any is refused by the rules, or none was found."""
    output.mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    for path in _files(paths):
        for name, outcome in _imported(path, output):
            counts[outcome.partition(":")[0]] += 1
            print(f"{name}: {outcome}")
    stored, refused, uncovered = (counts[word] for word in ("stored", "refused", "not covered"))
    print(f"{stored} hands stored, {refused} refused, {uncovered} not covered")
    if refused or not counts:
        raise typer.Exit(1)


def _imported(path: Path, output: Path) -> Iterator[tuple[str, str]]:
    try:
        raw = path.read_bytes()
        documents = read_documents(raw.decode("utf-8"))
    except (OSError, UnicodeDecodeError, PhhError) as error:
        yield str(path), f"refused: {error}"
        return
    for document in documents:
        name = f"{path}[{document.label}]" if document.label else str(path)
        try:
            hand = read_hand(document.fields)
            made = import_hand(hand, raw, document.label, time_of(document.fields))
        except NotCovered as reason:
            yield name, f"not covered: {reason}"
        except PhhError as wrong:
            yield name, f"refused: {wrong}"
        else:
            written = write_file(output, made, path, raw, document.label, hand.variant, hand.scale)
            yield name, f"stored: {written}"


def time_of(fields: Mapping[str, Any]) -> int:
    """Return the time that a history tells, in milliseconds since the epoch; what it leaves out is the first there is."""
    clock = fields.get("time")
    hour = clock if isinstance(clock, time) else time()
    try:
        zone = ZoneInfo(str(fields.get("time_zone", "UTC")))
        day = date(*[int(fields.get(name, first)) for name, first in (("year", 1970), ("month", 1), ("day", 1))])
        return max(int(datetime.combine(day, hour, zone).timestamp() * 1000), 0)
    except (ValueError, TypeError, OverflowError, ZoneInfoNotFoundError):
        return 0


@app.command()
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An imported hand.")],
    lens: Annotated[str, typer.Option("--as", help="public, auditor, or a seat's number.")] = PUBLIC,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table.")] = False,
) -> None:
    """Tell an imported hand step by step, and what verification says of it; exits 1 unless it is verified."""
    wanted = wanted_hand(str(file), lens, "told from a file", "")
    found = _read(file)
    steps = hand_steps(found.entries, _seen(found, wanted))
    is_ended = any(isinstance(entry.event, HandEnded) for entry in found.entries)
    told = Told(found.header.hand_id, found.header.source.name, lens, is_ended, steps)
    tell_hand(told, Console(highlight=False), as_json=as_json)
    report = found.report
    verdict = f"{report.verdict}: {report.acts} acts decided again, {report.reveals} cards proved"
    print(f"{verdict} {report.detail}".rstrip() + "; imported: how it was dealt is the history's word", file=sys.stderr)
    if not report.is_verified:
        raise typer.Exit(1)


def _read(file: Path) -> ImportedFile:
    try:
        return read_file(file)
    except UnreadableFileError as error:
        typer.echo(f"diwan phh: {error}", err=True)
        raise typer.Exit(1) from None


def _seen(found: ImportedFile, wanted: Wanted) -> tuple[Reveal, ...]:
    """Return the hidden cards that the lens shows: a seat's own, or all that the history tells."""
    if wanted.lens == PUBLIC:
        return ()
    dealt = next(entry.event for entry in found.entries if isinstance(entry.event, HoleCardsDealt))
    started = next(entry.event for entry in found.entries if isinstance(entry.event, HandStarted))
    own = {seat.seat: positions for seat, positions in zip(started.seats, dealt.holdings, strict=True)}
    if wanted.seat is None:
        return found.header.hidden
    if wanted.seat not in own:
        raise typer.BadParameter(f"seat {wanted.seat} was not dealt in", param_hint="--as")
    return tuple(reveal for reveal in found.header.hidden if reveal.position in own[wanted.seat])


@app.command()
def export(
    hand: Annotated[str, typer.Argument(metavar="HAND", help="The hand's id, or the file of an imported hand.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file instead of the standard output.")
    ] = None,
    lens: Annotated[str, typer.Option("--as", help="public, auditor, or a seat's number.")] = PUBLIC,
    reason: Annotated[
        str, typer.Option(help="Why hidden cards are looked at; an auditor must say, and it is kept.")
    ] = "",
    case: Annotated[str, typer.Option(help="The case it belongs to.")] = "",
    address: Annotated[str, typer.Option(help="host:port of the table service, instead of a stack's.")] = "",
    token: Annotated[str, typer.Option(envvar="DIWAN_TOKEN", help="A token to call with, for --address.")] = "",
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Write a finished hand of hold'em or Omaha as a Poker Hand History, and say what that leaves out."""
    file = Path(hand)
    scaled: list[str] = []
    if file.suffix == SUFFIX:
        found = _read(file)
        wanted = wanted_hand(hand, lens, reason or "from a file", case)
        table, entries, extra = found.header.source.name, found.entries, _seen(found, wanted)
        scale = found.header.scale
        scaled = [f"that its source counts {scale} of these chips as one"] if scale > 1 else []
    else:
        wanted = wanted_hand(hand, lens, reason, case)
        try:
            gathered = asyncio.run(over_grpc(wanted, *access(address, token, data)))
        except (DiwanError, ReplayFailedError) as error:
            typer.echo(f"diwan phh export: {error}", err=True)
            raise typer.Exit(1) from None
        table, entries, extra = gathered.table_id, gathered.entries, gathered.extra
    try:
        made = _exported(table, entries, extra)
    except (NotCovered, PhhError) as error:
        typer.echo(f"diwan phh export: {error}", err=True)
        raise typer.Exit(1) from None
    if output is None:
        print(made.text, end="")
    else:
        output.write_text(made.text, "utf-8")
    for left_out in (*made.cannot_say, *scaled):
        print(f"not said: {left_out}", file=sys.stderr)


def _exported(table: str, entries: Sequence[Entry], extra: Iterable[Reveal]) -> Export:
    cards = {reveal.position: reveal.card for reveal in extra}
    cards |= {reveal.position: reveal.card for entry in entries for reveal in entry.reveals}
    about: dict[str, Any] = {"table": table}
    if recorded_at_ms := entries[0].recorded_at_ms:  # 0 where an imported history told no time
        began = datetime.fromtimestamp(recorded_at_ms // 1000, UTC)
        about |= {"time": began.time(), "time_zone": "UTC", "day": began.day, "month": began.month, "year": began.year}
    events = list(hand_events(entries))
    if events and isinstance(events[0], CapsaStarted):
        raise NotCovered("Capsa: the format knows games with betting alone")
    return export_hand(events, cards, about)  # type: ignore[arg-type]  # of poker, as its beginning shows
