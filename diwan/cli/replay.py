"""A hand gathered from its log, with the cards that a lens shows, and told event by event.

`diwan.cli.replaying` is the command `diwan replay`; here is what `diwan phh` and `diwan hands` tell and write from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from diwan.chassis.access import Role
from diwan.cli.running import own_token, running_stack
from diwan.client import connect
from diwan.client.tables import Tables
from diwan.core.cards import format_card
from diwan.core.fairness import SECRET_BYTES, Reveal, deal, secret_commitment, verify_reveal
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandSeat, HandStarted
from diwan.core.log import LoggedEvent
from diwan.core.table.playing import StartedEvent
from diwan.history import Entry, Step, hand_steps
from diwan.history.text import cards_text, clock_text, plain_lines, seat_text, time_left_text, who_text
from diwan.verifier.chain import LogReader
from diwan.verifier.report import Fault
from diwan.wire.mapping import read_reveals
from diwan.wire.stored import logged_event

PUBLIC: Final = "public"
AUDITOR: Final = "auditor"

type TablesOf = Callable[[Role, str], Tables]
"""The table service as a caller of that role and name."""


class Wanted(msgspec.Struct, frozen=True):
    """Which hand, through whose eyes, and why: an auditor's look is recorded with its reason."""

    hand_id: str
    lens: str = PUBLIC
    reason: str = ""
    case_id: str = ""

    @property
    def seat(self) -> int | None:
        """The seat whose eyes these are."""
        return int(self.lens) if self.lens.isdecimal() else None


class Told(msgspec.Struct, frozen=True):
    """A hand as it is told."""

    hand_id: str
    table_id: str
    lens: str
    is_ended: bool
    steps: tuple[Step, ...]


class Gathered(msgspec.Struct, frozen=True):
    """A hand's log, and the cards beside it that the lens shows."""

    table_id: str
    is_ended: bool
    entries: tuple[Entry, ...]
    extra: tuple[Reveal, ...]
    stored: tuple[LoggedEvent, ...] = ()


class ReplayFailedError(Exception):
    """The hand cannot be told; the message says why."""


def wanted_hand(hand: str, lens: str, reason: str, case: str) -> Wanted:
    wanted = Wanted(hand, lens, reason, case)
    if lens not in {PUBLIC, AUDITOR} and wanted.seat is None:
        raise typer.BadParameter("public, auditor or a seat's number", param_hint="--as")
    if lens == AUDITOR and not reason:
        raise typer.BadParameter("an auditor says why: it is recorded with the opening", param_hint="--reason")
    return wanted


def access(address: str, token: str, data: Any) -> tuple[str, Callable[[Role, str], str]]:
    """Return where the table service is, and tokens to call it with."""
    if address:
        if not token:
            raise typer.BadParameter("a token is needed with --address", param_hint="--token")
        return address, lambda _role, _subject: token
    layout, addresses = running_stack(data)
    return addresses.services["table"], lambda role, subject: token or own_token(layout, subject, role)


async def over_grpc(wanted: Wanted, address: str, token_of: Callable[[Role, str], str]) -> Gathered:
    """Read a hand from the table service; raises `DiwanError` or `ReplayFailedError`."""
    async with connect(address, token_of(Role.OPERATOR, "replay")) as client:
        return await gather(wanted, lambda role, subject: client.with_token(token_of(role, subject)).tables)


async def tell(wanted: Wanted, tables_of: TablesOf) -> Told:
    """Read a hand and tell it; raises `ReplayFailedError`."""
    return _told(wanted, await gather(wanted, tables_of))


def _told(wanted: Wanted, found: Gathered) -> Told:
    return Told(wanted.hand_id, found.table_id, wanted.lens, found.is_ended, hand_steps(found.entries, found.extra))


async def gather(wanted: Wanted, tables_of: TablesOf) -> Gathered:
    """Read a hand and, where the lens asks for it, open cards that no event shows; raises `ReplayFailedError`.

    Every event is held against its stream's chain and every opened card against the deck's root before it is told.
    """
    found = await tables_of(Role.OPERATOR, "replay").get_hand(wanted.hand_id)
    entries = read_entries(found.events)
    started = next((one.event for one in entries if isinstance(one.event, HandStarted | CapsaStarted)), None)
    if started is None:
        raise ReplayFailedError(f"the answer holds no beginning of hand {wanted.hand_id}")
    if wanted.lens == PUBLIC:
        return Gathered(found.table_id, found.is_ended, tuple(entries), (), tuple(map(logged_event, found.events)))
    extra, arranged = await _opened(wanted, started, tables_of)
    # What these seats arranged came without its body before; the chain proves that it is what stands in the log.
    bodies = {message.version: message for message in arranged}
    messages = [bodies.get(message.version, message) for message in found.events]
    stored = tuple(map(logged_event, messages))
    return Gathered(found.table_id, found.is_ended, tuple(read_entries(messages)), extra, stored)


def read_entries(messages: Sequence[Any]) -> list[Entry]:
    """Return stored events decoded, each held against its stream's chain; raises `ReplayFailedError`."""
    reader = LogReader()
    try:
        return [reader.read_entry(logged_event(message)) for message in messages]
    except Fault as fault:
        raise ReplayFailedError(f"the log does not hold: {fault}") from fault


async def _opened(
    wanted: Wanted, started: StartedEvent, tables_of: TablesOf
) -> tuple[tuple[Reveal, ...], Sequence[Any]]:
    """Return the cards of the lens, proved, and in Capsa the events that tell what its seats arranged."""
    seat = wanted.seat
    if seat is None or wanted.reason:
        tables = tables_of(Role.AUDITOR, "replay")
    else:
        holder = _seat_at(started, seat)
        tables = tables_of(Role.BOT if holder.is_bot else Role.PLAYER, holder.player)
    answer = await tables.open_hand(wanted.hand_id, seat=seat, reason=wanted.reason, case_id=wanted.case_id)
    reveals = verified(started, (reveal for opened in answer.seats for reveal in read_reveals(opened.reveals)))
    if answer.secret:
        _check_secret(started, answer.secret)
    return reveals, answer.arranged


def verified(started: StartedEvent, reveals: Iterable[Reveal]) -> tuple[Reveal, ...]:
    """Return cards once each has been held against the deck's root; raises `ReplayFailedError`."""
    checked = tuple(reveals)
    for reveal in checked:
        if not verify_reveal(started.hand_id, started.deck_root, reveal):
            raise ReplayFailedError(f"the card shown for position {reveal.position} is not the one that was dealt")
    return checked


def _check_secret(started: StartedEvent, secret: bytes) -> None:
    """An auditor is told the secret: the whole deck follows from it and from the seats' seeds (F5)."""
    seeds = {one.seat: one.seed for one in started.seeds}
    if (
        len(secret) != SECRET_BYTES
        or secret_commitment(started.hand_id, secret) != started.secret_commitment
        or deal(started.hand_id, secret, seeds).root != started.deck_root
    ):
        raise ReplayFailedError("the secret that was told does not give the deck that was committed to")


def _seat_at(started: StartedEvent, seat: int) -> HandSeat:
    for one in started.seats:
        if one.seat == seat:
            return one
    seats = ", ".join(str(one.seat) for one in started.seats)
    raise ReplayFailedError(f"seat {seat} was not dealt in; these were: {seats}")


def show(told: Told, console: Console, *, as_json: bool = False) -> None:
    """Print a told hand: JSON, a table on a terminal, plain lines otherwise."""
    if as_json:
        print(json.dumps(as_builtins(told), indent=2))
        return
    console.print(f"Hand {told.hand_id} at table {told.table_id}, as {_lens_text(told.lens)} saw it", soft_wrap=True)
    if console.is_terminal:
        console.print(_table(told.steps))
    else:
        for line in plain_lines(told.steps):
            print(line)
    if not told.is_ended:
        console.print("The hand is still being played.")


def as_builtins(told: Told) -> dict[str, Any]:
    """Return a told hand as JSON has it: cards by their names, null for each that the viewer does not know."""
    made: dict[str, Any] = msgspec.to_builtins(told)
    for step in made["steps"]:
        step["board"] = _card_names(step["board"])
        for line in step["seats"]:
            line["cards"] = _card_names(line["cards"])
    return made


def _card_names(cards: Sequence[int | None]) -> list[str | None]:
    return [None if card is None else format_card(card) for card in cards]


def _lens_text(lens: str) -> str:
    return {PUBLIC: "everybody", AUDITOR: "an auditor"}.get(lens, f"seat {lens}")


def _table(steps: Sequence[Step]) -> Table:
    table = Table(expand=True, show_lines=False, pad_edge=False)
    for name, options in _COLUMNS.items():
        table.add_column(name, **options)
    for step in steps:
        table.add_row(
            str(step.version),
            clock_text(step.recorded_at_ms),
            who_text(step),
            step.what,
            time_left_text(step),
            str(step.pot) if step.seats else "",
            cards_text(step.board),
            "  ".join(map(seat_text, step.seats)),
            end_section=False,
        )
    return table


_COLUMNS: Final[dict[str, dict[str, Any]]] = {
    "version": {"justify": "right", "no_wrap": True},
    "time (UTC)": {"no_wrap": True},
    "who": {"no_wrap": True},
    "what": {"ratio": 3},
    "left": {"justify": "right", "no_wrap": True},
    "pot": {"justify": "right", "no_wrap": True},
    "board": {"no_wrap": True},
    "stacks (+bet)": {"ratio": 3},
}
