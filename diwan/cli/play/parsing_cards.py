"""Cards as people type them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from diwan.core.cards import RANKS, SUITS, Card, make_card

_CARD: Final = re.compile(r"(10|[2-9tjqka])([cdhs♣♦♥♠])\ufe0f?", re.IGNORECASE)
_SUITS: Final = {**{letter: suit for suit, letter in enumerate(SUITS)}, "♣": 0, "♦": 1, "♥": 2, "♠": 3}


def read_cards(typed: Sequence[str]) -> tuple[Card, ...] | str:
    """Return cards such as ``As``, ``kd``, ``10h``, ``Q♠`` or ``AsKdQc``; the piece that is none where one is not."""
    found: list[Card] = []
    for piece in typed:
        place = 0
        text = piece.replace(",", "")
        while place < len(text):
            match = _CARD.match(text, place)
            if match is None:
                return text[place:]
            rank = "T" if match[1] == "10" else match[1].upper()
            found.append(make_card(RANKS.index(rank), _SUITS[match[2].lower()]))
            place = match.end()
    return tuple(found)
