"""The 52 cards: a card is ``rank * 4 + suit``, its text is a rank and a suit letter (``As``, ``Td``, ``2c``)."""

from collections.abc import Iterable
from typing import Final

type Card = int
"""0..51; rank 0..12 stands for 23456789TJQKA, suit 0..3 for clubs, diamonds, hearts, spades."""

RANKS: Final = "23456789TJQKA"
SUITS: Final = "cdhs"
DECK: Final[tuple[Card, ...]] = tuple(range(52))

_TEXTS: Final = tuple(rank + suit for rank in RANKS for suit in SUITS)
_CARDS: Final = {text: card for card, text in enumerate(_TEXTS)}


class CardTextError(ValueError):
    """A text that names no card, or names one twice; the message says which and why."""


def make_card(rank: int, suit: int) -> Card:
    """Return the card of a rank 0..12 and a suit 0..3."""
    if not (0 <= rank < 13 and 0 <= suit < 4):
        raise ValueError(f"no card has rank {rank} and suit {suit}: ranks are 0..12, suits 0..3")
    return rank * 4 + suit


def rank_of(card: Card) -> int:
    """Return the rank, 0 for a deuce to 12 for an ace."""
    return card >> 2


def suit_of(card: Card) -> int:
    """Return the suit: 0 clubs, 1 diamonds, 2 hearts, 3 spades."""
    return card & 3


def is_card(value: object) -> bool:
    """Say whether a value from outside is a card; booleans and floats are not."""
    return type(value) is int and 0 <= value < 52


def parse_card(text: str) -> Card:
    """Return the card that a text of two letters names, such as ``As``; raise `CardTextError` otherwise."""
    card = _CARDS.get(text)
    if card is None:
        raise CardTextError(_why_no_card(text))
    return card


def parse_cards(text: str) -> tuple[Card, ...]:
    """Return the cards of a text such as ``As Kd`` or ``AsKd``, in its order.

    Spaces between cards are free. A card named twice is refused, since one deck holds it once; an empty text is no card.
    """
    cards: list[Card] = []
    for word in text.split():
        if len(word) % 2:
            raise CardTextError(f"{_shown(word)} is no row of cards: {_why_no_card(word)}")
        for start in range(0, len(word), 2):
            card = parse_card(word[start : start + 2])
            if card in cards:
                raise CardTextError(f"{_TEXTS[card]} is named twice in {_shown(text)}")
            cards.append(card)
    return tuple(cards)


def format_card(card: Card) -> str:
    """Return the text of a card, such as ``As``."""
    if not is_card(card):
        raise ValueError("a card is an integer 0..51")
    return _TEXTS[card]


def format_cards(cards: Iterable[Card], separator: str = " ") -> str:
    """Return the texts of cards in their order, such as ``As Kd``."""
    return separator.join(map(format_card, cards))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 24 else text[:24] + "...")


def _why_no_card(text: str) -> str:
    shown = _shown(text)
    if text[:2] == "10":
        return f"{shown} is no card: a ten is written T, as in T{text[2:3] or 's'}"
    if len(text) != 2:
        return f"{shown} is no card: a card is a rank and a suit letter, as in As"
    flipped = text[0].upper() + text[1].lower()
    if flipped in _CARDS:
        return f"{shown} is no card: did you mean {flipped}? Ranks are {RANKS}, suits {SUITS}"
    if text[0] not in RANKS:
        return f"{shown} is no card: its rank is none of {RANKS}"
    return f"{shown} is no card: its suit is none of {SUITS}"
