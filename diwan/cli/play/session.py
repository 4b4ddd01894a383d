"""The loop of a seat at a table: what comes is shown, what is typed is done, until the player leaves or the seat is gone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

from diwan.cli.play.around import Around, Ending
from diwan.cli.play.arranging import Arranging
from diwan.cli.play.commands import Arrange, Command, Reload, Simple, Unclear
from diwan.cli.play.deciding import decide_alone, make
from diwan.cli.play.drawing import learned_lines, question_lines, table_lines
from diwan.cli.play.drawing_capsa import capsa_lines
from diwan.cli.play.look import Look, labelled_cards
from diwan.cli.play.parsing import help_lines, is_risky, parse
from diwan.cli.play.scene import Scene, scene_of
from diwan.cli.play.seating import Seating
from diwan.cli.play.telling import Teller, newly_locked, own_result
from diwan.cli.play.terminal import Keyboard, Keys, Screen
from diwan.cli.play.terms import terms_lines
from diwan.client import DiwanClient, DiwanError, SeatStream
from diwan.client.fair import HandCheck
from diwan.client.messages import (
    MatchResult,
    PlayResponse,
    PrivateView,
    SeatCause,
    SeatView,
    TableConditions,
    TableView,
    Update,
    event_of,
    is_running,
    name_of,
)

_REMINDERS: Final = (10, 5)
_GONE: Final = frozenset({"NOT_SEATED", "TABLE_CLOSED", "TABLE_NOT_FOUND", "MOVED_TO_ANOTHER_TABLE"})


class _Ended(Exception):  # noqa: N818  (no fault: the way out of the loop)
    def __init__(self, ending: Ending) -> None:
        super().__init__(ending.name)
        self.ending = ending


class Session:
    """One seat's time at a table. ``hands``: leave after so many; 0 plays on. ``is_auto``: decide without asking.

    ``around``: the tournament that the table belongs to; it tells by itself where the seat goes, and how it ended.
    """

    def __init__(
        self,
        client: DiwanClient,
        table_id: str,
        terms: TableConditions,
        look: Look,
        screen: Screen,
        *,
        hands: int = 0,
        is_auto: bool = False,
        keyboard: Callable[[Callable[[str | None], None]], Keys] = Keyboard,
        around: Around | None = None,
    ) -> None:
        self._client = client
        self._table_id = table_id
        self._terms = terms
        self._look = look
        self._words = look.words
        self._screen = screen
        self._around = around
        self.hands_left = hands or -1
        self._is_auto = is_auto
        self._keyboard = keyboard
        self._happened: asyncio.Queue[str | PlayResponse | BaseException | None] = asyncio.Queue()
        self._seating = Seating(client, table_id, terms, look.words, self._say)
        self._clock_ahead_ms = 0
        self._view: TableView | None = None
        self._private: PrivateView | None = None
        self._own_seat: int | None = None
        self._people: dict[int, SeatView] = {}  # who sits where, or sat there last
        self._events: list[tuple[str, Any]] = []  # of the running hand
        self._check = HandCheck()
        self._arranging: Arranging | None = None
        self._asked_turn = 0
        self._reminded: set[tuple[int, int]] = set()
        self._unconfirmed: Command | None = None
        self._gone_because = ""

    async def run(self) -> Ending:
        """Play until it is over; raises `DiwanError` where the table cannot be had, `ProofFailed` where it cheats."""
        keyboard = self._keyboard(self._happened.put_nowait)
        if not self._is_auto:
            keyboard.listen()
        try:
            async with self._client.tables.play(self._table_id, on_line=self._told_of_line) as seat:
                reading = asyncio.create_task(self._read(seat))
                try:
                    while True:
                        await self._step(seat)
                except _Ended as ended:
                    return ended.ending
                finally:
                    reading.cancel()
        finally:
            keyboard.close()

    # ---- What comes --------------------------------------------------------------------------------------------------

    async def _read(self, seat: SeatStream) -> None:
        try:
            async for message in seat:
                self._happened.put_nowait(message)
            self._happened.put_nowait(_Ended(Ending.SEAT_GONE))
        except Exception as error:
            # Raised where messages are handled, behind everything that came before it.
            self._happened.put_nowait(error)

    async def _step(self, seat: SeatStream) -> None:
        try:
            async with asyncio.timeout(self._seconds_to_reminder(seat)):
                happened = await self._happened.get()
        except TimeoutError:
            self._remind(seat)
            return
        match happened:
            case None:
                raise _Ended(Ending.LEFT)
            case str():
                self._screen.was_answered()
                await self._typed(happened, seat)
                self._prompt(seat)
                return
            case PlayResponse():
                await self._came(happened, seat)
            case DiwanError() if happened.reason == "REPLACED":
                self._say(self._words("replaced"))
                raise _Ended(Ending.REPLACED)
            case DiwanError() if happened.reason in _GONE:
                self._say_gone()
                raise _Ended(Ending.SEAT_GONE)
            case _:
                raise happened
        if self._happened.empty():
            await self._ask(seat)

    async def _came(self, message: PlayResponse, seat: SeatStream) -> None:
        match message.WhichOneof("message"):
            case "update":
                await self._update(message.update)
            case "private":
                self._own_cards(message.private, seat)
            case "heartbeat":
                self._clock_ahead_ms = message.heartbeat.server_time_ms - _now_ms()

    async def _update(self, update: Update) -> None:
        view = update.view if update.HasField("view") else self._view
        if update.is_snapshot and self._view is not None:
            self._say(self._words("snapshot"))
        before, self._view = self._view, view
        if view is None:
            return
        self._people |= {each.seat: each for each in view.seats}
        self._own_seat = next((each.seat for each in view.seats if each.player == self._seating.player), self._own_seat)
        teller = Teller(self._people.values(), self._own_seat, self._look, view.hand.board)
        self._screen.show(teller.locked(newly_locked(before, view)))
        for stored in update.events:
            kind, event = event_of(stored)
            self._follow(kind, event)
            self._screen.show(teller.lines(stored))
            if kind == "hand_ended":
                self._hand_over(view)
        if before is None or update.is_snapshot:
            self._screen.show(self._table(self._scene(view)))
            own = next((each for each in view.seats if each.seat == self._own_seat), None)
            if own is not None and is_running(view) and not own.in_hand:
                self._say(self._words("wait_next"))
        self._see_to_seat(view)
        await self._seating.see_to(view)

    def _follow(self, kind: str, event: Any) -> None:
        self._check.take(kind, event)
        if kind in {"hand_started", "capsa_started"}:
            self._events, self._arranging, self._unconfirmed = [], None, None
        self._events.append((kind, event))
        if kind == "seat_released" and event.player == self._seating.player:
            self._gone_because = self._words(f"cause_{name_of(SeatCause, event.cause)}")

    def _hand_over(self, view: TableView) -> None:
        if self._own_seat is None or (result := own_result(self._events, self._seating.player, self._words)) is None:
            return
        if view.hand.HasField("capsa"):
            self._screen.show(capsa_lines(self._scene(view), self._look))
        self._say(result)
        checked = self._check.verify(view.hand, self._private)
        self._say(self._words("checked", own=checked.own, shown=checked.shown))
        self.hands_left -= 1
        if not self.hands_left:
            raise _Ended(Ending.LEFT)

    def _see_to_seat(self, view: TableView) -> None:
        """End where the seat is gone: the table is closed, the player has been taken from it, or is out of a match."""
        if any(each.player == self._seating.player for each in view.seats):
            return
        if view.HasField("match") and view.match.is_started:
            places = [each.place for each in view.match.places if each.player == self._seating.player]
            is_won = view.match.result == MatchResult.MATCH_RESULT_WON and places == [1]
            told = self._words("you_are_out_at", place=places[0]) if places else self._words("you_are_out")
            self._say(self._words("house_wins_match") if is_won else told)
        elif view.is_closed and self._around is None:
            self._say(self._words("table_closed"))
        else:
            self._say_gone()
        raise _Ended(Ending.SEAT_GONE)

    def _own_cards(self, private: PrivateView, seat: SeatStream) -> None:
        is_new = self._private is None or self._private.hand_id != private.hand_id
        before, self._private = self._private, private
        if private.HasField("capsa") or (self._view is not None and self._view.config.HasField("capsa")):
            self._arrange_anew(private, None if is_new else before, seat)
        elif is_new and private.reveals:
            cards = [reveal.card for reveal in private.reveals]
            self._screen.show(labelled_cards(self._words("your_cards"), cards, self._look))
        elif before is not None and not is_new:
            self._screen.show(learned_lines(before, private, self._look))

    def _arrange_anew(self, private: PrivateView, before: PrivateView | None, seat: SeatStream) -> None:
        scene = scene_of(seat, self._now_ms())
        if self._arranging is None or not self._arranging.is_still_of(private):
            self._arranging = Arranging.of(private)
        if before is not None and before.capsa != private.capsa and scene is not None:
            self._screen.show(self._arranging.lines(scene._replace(private=private), self._look))

    def _told_of_line(self, is_there: bool) -> None:
        self._say(self._words("line_back" if is_there else "line_lost"))
        if is_there:
            self._asked_turn = 0  # What was asked has scrolled away: it is shown again, with the time that is left.

    # ---- What is asked ----------------------------------------------------------------------------------------------

    async def _ask(self, seat: SeatStream) -> None:
        """Show the table and what is asked, once for every decision, and behind all that led to it."""
        turn, _ = _open_question(seat)
        scene = scene_of(seat, self._now_ms())
        if scene is None or self._view is None or scene.table.version > self._view.version:
            return
        if not turn or turn == self._asked_turn:
            self._prompt(seat)
            return
        self._asked_turn = turn
        if self._is_auto:
            await self._try(decide_alone(seat, scene))
            return
        self._screen.show(["", *self._table(scene), *self._question(scene)])
        self._prompt(seat)

    def _prompt(self, seat: SeatStream) -> None:
        turn, _ = _open_question(seat)
        if turn and turn == self._asked_turn and not self._is_auto:
            self._screen.ask(self._words("prompt"))

    def _question(self, scene: Scene) -> list[Any]:
        if self._arranging is not None and scene.game == "capsa":
            return self._arranging.question(scene, self._look)
        return list(question_lines(scene, self._look))

    def _seconds_to_reminder(self, seat: SeatStream) -> float | None:
        turn, deadline_ms = _open_question(seat)
        if not turn or self._is_auto or turn != self._asked_turn:
            return None
        left = (deadline_ms - self._now_ms()) / 1000
        waits = [left - each for each in _REMINDERS if left > each and (deadline_ms, each) not in self._reminded]
        return min(waits, default=None)

    def _remind(self, seat: SeatStream) -> None:
        turn, deadline_ms = _open_question(seat)
        if turn:
            left = (deadline_ms - self._now_ms()) / 1000
            due = min((each for each in _REMINDERS if each >= left - 0.5), default=_REMINDERS[0])
            self._reminded.add((deadline_ms, due))
            self._say(self._words("seconds_left", seconds=due))
            self._prompt(seat)

    # ---- What is typed ----------------------------------------------------------------------------------------------

    async def _typed(self, line: str, seat: SeatStream) -> None:
        scene = scene_of(seat, self._now_ms())
        if scene is None:
            return
        arranged = None if self._arranging is None else self._arranging.arranged
        command = parse(line, scene, self._words, arranged)
        if command is not None:
            await self._do(command, scene, seat)

    async def _do(self, command: Command, scene: Scene, seat: SeatStream) -> None:
        was_unconfirmed, self._unconfirmed = self._unconfirmed, None
        match command:
            case Simple("leave"):
                self._leave(scene, is_confirmed=was_unconfirmed == command)
            case Simple("help"):
                self._screen.show(help_lines(scene, self._words))
            case Simple("table"):
                self._screen.show([*self._table(scene), *self._question(scene)])
            case Simple("conditions"):
                around = self._around
                self._screen.show(terms_lines(self._terms, self._words) if around is None else around.conditions())
            case Simple("sit_out" | "come_back" as name):
                await self._try(self._seating.be_dealt_in(is_in=name == "come_back"))
            case Reload(amount=amount):
                await self._try(self._seating.reload(amount))
            case Simple("suggest" | "lock" | "unlock" | "yes") | Arrange():
                await self._try(self._arrange(command, scene, seat))
            case Unclear():
                self._say(command.message)
            case _ if is_risky(command, scene) and command != was_unconfirmed:
                self._unconfirmed = command
                self._say(self._words("may_check"))
            case _:
                await self._try(self._make(command, scene, seat))

    async def _make(self, command: Any, scene: Scene, seat: SeatStream) -> None:
        await make(command, seat, scene)
        if type(command).__name__ == "Power":
            self._asked_turn = 0  # The turn goes on: what can be done now is shown again.
        elif type(command).__name__ == "Stake":
            self._say(self._words("stake_said"))

    async def _arrange(self, command: Any, scene: Scene, seat: SeatStream) -> None:
        if self._arranging is None:
            self._say(self._words("not_setting"))
            return
        self._screen.show(await self._arranging.do(command, scene, seat, self._look))

    def _leave(self, scene: Scene, *, is_confirmed: bool) -> None:
        own = scene.own
        is_in_hand = own is not None and is_running(scene.table) and own.in_hand and not own.has_folded
        is_match = scene.table.match.is_started or self._around is not None
        if (is_in_hand or is_match) and not is_confirmed:
            self._unconfirmed = Simple("leave")
            match_key = "leave_match" if self._around is None else "leave_tour"
            self._say(self._words(match_key if is_match else "leave_confirm"))
            return
        raise _Ended(Ending.LEFT)

    async def _try(self, work: Any) -> None:
        """Do something that may be refused, and say why where it is."""
        try:
            await work
        except DiwanError as error:
            if error.reason == "UNKNOWN_OUTCOME":
                self._say(self._words("no_answer"))
                if self._view is not None:
                    self._screen.show(self._table(self._scene(self._view)))
                return
            told = error.message_ar if self._words.language == "ar" and error.message_ar else error.message
            self._say(self._words("refused", why=told or error.reason))

    def _table(self, scene: Scene) -> list[Any]:
        above = () if self._around is None else self._around.above()
        return [*above, *table_lines(scene, self._look)]

    def _say_gone(self) -> None:
        if self._around is None:
            self._say(self._gone_because or self._words("seat_gone"))

    # ---- Small things -----------------------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self._screen.show(self._words.line(line) for line in text.splitlines())

    def _scene(self, view: TableView) -> Scene:
        return Scene(view, self._own_seat, self._private, self._now_ms())

    def _now_ms(self) -> int:
        """The table's time, as far as its heartbeats have told it."""
        return _now_ms() + self._clock_ahead_ms


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _open_question(seat: SeatStream) -> tuple[int, int]:
    """Return the turn and the deadline of what is asked of us, zeros where nothing is.

    Nothing is while our cards are still on their way, right behind the view that asks.
    """
    if not seat.held:
        return 0, 0
    for asked in (seat.window, seat.decision):
        if asked is not None:
            return asked.turn, asked.deadline_ms
    capsa = seat.capsa_decision
    return (0, 0) if capsa is None else (capsa.turn, capsa.deadline_ms)
