"""``diwan export-hands``: found hands as files of other programs' formats, under names or pseudonyms."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Annotated, Any, Final, TextIO

import typer
from msgspec.structs import replace

from diwan.chassis.access import Role
from diwan.cli import find
from diwan.cli.histories.parquet import ParquetFiles, ParquetMissingError
from diwan.cli.histories.pseudonym_key import PseudonymKeyError, make_key, read_key
from diwan.cli.histories.reading import LENSES, OWN, Eyes, ReadHand, read_hand, read_hands
from diwan.cli.replay import AUDITOR, PUBLIC, ReplayFailedError, TablesOf
from diwan.cli.running import DEFAULT_DATA, DataOption, own_token, refusal_text, running_stack
from diwan.client import DiwanClient, DiwanError, connect
from diwan.core.hand.events import HandEnded, HandStarted
from diwan.history import hand_events
from diwan.history.exports import native, ohh, ohh_read, pokerstars, pokerstars_read, rows
from diwan.history.exports.pseudonyms import PLAIN, Names
from diwan.history.exports.record import NotWritable, PokerHand, poker_hand
from diwan.history.exports.times import moment
from diwan.history.phh import CANNOT_SAY, NotCovered, PhhError, export_hand

FORMATS: Final = ("phh", "ohh", "pokerstars", "jsonl", "parquet")
LIMITS: Final[Mapping[str, tuple[str, ...]]] = {
    "phh": CANNOT_SAY,
    "ohh": ohh.LIMITS,
    "pokerstars": pokerstars.LIMITS,
    "jsonl": native.LIMITS,
    "parquet": rows.LIMITS,
}
LIMITS_OF_PSEUDONYMS: Final = (
    "with pseudonyms: whoever knows a hand's moment, cards and chips from elsewhere knows whose it was",
)


class ReadBackError(Exception):
    """A text that does not say what it was written from: a fault of ours, and no file."""


def export_hands(
    hand: Annotated[
        list[str] | None, typer.Argument(metavar="[HAND]...", help="Hands by id, instead of finding them.")
    ] = None,
    form: Annotated[str, typer.Option("--format", "-f", help=", ".join(FORMATS))] = "",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file instead of the standard output; for Parquet a folder.")
    ] = None,
    lens: Annotated[str, typer.Option("--as", help="public; own: as the one --player; or auditor.")] = PUBLIC,
    reason: Annotated[
        str, typer.Option(help="Why hidden cards are looked at; an auditor must say, and it is kept.")
    ] = "",
    case: Annotated[str, typer.Option(help="The case it belongs to.")] = "",
    pseudonyms: Annotated[Path | None, typer.Option(metavar="KEYFILE", help="Pseudonyms under this key.")] = None,
    new_key: Annotated[
        Path | None, typer.Option("--new-key", metavar="KEYFILE", help="Make a key for pseudonyms, and nothing else.")
    ] = None,
    limits: Annotated[bool, typer.Option("--limits", help="Say what the format cannot say, and nothing else.")] = False,
    player: find.PlayerOption = None,
    table: find.TableOption = "",
    tournament: find.TournamentOption = "",
    game: find.GameOption = None,
    since: find.FromOption = "",
    until: find.ToOption = "",
    pot_min: find.PotMinOption = 0,
    pot_max: find.PotMaxOption = 0,
    result: find.ResultOption = None,
    flag: find.FlagOption = None,
    without: find.WithoutOption = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many hands.")] = 1000,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Write finished hands, newest first, as other programs read them. Exits 1 if none could be written."""
    if new_key is not None:
        _or_end(lambda: make_key(new_key))
        return
    if form not in FORMATS:
        raise typer.BadParameter(f"one of {', '.join(FORMATS)}", param_hint="--format")
    if limits:
        print("\n".join((*LIMITS[form], *native.LIMITS_OF_PSEUDONYMS * (form == "jsonl"), *LIMITS_OF_PSEUDONYMS)))
        return
    eyes = _eyes(lens, player or [], reason, case)
    names: Names = PLAIN if pseudonyms is None else _or_end(lambda: read_key(pseudonyms))
    sought = find.selection(
        player, table, tournament, game, since, until, pot_min, pot_max, result, flag, without, now=datetime.now(UTC)
    )
    left_out: Counter[str] = Counter()

    async def work(client: DiwanClient, tables_of: TablesOf) -> int:
        hands = _named(tables_of, hand, eyes) if hand else read_hands(client, tables_of, sought, limit, eyes, left_out)
        return await write_all(hands, form, output, names, left_out)

    count = _or_end(lambda: asyncio.run(_connected(data, work)))
    for why, times in left_out.most_common():
        print(f"not written: {why} ({times})", file=sys.stderr)
    print(f"{count} hands written", file=sys.stderr)
    if not count:
        raise typer.Exit(1)


def _eyes(lens: str, players: list[str], reason: str, case: str) -> Eyes:
    if lens not in LENSES:
        raise typer.BadParameter(", ".join(LENSES), param_hint="--as")
    if lens == OWN and len(players) != 1:
        raise typer.BadParameter("own cards are one player's: name that one with --player", param_hint="--as")
    if lens == AUDITOR and not reason:
        raise typer.BadParameter("an auditor says why: it is recorded with every opening", param_hint="--reason")
    return Eyes(lens, players[0] if lens == OWN else "", reason, case)


def _or_end[R](work: Callable[[], R]) -> R:
    try:
        return work()
    except (DiwanError, ReplayFailedError, PseudonymKeyError, ParquetMissingError, ReadBackError, OSError) as error:
        text = refusal_text(error) if isinstance(error, DiwanError) else error
        typer.echo(f"diwan export-hands: {text}", err=True)
        raise typer.Exit(1) from None


async def _connected(data: Path, work: Callable[[DiwanClient, TablesOf], Any]) -> int:
    layout, addresses = running_stack(data)
    async with connect(addresses.services, own_token(layout, "export", Role.OPERATOR)) as client:

        def tables_of(role: Role, subject: str) -> Any:
            return client.with_token(own_token(layout, subject, role)).tables

        return int(await work(client, tables_of))


async def _named(tables_of: TablesOf, hands: Iterable[str], eyes: Eyes) -> AsyncIterator[ReadHand]:
    for hand_id in hands:
        yield await read_hand(tables_of, hand_id, eyes)


async def write_all(
    hands: AsyncIterator[ReadHand], form: str, output: Path | None, names: Names, left_out: Counter[str]
) -> int:
    """Write hands in a format; returns how many, counts in ``left_out`` why others were not."""
    if form == "parquet":
        if output is None:
            raise typer.BadParameter("Parquet is three files: name a folder", param_hint="--output")
        with ParquetFiles(output) as files:
            return await _each(hands, lambda read, _: files.add(_rows(read, names)), left_out)
    write = {"phh": _phh, "ohh": _ohh, "pokerstars": _pokerstars, "jsonl": _jsonl}[form]
    with _opened(output) as file:
        return await _each(hands, lambda read, number: file.write(write(read, names, number)), left_out)


@contextmanager
def _opened(output: Path | None) -> Iterator[TextIO]:
    """Open the file: it stands under its name when it is whole, and not before."""
    if output is None:
        yield sys.stdout
        return
    draft = output.with_name(f".{output.name}.new")
    try:
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        draft.replace(output)
    finally:
        draft.unlink(missing_ok=True)


async def _each(
    hands: AsyncIterator[ReadHand], write: Callable[[ReadHand, int], object], left_out: Counter[str]
) -> int:
    count = 0
    async for read in hands:
        try:
            write(read, count + 1)
        except (NotWritable, NotCovered, PhhError) as why:
            left_out[str(why)] += 1
        else:
            count += 1
    return count


def _record(read: ReadHand, names: Names) -> PokerHand:
    if read.is_capsa:
        raise NotWritable("Capsa: the format knows games with betting alone")
    events = list(hand_events(read.entries))
    return poker_hand(events, read.cards, read.about, names, read.heroes)  # type: ignore[arg-type]  # of poker, as checked


def _ohh(read: ReadHand, names: Names, _: int) -> str:
    hand = _record(read, names)
    text = ohh.write(hand)
    if ohh_read.read(text) != ohh_read.told(hand):
        raise ReadBackError(f"hand {read.hand_id} is not read back as it was written")
    return text


def _pokerstars(read: ReadHand, names: Names, _: int) -> str:
    hand = _record(read, names)
    text = pokerstars.write(hand)
    if pokerstars_read.read(text) != pokerstars_read.told(hand):
        raise ReadBackError(f"hand {read.hand_id} is not read back as it was written")
    return text + "\n\n"


def _phh(read: ReadHand, names: Names, number: int) -> str:
    if read.is_capsa:
        raise NotWritable("Capsa: the format knows games with betting alone")
    events = [_renamed(event, names) for event in hand_events(read.entries)]
    at = moment(read.entries[0].recorded_at_ms)
    about: dict[str, Any] = {
        "table": names.table_name(read.about.table_name) or names.table(read.about.table_id),
        "time": time(at.hour, at.minute, at.second),
        "time_zone": "UTC",
        "day": at.day,
        "month": at.month,
        "year": at.year,
    }
    made = export_hand(events, read.cards, about)  # type: ignore[arg-type]  # of poker, as checked
    return f"[{number}]\n{made.text}\n"


def _renamed(event: object, names: Names) -> object:
    """Return an event with pseudonyms for its players, and without what would lead back to it."""
    match event:
        case HandStarted() if not names.is_plain:
            seats = tuple(replace(seat, player=names.player(seat.player), sitting="") for seat in event.seats)
            return replace(event, hand_id=names.hand(event.hand_id), seats=seats)
        case HandEnded() if not names.is_plain:
            return replace(event, digest=b"")
        case _:
            return event


def _jsonl(read: ReadHand, names: Names, _: int) -> str:
    lines = native.hand_lines(
        read.gathered.stored, read.entries, read.gathered.extra, read.about, names, hand_id=read.hand_id
    )
    return "".join(f"{line}\n" for line in lines)


def _rows(read: ReadHand, names: Names) -> rows.HandRows:
    return rows.hand_rows(read.entries, read.cards, read.about, names)
