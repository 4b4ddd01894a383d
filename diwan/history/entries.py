"""The log as history reads it: decoded events with version, time, command and the cards that they turned up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from msgspec import Struct

from diwan.core.cards import Card
from diwan.core.fairness import Reveal
from diwan.core.hand.events import Position
from diwan.core.table.events import TableEvent
from diwan.core.table.playing import PLAYED_EVENTS, PlayedEvent, PlayedHand, evolve_played


class Withheld(Struct, frozen=True):
    """An event whose body is for others: only its kind is known."""

    kind: str


class Entry(Struct, frozen=True):
    """One event of a table's stream; ``reveals`` has one a position that the event turned up."""

    version: int
    recorded_at_ms: int
    command_id: bytes
    event: TableEvent | Withheld
    reveals: tuple[Reveal, ...] = ()


class Batch(Struct, frozen=True):
    """What one command caused, the act first."""

    command_id: bytes
    entries: tuple[Entry, ...]


class Reader:
    """Follows a hand entry by entry: the folded state and the cards known so far.

    ``extra`` are reveals that no event holds: a seat's own cards, or what an auditor was shown. They count from the
    start, so that every step is seen with them.
    """

    def __init__(self, extra: Iterable[Reveal] = ()) -> None:
        self.state: PlayedHand | None = None
        self._cards: dict[Position, Card] = {reveal.position: reveal.card for reveal in extra}

    @property
    def cards(self) -> Mapping[Position, Card]:
        """Cards by position, as far as they are known."""
        return self._cards

    def follow(self, entry: Entry) -> None:
        """Take one more entry in; events of the table itself change nothing here."""
        for reveal in entry.reveals:
            self._cards[reveal.position] = reveal.card
        if isinstance(entry.event, PLAYED_EVENTS):
            self.state = evolve_played(self.state, entry.event)


def hand_events(entries: Iterable[Entry]) -> Iterator[PlayedEvent]:
    """Yield the hand's own events, without what lay between them at the table."""
    for entry in entries:
        if isinstance(entry.event, PLAYED_EVENTS):
            yield entry.event


def fold(entries: Iterable[Entry]) -> PlayedHand | None:
    """Return the hand after its entries; None where there is no event of a hand (H3)."""
    state: PlayedHand | None = None
    for event in hand_events(entries):
        state = evolve_played(state, event)
    return state


def batches(entries: Iterable[Entry]) -> tuple[Batch, ...]:
    """Return the entries grouped by the command that caused them; a command's events stand together in a stream."""
    groups = groupby(entries, key=lambda entry: entry.command_id)
    return tuple(Batch(command_id, tuple(group)) for command_id, group in groups)
