"""A replay as it is told: what the service answered, held against the log's own hashes and the deck's root first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct

from diwan.chassis.reasons import CATALOGUE, rendered
from diwan.client.tables import Replay
from diwan.core.cards import Card
from diwan.core.fairness import Reveal, verify_reveal
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.games.capsa.view import CapsaSeatView, RowsView
from diwan.core.hand.events import HandStarted
from diwan.core.view import PrivateView, SeatView, TableView
from diwan.history.entries import Entry
from diwan.history.text import cards_text
from diwan.verifier.chain import LogReader
from diwan.verifier.report import Fault
from diwan.wire.hand import DECIDED_BY_NAME, RESULT_NAME
from diwan.wire.mapping import WireError
from diwan.wire.stored import logged_event
from diwan.wire.views import read_private_view, read_table_view

_LENSES: Final = {1: "spectator", 3: "auditor"}


class Happening(Struct, frozen=True):
    """One event. ``seat`` is None where its subject is the room, ``decided_by`` where nothing was decided."""

    version: int
    kind: str
    seat: int | None
    what: str
    decided_by: str | None
    time_left_ms: int | None
    hash: str


class SeatAt(Struct, frozen=True):
    """A seat that was dealt in, at a moment; a card is None where these eyes did not know it.

    ``notes`` are what a game has beyond that, such as a glance, a thrown away card or rows of Capsa.
    """

    seat: int
    player: str
    name: str
    stack: int
    bet: int
    cards: tuple[Card | None, ...]
    has_folded: bool
    is_all_in: bool
    notes: tuple[str, ...] = ()


class Waiting(Struct, frozen=True):
    """Who was waited for, until when, and what was left of that at the moment itself."""

    seats: tuple[int, ...]
    turn: int
    deadline_ms: int
    left_ms: int


class Knowing(Struct, frozen=True):
    """The positions of the deck that a seat had been shown alone."""

    seat: int
    positions: tuple[int, ...]


class Step(Struct, frozen=True):
    """A moment: what one command caused, and the table after it. ``spectators_at_version`` is 0 where none have seen it."""

    number: int
    version: int
    at_ms: int
    street: str
    happened: tuple[Happening, ...]
    seats: tuple[SeatAt, ...]
    pot: int
    board: tuple[Card, ...]
    waiting: Waiting | None
    public_positions: tuple[int, ...]
    knowing: tuple[Knowing, ...]
    spectators_at_version: int


class Refused(Struct, frozen=True):
    """Requests of a seat that were refused for one reason."""

    seat: int
    reason: str
    count: int
    message: str
    message_ar: str


class Story(Struct, frozen=True):
    """A hand through somebody's eyes: "spectator", "auditor" or a seat's number."""

    hand_id: str
    table_id: str
    hand_no: int
    game: str
    lens: str
    is_ended: bool
    result: str
    opened_version: int
    is_secret_destroyed: bool
    refusals_version: int
    refused: tuple[Refused, ...]
    steps: tuple[Step, ...]


class ReplayFailedError(Exception):
    """The replay cannot be told; the message says why."""


def story_of(answer: Replay) -> Story:
    """Return a replay as it is told; raises `ReplayFailedError` where it does not hold.

    Every event continues the stream's chain, every card that is shown proves itself against the deck's root, and no
    view shows a card that no event had turned up.
    """
    if not answer.moments:
        raise ReplayFailedError(f"the answer holds no moment of hand {answer.hand_id}")
    checker = _Checker(answer.hand_id)
    try:
        steps = tuple([_step(number, moment, checker) for number, moment in enumerate(answer.moments, 1)])
    except (Fault, WireError) as fault:
        raise ReplayFailedError(f"the log does not hold: {fault}") from fault
    return Story(
        hand_id=answer.hand_id,
        table_id=answer.table_id,
        hand_no=answer.hand_no,
        game=checker.game,
        lens=_LENSES.get(answer.eyes, str(answer.seat)),
        is_ended=answer.is_ended,
        result=RESULT_NAME[answer.result] if answer.result else "",
        opened_version=answer.opened_version,
        is_secret_destroyed=answer.is_secret_destroyed,
        refusals_version=answer.refusals_version,
        refused=tuple(map(_refused, answer.refusals)),
        steps=steps,
    )


class _Checker:
    """Follows a hand's log beside what is told of it."""

    def __init__(self, hand_id: str) -> None:
        self.hand_id = hand_id
        self.game = ""
        self._root = b""
        self._reader = LogReader()
        self._public: set[Card] = set()

    def follow(self, event: Any) -> Entry:
        """Return an event once its bytes continue the chain and its cards are those of the deck."""
        entry = self._reader.read_entry(logged_event(event))
        if isinstance(entry.event, HandStarted | CapsaStarted):
            if entry.event.hand_id != self.hand_id:
                raise ReplayFailedError(f"the answer tells of hand {entry.event.hand_id}")
            self._root = entry.event.deck_root
            self.game = "capsa" if isinstance(entry.event, CapsaStarted) else entry.event.settings.game
        self.check(entry.reveals)
        self._public.update(reveal.card for reveal in entry.reveals)
        return entry

    def check(self, reveals: Iterable[Reveal]) -> None:
        """Hold cards against the deck's root."""
        for reveal in reveals:
            if not verify_reveal(self.hand_id, self._root, reveal):
                raise ReplayFailedError(f"the card of position {reveal.position} is not the one that was dealt")

    def check_view(self, view: TableView) -> None:
        """Hold the cards of a view against those that events had turned up."""
        shown = set(() if view.hand is None else view.hand.board)
        shown.update(card for seat in view.seats for card in seat.shown_cards)
        if not shown <= self._public:
            raise ReplayFailedError(f"the view at version {view.version} shows a card that no event had turned up")


def _step(number: int, moment: Any, checker: _Checker) -> Step:
    entries = [checker.follow(each.event) for each in moment.events]
    view = read_table_view(moment.view)
    private = {each.seat: read_private_view(each) for each in moment.private}
    for each in private.values():
        checker.check((*each.reveals, *[extra for extra in (each.glanced, each.discarded) if extra is not None]))
    checker.check_view(view)
    hand = view.hand
    if hand is None:
        raise ReplayFailedError(f"the view at version {view.version} shows no hand")
    capsa = {} if hand.capsa is None else {seat.seat: seat for seat in hand.capsa.seats}
    clock = moment.clock if moment.HasField("clock") else None
    return Step(
        number=number,
        version=moment.version,
        at_ms=entries[-1].recorded_at_ms,
        street=hand.street if hand.capsa is None else hand.capsa.phase,
        happened=tuple([_happening(each) for each in moment.events]),
        seats=tuple([_seat(seat, private.get(seat.seat), capsa.get(seat.seat)) for seat in view.seats if seat.in_hand]),
        pot=hand.pot,
        board=hand.board,
        waiting=None if clock is None else Waiting(tuple(clock.seats), clock.turn, clock.deadline_ms, clock.left_ms),
        public_positions=tuple(moment.public_positions),
        knowing=tuple([Knowing(each.seat, tuple(each.positions)) for each in moment.knowledge]),
        spectators_at_version=moment.spectators_at_version,
    )


def _happening(message: Any) -> Happening:
    return Happening(
        version=message.event.version,
        kind=message.kind,
        seat=message.seat if message.HasField("seat") else None,
        what=message.what,
        decided_by=DECIDED_BY_NAME[message.decided_by] if message.decided_by else None,
        time_left_ms=message.time_left_ms if message.HasField("time_left_ms") else None,
        hash=message.event.hash.hex(),
    )


def _seat(seat: SeatView, private: PrivateView | None, capsa: CapsaSeatView | None) -> SeatAt:
    cards: tuple[Card | None, ...] = seat.shown_cards or (None,) * seat.hidden_cards
    if private is not None:
        cards = tuple([reveal.card for reveal in private.reveals])
    return SeatAt(
        seat=seat.seat,
        player=seat.player,
        name=seat.display_name,
        stack=seat.stack,
        bet=seat.bet,
        cards=cards,
        has_folded=seat.has_folded,
        is_all_in=seat.is_all_in,
        notes=(*_private_notes(private), *_capsa_notes(capsa)),
    )


def _private_notes(private: PrivateView | None) -> Sequence[str]:
    notes: list[str] = []
    if private is None:
        return notes
    if private.glanced is not None:
        notes.append(f"glanced at {cards_text([private.glanced.card])}")
    if private.discarded is not None:
        notes.append(f"threw away {cards_text([private.discarded.card])}")
    if private.capsa is not None:
        for name, rows in (("draft", private.capsa.draft), ("locked", private.capsa.locked)):
            if rows is not None:
                notes.append(f"{name} {_rows_text(rows)}")
    return notes


def _capsa_notes(seat: CapsaSeatView | None) -> Sequence[str]:
    notes: list[str] = []
    if seat is None:
        return notes
    if seat.has_locked and seat.rows is None:
        notes.append("has locked")
    if seat.answer:
        notes.append({"play": "plays", "surrender": "surrenders"}.get(seat.answer, seat.answer))
    if seat.natural is not None:
        notes.append(f"natural: {seat.natural.kind.replace('_', ' ')}")
    if seat.rows is not None:
        notes.append(f"shows {_rows_text(seat.rows)}")
    if seat.payoff:
        notes.append(f"{seat.payoff:+d}")
    return notes


def _rows_text(rows: RowsView) -> str:
    text = " / ".join([cards_text(row) or "-" for row in (rows.front, rows.middle, rows.back)])
    return f"{text} (fouled)" if rows.is_fouled else text


def _refused(count: Any) -> Refused:
    entry = CATALOGUE.get(count.reason)
    texts = ("", "") if entry is None else (rendered(entry.en, {}), rendered(entry.ar, {}))
    return Refused(count.seat, count.reason, count.count, *texts)
