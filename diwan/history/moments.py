"""A hand moment by moment: the table after each command, and who had been shown which cards by then.

What a command caused is decided, stored and told together, so between its events nobody saw anything (DESIGN 8).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.cards import Card
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.games.capsa.state import LiveCapsa
from diwan.core.hand.events import HandStarted, Position, Seat
from diwan.core.hand.state import LiveHand
from diwan.core.table.events import TableEvent
from diwan.core.table.evolve import evolve
from diwan.core.table.playing import is_awaited, open_clock
from diwan.core.table.state import TableState
from diwan.history.entries import Entry
from diwan.history.lenses import shown_alone
from diwan.history.steps import time_left_of


class Happened(Struct, frozen=True):
    """One event; ``time_left_ms`` is what was left on the clock when a decision arrived, None elsewhere."""

    entry: Entry
    time_left_ms: int | None


class Clock(Struct, frozen=True):
    """The clock that runs: who is waited for, what an answer names, until when, and what was left at the moment itself."""

    seats: tuple[Seat, ...]
    turn: int
    deadline_ms: int
    left_ms: int


class Moment(Struct, frozen=True):
    """A table after a command.

    ``shown`` are the cards that had been turned up for everybody, ``known`` the positions that seats had been shown alone,
    ``spectators_at_version`` the table's version at which spectators were told of it; 0 where they have not been (S8).
    """

    version: int
    happened: tuple[Happened, ...]
    state: TableState
    shown: Mapping[Position, Card]
    known: Mapping[Seat, tuple[Position, ...]]
    clock: Clock | None
    spectators_at_version: int = 0


def hand_moments(before: TableState, entries: Iterable[Entry]) -> tuple[Moment, ...]:
    """Return a hand's moments. ``entries`` are whole, from the hand's first event on; ``before`` is the table before it."""
    folding = _Folding(before)
    grouped = groupby(entries, key=lambda entry: entry.command_id)
    return tuple(_told_to_spectators([folding.moment(tuple(batch)) for _, batch in grouped]))


class _Folding:
    def __init__(self, before: TableState) -> None:
        self._state = before
        self._shown: dict[Position, Card] = {}
        self._known: dict[Seat, tuple[Position, ...]] = {}

    def moment(self, batch: Sequence[Entry]) -> Moment:
        happened = tuple([self._follow(entry) for entry in batch])
        last, state = batch[-1], self._state
        assert state.version == last.version, "a hand's events follow the table before it"  # noqa: S101
        return Moment(
            last.version, happened, state, dict(self._shown), dict(self._known), clock_of(state, last.recorded_at_ms)
        )

    def _follow(self, entry: Entry) -> Happened:
        event: TableEvent = entry.event  # type: ignore[assignment]  # whole entries withhold nothing
        left_ms = time_left_of(self._state.hand, event)
        if isinstance(event, HandStarted | CapsaStarted):
            self._shown, self._known = {}, {seat.seat: () for seat in event.seats}
        for reveal in entry.reveals:
            self._shown[reveal.position] = reveal.card
        for seat, positions in shown_alone(event, tuple(self._known)):
            self._known[seat] = tuple(dict.fromkeys((*self._known[seat], *positions)))
        self._state = evolve(self._state, event)
        return Happened(entry, left_ms)


def clock_of(state: TableState, at_ms: int) -> Clock | None:
    """Return the clock that runs at a table, with what is left of it at a time."""
    clock = open_clock(state.hand) if state.is_running else None
    if clock is None:
        return None
    seats: tuple[Seat, ...] = ()
    match state.hand:
        case LiveHand() as live:
            seats = (live.deal.seats[live.asked],)
        case LiveCapsa() as live:
            seats = tuple([seat for seat in live.deal.seats if is_awaited(live, seat)])
    return Clock(seats, clock.turn, clock.deadline_ms, clock.deadline_ms - at_ms)


def _told_to_spectators(moments: Iterable[Moment]) -> Iterator[Moment]:
    """Yield moments with the version at which each was told to spectators: so many events late, all at the hand's end."""
    held: list[Moment] = []
    for moment in moments:
        held.append(moment)
        state = moment.state
        delay = state.config.spectator_delay_events if state.is_running else 0
        while held and held[0].version <= moment.version - delay:
            yield replace(held.pop(0), spectators_at_version=moment.version)
    yield from held
