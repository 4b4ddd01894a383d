"""A hand's moments as messages: the table as it was sent, and beside it what only some could know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from diwan.api.table.v1 import replay_pb2 as pb
from diwan.core.cards import Card
from diwan.core.fairness import Reveal
from diwan.core.hand.events import Position, Seat
from diwan.core.log import LoggedEvent
from diwan.core.redact import private_view, public_view
from diwan.core.table.playing import live_of
from diwan.core.table.state import TableState
from diwan.history import Clock, Happened, Moment, Withheld
from diwan.history.steps import decided_by_of, kind_of
from diwan.history.words import describe, seat_of
from diwan.wire.events import kind_name
from diwan.wire.hand import DECIDED_BY_NUMBER
from diwan.wire.stored import FOR_AUDITORS, FOR_ONE_SEAT, stored_message, withheld
from diwan.wire.views import ViewWriter, private_view_message


class Eyes(Struct, frozen=True):
    """Whose eyes: the seats that they see into, and the cards of those seats by position, as far as they can be shown."""

    seats: frozenset[Seat] = frozenset()
    reveals: Mapping[Position, Reveal] = {}

    def __repr__(self) -> str:
        return f"Eyes(seats={sorted(self.seats)}, {len(self.reveals)} cards withheld)"


class MomentWriter:
    """Writes the moments of one hand through somebody's eyes.

    ``names`` maps player ids to names to show, ``next_hand_id`` gives the id of the hand after a table's last.
    """

    def __init__(self, eyes: Eyes, names: Mapping[str, str], next_hand_id: Callable[[TableState], str]) -> None:
        self._eyes = eyes
        self._names = names
        self._next_hand_id = next_hand_id
        self._writer: ViewWriter | None = None
        self._settings: tuple[object, object] = (None, None)

    def message(self, moment: Moment, stored: Iterable[LoggedEvent]) -> pb.ReplayMoment:
        """Return a moment's message; ``stored`` are its events as they lie in the log."""
        message = pb.ReplayMoment(
            version=moment.version,
            public_positions=sorted(moment.shown),
            spectators_at_version=moment.spectators_at_version,
        )
        cards = self._cards(moment)
        live = live_of(moment.state.hand)
        seats = () if live is None else live.deal.seats
        for happened, event in zip(moment.happened, stored, strict=True):
            self._write_event(message.events.add(), happened, event, cards, seats)
        message.view.MergeFromString(self._view(moment))
        self._write_private(message, moment)
        for seat, positions in moment.known.items():
            message.knowledge.add(seat=seat, positions=positions)
        if moment.clock is not None:
            _write_clock(message.clock, moment.clock)
        return message

    def _cards(self, moment: Moment) -> Mapping[Position, Card]:
        """Return the cards that these eyes had seen by a moment."""
        reveals = self._eyes.reveals
        own = [position for seat in self._eyes.seats for position in moment.known.get(seat, ()) if position in reveals]
        return {**moment.shown, **{position: reveals[position].card for position in own}}

    def _write_event(
        self,
        message: pb.ReplayEvent,
        happened: Happened,
        stored: LoggedEvent,
        cards: Mapping[Position, Card],
        seats: tuple[Seat, ...],
    ) -> None:
        entry = happened.entry
        event = entry.event
        is_for_others = stored.type_id in FOR_ONE_SEAT and seat_of(event) not in self._eyes.seats
        if is_for_others or stored.type_id in FOR_AUDITORS:
            # What another seat of Capsa arranges (CS-83), or a look: that there was something is told, and not what. No eyes
            # at a table ever saw who looked at which hand; auditors ask the audit.
            stored, event = withheld(stored), Withheld(kind_name(stored.type_id))
        else:
            seat = seat_of(event)
            if seat is not None:
                message.seat = seat
        message.event.CopyFrom(stored_message(stored))
        message.kind = kind_of(event)
        message.what = describe(event, cards, entry.recorded_at_ms, seats)
        decided_by = decided_by_of(event)
        if decided_by is not None:
            message.decided_by = DECIDED_BY_NUMBER[decided_by]
        if happened.time_left_ms is not None and not isinstance(event, Withheld):
            message.time_left_ms = happened.time_left_ms

    def _view(self, moment: Moment) -> bytes:
        state = moment.state
        settings = state.config, state.hosting.settings_next
        if self._writer is None or settings[0] is not self._settings[0] or settings[1] is not self._settings[1]:
            self._writer, self._settings = ViewWriter(*settings), settings
        # Of the deck only what had been turned up for all is given: nothing else can come into what all may know.
        shown = public_view(state, moment.shown, names=self._names, next_hand_id=self._next_hand_id(state))
        return self._writer.write(shown)

    def _write_private(self, message: pb.ReplayMoment, moment: Moment) -> None:
        live = live_of(moment.state.hand)
        if live is None or not self._eyes.reveals:
            return
        for seat in live.deal.started.seats:
            if seat.seat in self._eyes.seats:
                private = private_view(moment.state, seat.player, self._eyes.reveals.__getitem__)
                if private is not None:
                    message.private.append(private_view_message(private))


def _write_clock(message: pb.ReplayClock, clock: Clock) -> None:
    message.seats.extend(clock.seats)
    message.turn, message.deadline_ms, message.left_ms = clock.turn, clock.deadline_ms, clock.left_ms
