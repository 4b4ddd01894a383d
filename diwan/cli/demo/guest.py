"""A guest of the demo: enters a tournament and follows its seat from table to table, as any client would."""

from __future__ import annotations

import asyncio
import contextlib

from diwan.client import DiwanClient, DiwanError
from diwan.client.fair import EntrySeed
from diwan.client.seat import SeatStream
from diwan.client.tournaments import OwnEntry, TournamentView


class Guest:
    """One player in one tournament. It checks where it may and folds else, and so lives long enough to be moved."""

    def __init__(self, client: DiwanClient, tournament_id: str, seed: EntrySeed | None = None) -> None:
        self.tournament_id = tournament_id
        self.view: TournamentView | None = None
        self.own: OwnEntry | None = None
        self.tables: list[str] = []
        self.views: list[TournamentView] = []
        self._client = client
        self._seed = seed
        self._seat: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[None] | None = None

    async def play(self) -> None:
        """Follow the tournament to its end; raises `DiwanError` where it cannot be followed."""
        try:
            async with self._client.tournaments.watch(self.tournament_id) as story:
                async for message in story:
                    if message.WhichOneof("message") == "own" and story.own is not None:
                        self._take_seat(story.own)
                    elif message.update.HasField("view"):
                        self.view = message.update.view
                        self.views.append(message.update.view)
                        self._open_seed(message.update.view)
        finally:
            await self._leave()

    def _open_seed(self, view: TournamentView) -> None:
        """Open the seed of the entry where the first draw waits for it."""
        seed = None if self._seed is None else self._seed.answers(view)
        if seed is not None:
            self._opening = asyncio.create_task(self._say_seed(seed), name=f"seed-{self.tournament_id}")

    async def _say_seed(self, seed: bytes) -> None:
        with contextlib.suppress(DiwanError):  # Too late: the draw was made without it, as the log says.
            await self._client.tournaments.open_seed(self.tournament_id, seed)

    def _take_seat(self, own: OwnEntry) -> None:
        """Go where the tournament says: table, seat and stack come in one message."""
        self.own = own
        if not own.table_id or (self.tables and self.tables[-1] == own.table_id):
            return
        self.tables.append(own.table_id)
        if self._seat is not None:
            self._seat.cancel()
        self._seat = asyncio.create_task(self._sit(own.table_id), name=f"guest-{own.table_id}")

    async def _sit(self, table_id: str) -> None:
        answered = 0
        async with self._client.tables.play(table_id) as seat:
            with contextlib.suppress(DiwanError):  # Moved, out, or the table is closed: the tournament says which.
                async for _ in seat:
                    decision = seat.decision
                    if decision is None or decision.turn == answered:
                        continue
                    answered = decision.turn
                    with contextlib.suppress(DiwanError):  # Too late: the clock has decided.
                        await self.decide(seat, decision.turn, can_check=decision.can_check)

    async def decide(self, seat: SeatStream, turn: int, *, can_check: bool) -> None:
        """Decide once; raises `DiwanError`."""
        await seat.act(turn, "check" if can_check else "fold")

    async def _leave(self) -> None:
        for task in (self._seat, self._opening):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
