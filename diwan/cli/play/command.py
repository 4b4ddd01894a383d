"""The ``play`` command: which table, and everything around sitting there."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import typer

from diwan.chassis.access import Role
from diwan.cli.play.around import Ending
from diwan.cli.play.finding import bots_are_there, chips_to_bring, find_table, kept_seat, practice_config
from diwan.cli.play.look import Look
from diwan.cli.play.session import Session
from diwan.cli.play.terminal import Screen, can_write
from diwan.cli.play.terms import terms_lines
from diwan.cli.play.tour import Tour
from diwan.cli.play.words import GAMES, Language, Words
from diwan.cli.running import DEFAULT_DATA, DataOption, own_token, program, refusal_text, running_stack
from diwan.client import DiwanClient, DiwanError, ProofFailed, connect
from diwan.client.messages import ChipSource, TableConditions, game_of

LANGUAGES: tuple[Language, ...] = ("en", "ar")


def play(
    table: Annotated[
        str, typer.Argument(help="A table's id, as `diwan tables list` shows it; left out, one is found or opened.")
    ] = "",
    game: Annotated[str, typer.Option(help=" or ".join(GAMES))] = GAMES[0],
    lang: Annotated[str, typer.Option(envvar="DIWAN_LANG", help="en or ar.")] = LANGUAGES[0],
    name: Annotated[str, typer.Option(help="Your player id.")] = "guest",
    chips: Annotated[int, typer.Option(min=0, help="Chips to bring; 0 for as many as the table takes.")] = 0,
    hands: Annotated[int, typer.Option(min=0, help="Stand up after so many hands; 0 plays on.")] = 0,
    tournament: Annotated[
        str, typer.Option(help="Enter a tournament and play it to its end: its id, or a template for a new one.")
    ] = "",
    auto: Annotated[bool, typer.Option(help="Check or call by itself instead of asking.")] = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Sit down against bots and play any of the five games from the keyboard; ? helps there.

    The first time your account gets the starting grant of chips. A house must run: `up` in another terminal.
    """
    if game not in GAMES:
        raise typer.BadParameter(f"{game} is not played here: {', '.join(GAMES)}", param_hint="--game")
    if lang not in LANGUAGES:
        raise typer.BadParameter(f"{lang} is not spoken here: {', '.join(LANGUAGES)}", param_hint="--lang")
    if lang == "ar" and not can_write("نعم"):
        raise typer.BadParameter(
            "this terminal writes no Arabic: use a UTF-8 locale, or PYTHONUTF8=1", param_hint="--lang"
        )
    if table and tournament:
        raise typer.BadParameter("either a table or a tournament", param_hint="--tournament")
    language: Literal["en", "ar"] = "ar" if lang == "ar" else "en"
    layout, addresses = running_stack(data)

    def token() -> str:
        # Made anew for each call: an evening may be longer than a token is good for.
        return own_token(layout, name, Role.PLAYER)

    def operator() -> str:
        return own_token(layout, "cli", Role.OPERATOR)

    async def run() -> None:
        async with connect(addresses.services, token) as client:
            if tournament:
                house = client.with_token(operator)
                await Tour(client, house, language, Screen(), hands=hands, is_auto=auto).play(tournament)
                return
            visit = Visit(client, client.with_token(operator), language, Screen(), chips)
            await visit.play(table, game, hands, is_auto=auto)

    try:
        asyncio.run(run())
    except DiwanError as error:
        typer.echo(f"diwan play: {refusal_text(error)}", err=True)
        if not error.is_from_server:
            typer.echo(f"Nobody answers at {layout.root}: start the house with `{program()} up`.", err=True)
        raise typer.Exit(1) from None
    except ProofFailed as failure:
        text = Words(language, game)("proof_failed", what=str(failure))
        typer.echo(f"diwan play: {text}", err=True)
        raise typer.Exit(1) from None


class Visit:
    """From the door to a seat and back. ``operator`` opens a practice table where none is open: the house is one's own."""

    def __init__(
        self, client: DiwanClient, operator: DiwanClient, language: Language, screen: Screen, chips: int
    ) -> None:
        self._client = client
        self._operator = operator
        self._language: Language = language
        self._screen = screen
        self._chips = chips

    async def play(self, table_id: str, game: str, hands: int, *, is_auto: bool) -> None:
        """Open the account, find a table, sit down, play, stand up. Raises `DiwanError` and `ProofFailed`."""
        balance = (await self._client.wallet.open_account()).account.balance
        is_own = False
        if table_id:
            game = game_of(await self._client.tables.get(table_id))
        else:
            table_id, is_own = await self._find_or_open(game, balance)
        words = Words(self._language, game)
        look = Look(words, self._screen.has_symbols, self._screen.is_terminal and self._screen.has_symbols)
        ending = Ending.LEFT
        try:
            terms = await self._client.tables.conditions(table_id)
            self._screen.show(terms_lines(terms, words))
            if is_own:
                await self._wait_for_bots(table_id, terms, words)
            await self._sit_down(table_id, terms, words, balance)
            session = Session(self._client, table_id, terms, look, self._screen, hands=hands, is_auto=is_auto)
            ending = await self._stay(session, table_id, words)
        finally:
            if is_own and ending is not Ending.REPLACED:
                await self._operator.tables.close(table_id)
                self._say(words, "closing_own")

    async def _find_or_open(self, game: str, balance: int) -> tuple[str, bool]:
        """Return a table's id, and whether it was opened for this visit."""
        words = Words(self._language, game)
        kept = await kept_seat(self._client, game)
        if kept is not None:
            return kept, False
        found = await find_table(self._client, game, balance)
        if found is not None:
            self._say(words, "found_table", name=found.name)
            return found.table_id, False
        # The name is shown to all in the lobby.
        name = f"Practice {Words('en', game)('name')}"
        opened = await self._operator.tables.create(practice_config(game, name))
        self._say(words, "opened_table", name=name)
        return opened.table_id, True

    async def _wait_for_bots(self, table_id: str, terms: TableConditions, words: Words) -> None:
        try:
            await bots_are_there(self._client, table_id, terms)
        except TimeoutError:
            self._say(words, "no_bots")

    async def _sit_down(self, table_id: str, terms: TableConditions, words: Words, balance: int) -> None:
        amount = chips_to_bring(terms, self._chips, balance)
        try:
            seat = (await self._client.tables.sit_down(table_id, amount, post_at_once=True)).seat
        except DiwanError as error:
            if error.reason != "ALREADY_SEATED":
                raise
            self._say(words, "welcome_back")
            return
        if terms.chips == ChipSource.CHIP_SOURCE_MATCH:
            self._say(words, "welcome_match", seat=seat)
        else:
            self._say(words, "welcome", seat=seat, amount=amount, balance=balance - amount)
        self._say(words, "key_help")

    async def _stay(self, session: Session, table_id: str, words: Words) -> Ending:
        """Play, and stand up afterwards, also where the player presses Ctrl-C."""
        ending = Ending.LEFT
        try:
            ending = await session.run()
        finally:
            if ending is Ending.LEFT:
                await self._stand_up(table_id, words)
        return ending

    async def _stand_up(self, table_id: str, words: Words) -> None:
        try:
            await self._client.tables.stand_up(table_id)
        except DiwanError as error:
            if error.reason == "MATCH_STARTED":
                self._say(words, "left_match")
                return
            if error.reason not in {"NOT_SEATED", "TABLE_CLOSED", "TABLE_NOT_FOUND", "LEAVING"}:
                raise
        self._say(words, "left")

    def _say(self, words: Words, key: str, **facts: object) -> None:
        self._screen.show([words.line(words(key, **facts))])
