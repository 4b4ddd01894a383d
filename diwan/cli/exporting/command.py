"""``diwan export``: a hand, a table, a day or a tournament as one file that anybody can check offline."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from diwan.chassis.access import Role
from diwan.cli.exporting.gathering import NotReadyError, Wanted, gather
from diwan.cli.running import DEFAULT_DATA, DataOption, own_token, refusal_text, running_stack
from diwan.cli.verify import text_of
from diwan.client import DiwanClient, DiwanError, connect
from diwan.core.transparency.note import NoteMalformed
from diwan.core.transparency.policy import parse_policy
from diwan.verifier.bundle import verify_bundle
from diwan.verifier.report import Verdict

PUBLIC: Final = "public"
AUDITOR: Final = "auditor"
DAY_MS: Final = 86_400_000
HANDS_MAX: Final = 100_000


def export(
    hand: Annotated[str, typer.Argument(help="The hand's id; left out with --table, --day or --tournament.")] = "",
    lens: Annotated[str, typer.Option("--as", help="public, auditor, or a seat's number.")] = PUBLIC,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file; else named after what is in it.")
    ] = None,
    table: Annotated[str, typer.Option(help="All hands of this table.")] = "",
    day: Annotated[str, typer.Option(help="All hands that began on this day (UTC), such as 2026-11-30.")] = "",
    tournament: Annotated[str, typer.Option(help="All hands of this tournament.")] = "",
    reason: Annotated[
        str, typer.Option(help="Why hidden cards are looked at; an auditor must say, and it is kept.")
    ] = "",
    case: Annotated[str, typer.Option(help="The case it belongs to.")] = "",
    since: Annotated[
        list[Path] | None,
        typer.Option(help="An older checkpoint that you have: the bundle shows what grew from it.", exists=True),
    ] = None,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for a proof that is not there yet.")] = 10.0,
    address: Annotated[str, typer.Option(help="host:port of the table service, instead of a stack's.")] = "",
    audit: Annotated[str, typer.Option(help="host:port of the audit, with --address.")] = "",
    token: Annotated[str, typer.Option(envvar="DIWAN_TOKEN", help="A token to call with, for --address.")] = "",
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Write one file that holds hands, their place in the register and what the wallet posted for them.

    Anybody checks it with `diwan verify`, offline. It shows no card that the lens does not see.
    """
    wanted = _wanted(hand, lens, table, day, tournament, reason, case, since or [], wait)
    if wanted.seat is not None and not (reason or token):
        raise typer.BadParameter("who is not that player says why: it is recorded", param_hint="--reason")
    try:
        path, count, holds = asyncio.run(_export(wanted, output, *_access(address, audit, token, data)))
    except (DiwanError, NotReadyError, NoteMalformed) as error:
        typer.echo(f"diwan export: {refusal_text(error) if isinstance(error, DiwanError) else error}", err=True)
        raise typer.Exit(1) from None
    print(f"{path}: {count} bytes")
    if not holds:
        raise typer.Exit(1)


def _wanted(
    hand: str,
    lens: str,
    table: str,
    day: str,
    tournament: str,
    reason: str,
    case: str,
    since: Iterable[Path],
    wait: float,
) -> Wanted:
    subjects = [(about, what) for about, what in _subjects(hand, table, day, tournament) if what]
    if len(subjects) != 1:
        raise typer.BadParameter("one of HAND, --table, --day and --tournament", param_hint="HAND")
    if lens not in {PUBLIC, AUDITOR} and not lens.isdecimal():
        raise typer.BadParameter("public, auditor or a seat's number", param_hint="--as")
    if lens == AUDITOR and not reason:
        raise typer.BadParameter("an auditor says why: it is recorded with the opening", param_hint="--reason")
    about, subject = subjects[0]
    if about != "hand" and lens.isdecimal():
        raise typer.BadParameter("a seat looks back at one hand", param_hint="--as")
    if about == "day":
        _day(subject)
    seat = int(lens) if lens.isdecimal() else None
    notes = tuple(path.read_text("utf-8") for path in since)
    return Wanted(about, subject, lens if seat is None else "seat", seat, reason, case, notes, wait)


def _subjects(hand: str, table: str, day: str, tournament: str) -> tuple[tuple[str, str], ...]:
    return ("hand", hand), ("table", table), ("day", day), ("tournament", tournament)


def _day(day: str) -> datetime:
    try:
        return datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise typer.BadParameter("a day such as 2026-11-30", param_hint="--day") from None


def _access(address: str, audit: str, token: str, data: Any) -> tuple[dict[str, str], Callable[[Role, str], str]]:
    """Return where the services are, and tokens to call them with."""
    if address or audit:
        if not (token and address and audit):
            raise typer.BadParameter("with --address go --audit and --token", param_hint="--address")
        return {"table": address, "audit": audit}, lambda _role, _subject: token
    layout, addresses = running_stack(data)
    return dict(addresses.services), lambda role, subject: token or own_token(layout, subject, role)


async def _export(
    wanted: Wanted, output: Path | None, addresses: dict[str, str], token_of: Callable[[Role, str], str]
) -> tuple[Path, int, bool]:
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(connect(addresses, token_of(Role.OPERATOR, "export")))

        def client_of(role: Role, subject: str) -> DiwanClient:
            return client.with_token(token_of(role, subject))

        hands = await _hands(wanted, client)
        lines = list(await gather(wanted, hands, client_of))
        policy = parse_policy(await client.audit.register_policy())
    path = output or Path(f"{wanted.about}-{wanted.subject}.bundle")
    _write(path, lines, is_private=wanted.lens != PUBLIC)
    # What goes out of the house is looked at once more, as whoever gets it will look at it.
    report, _ = verify_bundle(lines, policy, name=str(path))
    if not report.is_verified:
        typer.echo("\n".join(text_of(report)), err=True)
    return path, sum(map(len, lines)), report.verdict is not Verdict.NOT_VERIFIED


async def _hands(wanted: Wanted, client: DiwanClient) -> list[str]:
    if wanted.about == "hand":
        return [wanted.subject]
    sought: dict[str, Any] = {}
    match wanted.about:
        case "table":
            sought = {"table_id": wanted.subject}
        case "tournament":
            sought = {"tournament_id": wanted.subject}
        case _:
            start = _day(wanted.subject)
            from_ms = int(start.timestamp()) * 1000
            sought = {"from_ms": from_ms, "to_ms": int((start + timedelta(days=1)).timestamp()) * 1000}
    found = [hand.hand_id async for hand in client.audit.find_hands(sought) if hand.last_version]
    if not found and wanted.about != "tournament":
        raise NotReadyError(f"no hand has ended of {wanted.about} {wanted.subject}")
    if len(found) > HANDS_MAX:
        raise NotReadyError(f"{len(found)} hands are too many for one bundle; at most {HANDS_MAX}")
    return found


def _write(path: Path, lines: Iterable[bytes], *, is_private: bool) -> None:
    """Write the file whole or not at all: half a bundle would look like a forged one. Hidden cards are the writer's alone."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if is_private else 0o666)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
