"""A hand step by step, as one viewer could have seen it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from diwan.core.cards import Card
from diwan.core.fairness import Reveal
from diwan.core.hand.events import Acted, AnchorAnswered, DecidedBy, HandStarted, HandVoided, Position
from diwan.core.hand.state import EndedHand, HandState, LiveHand
from diwan.core.table.events import TableEvent
from diwan.history.entries import Entry, Reader
from diwan.history.words import describe, seat_of


class SeatLine(Struct, frozen=True):
    """A seat after a step; ``cards`` holds None for each that the viewer does not know."""

    seat: int
    player: str
    stack: int
    bet: int
    cards: tuple[Card | None, ...]
    has_folded: bool


class Step(Struct, frozen=True):
    """One event and the hand after it. ``pot`` is everything in the middle with this round's bets.

    ``time_left_ms`` is what was left on the clock when a decision arrived, negative after the deadline; None elsewhere.
    """

    version: int
    recorded_at_ms: int
    seat: int | None
    what: str
    decided_by: DecidedBy | None
    seats: tuple[SeatLine, ...]
    pot: int
    board: tuple[Card | None, ...]
    time_left_ms: int | None
    event: str
    is_first_of_command: bool


def hand_steps(entries: Iterable[Entry], extra: Iterable[Reveal] = ()) -> tuple[Step, ...]:
    """Return a step for every entry.

    What the table did during the hand is told where it happened. ``extra`` are reveals that the viewer has beside the
    events: give none, and this is what everybody saw; give a seat's own, and it is what that seat saw.
    """
    reader = Reader(extra)
    steps: list[Step] = []
    command_id: bytes | None = None
    for entry in entries:
        time_left = _time_left(reader.state, entry.event)
        reader.follow(entry)
        steps.append(_step(entry, reader, time_left, is_first=entry.command_id != command_id))
        command_id = entry.command_id
    return tuple(steps)


def _step(entry: Entry, reader: Reader, time_left_ms: int | None, *, is_first: bool) -> Step:
    event = entry.event
    live = _live(reader.state)
    return Step(
        version=entry.version,
        recorded_at_ms=entry.recorded_at_ms,
        seat=seat_of(event),
        what=describe(event, reader.cards, entry.recorded_at_ms, () if live is None else live.deal.seats),
        decided_by=event.decided_by if isinstance(event, Acted | AnchorAnswered | HandVoided) else None,
        seats=() if live is None else _seat_lines(live, reader),
        pot=0 if live is None else live.pot,
        board=() if live is None else tuple(map(reader.cards.get, live.board)),
        time_left_ms=time_left_ms,
        event=type(event).__name__,
        is_first_of_command=is_first,
    )


def _live(state: HandState | None) -> LiveHand | None:
    return state.last if isinstance(state, EndedHand) else state


def _time_left(before: HandState | None, event: TableEvent) -> int | None:
    if isinstance(event, Acted | AnchorAnswered) and isinstance(before, LiveHand):
        return before.asked_until_ms - event.received_at_ms
    return None


def _seat_lines(live: LiveHand, reader: Reader) -> tuple[SeatLine, ...]:
    started: HandStarted = live.deal.started
    holdings: tuple[tuple[Position, ...], ...] = live.holdings or ((),) * len(started.seats)
    return tuple(
        SeatLine(
            seat=seat.seat,
            player=seat.player,
            stack=live.stacks[place],
            bet=live.bets[place],
            cards=tuple(map(reader.cards.get, holdings[place])),
            has_folded=not live.unfolded >> place & 1,
        )
        for place, seat in enumerate(started.seats)
    )
