"""A hand step by step, as one viewer could have seen it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from diwan.core.cards import Card
from diwan.core.fairness import Reveal
from diwan.core.games.capsa.events import Answered, DraftSaved, SetLocked, SettingClosed, SetUnlocked
from diwan.core.games.capsa.state import LiveCapsa
from diwan.core.hand.events import Acted, AnchorAnswered, DecidedBy, HandVoided, Position
from diwan.core.hand.state import LiveHand, Place
from diwan.core.table.events import TableEvent
from diwan.core.table.playing import PlayedHand, live_of
from diwan.history.entries import Entry, Reader, Withheld
from diwan.history.words import describe, seat_of


class SeatLine(Struct, frozen=True):
    """A seat after a step; ``cards`` holds None for each that the viewer does not know. Who surrendered has folded."""

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
        time_left = time_left_of(reader.state, entry.event)
        reader.follow(entry)
        steps.append(_step(entry, reader, time_left, is_first=entry.command_id != command_id))
        command_id = entry.command_id
    return tuple(steps)


def _step(entry: Entry, reader: Reader, time_left_ms: int | None, *, is_first: bool) -> Step:
    event = entry.event
    live = live_of(reader.state)
    return Step(
        version=entry.version,
        recorded_at_ms=entry.recorded_at_ms,
        seat=seat_of(event),
        what=describe(event, reader.cards, entry.recorded_at_ms, () if live is None else live.deal.seats),
        decided_by=decided_by_of(event),
        seats=() if live is None else _seat_lines(live, reader),
        pot=live.pot if isinstance(live, LiveHand) else 0,
        board=tuple(map(reader.cards.get, live.board)) if isinstance(live, LiveHand) else (),
        time_left_ms=time_left_ms,
        event=kind_of(event),
        is_first_of_command=is_first,
    )


def decided_by_of(event: TableEvent | Withheld) -> DecidedBy | None:
    """Return who decided; None where nothing was decided."""
    if isinstance(event, Acted | AnchorAnswered | HandVoided | SetLocked | SettingClosed | Answered):
        return event.decided_by
    return None


def kind_of(event: TableEvent | Withheld) -> str:
    """Return the kind of an event, also of one that is withheld."""
    return event.kind if isinstance(event, Withheld) else type(event).__name__


def time_left_of(before: PlayedHand | None, event: TableEvent | Withheld) -> int | None:
    """Return what was left on the clock when a decision arrived; ``before`` is the hand before it. None elsewhere."""
    if isinstance(event, Acted | AnchorAnswered) and isinstance(before, LiveHand):
        return before.asked_until_ms - event.received_at_ms
    if isinstance(event, DraftSaved | SetLocked | SetUnlocked | Answered) and isinstance(before, LiveCapsa):
        return before.deadline_ms - event.received_at_ms
    return None


def _seat_lines(live: LiveHand | LiveCapsa, reader: Reader) -> tuple[SeatLine, ...]:
    seats = live.deal.started.seats
    holdings: tuple[tuple[Position, ...], ...] = live.holdings or ((),) * len(seats)
    return tuple(
        SeatLine(
            seat=seat.seat,
            player=seat.player,
            stack=live.stacks[place],
            bet=live.bets[place] if isinstance(live, LiveHand) else 0,
            cards=tuple(map(reader.cards.get, holdings[place])),
            has_folded=_is_out(live, place),
        )
        for place, seat in enumerate(seats)
    )


def _is_out(live: LiveHand | LiveCapsa, place: Place) -> bool:
    """Say whether a place has folded, or surrendered."""
    if isinstance(live, LiveCapsa):
        return live.plays[place].answer == "surrender"
    return not live.unfolded >> place & 1
