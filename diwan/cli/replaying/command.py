"""``diwan replay HAND``: a hand as somebody could have seen it; on a terminal walked through by keys."""

from __future__ import annotations

import asyncio
import getpass
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Final

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from diwan.chassis.access import BOT_PREFIX, PLAYER_ID_CHARACTERS_MAX, Role
from diwan.cli.replay import access
from diwan.cli.replaying.stepping import Walk, asked_number, single_keys, walk_by_keys, walk_by_words
from diwan.cli.replaying.story import ReplayFailedError, Step, Story, story_of
from diwan.cli.replaying.telling import Language, Teller, story_lines
from diwan.cli.running import DEFAULT_DATA, DataOption, refusal_text
from diwan.client import DiwanError, connect
from diwan.client.tables import Eyes
from diwan.core.cards import format_card

LENSES: Final = ("public", "spectator", "auditor", "own")
STREETS: Final = ("preflop", "flop", "turn", "river", "setting", "declaring", "over")
_SIDE_BY_SIDE_COLUMNS: Final = 120
"""Below that a terminal shows two lenses below each other."""


class Lens(msgspec.Struct, frozen=True):
    """Whose eyes are asked for."""

    eyes: Eyes
    seat: int | None = None

    @property
    def role(self) -> Role:
        """The role of the house that may ask for them."""
        return Role.AUDITOR if self.eyes == "auditor" else Role.OPERATOR


class Wanted(msgspec.Struct, frozen=True):
    """Which hand, through whose eyes, who looks and why."""

    hand_id: str
    lenses: tuple[Lens, ...]
    reason: str
    case_id: str
    looker: str


class Told(msgspec.Struct, frozen=True):
    """A story, and the same through other eyes where that was asked for."""

    story: Story
    beside: Story | None = None

    @property
    def others(self) -> dict[int, Step]:
        """The moments of the other story by version."""
        return {} if self.beside is None else {step.version: step for step in self.beside.steps}


def replay(
    hand: Annotated[str, typer.Argument(help="The hand's id.")],
    lens: Annotated[
        str, typer.Option("--as", help="public, a seat's number, auditor, or own (with a player's --token).")
    ] = "public",
    beside: Annotated[str, typer.Option(help="Other eyes to show beside, as in --as.")] = "",
    reason: Annotated[str, typer.Option(help="Why hidden cards are looked at: it is recorded first.")] = "",
    case: Annotated[str, typer.Option(help="The case it belongs to.")] = "",
    by: Annotated[str, typer.Option(help="Who looks, for the record; your login name without it.")] = "",
    street: Annotated[str, typer.Option(help=f"Only this street: {', '.join(STREETS)}.")] = "",
    step: Annotated[int, typer.Option(min=0, help="Only the moment of this number, from 1.")] = 0,
    as_text: Annotated[bool, typer.Option("--text", help="All of it as plain text, for a ticket.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of text.")] = False,
    walk: Annotated[
        bool, typer.Option("--walk", help="Walk through it by words from standard input, where that is no terminal.")
    ] = False,
    lang: Annotated[str, typer.Option(help="en or ar.")] = "en",
    address: Annotated[str, typer.Option(help="host:port of the table service, instead of a stack's.")] = "",
    token: Annotated[str, typer.Option(envvar="DIWAN_TOKEN", help="A token to call with, for --address.")] = "",
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Show a hand moment by moment, as somebody could have seen it.

    Hidden cards are shown through a seat's eyes or an auditor's, of a hand that has ended, for a reason that is written into
    the table's log before anything is shown.
    """
    if lang not in {"en", "ar"}:
        raise typer.BadParameter("en or ar", param_hint="--lang")
    if street and street not in STREETS:
        raise typer.BadParameter(f"one of {', '.join(STREETS)}", param_hint="--street")
    wanted = wanted_hand(hand, lens, beside, reason, case, by, has_token=bool(token))
    try:
        told = asyncio.run(_asked(wanted, *access(address, token, data)))
        steps = chosen(told.story, street, step)
    except (DiwanError, ReplayFailedError) as error:
        typer.echo(f"diwan replay: {refusal_text(error) if isinstance(error, DiwanError) else error}", err=True)
        raise typer.Exit(1) from None
    language: Language = "ar" if lang == "ar" else "en"
    console = Console(highlight=False, soft_wrap=True)
    if as_json:
        print(json.dumps(as_builtins(told, steps), indent=2, ensure_ascii=False))
    elif walk and not sys.stdin.isatty():
        _walk_by_words(told, steps, language)
    elif console.is_terminal and sys.stdin.isatty() and not as_text:
        _walk_by_keys(told, steps, language, console)
    else:
        for line in story_lines(told.story, told.beside, steps=steps, language=language):
            print(line)


def wanted_hand(
    hand: str, lens: str, beside: str, reason: str, case: str, by: str, *, has_token: bool = False
) -> Wanted:
    """Return what is asked for; raises `typer.BadParameter` where that makes no sense."""
    lenses = [_lens(lens, "--as"), *([_lens(beside, "--beside")] if beside else [])]
    if not reason and any(each.eyes in {"seat", "auditor"} for each in lenses) and not has_token:
        why = "whoever looks at hidden cards says why: it is recorded before anything is shown"
        raise typer.BadParameter(why, param_hint="--reason")
    if any(not each.eyes for each in lenses) and not has_token:
        raise typer.BadParameter("own is the seat of the player whose --token it is", param_hint="--as")
    return Wanted(hand, tuple(lenses), reason, case, _looker(by))


def _lens(text: str, option: str) -> Lens:
    if text in {"public", "spectator"}:
        return Lens("spectator")
    if text == "auditor":
        return Lens("auditor")
    if text == "own":
        return Lens("")
    if text.isdecimal():
        return Lens("seat", int(text))
    raise typer.BadParameter("public, auditor, own or a seat's number", param_hint=option)


def _looker(by: str) -> str:
    try:
        name = by or getpass.getuser()
    except (KeyError, OSError):
        name = "operator"
    if not name.isprintable() or len(name) > PLAYER_ID_CHARACTERS_MAX or name.startswith(BOT_PREFIX):
        raise typer.BadParameter("not a name", param_hint="--by")
    return name


async def _asked(wanted: Wanted, address: str, token_of: Callable[[Role, str], str]) -> Told:
    """Ask the table service; raises `DiwanError` or `ReplayFailedError`."""
    stories: list[Story] = []
    for lens in wanted.lenses:
        async with connect(address, token_of(lens.role, wanted.looker)) as client:
            is_hidden = lens.eyes in {"seat", "auditor"}
            answer = await client.tables.replay(
                wanted.hand_id,
                lens.eyes,
                seat=lens.seat,
                reason=wanted.reason if is_hidden else "",
                case_id=wanted.case_id if is_hidden else "",
            )
            stories.append(story_of(answer))
    return Told(stories[0], stories[1] if len(stories) > 1 else None)


def chosen(story: Story, street: str, number: int) -> tuple[Step, ...]:
    """Return the moments that are asked for; raises `ReplayFailedError` where there is none."""
    steps = [
        step for step in story.steps if (not street or step.street == street) and (not number or step.number == number)
    ]
    if not steps:
        there = ", ".join(dict.fromkeys(step.street for step in story.steps))
        raise ReplayFailedError(f"the hand has no such moment: it has {len(story.steps)}, of {there}")
    return tuple(steps)


# ---- ways to show it -------------------------------------------------------------------------------------------------


def _lines(told: Told, step: Step, teller: Teller) -> list[str]:
    others = None if told.beside is None else (told.beside.lens, told.others.get(step.version))
    return teller.moment(step, len(told.story.steps), others, told.story.lens)


def _walk_by_words(told: Told, steps: Sequence[Step], language: Language) -> None:
    teller = Teller(language)

    def show(step: Step) -> None:
        print("\n".join(_lines(told, step, teller)), flush=True)

    for line in teller.head(told.story, told.beside):
        print(line)
    walk_by_words(Walk(steps), _stdin(), show, print, teller.say("unknown"), teller.say("no_such"))


def _stdin() -> Iterator[str]:
    yield from sys.stdin


def _walk_by_keys(told: Told, steps: Sequence[Step], language: Language, console: Console) -> None:
    teller = Teller(language)
    texts = {key: teller.say(key) for key in ("keys", "no_such")}

    def show(step: Step) -> None:
        console.clear()
        for line in teller.head(told.story, told.beside):
            console.print(Text(line, style="dim"))
        console.print(drawing(told, step, teller, console.width))
        if step is told.story.steps[-1]:
            for line in teller.tail(told.story):
                console.print(Text(line))
        console.print(Text(texts["keys"], style="dim"))

    with single_keys(sys.stdin.fileno()) as read_key:
        walk_by_keys(
            Walk(steps),
            read_key,
            show,
            lambda text: console.print(Text(text, style="yellow")),
            lambda: asked_number(read_key, teller.say("ask_version")),
            texts,
        )


def drawing(told: Told, step: Step, teller: Teller, width: int) -> Text | Table:
    """Return a moment for a terminal: two lenses stand beside each other where there is room."""
    other = told.others.get(step.version)
    if other is None or told.beside is None or width < _SIDE_BY_SIDE_COLUMNS:
        return Text("\n".join(_lines(told, step, teller)))
    table = Table(expand=True, title=teller.title(step, len(told.story.steps)), title_justify="left")
    for lens in (told.story.lens, told.beside.lens):
        table.add_column(teller.lens(lens), ratio=1)
    table.add_row(*[Text("\n".join([*teller.happened(each), *teller.table(each)])) for each in (step, other)])
    table.add_row(Text("\n".join(teller.around(step))), "")
    return table


def as_builtins(told: Told, steps: Sequence[Step]) -> dict[str, Any]:
    """Return what is told as JSON has it: cards by their names, null for each that these eyes did not know."""
    made = _story_builtins(told.story, steps)
    if told.beside is not None:
        versions = {step.version for step in steps}
        made["beside"] = _story_builtins(told.beside, [step for step in told.beside.steps if step.version in versions])
    return made


def _story_builtins(story: Story, steps: Sequence[Step]) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(story)
    made["moments_in_all"] = len(story.steps)
    made["steps"] = msgspec.to_builtins(steps)
    for step in made["steps"]:
        step["board"] = list(map(format_card, step["board"]))
        for seat in step["seats"]:
            seat["cards"] = [None if card is None else format_card(card) for card in seat["cards"]]
    return made
