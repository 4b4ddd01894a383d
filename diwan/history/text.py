"""Steps as plain text, for terminals without tables, files and mails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from diwan.core.cards import Card, format_card
from diwan.history.steps import SeatLine, Step
from diwan.history.words import HIDDEN, seconds


def clock_text(at_ms: int) -> str:
    """Return a time of day in UTC with milliseconds, such as ``14:02:24.123``."""
    at_seconds, millis = divmod(at_ms, 1000)
    minutes, second = divmod(at_seconds, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours % 24:02}:{minute:02}:{second:02}.{millis:03}"


def cards_text(cards: Iterable[Card | None]) -> str:
    """Return cards such as ``As ??``."""
    return " ".join(HIDDEN if card is None else format_card(card) for card in cards)


def who_text(step: Step) -> str:
    """Return the step's subject."""
    return "room" if step.seat is None else f"seat {step.seat}"


def time_left_text(step: Step) -> str:
    """Return what was left on the decision clock, empty where nothing was decided."""
    return "" if step.time_left_ms is None else seconds(step.time_left_ms)


def seat_text(line: SeatLine) -> str:
    """Return one seat with chips, bet and cards, such as ``3: 480+20 As ??``; a folded seat stands in brackets.

    Hidden cards of a folded seat are left out: they tell nothing and make a line long.
    """
    bet = f"+{line.bet}" if line.bet else ""
    is_told = line.cards and not (line.has_folded and all(card is None for card in line.cards))
    cards = f" {cards_text(line.cards)}" if is_told else ""
    text = f"{line.seat}: {line.stack}{bet}{cards}"
    return f"({text})" if line.has_folded else text


def plain_lines(steps: Iterable[Step]) -> Iterator[str]:
    """Yield two lines a step that changes chips or cards, one a step that does not."""
    before: tuple[object, ...] = ()
    for step in steps:
        left = time_left_text(step)
        yield (
            f"{step.version:>6}  {clock_text(step.recorded_at_ms)}  {who_text(step):<6}  {step.what}"
            + (f"  [{left} left]" if left else "")
        )
        after = (step.seats, step.pot, step.board)
        if step.seats and after != before:
            board = f"  board {cards_text(step.board)}" if step.board else ""
            yield f"{'':8}pot {step.pot}{board}  |  {'  '.join(map(seat_text, step.seats))}"
        before = after


def plain_text(steps: Iterable[Step]) -> str:
    """Return the steps as text."""
    return "\n".join(plain_lines(steps))
