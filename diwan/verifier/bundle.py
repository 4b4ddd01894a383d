"""A bundle, checked with no network and no trust but the keys that its reader brings (DESIGN 7, P7, P8)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Final
from uuid import UUID

from msgspec.structs import replace

from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandEnded, HandStarted
from diwan.core.ledger.accounts import LEDGER_STREAM
from diwan.core.ledger.events import LedgerCommitted
from diwan.core.log import TABLE_FEED, TOURNAMENT_FEED, WALLET_FEED
from diwan.core.table.events import TableCreated
from diwan.core.transparency.checkpoint import Checkpoint
from diwan.core.transparency.policy import Policy
from diwan.history.bundle import (
    BundleError,
    CheckpointRecord,
    EndRecord,
    EventRecord,
    HandRecord,
    HeaderRecord,
    StreamRecord,
    UnknownBundleError,
    logged_event,
    read_bundle,
)
from diwan.verifier.bundle_report import BundleReport, Finding, finding, verdict_of
from diwan.verifier.bundled import KINDS, Placed, Wanted, check_report, due_of, judge_hand, own_hash
from diwan.verifier.chain import LogReader
from diwan.verifier.postings import Ledger, cause_of, check_postings
from diwan.verifier.register import Register
from diwan.verifier.report import Fault, Report, Rule, Verdict
from diwan.verifier.stream import verify_stream
from diwan.verifier.tournament import TournamentReport, verify_tournament
from diwan.wire.events import type_id_of
from diwan.wire.stored import FOR_AUDITORS

DAY_MS: Final = 86_400_000
_HAND_ENDED: Final = type_id_of(HandEnded)
FINDINGS_MAX: Final = 1_000
"""More are not listed: whoever forged so much is found out."""


class _Check:
    def __init__(self, name: str, policy: Policy | None, seen: Sequence[Checkpoint]) -> None:
        self._name = name
        self._policy = policy
        self._seen = seen
        self._header: HeaderRecord | None = None
        self._register: Register | None = None
        self._hands: dict[str, list[HandRecord]] = {}
        self._stream: StreamRecord | None = None
        self._events: list[Placed] = []
        self._reports: list[Report] = []
        self._wanted: list[Wanted] = []
        self._ledger = Ledger()
        self._commits: dict[int, Placed] = {}
        self._findings: list[Finding] = []
        self._tournaments: dict[str, TournamentReport] = {}
        self._starts: list[int] = []
        self._whole = 0
        self._event_count = 0
        self._postings = 0
        self._own_cards = 0

    # Lines

    def take(self, line: int, record: object) -> None:
        match record:
            case HeaderRecord():
                self._header = record
                self._register = Register(record.house, self._policy)
            case CheckpointRecord():
                for fault in self._log.take(record):
                    self._note(fault, line=line, feed_id=record.feed_id)
            case HandRecord():
                self._hands.setdefault(record.stream_id, []).append(record)
            case StreamRecord():
                self._end_stream()
                self._stream = record
            case EventRecord():
                self._take_event(line, record)
            case EndRecord():
                self._end_stream()
                self._end()
            case _:
                raise TypeError(type(record).__name__)

    @property
    def _log(self) -> Register:
        assert self._register is not None  # noqa: S101  (the reader sees to it that the header comes first)
        return self._register

    def _take_event(self, line: int, record: EventRecord) -> None:
        assert self._stream is not None  # noqa: S101  (the reader sees to it that its stream comes first)
        placed = Placed(logged_event(record, self._stream.stream_id), line, record.global_seq)
        feed_id = self._stream.feed_id
        faults = [own_hash(placed.event, feed_id), self._log.prove(feed_id, record, placed.event)]
        if self._events and self._events[-1].global_seq >= record.global_seq:
            found = f"{record.global_seq} after {self._events[-1].global_seq}"
            faults.append(Fault(Rule.FEED_ORDER, record.version, "events of a stream in the feed's order", found))
        for fault in faults:
            if fault is not None:
                self._note_at(fault, placed)
        self._event_count += not any(faults)
        self._events.append(placed)

    def _end_stream(self) -> None:
        stream, events, self._events = self._stream, self._events, []
        if stream is None:
            return
        if stream.feed_id == TABLE_FEED:
            self._end_table(stream, events)
        elif stream.feed_id == WALLET_FEED:
            if stream.stream_id != LEDGER_STREAM:
                fault = Fault(Rule.STREAM_DIFFERS, 0, f"the ledger, stream {LEDGER_STREAM}", stream.stream_id)
                for placed in events[:1]:
                    self._note_at(fault, placed)
                return
            for placed in events:
                self._commits[placed.event.version] = placed
                self._ledger.take(placed.event.version, self._commit(placed))
        elif stream.feed_id == TOURNAMENT_FEED:
            self._end_tournament(stream, events)

    # Tables and their hands

    def _end_table(self, stream: StreamRecord, events: list[Placed]) -> None:
        if self._about.about == "table":
            self._decide_whole(stream, events)
        self._check_looks(stream, events)
        has_no_chips = self._has_no_chips(events)
        versions = [one.event.version for one in events]
        for hand in self._hands.pop(stream.stream_id, []):
            inside = events[bisect_left(versions, hand.needs_version) : bisect_right(versions, hand.last_version)]
            report, entries, faults = judge_hand(self._about, hand, inside)
            self._reports.append(report)
            by_version = {one.event.version: one for one in inside}
            for fault in faults:
                self._note_in_hand(fault, hand, by_version.get(fault.version))
            if faults:
                continue
            started = entries[0].event
            if isinstance(started, HandStarted | CapsaStarted):
                self._starts.append(started.started_at_ms)
                self._own_cards += len(hand.reveals)
            self._wanted.append(Wanted(hand, report, entries, has_no_chips))

    def _check_looks(self, stream: StreamRecord, events: list[Placed]) -> None:
        """Who looked at hidden cards is told to auditors, whole wherever bodies are, and to nobody else."""
        hands = [(one.first_version, one.last_version) for one in self._hands.get(stream.stream_id, ())]
        is_auditor, is_whole = self._about.lens == "auditor", self._about.about == "table"
        for one in events:
            event = one.event
            if event.type_id not in FOR_AUDITORS:
                continue
            is_due = is_auditor and (is_whole or any(first <= event.version <= last for first, last in hands))
            if is_due and event.body_hash:
                self._note_at(Fault(Rule.BODY_WITHHELD, event.version, "who looked", "its hash alone"), one)
            elif not is_auditor and not event.body_hash:
                self._note_at(Fault(Rule.LENS_DIFFERS, event.version, "a look without its body", "who looked"), one)

    def _decide_whole(self, stream: StreamRecord, events: list[Placed]) -> None:
        """Decide a table's every command again, those between its hands too: who is dealt in, the button, the blinds."""
        told = {hand.last_version for hand in self._hands.get(stream.stream_id, ())}
        for one in events:
            # Nobody would look at what the wallet posted for it.
            if one.event.type_id == _HAND_ENDED and one.event.version not in told:
                fault = Fault(
                    Rule.HAND_NOT_TOLD, one.event.version, "a line for each hand of the table", "none for this"
                )
                self._note_at(fault, one)
        report = verify_stream(UUID(stream.stream_id).bytes, KINDS[TABLE_FEED], [one.event for one in events])
        # What a hand of Capsa withholds is said of the hand.
        if report.rule is None or report.rule is Rule.BODY_WITHHELD:
            self._whole = report.commands if report.rule is None else 0
            return
        at = [one for one in events if one.event.version == report.at_version]
        fault = Fault(report.rule, report.at_version or 0, report.expected, report.found)
        if at:
            self._note_at(fault, at[0])
        else:
            self._note(fault, feed_id=stream.feed_id, stream_id=stream.stream_id, version=fault.version)

    def _has_no_chips(self, events: list[Placed]) -> bool | None:
        """Return whether the table's chips are a match's or a tournament's, which no wallet pays; None where its beginning is not there."""
        if not events or events[0].event.version != 1:
            return None
        try:
            said = LogReader().read(events[0].event).event
        except Fault as fault:
            self._note_at(fault, events[0])
            return None
        return said.config.chips != "wallet" if isinstance(said, TableCreated) else None

    # Tournaments

    def _end_tournament(self, stream: StreamRecord, events: list[Placed]) -> None:
        report = verify_tournament(UUID(stream.stream_id).bytes, [one.event for one in events])
        self._tournaments[stream.stream_id] = report
        if report.rule is not None:
            at = [one for one in events if one.event.version == report.at_version]
            fault = Fault(report.rule, report.at_version or 0, report.expected, report.found)
            if at:
                self._note_at(fault, at[0])
            else:
                self._note(fault, feed_id=stream.feed_id, stream_id=stream.stream_id, version=fault.version)

    def _check_tournament(self) -> None:
        """Hold every hand of a tournament's bundle against what the tournament was told of it."""
        tournament = self._tournaments.get(self._about.subject)
        if tournament is None or not tournament.events:
            what = f"the events of tournament {self._about.subject}"
            self._note(Fault(Rule.EARLIER_EVENTS_MISSING, 0, what, "none"), line=1)
            return
        if tournament.is_verified and (tournament.state is None or not tournament.state.is_over):
            found = f"{tournament.events} events, and no end among them"
            self._note(Fault(Rule.TOURNAMENT_NOT_ENDED, 0, "the tournament's end", found), line=1)
        for wanted in self._wanted:
            try:
                check_report(wanted, self._about.subject, tournament)
            except Fault as fault:
                self._note_in_hand(fault, wanted.hand, None)

    # The wallet

    def _commit(self, placed: Placed) -> LedgerCommitted | None:
        event = placed.event
        if event.body_hash:
            return None
        try:
            said = LogReader().read(event).event
        except Fault as fault:
            if fault.rule is not Rule.HASH_DIFFERS:  # Of which was told already.
                self._note_at(fault, placed)
            return None
        if not isinstance(said, LedgerCommitted):
            self._note_at(Fault(Rule.OUT_OF_PLACE, event.version, "LedgerCommitted", type(said).__name__), placed)
            return None
        return said

    def _check_postings(self, wanted: Wanted) -> None:
        hand = wanted.hand
        try:
            due = due_of(wanted)
        except Fault as fault:
            self._note_in_hand(fault, hand, None)
            return
        found = check_postings(due, cause_of(hand.stream_id, hand.last_version), self._ledger)
        self._postings += found.count
        if found.fault is not None:
            self._note_in_hand(found.fault, hand, self._commits.get(found.fault.version), WALLET_FEED)

    # The end

    def _end(self) -> None:
        for stream_id, hands in self._hands.items():
            for hand in hands:
                fault = Fault(Rule.HAND_NOT_FOUND, 0, f"events of stream {stream_id}", "none")
                self._note_in_hand(fault, hand, None)
                self._reports.append(Report(fault.verdict, hand.hand_id, rule=fault.rule))
        for wanted in self._wanted:
            self._check_postings(wanted)
        if self._about.about == "tournament":
            self._check_tournament()
        for feed_id, fault in self._log.remember(self._seen):
            self._note(fault, feed_id=feed_id)
        for fault in self._subject_faults():
            self._note(fault, line=1)

    def _subject_faults(self) -> list[Fault]:
        about, hands = self._about, self._reports
        if not hands and about.about != "tournament":
            return [Fault(Rule.HAND_NOT_FOUND, 0, "a hand", "none")]
        match about.about:
            case "hand" if [one.hand_id for one in hands] != [about.subject]:
                return [Fault(Rule.SUBJECT_DIFFERS, 0, f"hand {about.subject} alone", hands[0].hand_id)]
            case "table" if any(one.hand.stream_id != about.subject for one in self._wanted):
                return [Fault(Rule.SUBJECT_DIFFERS, 0, f"hands of table {about.subject} alone", "others")]
            case "day":
                day = _day_number(about.subject)
                others = [at for at in self._starts if at // DAY_MS != day]
                if day is None or others:
                    return [Fault(Rule.SUBJECT_DIFFERS, 0, f"hands that began on {about.subject}", f"{others[:1]}")]
        return []

    @property
    def _about(self) -> HeaderRecord:
        assert self._header is not None  # noqa: S101  (the reader sees to it that the header comes first)
        return self._header

    def _note_at(self, fault: Fault, placed: Placed) -> None:
        stream = self._stream
        assert stream is not None  # noqa: S101  (an event has its stream)
        self._note(
            fault,
            line=placed.line,
            feed_id=stream.feed_id,
            stream_id=stream.stream_id,
            version=placed.event.version,
            global_seq=placed.global_seq,
        )

    def _note_in_hand(self, fault: Fault, hand: HandRecord, placed: Placed | None, feed_id: int = TABLE_FEED) -> None:
        where: dict[str, int | str] = {"hand_id": hand.hand_id}
        if placed is not None:
            stream_id = str(UUID(bytes=placed.event.stream_id))
            where |= {"line": placed.line, "global_seq": placed.global_seq, "stream_id": stream_id}
            where |= {"version": placed.event.version, "feed_id": feed_id}
        elif fault.version and feed_id == TABLE_FEED:
            where |= {"version": fault.version, "feed_id": feed_id, "stream_id": hand.stream_id}
        self._note(fault, **where)

    def _note(self, fault: Fault, **where: int | str) -> None:
        if len(self._findings) < FINDINGS_MAX:
            self._findings.append(finding(fault, **where))

    def note_malformed(self, error: BundleError) -> None:
        """Say that the file itself is none, behind what was found before."""
        is_newer = isinstance(error, UnknownBundleError)
        rule = Rule.BUNDLE_UNKNOWN if is_newer else Rule.BUNDLE_MALFORMED
        self._findings.insert(0, finding(Fault(rule, 0, error.expected, error.found), line=error.line))

    def report(self) -> tuple[BundleReport, tuple[Checkpoint, ...]]:
        """Return what was found, and the checkpoints for a comparison with other bundles'."""
        findings = tuple(sorted(self._findings, key=lambda one: one.verdict is not Verdict.NOT_VERIFIED))
        header, register = self._header, self._register
        report = BundleReport(
            verdict_of(findings),
            self._name,
            checkpoints=() if register is None else tuple(register.reports),
            hands=tuple(self._reports),
            findings=findings,
            events=self._event_count,
            postings=self._postings,
            own_cards=self._own_cards,
            draws=sum(one.draws for one in self._tournaments.values()),
            commands=self._whole,
            multiplier=sum(one.multiplier for one in self._tournaments.values()),
        )
        if header is not None:
            report = replace(
                report,
                about=header.about,
                subject=header.subject,
                lens=header.lens,
                seat=header.seat,
                house=header.house,
            )
        return report, () if register is None else register.heads


def _day_number(day: str) -> int | None:
    """Return the days since 1970-01-01 of a day such as 2026-11-30; None for other texts."""
    try:
        found = date.fromisoformat(day)
    except ValueError:
        return None
    return (found - date(1970, 1, 1)).days if found.isoformat() == day else None


def verify_bundle(
    lines: Iterable[bytes], policy: Policy | None, *, name: str = "", seen: Sequence[Checkpoint] = ()
) -> tuple[BundleReport, tuple[Checkpoint, ...]]:
    """Verify a bundle; ``lines`` as `read_bundle` takes them. Never raises for what a bundle says.

    ``policy`` holds the keys that the reader trusts; without one the checkpoints are nobody's word. ``seen`` are
    checkpoints that the reader has from elsewhere, of any log. Returned beside the report are the bundle's checkpoints.
    """
    check = _Check(name, policy, seen)
    try:
        for line, record in read_bundle(lines):
            check.take(line, record)
    except BundleError as error:
        check.note_malformed(error)
    return check.report()
