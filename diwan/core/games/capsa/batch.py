"""The events of one command while they are being made, with the state after them."""

from __future__ import annotations

from collections.abc import Mapping

from diwan.core.cards import Card
from diwan.core.games.capsa.events import Arrangement, CapsaEvent, CapsaStarted
from diwan.core.games.capsa.evolve import evolve_live
from diwan.core.games.capsa.settings import CapsaSettings
from diwan.core.games.capsa.state import CapsaState, EndedCapsa, LiveCapsa, Place
from diwan.core.games.capsa.unseen import PartlySeen
from diwan.core.hand.events import HandEnded, Position

type Step = tuple[tuple[CapsaEvent, ...], CapsaState]
type Cards = Mapping[Position, Card]


class Batch:
    """Collects events; each is folded at once, so that what follows is decided on the state after it."""

    __slots__ = ("cards", "events", "now_ms", "state", "version")

    def __init__(self, state: LiveCapsa, cards: Cards, version: int, now_ms: int) -> None:
        self.state = state
        self.cards = cards
        self.version = version
        self.now_ms = now_ms
        self.events: list[CapsaEvent] = []

    @property
    def next_version(self) -> int:
        """The version that the next event will have in its stream."""
        return self.version + len(self.events) + 1

    @property
    def settings(self) -> CapsaSettings:
        """The hand's settings."""
        return self.state.deal.started.settings

    def add(self, event: CapsaEvent) -> None:
        """Take an event that neither begins nor ends the hand."""
        if isinstance(event, CapsaStarted | HandEnded):
            raise TypeError(f"{type(event).__name__} is no event within a hand")
        self.events.append(event)
        self.state = evolve_live(self.state, event)

    def unseen(self, place: Place) -> PartlySeen | None:
        """Return whose word is taken for a place's cards where they are not all known; None where they are."""
        cards = self.cards
        if not isinstance(cards, PartlySeen) or cards.has_all(self.state.holdings[place]):
            return None
        return cards

    def look(self, positions: tuple[Position, ...]) -> tuple[Card, ...]:
        """Return the cards at positions."""
        return tuple([self.cards[position] for position in positions])

    def look_at_rows(self, set_: Arrangement) -> tuple[tuple[Card, ...], tuple[Card, ...], tuple[Card, ...]]:
        """Return the cards of front, middle and back."""
        return self.look(set_.front), self.look(set_.middle), self.look(set_.back)

    def close(self, ended: EndedCapsa | None = None) -> Step:
        """Return the batch and the state after it."""
        return tuple(self.events), ended or self.state
