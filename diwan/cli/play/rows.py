"""Thirteen cards on their way into three rows: what a player of Capsa has arranged so far. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from diwan.client.messages import CapsaRows
from diwan.core.cards import Card, rank_of, suit_of

type Row = Literal["front", "middle", "back"]

ROWS: Final[tuple[Row, ...]] = ("front", "middle", "back")
SIZES: Final[dict[Row, int]] = {"front": 3, "middle": 5, "back": 5}


class Arranged(NamedTuple):
    """Front, middle and back as they stand, and the cards that lie in none of them, in the order in which they lie."""

    front: tuple[Card, ...] = ()
    middle: tuple[Card, ...] = ()
    back: tuple[Card, ...] = ()
    tray: tuple[Card, ...] = ()

    @property
    def rows(self) -> tuple[tuple[Card, ...], tuple[Card, ...], tuple[Card, ...]]:
        """Front, middle and back, as the client library takes them."""
        return self.front, self.middle, self.back

    @property
    def is_complete(self) -> bool:
        """Whether every card has its place."""
        return not self.tray and [len(row) for row in self.rows] == list(SIZES.values())

    @property
    def cards(self) -> tuple[Card, ...]:
        """All cards."""
        return (*self.front, *self.middle, *self.back, *self.tray)

    def with_row(self, row: Row, cards: Sequence[Card]) -> Arranged:
        """Return the cards with a row made of these, wherever they lay; what lay in the row is free again.

        What is left then goes by itself where it must: when it fills the last row that has room.
        """
        kept = {name: tuple(card for card in getattr(self, name) if card not in cards) for name in ROWS}
        freed = [card for card in kept[row] if card not in cards]
        kept[row] = tuple(cards)
        tray = [card for card in self.tray if card not in cards] + freed
        return _filled(Arranged(**kept, tray=ranked(tray)))

    def swapped(self, one: Card, other: Card) -> Arranged:
        """Return the cards with two of them in each other's place."""
        places = {one: other, other: one}
        return Arranged(*(tuple(places.get(card, card) for card in part) for part in self))

    def sorted_tray(self, *, by_suit: bool) -> Arranged:
        """Return the cards with the free ones in order: by rank, or by suit and then rank."""
        return self._replace(tray=suited(self.tray) if by_suit else ranked(self.tray))

    def cleared(self) -> Arranged:
        """Return all cards free."""
        return dealt(self.cards)


def _filled(arranged: Arranged) -> Arranged:
    short = [row for row in ROWS if len(getattr(arranged, row)) < SIZES[row]]
    if len(short) == 1 and len(getattr(arranged, short[0])) + len(arranged.tray) == SIZES[short[0]]:
        return arranged._replace(**{short[0]: getattr(arranged, short[0]) + arranged.tray, "tray": ()})
    return arranged


def dealt(cards: Iterable[Card]) -> Arranged:
    """Return cards of which none has a place."""
    return Arranged(tray=ranked(cards))


def arranged_as(cards: Iterable[Card], rows: CapsaRows) -> Arranged:
    """Return cards as rows of the contract have them; the others are free."""
    placed = {*rows.front, *rows.middle, *rows.back}
    tray = ranked(card for card in cards if card not in placed)
    return Arranged(tuple(rows.front), tuple(rows.middle), tuple(rows.back), tray)


def ranked(cards: Iterable[Card]) -> tuple[Card, ...]:
    """Return cards by rank, the highest first."""
    return tuple(sorted(cards, reverse=True))


def grouped(cards: Iterable[Card]) -> tuple[Card, ...]:
    """Return a row's cards as one reads a hand: what there is more of first, then by rank."""
    row = list(cards)
    counts = Counter(map(rank_of, row))
    return tuple(sorted(row, key=lambda card: (counts[rank_of(card)], card), reverse=True))


def suited(cards: Iterable[Card]) -> tuple[Card, ...]:
    """Return cards by suit, spades first, and by rank within it."""
    return tuple(sorted(cards, key=lambda card: (suit_of(card), rank_of(card)), reverse=True))
