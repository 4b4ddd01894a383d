"""One hand, decided again from its stored bytes (DESIGN 3, 7)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from diwan.core.cards import Card
from diwan.core.fairness import Reveal, verify_reveal
from diwan.core.games.capsa.decide import advance as advance_capsa
from diwan.core.games.capsa.events import Answered, CapsaStarted, DraftSaved, SetLocked, SettingClosed, SetUnlocked
from diwan.core.games.capsa.unseen import PartlySeen
from diwan.core.hand.decide import advance as advance_hand
from diwan.core.hand.events import (
    Acted,
    AnchorAnswered,
    AnchorDeclared,
    CardGlanced,
    CardSwapped,
    DeadlineMoved,
    HandEnded,
    HandStarted,
    HandVoided,
    Seat,
)
from diwan.core.hashing import HASH_BYTES, uuid_bytes
from diwan.core.limits import OUTAGE_GRACE_MS
from diwan.core.log import LoggedEvent
from diwan.core.table.events import HandOpened, StandUpRequested
from diwan.core.table.playing import (
    OPENINGS,
    PLAYED_EVENTS,
    PlayedHand,
    capsa_of,
    live_of,
    played_command_of,
    poker_of,
    whole_time_ms,
)
from diwan.history.entries import Entry, Withheld
from diwan.verifier.chain import LogReader
from diwan.verifier.deciding import RevealedCards, Unrevealed, compare, compare_without_cards, deciding
from diwan.verifier.precedence import Commitments
from diwan.verifier.report import Fault, Report, Rule, Verdict

_ARRANGED = (Withheld(DraftSaved.__name__), Withheld(SetLocked.__name__))

LOOK: Final = Withheld(HandOpened.__name__)
"""A look at hidden cards as everybody is told of it: no play, no chips and no seat hang on what it says."""
_ANYBODY = ("player", "clock", "system")
_DECIDERS: Final[Mapping[type, tuple[str, ...]]] = {
    Acted: _ANYBODY,
    AnchorAnswered: _ANYBODY,
    Answered: _ANYBODY,
    SetLocked: ("player",),
    SettingClosed: ("clock", "system"),
    HandVoided: ("system", "operator"),
}
"""Who can make an act: deadlines bind a player's decision and the clock's, so no other word may stand in their place."""

_BY_PLAYERS: Final = (
    *(Acted, CardGlanced, CardSwapped, AnchorDeclared, AnchorAnswered),
    *(DraftSaved, SetLocked, SetUnlocked, Answered),
)
"""Decisions that a player can have made."""

_BY_DECIDING = frozenset({Rule.ACT_REFUSED, Rule.BATCH_DIFFERS, Rule.IMPOSSIBLE, Rule.DIGEST_DIFFERS})


class HandCheck:
    """Decides one hand again as its events come in; raises `Fault` at the first that is not what follows.

    A hand of Capsa is judged by hidden cards from its deal on: it is decided when its end has turned up all that is.
    """

    def __init__(self, secrets: int = 0, deck: Sequence[Card] = ()) -> None:
        self.started: HandStarted | CapsaStarted | None = None
        self.first_version = 0
        self.last_version = 0
        self.is_over = False
        self.acts = 0
        self.reveals = 0
        self.secrets = secrets
        self.cards = RevealedCards()
        self._state: PlayedHand | None = None
        self._group: list[Entry] = []
        self._held: list[list[Entry]] = []
        self._deck = RevealedCards(enumerate(deck))
        self._leaving: set[Seat] = set()
        self.withheld: list[int] = []
        self._look = b""
        self._opened: dict[int, int] = {}

    def take(self, entry: Entry) -> None:
        """Take the hand's next event, or what the table did meanwhile."""
        if isinstance(entry.event, Withheld):
            self._take_withheld(entry)
            return
        if not isinstance(entry.event, PLAYED_EVENTS):
            # Whom a host sends away decides its hand to the end (TB-3).
            if isinstance(entry.event, StandUpRequested) and entry.event.cause != "host":
                self._leaving.add(entry.event.seat)
            return
        if entry.command_id == self._look:
            raise _look_among_others(entry)
        self._take_first(entry)
        self.last_version = entry.version
        if played_command_of(entry.event, entry.version - 1) is not None:
            self._close_group()
            self._group = [entry]
            self._check_decider(entry)
        else:
            self._join_group(entry)
        self._check_received(entry)
        for reveal in entry.reveals:
            self._check_reveal(reveal, entry.version)
        if isinstance(entry.event, HandEnded):
            self._close_group()
            self._decide_held()
            self.is_over = True

    @property
    def is_capsa(self) -> bool:
        """Whether it is a hand of Capsa."""
        return isinstance(self.started, CapsaStarted)

    @property
    def unseen(self) -> tuple[Seat, ...]:
        """Seats of a hand of Capsa whose cards nothing has turned up."""
        live = live_of(capsa_of(self._state))
        if live is None or self._deck:
            return ()
        return tuple(
            seat
            for seat, holding in zip(live.deal.seats, live.holdings, strict=False)
            if any(position not in self.cards for position in holding)
        )

    def finish(self) -> None:
        """Say that no more events are there."""
        self._close_group()
        self._decide_held()
        if not self.is_over:
            raise Fault(Rule.HAND_NOT_ENDED, self.last_version, "the hand's end", "no more events")

    def first_fault(self, fault: Fault) -> Fault:
        """Return what is at fault before a fault that cut a batch short, else that fault itself."""
        group, self._group = self._group, []
        try:
            self._decide_held()
            if group and not self.withheld and not any(isinstance(entry.event, Withheld) for entry in group):
                self._decide(group, is_whole=False)
        except Fault as earlier:
            if earlier.version < fault.version and earlier.rule is not Rule.CARD_NOT_REVEALED:
                return earlier
        return fault

    def report(self, hand_id: str, fault: Fault | None = None) -> Report:
        """Return what was found so far."""
        started = self.started
        report = Report(
            verdict=Verdict.VERIFIED if fault is None else fault.verdict,
            hand_id=hand_id,
            hand_no=0 if started is None else started.hand_no,
            first_version=self.first_version,
            last_version=self.last_version,
            acts=self.acts,
            reveals=self.reveals,
            contributed=() if started is None else tuple(one.seat for one in started.seeds),
            absent=() if started is None else started.absent,
            secrets=self.secrets,
            unseen=self.unseen,
            withheld=tuple(self.withheld),
        )
        if fault is None:
            return report
        return replace(report, at_version=fault.version, rule=fault.rule, expected=fault.expected, found=fault.found)

    def _take_withheld(self, entry: Entry) -> None:
        """What a seat of Capsa arranged may be left out as long as the hand can be decided without (CS-83); a look always."""
        if entry.event == LOOK:
            # A command of its own: it hides no part of another's.
            if self._group and self._group[-1].command_id == entry.command_id:
                raise _look_among_others(entry)
            self._look = entry.command_id
            return
        if not self.is_capsa or entry.event not in _ARRANGED:
            raise body_withheld(entry)
        self.last_version = entry.version
        if self._group and self._group[-1].command_id == entry.command_id:
            self._group.append(entry)
        else:
            self._close_group()
            self._group = [entry]

    def _take_first(self, entry: Entry) -> None:
        if self.started is not None:
            if self.is_over or isinstance(entry.event, HandStarted | CapsaStarted):
                raise Fault(Rule.OUT_OF_PLACE, entry.version, "one beginning and one end", type(entry.event).__name__)
            return
        if not isinstance(entry.event, HandStarted | CapsaStarted):
            raise Fault(Rule.OUT_OF_PLACE, entry.version, "HandStarted", type(entry.event).__name__)
        started = entry.event
        for name in ("secret_commitment", "deck_root", "next_commitment"):
            size = len(getattr(started, name))
            if size != HASH_BYTES:
                raise Fault(Rule.MALFORMED, entry.version, f"a {name} of {HASH_BYTES} bytes", f"{size} bytes")
        self.started, self.first_version = started, entry.version

    def _check_decider(self, entry: Entry) -> None:
        """The room decides only for who leaves in mid-hand (A11); nobody else can, or a late decision would pass for theirs."""
        event = entry.event
        deciders = next((who for kind, who in _DECIDERS.items() if isinstance(event, kind)), None)
        decided_by = getattr(event, "decided_by", "")
        if deciders is not None and decided_by not in deciders:
            raise Fault(Rule.ACT_REFUSED, entry.version, f"a decision of {' or '.join(deciders)}", decided_by)
        if (
            isinstance(event, Acted | AnchorAnswered | SettingClosed | Answered)
            and event.decided_by == "system"
            and event.seat not in self._leaving
        ):
            raise Fault(Rule.NOBODY_LEFT, entry.version, "a seat that leaves", f"seat {event.seat}, which does not")

    def _check_received(self, entry: Entry) -> None:
        """No player's decision is received before it was asked for, by the time at which that was recorded."""
        event = entry.event
        if isinstance(event, OPENINGS):
            self._opened[event.turn] = entry.recorded_at_ms
        elif isinstance(event, _BY_PLAYERS) and getattr(event, "decided_by", "player") == "player":
            asked_ms = self._opened.get(event.turn)
            if asked_ms is not None and event.received_at_ms < asked_ms:
                found = f"one received at {event.received_at_ms}"
                raise Fault(Rule.CLOCK_AT_ODDS, entry.version, f"a decision that was asked for at {asked_ms}", found)

    def _check_moved(self, entry: Entry, moved: DeadlineMoved) -> None:
        """A deadline moves for an outage of the room alone, which gives nobody more than the decision's whole time."""
        latest_ms = moved.moved_at_ms + max(whole_time_ms(self._state), OUTAGE_GRACE_MS)
        for holds, expected, found in (
            (moved.reason == "outage", "a deadline moved for an outage", moved.reason),
            (moved.deadline_ms <= latest_ms, f"a deadline of at most {latest_ms}", moved.deadline_ms),
            (moved.moved_at_ms <= entry.recorded_at_ms, f"moved by {entry.recorded_at_ms}", moved.moved_at_ms),
        ):
            if not holds:
                raise Fault(Rule.CLOCK_AT_ODDS, entry.version, expected, found)

    def _join_group(self, entry: Entry) -> None:
        if not self._group:
            raise Fault(Rule.OUT_OF_PLACE, entry.version, "an act", type(entry.event).__name__)
        last = self._group[-1]
        if entry.command_id != last.command_id or entry.version != last.version + 1:
            raise Fault(Rule.BATCH_SPLIT, entry.version, "an act, or the same command's next event", entry.event)
        self._group.append(entry)

    def _check_reveal(self, reveal: Reveal, version: int) -> None:
        assert self.started is not None  # noqa: S101  (reveals come with events of a hand, the first is its start)
        position = reveal.position
        if not verify_reveal(self.started.hand_id, self.started.deck_root, reveal):
            raise Fault(Rule.REVEAL_FALSE, version, f"a proof of position {position}", "one that does not hold")
        known = self.cards.get(position)
        if known is None and reveal.card in self.cards.values():
            raise Fault(Rule.CARD_TWICE, version, "52 different cards", f"card {reveal.card} a second time")
        self.cards[position] = reveal.card
        self.reveals += 1

    def _close_group(self) -> None:
        group, self._group = self._group, []
        if group and self.is_capsa:
            self._held.append(group)
        elif group:
            self._take_decided(group)

    def _decide_held(self) -> None:
        held, self._held = self._held, []
        for group in held:
            self._take_decided(group)

    def _take_decided(self, group: list[Entry]) -> None:
        left_out = next((entry for entry in group if isinstance(entry.event, Withheld)), None)
        if left_out is not None:
            if len(group) > 1:
                raise body_withheld(left_out)
            self.withheld.append(left_out.version)
            return
        try:
            self._state = self._decide(group, is_whole=True)
        except Fault as fault:
            if not self.withheld or fault.rule not in _BY_DECIDING:
                raise
            # What was left out may explain it. A set that is taken back again was locked by an event that is withheld.
            if isinstance(group[0].event, SetUnlocked):
                self.withheld.append(group[0].version)
                return
            raise Fault(Rule.BODY_WITHHELD, self.withheld[0], "the event's body", "its hash alone") from fault
        self.acts += 1

    def _decide(self, group: list[Entry], *, is_whole: bool) -> PlayedHand:
        """Decide a batch again and return the state after it; raises `Fault` where the recorded one differs."""
        act = group[0]
        command = played_command_of(act.event, act.version - 1)  # type: ignore[arg-type]
        assert command is not None  # noqa: S101  (a group begins with an act)
        expected: tuple[object, ...]
        after: PlayedHand
        if isinstance(act.event, DeadlineMoved):
            self._check_moved(act, act.event)
        with deciding(act):
            if self.is_capsa:
                cards = PartlySeen(self._deck or self.cards, [entry.event for entry in group])
                expected, after = advance_capsa(capsa_of(self._state), command, cards)  # type: ignore[arg-type]
            else:
                poker = poker_of(self._state)
                try:
                    expected, after = advance_hand(poker, command, self.cards)  # type: ignore[arg-type]
                except Unrevealed:
                    if is_whole:
                        compare_without_cards(lambda cards: advance_hand(poker, command, cards)[0], self.cards, group)  # type: ignore[arg-type]
                    raise
        compare(expected if is_whole else expected[: len(group)], group)
        return after


def _look_among_others(entry: Entry) -> Fault:
    return Fault(Rule.BATCH_SPLIT, entry.version, "a look by a command of its own", "one among another's events")


def body_withheld(entry: Entry) -> Fault:
    """Return what is missing where an event's body is."""
    return Fault(Rule.BODY_WITHHELD, entry.version, "the event's body", "its hash alone")


def verify_hand(events: Iterable[LoggedEvent], hand_id: str, deck: Sequence[Card] = ()) -> Report:
    """Verify one hand over its stored bytes.

    ``events`` are consecutive events of its table's stream, from the commitment to the hand's secret (in
    ``HandStarted`` of the hand before, or ``SecretCommitted``) to ``HandEnded``; more of them do no harm. The chain is
    checked within what is given: that it belongs where it says is what checkpoints and witnesses prove.

    ``deck`` are all cards by position where they are known, from `open_hand`: then no card of Capsa is unseen.
    """
    return check_hand(events, hand_id, deck)[0]


def check_hand(
    events: Iterable[LoggedEvent], hand_id: str, deck: Sequence[Card] = ()
) -> tuple[Report, tuple[Entry, ...]]:
    """Do as `verify_hand`, and return the hand's own part of the events beside it, as far as they could be read."""
    entries: list[Entry] = []
    return _check(events, hand_id, deck, entries), tuple(entries)


def _check(events: Iterable[LoggedEvent], hand_id: str, deck: Sequence[Card], entries: list[Entry]) -> Report:
    check: HandCheck | None = None
    try:
        uuid_bytes(hand_id)
        for entry, commitments in _entries(events):
            if check is None and isinstance(entry.event, HandStarted | CapsaStarted) and entry.event.hand_id == hand_id:
                check = HandCheck(deck=deck)
                check.first_version = check.last_version = entry.version
                check.secrets = commitments.check(entry.event, entry.version)
            commitments.take(entry)
            if check is not None:
                entries.append(entry)
                check.take(entry)
                if check.is_over:
                    return check.report(hand_id)
        if check is not None:
            check.finish()
    except Fault as fault:
        return HandCheck().report(hand_id, fault) if check is None else check.report(hand_id, check.first_fault(fault))
    missing = Fault(Rule.HAND_NOT_FOUND, 0, f"hand {hand_id}", "no such hand in these events")
    return HandCheck().report(hand_id, missing) if check is None else check.report(hand_id)


def _entries(events: Iterable[LoggedEvent]) -> Iterator[tuple[Entry, Commitments]]:
    reader, commitments = LogReader(), Commitments()
    for event in events:
        yield reader.read_entry(event), commitments
