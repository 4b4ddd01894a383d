"""The events of one command while they are being made, with the state after them."""

from __future__ import annotations

from collections.abc import Mapping

from diwan.core.cards import Card
from diwan.core.hand.events import HandEvent, Position
from diwan.core.hand.evolve import InHandEvent, evolve_live
from diwan.core.hand.state import HandState, LiveHand


class Batch:
    """Collects events; each is folded at once, so that what follows is decided on the state after it."""

    __slots__ = ("cards", "events", "now_ms", "state", "version")

    def __init__(self, state: LiveHand, cards: Mapping[Position, Card], version: int, now_ms: int) -> None:
        self.state = state
        self.cards = cards
        self.version = version
        self.now_ms = now_ms
        self.events: list[HandEvent] = []

    @property
    def next_version(self) -> int:
        """The version that the next event will have in its stream."""
        return self.version + len(self.events) + 1

    def add(self, event: InHandEvent) -> None:
        """Take an event that neither begins nor ends the hand."""
        self.events.append(event)
        self.state = evolve_live(self.state, event)

    def close(self, ended: HandState | None = None) -> tuple[tuple[HandEvent, ...], HandState]:
        """Return the batch and the state after it."""
        return tuple(self.events), ended or self.state
