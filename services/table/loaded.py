"""What a claim gives a table's owner to go on from, and how it is read from the log."""

from collections import deque
from typing import Final
from uuid import UUID

import msgspec

from diwan.chassis.clock import DatabaseClock
from diwan.chassis.store import StoredEvent
from diwan.core.cards import Card
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandEnded, HandStarted
from diwan.core.table.checking import SPECTATOR_DELAY_MAX
from diwan.core.table.events import TableEvent
from diwan.core.table.evolve import evolve
from diwan.core.table.playing import StartedEvent
from diwan.core.table.state import TableState
from diwan.wire.events import decode
from services.table.recent import RECENT_EVENTS
from services.table.stream import TableStream


class Loaded(msgspec.Struct):
    """A table as its log tells it.

    ``recent`` are the newest events as stored, ``silent_since_ms`` is when the last of them before the claim was,
    ``behind`` the table as spectators had been shown it, where that is less, and as it went on (S8), ``hands`` where each hand lies.
    """

    stream: TableStream
    state: TableState
    recent: list[StoredEvent]
    clock: DatabaseClock
    silent_since_ms: int
    behind: list[tuple[TableState, dict[int, Card]]]
    hands: list[tuple["HandPlace", str]]


class HandPlace(msgspec.Struct, frozen=True):
    """Where a hand lies: its table and versions; ``last_version`` is 0 while it runs."""

    table_id: UUID
    first_version: int
    last_version: int = 0


class BrokenStream(Exception):  # noqa: N818
    """A stream's events are not all there, or do not reach to where its row says."""


_STARTED: Final = (HandStarted, CapsaStarted)


class Fold:
    """Folds a stream as it is read, and keeps what a table goes on from."""

    def __init__(self) -> None:
        self.state: TableState | None = None
        self.version = 0
        self.recent: list[StoredEvent] = []
        self.shown: dict[int, Card] = {}
        self.started: StartedEvent | None = None
        self.hands: list[tuple[HandPlace, str]] = []
        self.silent_since_ms = 0
        self._last_ms = 0
        self._command: UUID | None = None
        # The table after each of the newest batches, as spectators may have to see it; with the cards shown in it.
        self._trail: deque[tuple[TableState, dict[int, Card]]] = deque(maxlen=SPECTATOR_DELAY_MAX + 1)

    @classmethod
    def going_on(cls, state: TableState, last: StoredEvent) -> "Fold":
        """Begin with a table as it stood between two hands, behind the event ``last``."""
        fold = cls()
        fold.state, fold.version, fold.recent = state, last.version, [last]
        fold._last_ms, fold._command = last.recorded_at_ms, last.command_id
        return fold

    def behind(self) -> list[tuple[TableState, dict[int, Card]]]:
        """Return the table as spectators have been shown it, and after each batch since but the last (S8).

        Empty where they have been shown everything.
        """
        state = self.state
        if state is None or not state.is_running or not state.config.spectator_delay_events:
            return []
        newest = state.version - state.config.spectator_delay_events
        trail = list(self._trail)
        at = len(trail) - 1
        while trail[at][0].version > newest and trail[at][0].is_running:
            at -= 1
        return trail[at:]

    def take(self, page: list[StoredEvent]) -> None:
        for stored in page:
            if stored.version != self.version + 1:
                raise BrokenStream(f"version {stored.version} follows {self.version}")
            if self._command != stored.command_id and self.state is not None:
                self._batch_ended(self.state)
            self._command = stored.command_id
            decoded = decode(stored.type_id, stored.schema_v, stored.body)
            event: TableEvent = decoded.event  # type: ignore[assignment]  # a table's stream holds nothing else
            kind = type(event)
            if kind in _STARTED and isinstance(event, _STARTED):
                self.started, self.shown = event, {}
                self.hands.append((HandPlace(stored.stream_id, stored.version), event.hand_id))
            elif kind is HandEnded and self.hands:
                place, hand_id = self.hands[-1]
                self.hands[-1] = (HandPlace(place.table_id, place.first_version, stored.version), hand_id)
            for reveal in decoded.reveals:
                self.shown[reveal.position] = reveal.card
            self.state = evolve(self.state, event)
            self.version = stored.version
            self.silent_since_ms, self._last_ms = self._last_ms, stored.recorded_at_ms
        self.recent = [*self.recent, *page][-RECENT_EVENTS:]

    def _batch_ended(self, state: TableState) -> None:
        if state.config.spectator_delay_events:
            self._trail.append((state, self.shown))
