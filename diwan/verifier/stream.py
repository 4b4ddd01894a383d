"""A table's whole stream: every command decided again, every hand verified."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID, uuid5

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.cards import Card
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.games.capsa.unseen import PartlySeen
from diwan.core.hand.events import HandStarted, Position
from diwan.core.hashing import chain_start, uuid_text
from diwan.core.log import LoggedEvent
from diwan.core.table.decide import decide
from diwan.core.table.evolve import evolve
from diwan.core.table.inverse import command_of
from diwan.core.table.state import TableState
from diwan.history.entries import Entry, Withheld
from diwan.verifier.chain import LogReader
from diwan.verifier.deciding import compare, deciding
from diwan.verifier.hand import LOOK, HandCheck, body_withheld
from diwan.verifier.precedence import Commitments
from diwan.verifier.report import Fault, Report, Rule, Verdict


class StreamReport(Struct, frozen=True):
    """What was found about a table; a fault between hands has no hand to its name."""

    verdict: Verdict
    events: int
    commands: int
    hands: tuple[Report, ...]
    at_version: int | None = None
    rule: Rule | None = None
    expected: str = ""
    found: str = ""

    @property
    def is_verified(self) -> bool:
        """True where everything that can be checked holds."""
        return self.verdict is Verdict.VERIFIED


class _StreamCheck:
    def __init__(self, stream_id: bytes, kind: int) -> None:
        self.stream_id = stream_id
        self.reader = LogReader(chain_start(stream_id, kind))
        self.commitments = Commitments()
        self.state: TableState | None = None
        self.hands: list[Report] = []
        self.hand: HandCheck | None = None
        self.batch: list[Entry] = []
        self.held: list[list[Entry]] = []
        self.events = 0
        self.commands = 0

    def take(self, event: LoggedEvent) -> None:
        entry = self.reader.read_entry(event)
        if isinstance(entry.event, Withheld) and entry.event != LOOK:
            raise body_withheld(entry)
        if self.batch and LOOK in (entry.event, self.batch[0].event) and entry.command_id == self.batch[0].command_id:
            raise Fault(Rule.BATCH_SPLIT, entry.version, "a look by a command of its own", "one among another's events")
        if self.batch and entry.command_id != self.batch[0].command_id:
            self.close_batch()
        if isinstance(entry.event, HandStarted | CapsaStarted):
            self._begin_hand(entry.event, entry.version)
        self.commitments.take(entry)
        self.batch.append(entry)
        self._in_hand(entry)
        self.events += 1

    def close_batch(self) -> None:
        """Decide the batch that is complete; those of a hand of Capsa when its end has turned up all that it does."""
        batch, self.batch = self.batch, []
        if batch:
            self.held.append(batch)
        if self.hand is None or not self.hand.is_capsa or self.hand.is_over:
            self._decide_held()

    def finish(self) -> None:
        """Say that no more events are there."""
        self.close_batch()
        self._decide_held()

    def _decide_held(self) -> None:
        held, self.held = self.held, []
        for batch in held:
            self._decide(batch)

    def _decide(self, batch: list[Entry]) -> None:
        act = batch[0]
        if act.event == LOOK:
            self._step_over(act)
            return
        command = command_of(act.event, self.state)  # type: ignore[arg-type]  # none is withheld here
        if command is None:
            raise Fault(Rule.OUT_OF_PLACE, act.version, "an act", act.event)
        cards: Mapping[Position, Card] = {} if self.hand is None else self.hand.cards
        if self.hand is not None and self.hand.is_capsa:
            cards = PartlySeen(cards, [entry.event for entry in batch])
        with deciding(act):
            expected = decide(self.state, command, cards)
            compare(expected, batch)
            for entry in batch:
                self.state = evolve(self.state, entry.event)  # type: ignore[arg-type]
        self.commands += 1

    def _step_over(self, look: Entry) -> None:
        """A look changes nothing at its table but the version; whatever else stood in its place is missed in what follows."""
        if self.state is None:
            raise Fault(Rule.OUT_OF_PLACE, look.version, "TableCreated", look.event)
        self.state = replace(self.state, version=self.state.version + 1)
        self.commands += 1

    def _begin_hand(self, started: HandStarted | CapsaStarted, version: int) -> None:
        if self.hand is not None and not self.hand.is_over:
            raise Fault(Rule.OUT_OF_PLACE, version, "the end of the hand before", "HandStarted")
        self.hand = HandCheck()
        wanted = str(uuid5(UUID(uuid_text(self.stream_id)), f"hand/{started.hand_no}"))
        if started.hand_id != wanted:
            raise Fault(Rule.HAND_ID_DIFFERS, version, wanted, started.hand_id)
        self.hand.secrets = self.commitments.check(started, version)

    def _in_hand(self, entry: Entry) -> None:
        hand = self.hand
        if hand is None or hand.is_over:
            _refuse_hand_event(entry)
            return
        hand.take(entry)
        if hand.is_over and hand.started is not None:
            self.hands.append(hand.report(hand.started.hand_id))


def _refuse_hand_event(entry: Entry) -> None:
    """An event of a hand where none is running belongs to nothing."""
    HandCheck().take(entry)


def verify_stream(stream_id: bytes, kind: int, events: Iterable[LoggedEvent]) -> StreamReport:
    """Verify a table's stream from its first event on; ``kind`` is the stream's kind in its store.

    Stops at the first fault. A hand that still runs is no fault: its commands so far were decided again.
    """
    check = _StreamCheck(stream_id, kind)
    try:
        for event in events:
            check.take(event)
        check.finish()
    except Fault as found:
        hand = check.hand
        fault = found if hand is None or hand.is_over else hand.first_fault(found)
        if hand is not None and not hand.is_over and hand.started is not None:
            check.hands.append(hand.report(hand.started.hand_id, fault))
        return StreamReport(
            fault.verdict,
            check.events,
            check.commands,
            tuple(check.hands),
            fault.version,
            fault.rule,
            fault.expected,
            fault.found,
        )
    return StreamReport(Verdict.VERIFIED, check.events, check.commands, tuple(check.hands))
