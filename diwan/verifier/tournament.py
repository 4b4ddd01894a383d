"""A tournament's whole stream: every decision of the floor made again, every draw recomputed from what was committed to.

Nothing but the log is needed: a draw's secret is shown with it, and the log has committed to that secret before anybody
could enter, or before the draw before it was made (F1, F7).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct

from diwan.core.decider import Rejected
from diwan.core.fairness import secret_commitment
from diwan.core.hashing import chain_start, uuid_text
from diwan.core.log import LoggedEvent, StreamKind
from diwan.core.tournament.decide import advance
from diwan.core.tournament.events import (
    Drawn,
    HandPlayed,
    MultiplierDrawn,
    TableOpened,
    TournamentCreated,
    TournamentEvent,
)
from diwan.core.tournament.inverse import chance_of, command_of
from diwan.core.tournament.state import TournamentState
from diwan.verifier.chain import LogReader
from diwan.verifier.report import Fault, Rule, Verdict
from diwan.wire.events import is_tournament_event, kind_name


class TournamentReport(Struct, frozen=True):
    """What was found about a tournament, and the tournament as its log tells it.

    ``draws`` were made again; ``multiplier`` is a Spin's, 0 where there is none. ``tables`` are the ids of its tables by
    number, ``played`` what it was told of each hand, by the table's id and the hand's number: its word, to be held against the table's.
    """

    verdict: Verdict
    events: int
    commands: int
    draws: int
    state: TournamentState | None = None
    at_version: int | None = None
    rule: Rule | None = None
    expected: str = ""
    found: str = ""
    multiplier: int = 0
    tables: Mapping[int, str] = MappingProxyType({})
    played: Mapping[tuple[str, int], HandPlayed] = MappingProxyType({})

    @property
    def is_verified(self) -> bool:
        """True where everything that can be checked holds."""
        return self.verdict is Verdict.VERIFIED


class TournamentCheck:
    """Takes a tournament's events in, one by one; raises `Fault` at the first that does not hold."""

    def __init__(self, stream_id: bytes) -> None:
        self.state: TournamentState | None = None
        self.events = 0
        self.commands = 0
        self.draws = 0
        self.multiplier = 0
        self.tables: dict[int, str] = {}
        self.played: dict[tuple[str, int], HandPlayed] = {}
        self._id = uuid_text(stream_id)
        self._reader = LogReader(chain_start(stream_id, StreamKind.TOURNAMENT))
        self._batch: list[TournamentEvent] = []
        self._command_id = b""
        self._first = 0

    def take(self, logged: LoggedEvent) -> None:
        """Take the next event."""
        event = self._reader.read(logged).event
        if not is_tournament_event(event):
            raise Fault(Rule.OUT_OF_PLACE, logged.version, "an event of a tournament", kind_name(logged.type_id))
        if logged.command_id != self._command_id:
            self.close_batch()
            self._command_id, self._first = logged.command_id, logged.version
        self._batch.append(event)
        self.events += 1
        match event:
            case MultiplierDrawn(times=times):
                self.multiplier = times
            case TableOpened(table_no=number, table_id=table_id):
                self.tables[number] = table_id
            case HandPlayed(table_no=number, hand_no=hand_no):
                self.played[self.tables.get(number, ""), hand_no] = event
            case _:
                pass

    def close_batch(self) -> None:
        """Decide again what the last command came to."""
        batch, self._batch = self._batch, []
        if not batch:
            return
        self._check_draws(batch)
        try:
            expected, state = advance(self.state, command_of(batch[0]), chance_of(batch))
        except Rejected as refusal:
            raise Fault(Rule.ACT_REFUSED, self._first, refusal, batch[0]) from refusal
        except (LookupError, ValueError, TypeError, ArithmeticError, AssertionError, AttributeError) as error:
            # A forged event can speak of what does not exist; honest ones never come here.
            raise Fault(Rule.IMPOSSIBLE, self._first, "an act that can be decided", error) from error
        for offset, (wanted, found) in enumerate(zip(expected, batch, strict=False)):
            if wanted != found:
                raise Fault(Rule.BATCH_DIFFERS, self._first + offset, wanted, found)
        if len(expected) != len(batch):
            shorter = min(len(expected), len(batch))
            wanted_more = expected[shorter] if len(expected) > shorter else "nothing"
            found_more = batch[shorter] if len(batch) > shorter else "nothing"
            raise Fault(Rule.BATCH_DIFFERS, self._first + shorter, wanted_more, found_more)
        self.state = state
        self.commands += 1

    def _check_draws(self, batch: list[TournamentEvent]) -> None:
        for offset, event in enumerate(batch):
            version = self._first + offset
            if isinstance(event, TournamentCreated) and event.tournament_id != self._id:
                raise Fault(Rule.STREAM_DIFFERS, version, self._id, event.tournament_id)
            if not isinstance(event, Drawn):
                continue
            committed = b"" if self.state is None else self.state.commitment
            if self.state is None or event.draw_no != self.state.draw_no:
                raise Fault(Rule.SECRET_NOT_COMMITTED, version, "the draw that was committed to", event.draw_no)
            is_secret = len(event.secret) == 32 and secret_commitment(self._id, event.secret) == committed
            if not is_secret:
                raise Fault(Rule.SECRET_DIFFERS, version, committed.hex(), "a secret with another commitment")
            self.draws += 1


def verify_tournament(stream_id: bytes, events: Iterable[LoggedEvent]) -> TournamentReport:
    """Verify a tournament's stream from its first event on; stops at the first fault."""
    check = TournamentCheck(stream_id)
    try:
        for event in events:
            check.take(event)
        check.close_batch()
    except Fault as fault:
        return _report(check, fault)
    return _report(check)


def _report(check: TournamentCheck, fault: Fault | None = None) -> TournamentReport:
    return TournamentReport(
        Verdict.VERIFIED if fault is None else fault.verdict,
        check.events,
        check.commands,
        check.draws,
        check.state,
        None if fault is None else fault.version,
        None if fault is None else fault.rule,
        "" if fault is None else fault.expected,
        "" if fault is None else fault.found,
        check.multiplier,
        check.tables,
        check.played,
    )
