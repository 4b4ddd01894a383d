"""The parts of a bundle one by one: an event's own hash, a hand and its place, what the wallet owes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID, uuid5

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.cards import Card
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandEnded, HandStarted
from diwan.core.hashing import chain_start, event_hash
from diwan.core.ledger.books import Transfer
from diwan.core.log import TABLE_FEED, TOURNAMENT_FEED, WALLET_FEED, LoggedEvent, StreamKind
from diwan.core.tournament.events import HandPlayed
from diwan.history.bundle import HandRecord, HeaderRecord
from diwan.history.entries import Entry
from diwan.verifier.chain import LogReader
from diwan.verifier.hand import check_hand
from diwan.verifier.lens import check_own_cards, opened_deck
from diwan.verifier.postings import due_transfers
from diwan.verifier.report import Fault, Report, Rule
from diwan.verifier.tournament import TournamentReport

KINDS: Final[Mapping[int, StreamKind]] = {
    TABLE_FEED: StreamKind.TABLE,
    WALLET_FEED: StreamKind.LEDGER,
    TOURNAMENT_FEED: StreamKind.TOURNAMENT,
}
"""Which kind of stream a feed's streams are."""


class Placed(Struct, frozen=True):
    """An event with its line and its number in the feed."""

    event: LoggedEvent
    line: int
    global_seq: int


class Wanted(Struct):
    """A hand that was decided again and whose postings are still to come.

    ``has_no_chips``: its table plays for coins that are no chips of the wallet; None where the bundle does not say.
    """

    hand: HandRecord
    report: Report
    entries: tuple[Entry, ...]
    has_no_chips: bool | None


def own_hash(event: LoggedEvent, feed_id: int) -> Fault | None:
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


def judge_hand(
    header: HeaderRecord, hand: HandRecord, inside: list[Placed]
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


def due_of(wanted: Wanted) -> tuple[Transfer, ...]:
    """Return what the wallet owes a hand; raises `Fault` where the bundle does not say whether it owes anything."""
    if wanted.has_no_chips is None:
        raise Fault(Rule.EARLIER_EVENTS_MISSING, 1, "the table's first event, which says what its chips are", "none")
    if wanted.has_no_chips:
        return ()
    started = wanted.entries[0].event
    assert isinstance(started, HandStarted | CapsaStarted)  # noqa: S101  (the hand is verified)
    sittings = [one.sitting for one in started.seats]
    # Whoever leaves out whose chips they are would owe nobody anything.
    if "" in sittings or len(set(sittings)) != len(sittings):
        raise Fault(Rule.CHIPS_AT_ODDS, wanted.report.first_version, "a sitting of its own for each seat", sittings)
    return due_transfers(wanted.hand.stream_id, wanted.entries, is_match=False)


def check_report(wanted: Wanted, tournament_id: str, tournament: TournamentReport) -> None:
    """Hold what a tournament was told of a hand against the hand itself; raises `Fault` at the hand's end."""
    hand, report = wanted.hand, wanted.report
    if hand.stream_id not in tournament.tables.values():
        raise Fault(
            Rule.SUBJECT_DIFFERS,
            report.first_version,
            f"a table of tournament {tournament_id}",
            hand.stream_id,
        )
    told = tournament.played.get((hand.stream_id, report.hand_no))
    started, ended = wanted.entries[0].event, wanted.entries[-1].event
    # Tournaments play no Capsa.
    if not isinstance(started, HandStarted) or not isinstance(ended, HandEnded):
        return
    if told is None:
        _check_untold(hand, report, tournament)
        return
    expected = _told_of(told)
    for name, said in _as_told(started, ended, report.last_version).items():
        if expected[name] != said:
            what = f"the {name} that its tournament was told: {expected[name]}"
            raise Fault(Rule.REPORT_DIFFERS, report.last_version, what, said)


def _check_untold(hand: HandRecord, report: Report, tournament: TournamentReport) -> None:
    """A finished tournament was told of every hand of its tables: places and prizes follow from all of them.

    One that was called off has stopped listening, so what its tables still played then is behind all that it was told. Of one that
    is not over nothing is claimed (TOURNAMENT_NOT_ENDED).
    """
    state = tournament.state
    if state is None or not state.is_over:
        return
    last_told = max((number for table_id, number in tournament.played if table_id == hand.stream_id), default=0)
    if state.cancelled and report.hand_no > last_told:
        return
    what = f"hand {report.hand_no} among those that its tournament was told of"
    raise Fault(
        Rule.REPORT_DIFFERS, report.last_version, what, f"nothing of it, and its table's hands up to {last_told}"
    )


def _told_of(told: HandPlayed) -> dict[str, object]:
    return {
        "version": told.table_version,
        "void": told.is_void,
        "button": told.button,
        "small blind's place": told.small_blind,
        "big blind's place": told.big_blind,
        "beginning": told.started_at_ms,
        "end": told.ended_at_ms,
        "stacks": [(one.seat, one.player, one.stack_before, one.stack_after) for one in told.seats],
    }


def _as_told(started: HandStarted, ended: HandEnded, version: int) -> dict[str, object]:
    """Return what a tournament must have been told of a hand; where there are no blinds their places are the button's."""
    is_void, deal = ended.result == "void", started.tournament
    small = None if deal is None else deal.small_blind_place
    return {
        "version": version,
        "void": is_void,
        "button": started.button,
        "small blind's place": started.button if small is None else small,
        "big blind's place": started.button if started.big_blind_seat is None else started.big_blind_seat,
        "beginning": started.started_at_ms,
        "end": ended.ended_at_ms,
        "stacks": [
            (one.seat, one.player, one.stack, one.stack if is_void else one.stack + payoff)
            for one, payoff in zip(started.seats, ended.payoffs, strict=True)
        ],
    }
