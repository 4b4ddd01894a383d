"""A player's part in a hand of Capsa: rows on the way, drafts that are saved, the lock."""

from __future__ import annotations

import asyncio
from typing import Self

from rich.text import Text

from diwan.cli.play.commands import Arrange, Command, Simple
from diwan.cli.play.drawing_capsa import arranged_lines, capsa_question_lines
from diwan.cli.play.look import Look
from diwan.cli.play.rows import Arranged, arranged_as, dealt
from diwan.cli.play.scene import Scene
from diwan.client import DiwanError, SeatStream
from diwan.client.arranging import suggested_set
from diwan.client.messages import PrivateView


class Arranging:
    """Thirteen cards of one hand, as the player has arranged them so far."""

    def __init__(self, hand_id: str, arranged: Arranged) -> None:
        self.hand_id = hand_id
        self.arranged = arranged
        self._saved = arranged.rows
        self._awaits_yes = False
        self._has_locked = False  # as far as we know before the view that says so

    @classmethod
    def of(cls, private: PrivateView) -> Self:
        """Return what a seat has arranged before, here or on another device; all cards free where it has not."""
        cards = [reveal.card for reveal in private.reveals]
        for name in ("locked", "draft"):
            if private.capsa.HasField(name):
                return cls(private.hand_id, arranged_as(cards, getattr(private.capsa, name).rows))
        return cls(private.hand_id, dealt(cards))

    def is_still_of(self, private: PrivateView) -> bool:
        """Say whether these rows are what the table has: not of another hand, nor other ones that the clock has locked."""
        if private.capsa.HasField("locked") and not self._has_locked:
            rows = private.capsa.locked.rows
            locked = [set(row) for row in (rows.front, rows.middle, rows.back)]
            return self.hand_id == private.hand_id and locked == [set(row) for row in self.arranged.rows]
        return self.hand_id == private.hand_id

    def lines(self, scene: Scene, look: Look) -> list[Text]:
        """Return the rows as they stand."""
        return arranged_lines(scene, self.arranged, look)

    def question(self, scene: Scene, look: Look) -> list[Text]:
        """Return the rows and what is asked, if we are."""
        capsa = scene.table.hand.capsa
        if not capsa.HasField("decision") or scene.seat not in capsa.decision.seats:
            return []
        return [*self.lines(scene, look), *capsa_question_lines(scene, look)]

    async def do(self, command: Command, scene: Scene, seat: SeatStream, look: Look) -> list[str | Text]:
        """Carry a command out; returns what is to be shown. Raises `DiwanError` where the table refuses it.

        Rows come back with their names in the seat's next private view, which is when they are shown.
        """
        words, turn = look.words, scene.table.hand.capsa.decision.turn
        awaited_yes, self._awaits_yes = self._awaits_yes, False
        match command:
            case Arrange(arranged=arranged):
                return await self._draft(arranged, turn, scene, seat, look)
            case Simple("suggest"):
                rows = await asyncio.to_thread(suggested_set, self.arranged.cards, scene.table.config.capsa)
                return await self._draft(Arranged(*rows), turn, scene, seat, look)
            case Simple("lock"):
                return await self._lock(turn, seat, look, is_confirmed=False)
            case Simple("yes") if awaited_yes:
                return await self._lock(turn, seat, look, is_confirmed=True)
            case Simple("unlock") if self._has_locked or _is_locked(scene):
                await seat.unlock(turn)
                self._has_locked = False
                return [words.line(words("unlocked_now"))]
            case Simple("unlock"):
                return [words.line(words("not_locked"))]
            case _:
                return [words.line(words("not_understood", text="yes"))]

    async def _draft(
        self, arranged: Arranged, turn: int, scene: Scene, seat: SeatStream, look: Look
    ) -> list[str | Text]:
        self.arranged = arranged
        if arranged.rows == self._saved:
            return [*self.lines(scene, look)]
        await seat.save_draft(turn, arranged.rows)
        self._saved = arranged.rows
        return [look.words.line("   " + look.words("draft_saved"))]

    async def _lock(self, turn: int, seat: SeatStream, look: Look, *, is_confirmed: bool) -> list[str | Text]:
        try:
            await seat.lock_set(turn, self.arranged.rows, is_foul_confirmed=is_confirmed)
        except DiwanError as error:
            if error.reason != "FOULED_SET":
                raise
            self._awaits_yes = True
            return [look.words.line(look.words("confirm_foul"))]
        self._has_locked = True
        return [look.words.line(look.words("locked_now"))]


def _is_locked(scene: Scene) -> bool:
    return scene.private is not None and scene.private.capsa.HasField("locked")
