"""A bundle, checked with no network and no trust but the keys that its reader brings (DESIGN 7, P7, P8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Final
from uuid import UUID, uuid5

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.cards import Card
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandStarted
from diwan.core.hashing import chain_start, event_hash
from diwan.core.ledger.books import Transfer
from diwan.core.ledger.events import LedgerCommitted
from diwan.core.log import LoggedEvent, StreamKind
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
from diwan.history.entries import Entry
from diwan.verifier.bundle_report import BundleReport, Finding, finding, verdict_of
from diwan.verifier.chain import LogReader
from diwan.verifier.hand import check_hand
from diwan.verifier.lens import check_own_cards, opened_deck
from diwan.verifier.postings import Commit, cause_of, check_postings, due_transfers
from diwan.verifier.register import Register
from diwan.verifier.report import Fault, Report, Rule, Verdict

TABLE_FEED: Final = 1
WALLET_FEED: Final = 2

KINDS: Final = {TABLE_FEED: StreamKind.TABLE, WALLET_FEED: StreamKind.LEDGER, 3: StreamKind.TOURNAMENT}
"""Which kind of stream a feed's streams are."""

DAY_MS: Final = 86_400_000
FINDINGS_MAX: Final = 1_000
"""More are not listed: whoever forged so much is found out."""


class _Placed(Struct, frozen=True):
    """An event with its line and its number in the feed."""

    event: LoggedEvent
    line: int
    global_seq: int


class _Wanted(Struct):
    """A hand that was decided again and whose postings are still to come."""

    hand: HandRecord
    report: Report
    entries: tuple[Entry, ...]
    is_match: bool | None


class _Check:
    def __init__(self, name: str, policy: Policy | None, seen: Sequence[Checkpoint]) -> None:
        self._name = name
        self._policy = policy
        self._seen = seen
        self._header: HeaderRecord | None = None
        self._register: Register | None = None
        self._hands: dict[str, list[HandRecord]] = {}
        self._stream: StreamRecord | None = None
        self._events: list[_Placed] = []
        self._reports: list[Report] = []
        self._wanted: list[_Wanted] = []
        self._commits: list[tuple[_Placed, Commit]] = []
        self._findings: list[Finding] = []
        self._starts: list[int] = []
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
        placed = _Placed(logged_event(record, self._stream.stream_id), line, record.global_seq)
        feed_id = self._stream.feed_id
        faults = [_own_hash(placed.event, feed_id), self._log.prove(feed_id, record, placed.event)]
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
            self._commits += [(placed, self._commit(placed)) for placed in events]

    # Tables and their hands

    def _end_table(self, stream: StreamRecord, events: list[_Placed]) -> None:
        is_match = self._is_match(events)
        for hand in self._hands.pop(stream.stream_id, []):
            inside = [one for one in events if hand.needs_version <= one.event.version <= hand.last_version]
            report, entries, faults = _hand(self._about, hand, inside)
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
            self._wanted.append(_Wanted(hand, report, entries, is_match))

    def _is_match(self, events: list[_Placed]) -> bool | None:
        """Return whether the table's chips are a match's or a tournament's, which no wallet pays; None where its beginning is not there."""
        if not events or events[0].event.version != 1:
            return None
        try:
            said = LogReader().read(events[0].event).event
        except Fault as fault:
            self._note_at(fault, events[0])
            return None
        return said.config.chips != "wallet" if isinstance(said, TableCreated) else None

    # The wallet

    def _commit(self, placed: _Placed) -> Commit:
        event = placed.event
        if event.body_hash:
            return Commit(event.version, None)
        try:
            said = LogReader().read(event).event
        except Fault as fault:
            if fault.rule is not Rule.HASH_DIFFERS:  # Of which was told already.
                self._note_at(fault, placed)
            return Commit(event.version, None)
        if not isinstance(said, LedgerCommitted):
            self._note_at(Fault(Rule.OUT_OF_PLACE, event.version, "LedgerCommitted", type(said).__name__), placed)
            return Commit(event.version, None)
        return Commit(event.version, said)

    def _check_postings(self, wanted: _Wanted) -> None:
        hand = wanted.hand
        try:
            due = _due(wanted)
        except Fault as fault:
            self._note_in_hand(fault, hand, None)
            return
        found = check_postings(due, cause_of(hand.stream_id, hand.last_version), [one for _, one in self._commits])
        self._postings += found.count
        if found.fault is not None:
            at = [placed for placed, _ in self._commits if placed.event.version == found.fault.version]
            self._note_in_hand(found.fault, hand, at[0] if at else None, WALLET_FEED)

    # The end

    def _end(self) -> None:
        for stream_id, hands in self._hands.items():
            for hand in hands:
                fault = Fault(Rule.HAND_NOT_FOUND, 0, f"events of stream {stream_id}", "none")
                self._note_in_hand(fault, hand, None)
                self._reports.append(Report(fault.verdict, hand.hand_id, rule=fault.rule))
        for wanted in self._wanted:
            self._check_postings(wanted)
        for feed_id, fault in self._log.remember(self._seen):
            self._note(fault, feed_id=feed_id)
        for fault in self._subject_faults():
            self._note(fault, line=1)

    def _subject_faults(self) -> list[Fault]:
        about, hands = self._about, self._reports
        if not hands:
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

    def _note_at(self, fault: Fault, placed: _Placed) -> None:
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

    def _note_in_hand(self, fault: Fault, hand: HandRecord, placed: _Placed | None, feed_id: int = TABLE_FEED) -> None:
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
        )
        if header is not None:
            report = replace(report, about=header.about, subject=header.subject, lens=header.lens, house=header.house)
        return report, () if register is None else register.heads


def _own_hash(event: LoggedEvent, feed_id: int) -> Fault | None:
    """Hold an event's bytes against its own hash; a stream's first also against what stands before it."""
    try:
        recomputed = event_hash(
            event.prev_hash,
            event.stream_id,
            event.version,
            event.type_id,
            event.schema_v,
            event.recorded_at_ms,
            event.command_id,
            event.body,
            event.body_hash,
        )
    except ValueError as error:
        return Fault(Rule.MALFORMED, event.version, "fields of their sizes", error)
    if recomputed != event.hash:
        return Fault(Rule.HASH_DIFFERS, event.version, recomputed.hex(), event.hash.hex())
    if event.version == 1 and feed_id in KINDS:
        start = chain_start(event.stream_id, KINDS[feed_id]).hash
        if event.prev_hash != start:
            return Fault(Rule.PREV_HASH_DIFFERS, 1, start.hex(), event.prev_hash.hex())
    return None


def _hand(
    header: HeaderRecord, hand: HandRecord, inside: list[_Placed]
) -> tuple[Report, tuple[Entry, ...], list[Fault]]:
    """Decide a hand again; returns its report, its events and what is wrong, the hand's first fault first."""
    events = [one.event for one in inside]
    deck: tuple[Card, ...] = ()
    opening: list[Fault] = []
    try:
        deck = opened_deck(header, hand, events)
    except Fault as fault:
        opening.append(fault)
    report, entries = check_hand(events, hand.hand_id, deck)
    if report.rule is not None:
        first = Fault(report.rule, report.at_version or 0, report.expected, report.found)
        return report, entries, [first, *(one for one in opening if one.rule is not first.rule)]
    try:
        _check_place(hand, report, events)
        started = entries[0].event
        assert isinstance(started, HandStarted | CapsaStarted)  # noqa: S101  (the hand is verified)
        check_own_cards(header, hand, started, entries)
    except Fault as fault:
        opening.append(fault)
    if not opening:
        return report, entries, []
    first = opening[0]
    report = replace(
        report,
        verdict=first.verdict,
        at_version=first.version,
        rule=first.rule,
        expected=first.expected,
        found=first.found,
    )
    return report, entries, opening


def _check_place(hand: HandRecord, report: Report, events: Sequence[LoggedEvent]) -> None:
    """The hand is its table's, of that number, and begins and ends where the bundle says.

    Its part of the stream begins with the hand before, so that no commitment to its secret is left out (F1).
    """
    wanted = str(uuid5(UUID(hand.stream_id), f"hand/{report.hand_no}"))
    if hand.hand_id != wanted:
        raise Fault(Rule.HAND_ID_DIFFERS, report.first_version, wanted, hand.hand_id)
    found = (report.first_version, report.last_version)
    if found != (hand.first_version, hand.last_version):
        raise Fault(
            Rule.PLACE_DIFFERS, report.first_version, f"versions {hand.first_version} to {hand.last_version}", found
        )
    if report.hand_no == 1:
        if events[0].version != 1:
            raise Fault(Rule.PLACE_DIFFERS, events[0].version, "the table's first event", "a later one")
        return
    before = LogReader().read(events[0]).event
    if not isinstance(before, HandStarted | CapsaStarted) or before.hand_no != report.hand_no - 1:
        raise Fault(Rule.PLACE_DIFFERS, events[0].version, "the beginning of the hand before", type(before).__name__)


def _due(wanted: _Wanted) -> tuple[Transfer, ...]:
    """Return what the wallet owes a hand; raises `Fault` where the bundle does not say whether it owes anything."""
    started = wanted.entries[0].event
    if not isinstance(started, HandStarted | CapsaStarted) or not any(one.sitting for one in started.seats):
        return ()
    if wanted.is_match is None:
        raise Fault(Rule.EARLIER_EVENTS_MISSING, 1, "the table's first event, which says what its chips are", "none")
    return due_transfers(wanted.hand.stream_id, wanted.entries, is_match=wanted.is_match)


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
