"""A tournament from the door to the prize: enter, follow the seat from table to table, hear how it ended.

Tables are played as any others, by `Session`; the tournament's own stream says which, and everything that no table knows.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from uuid import UUID

import typer

from diwan.cli.play.around import Around, Ending
from diwan.cli.play.look import Look
from diwan.cli.play.session import Session
from diwan.cli.play.terminal import Keyboard, Keys, Screen, SharedKeyboard
from diwan.cli.play.tour_text import (
    change_lines,
    condition_lines,
    ending_lines,
    is_settled,
    price_text,
    standing_lines,
)
from diwan.cli.play.words import Language, Words, typed_words
from diwan.cli.running import program
from diwan.client import DiwanClient, DiwanError, WatchingTournament
from diwan.client.fair import EntrySeed
from diwan.client.tournaments import Conditions, OwnEntry, TournamentView

_LAST_HAND_SECONDS = 5.0
"""So long the last hand may still be told after the tournament has said that it is over."""

_OPENS_SECONDS = 10.0
_SCHEDULED_STARTS_IN_MS = 60_000
_IN = frozenset({"requested", "registered", "playing", "busted"})


class Tour:
    """One player in one tournament. ``operator`` announces one from a template: the house is one's own."""

    def __init__(
        self,
        client: DiwanClient,
        operator: DiwanClient,
        language: Language,
        screen: Screen,
        *,
        hands: int = 0,
        is_auto: bool = False,
        keyboard: Callable[[Callable[[str | None], None]], Keys] = Keyboard,
    ) -> None:
        self._client = client
        self._operator = operator
        self._language: Language = language
        self._screen = screen
        self._hands_left = hands
        self._is_auto = is_auto
        self._keyboard = SharedKeyboard(keyboard)
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._changed = asyncio.Event()
        self._tournament_id = ""
        self._is_announced_here = False
        self._is_replaced = False
        self._view: TournamentView | None = None
        self._own: OwnEntry | None = None
        self._seed: EntrySeed | None = None
        self._left_at = ("", 0)  # the table that the last session was at, and the version of the tournament then
        self._words = Words(language, "holdem")
        self._conditions: Conditions | None = None

    async def play(self, wanted: str) -> None:
        """Enter a tournament by its id, or a new one by its template's name, and play to its end. Raises `DiwanError`."""
        balance = (await self._client.wallet.open_account()).account.balance
        self._tournament_id = await self._find_or_announce(wanted)
        found = await self._client.tournaments.get(self._tournament_id)
        self._conditions, self._view = found.conditions, found.tournament
        self._words = Words(self._language, found.conditions.game)
        self._screen.show(condition_lines(found.tournament.name, found.conditions, self._words))
        if not self._is_auto:
            self._keyboard.listen()
        is_leaving = True
        try:
            if await self._is_entered(found.own if found.HasField("own") else None, balance):
                await self._follow()
        except DiwanError as error:
            is_leaving = error.is_from_server  # Else nothing can be asked for any more.
            raise
        finally:
            self._keyboard.close()
            if is_leaving and not self._is_replaced and not is_settled(self._view, self._own):
                await self._go()

    # ---- Entering ----------------------------------------------------------------------------------------------------

    async def _find_or_announce(self, wanted: str) -> str:
        with contextlib.suppress(ValueError):
            return str(UUID(wanted))
        templates = {template.name: template for template in await self._client.tournaments.templates()}
        if wanted not in templates:
            known = ", ".join(templates)
            raise typer.BadParameter(f"{wanted} is no id and no template: {known}", param_hint="--tournament")
        starts_at = _now_ms() + _SCHEDULED_STARTS_IN_MS if templates[wanted].conditions.kind == "scheduled" else 0
        announced = await self._operator.tournaments.create(wanted, starts_at_ms=starts_at)
        if await self._is_house_short(announced.tournament.tournament_id):
            short = _promise(templates[wanted].conditions)
            await self._operator.wallet.issue_to_house(short, reason="prizes of a tournament to practise at")
            self._say("tour_house_pays", amount=short)
            announced = await self._operator.tournaments.create(wanted, starts_at_ms=starts_at)
        self._is_announced_here = True
        self._say("tour_announced", name=announced.tournament.name)
        return announced.tournament.tournament_id

    async def _is_house_short(self, tournament_id: str) -> bool:
        """Say whether a tournament was called off because the house cannot pay what it promises: it sets that aside first."""
        with contextlib.suppress(TimeoutError):
            return await asyncio.wait_for(self._is_called_off(tournament_id), _OPENS_SECONDS)
        return False  # It opens later.

    async def _is_called_off(self, tournament_id: str) -> bool:
        async with self._client.tournaments.watch(tournament_id) as story:
            async for message in story:
                view = message.update.view
                if view.cancelled or view.phase not in {"", "announced"}:
                    return view.cancelled == "house_short"
        return False

    async def _is_entered(self, own: OwnEntry | None, balance: int) -> bool:
        """Enter where that is confirmed; returns whether the player is in."""
        if own is not None and own.status in _IN:
            self._own = own
            self._say("tour_welcome_back")
            return True
        if own is not None and own.status == "out":
            self._own = own
            return True
        if self._conditions is not None and not self._is_auto:
            self._say("tour_ask", price=price_text(self._conditions, self._words), balance=balance)
            if not await self._is_confirmed():
                self._say("tour_not_entered")
                return False
        seed = EntrySeed(self._tournament_id, self._client.subject)
        entered = await self._client.tournaments.register(self._tournament_id, seed_commitment=seed.commitment)
        self._own, self._seed = entered.own, seed
        self._say("tour_requested" if self._own.status == "requested" else "tour_you_entered")
        return True

    async def _is_confirmed(self) -> bool:
        with self._listening():
            while True:
                self._screen.ask(self._words("prompt"))
                line = await self._lines.get()
                self._screen.was_answered()
                if line is None or line.strip().lower() in typed_words("no", "leave"):
                    return False
                if line.strip().lower() in typed_words("yes"):
                    return True
                self._say("tour_yes_or_no")

    # ---- Following ---------------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        async with self._client.tournaments.watch(self._tournament_id) as story:
            reading = asyncio.create_task(self._read(story), name="tournament")
            try:
                while not is_settled(self._view, self._own) and not reading.done():
                    if not await self._stay():
                        return
                    if self._own is not None and self._own.status == "none":
                        self._say("tour_refused")
                        return
                if reading.done():
                    await reading
                if self._view is not None:
                    self._screen.show(ending_lines(self._view, self._own, self._words))
            finally:
                reading.cancel()
                await asyncio.wait([reading])

    async def _read(self, story: WatchingTournament) -> None:
        try:
            async for message in story:
                if message.WhichOneof("message") == "own":
                    self._take_own(message.own)
                elif message.update.HasField("view"):
                    self._screen.show(change_lines(self._view, message.update.view, self._words))
                    self._view = message.update.view
                    await self._open_seed(message.update.view)
                self._changed.set()
        finally:
            self._changed.set()

    async def _open_seed(self, view: TournamentView) -> None:
        """Put the player's seed into the first draw where that waits for it, so that nobody can choose who sits where."""
        seed = None if self._seed is None else self._seed.answers(view)
        if seed is not None:
            with contextlib.suppress(DiwanError):  # Too late: the draw was made without it, as its log says.
                await self._client.tournaments.open_seed(self._tournament_id, seed)

    def _take_own(self, own: OwnEntry) -> None:
        before, self._own = self._own, own
        if own.is_moving and (before is None or not before.is_moving):
            self._say("tour_moving")
        elif own.status == "registered" and before is not None and before.status == "requested":
            self._say("tour_you_entered")
        elif own.status == "busted" and (before is None or before.status != "busted"):
            self._say("tour_busted")

    async def _stay(self) -> bool:
        """Play at the table that the tournament names, or wait for one; returns False where the player goes."""
        own = self._own
        if own is None or not own.table_id or (own.table_id, own.version) == self._left_at:
            return await self._wait()
        self._say("tour_seat", no=own.table_no, seat=own.seat, amount=own.stack)
        ending = await self._sit(own.table_id)
        self._left_at = (own.table_id, own.version)
        if self._own is not None and self._own.table_id == own.table_id:
            self._left_at = (own.table_id, self._own.version)
        self._is_replaced = ending is Ending.REPLACED
        return ending is Ending.SEAT_GONE

    async def _sit(self, table_id: str) -> Ending:
        look = Look(self._words, self._screen.has_symbols, self._screen.is_terminal and self._screen.has_symbols)
        session = Session(
            self._client,
            table_id,
            await self._client.tables.conditions(table_id),
            look,
            self._screen,
            hands=self._hands_left,
            is_auto=self._is_auto,
            keyboard=self._keyboard.lend,
            around=Around(self._standing, self._condition_lines),
        )
        playing = asyncio.create_task(session.run(), name="seat")
        try:
            while not playing.done() and not is_settled(self._view, self._own):
                await self._changed_or(playing)
            await asyncio.wait([playing], timeout=_LAST_HAND_SECONDS)
        finally:
            playing.cancel()
            await asyncio.wait([playing])
        self._hands_left = max(0, session.hands_left)
        return Ending.SEAT_GONE if playing.cancelled() else playing.result()

    async def _wait(self) -> bool:
        """Wait for the tournament to say something, or the player; returns False where the player goes."""
        with self._listening():
            if not self._is_auto:
                self._screen.ask(self._words("prompt"))
            typed = asyncio.create_task(self._lines.get())
            try:
                await self._changed_or(typed)
            finally:
                typed.cancel()
                await asyncio.wait([typed])
        return typed.cancelled() or self._typed(typed.result())

    def _typed(self, line: str | None) -> bool:
        self._screen.was_answered()
        match None if line is None else typed_words("leave", "table", "conditions").get(line.strip().lower(), ""):
            case None | "leave":
                return False
            case "table":
                self._screen.show(self._standing())
            case "conditions":
                self._screen.show(self._condition_lines())
            case _:
                self._say("tour_waiting")
        return True

    async def _changed_or(self, other: asyncio.Task[object] | asyncio.Task[Ending] | asyncio.Task[str | None]) -> None:
        change = asyncio.create_task(self._changed.wait())
        await asyncio.wait({change, other}, return_when=asyncio.FIRST_COMPLETED)
        change.cancel()
        self._changed.clear()

    # ---- Leaving -----------------------------------------------------------------------------------------------------

    async def _go(self) -> None:
        """Give the entry back before the start; afterwards the clock plays for who goes."""
        is_in = self._own is not None and self._own.status in _IN
        if is_in and await self._is_given_back():
            self._say("tour_given_back")
        elif is_in:
            command = f"{program()} play --tournament {self._tournament_id} --name {self._client.subject}"
            self._say("tour_left", command=command)
            return
        if self._is_announced_here:
            await self._operator.tournaments.cancel(self._tournament_id, "its player left before it began")
            self._say("tour_called_off")

    async def _is_given_back(self) -> bool:
        try:
            await self._client.tournaments.unregister(self._tournament_id)
        except DiwanError as error:
            if not error.is_from_server:
                raise
            return False  # It has begun.
        return True

    # ---- Small things ------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _listening(self) -> Iterator[None]:
        keys = self._keyboard.lend(self._lines.put_nowait)
        keys.listen()
        try:
            yield
        finally:
            keys.close()

    def _standing(self) -> list[str]:
        return [] if self._view is None else standing_lines(self._view, self._own, self._words, _now_ms())

    def _condition_lines(self) -> list[str]:
        if self._conditions is None or self._view is None:
            return []
        return condition_lines(self._view.name, self._conditions, self._words)

    def _say(self, key: str, **facts: object) -> None:
        self._screen.show(self._words.line(line) for line in self._words(key, **facts).splitlines())


def _promise(conditions: Conditions) -> int:
    """Return the most that the house might have to add to the entries."""
    entries = conditions.entry * conditions.players_min
    return max(conditions.guarantee, *(line.pool for line in conditions.multipliers), entries) - entries


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
