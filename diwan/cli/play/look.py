"""How things are written: cards, names, amounts. Everything here and in ``drawing*`` is a pure function to text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.text import Text

from diwan.cli.play.words import Words, without_marks
from diwan.client.messages import SeatView
from diwan.core.cards import RANKS, Card, format_card, rank_of, suit_of

SYMBOLS: Final = "♣♦♥♠"
_COLOURS: Final = ("green", "blue", "red", "bold")  # of clubs, diamonds, hearts, spades: each its own, as many like it


class Look(NamedTuple):
    """How a terminal is written to.

    ``has_symbols``: suits as ♠♥♦♣, else as letters. ``is_drawn``: boxes around cards. Colour only adds to that: what
    writes to no terminal leaves it out, and nothing is told by colour alone.
    """

    words: Words
    has_symbols: bool = True
    is_drawn: bool = True


def card_text(card: Card, look: Look) -> str:
    """Return a card such as ``A♠``, or ``As`` without symbols."""
    return RANKS[rank_of(card)] + SYMBOLS[suit_of(card)] if look.has_symbols else format_card(card)


def cards_text(cards: Iterable[Card], look: Look) -> str:
    """Return cards in a row, from left to right."""
    return look.words.cards(" ".join(card_text(card, look) for card in cards))


def cards_line(cards: Iterable[Card], look: Look) -> Text:
    """Return cards in a row, in their colours."""
    parts = [(card_text(card, look), _COLOURS[suit_of(card)]) for card in cards]
    marks = look.words.cards("|").split("|")
    return Text.assemble(marks[0], *_between(parts, (" ", "")), marks[1])


def card_boxes(cards: Sequence[Card], look: Look) -> list[Text]:
    """Return cards as three lines of boxes, or as one plain line where nothing is drawn."""
    if not look.is_drawn or not cards:
        return [cards_line(cards, look)]
    opening, closing = look.words.cards("|").split("|")
    faces = [(f"│{card_text(card, look)}│", _COLOURS[suit_of(card)]) for card in cards]
    return [
        Text(opening + "┌──┐" * len(cards) + closing),
        Text.assemble(opening, *faces, closing),
        Text(opening + "└──┘" * len(cards) + closing),
    ]


def labelled_cards(label: str, cards: Sequence[Card], look: Look) -> list[Text]:
    """Return cards under a label, or behind it where nothing is drawn."""
    if not look.is_drawn:
        return [Text.assemble(look.words.line(f"   {label}: "), cards_line(cards, look))]
    return [Text(look.words.line(f"   {label}:")), *(Text.assemble("      ", line) for line in card_boxes(cards, look))]


def _between(parts: Sequence[tuple[str, str]], gap: tuple[str, str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for part in parts:
        found += [gap, part] if found else [part]
    return found


def name_text(seat: SeatView, own: int | None, words: Words) -> str:
    """Return whose seat it is; bots are marked as such everywhere."""
    if seat.seat == own:
        return words("you")
    name = seat.display_name or seat.player
    if seat.is_bot:
        # Its label is said in the reader's language.
        name = name.removeprefix("BOT ").removeprefix("bot:")
    return f"{words.piece(name)} ({words('bot')})" if seat.is_bot else words.piece(name)


def who_text(seats: Iterable[SeatView], seat: int, own: int | None, words: Words) -> str:
    """Return who sits at a seat, or the seat's number where nobody is known to."""
    if seat == own:
        return words("you")
    found = next((each for each in seats if each.seat == seat), None)
    return words("seat", seat=seat) if found is None else name_text(found, own, words)


def signed(amount: int) -> str:
    """Return an amount that is won or lost, always with its sign."""
    return f"{amount:+,}" if amount else "0"


def columns(rows: Sequence[Sequence[str]], *, aligned_right: Sequence[int] = ()) -> list[str]:
    """Return rows of cells as lines with straight columns, whatever the width of their letters."""
    if not rows:
        return []
    widths = [max(width(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = []
        for place, cell in enumerate(row):
            gap = " " * (widths[place] - width(cell))
            cells.append(gap + cell if place in aligned_right else cell + gap)
        lines.append("  ".join(cells).rstrip())
    return lines


def width(text: str) -> int:
    """Return how many columns of a terminal text takes."""
    return cell_len(without_marks(text))
