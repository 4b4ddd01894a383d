"""A command's events as they grow, with the tournament as it stands after them, and the draws made on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from diwan.core.fairness import NO_SEEDS, draw, draw_order
from diwan.core.fairness.material import Seeds
from diwan.core.tournament.commands import Chance
from diwan.core.tournament.events import Drawn, MoveCancelled, TournamentEvent
from diwan.core.tournament.evolve import evolve
from diwan.core.tournament.seeds import seeds_of_first_draw
from diwan.core.tournament.state import TournamentState

EVENTS_MAX: Final = 100_000
"""More than any command ever comes to: what goes on beyond would never end, and hold up all other tournaments."""


class NeedsChance(ValueError):  # noqa: N818
    """A command that draws was decided without the secret of the coming draw."""


class Batch:
    """Events of one command. ``touched`` gathers the numbers of tables that something happened to."""

    def __init__(self, state: TournamentState, chance: Chance | None, now_ms: int) -> None:
        self.state = state
        self.now_ms = now_ms
        self.touched: set[int] = set()
        self._chance = chance
        self._events: list[TournamentEvent] = []
        self._seeds: Seeds = NO_SEEDS
        self._ordinal: int | None = None

    @property
    def events(self) -> tuple[TournamentEvent, ...]:
        """Everything so far, the act first."""
        return tuple(self._events)

    @property
    def length(self) -> int:
        """How many events there are."""
        return len(self._events)

    def add(self, *events: TournamentEvent) -> None:
        """Let events happen."""
        if len(self._events) >= EVENTS_MAX:
            raise RuntimeError(f"a command that has no end: {self._events[-1]}")
        for event in events:
            if isinstance(event, MoveCancelled):
                move = self.state.moves[event.move_no]
                self.touched.update({move.from_table, move.to_table})
            self.state = evolve(self.state, event)
            self._events.append(event)
            table_no = getattr(event, "table_no", 0)
            if table_no:
                self.touched.add(table_no)

    def order(self, label: str, count: int) -> tuple[int, ...]:
        """Return 0..count-1 in a drawn order."""
        secret, ordinal = self._next()
        return draw_order(secret, label, self.state.tournament_id, count, seeds=self._seeds, ordinal=ordinal)

    def one(self, label: str, weights: Sequence[int]) -> int:
        """Return a drawn index, each as likely as its weight says."""
        secret, ordinal = self._next()
        return draw(secret, label, self.state.tournament_id, weights, seeds=self._seeds, ordinal=ordinal)

    def _next(self) -> tuple[bytes, int]:
        """Return the secret that the tournament was committed to, shown by the first draw of the batch, and an ordinal."""
        if self._chance is None:
            raise NeedsChance("this command draws: it needs the secret of the coming draw")
        if self._ordinal is None:
            self._seeds = seeds_of_first_draw(self.state) if self.state.draw_no == 1 else NO_SEEDS
            digest = self._seeds.get(0, b"")
            self.add(Drawn(self.state.draw_no, self._chance.secret, digest, self._chance.next_commitment, self.now_ms))
            self._ordinal = -1
        self._ordinal += 1
        return self._chance.secret, self._ordinal
