"""Recorded Capsa hands verify in every later version: same acts, same batches, same outcome (DESIGN 3)."""

import hashlib

import msgspec
import pytest
from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.games.capsa.decide import decide
from diwan.core.games.capsa.events import Answered, NaturalShown, PairSettled, RoyaltiesDeclared, SetLocked, SetsShown
from diwan.core.games.capsa.evolve import evolve
from diwan.core.games.capsa.inverse import command_of
from diwan.core.games.capsa.outcome import outcome_digest
from diwan.core.games.capsa.state import EndedCapsa
from diwan.core.hand.events import HandEnded
from tests.golden.record_capsa import HASHES, HERE, Golden

LISTED = dict(reversed(line.split("  ")) for line in HASHES.read_text(encoding="utf-8").splitlines())


def read(name):
    return msgspec.json.decode((HERE / "capsa" / f"{name}.json").read_bytes(), type=Golden)


def test_the_list_of_hashes_only_grows():
    """The first hashes, as they stood when the list began; a hand taken out or changed fails here."""
    lines = HASHES.read_text(encoding="utf-8").splitlines(keepends=True)
    assert hashlib.sha256("".join(lines[:8]).encode()).hexdigest() == FIRST_EIGHT


def test_every_hand_is_listed_and_every_listed_hand_is_there():
    assert sorted(LISTED) == sorted(path.stem for path in (HERE / "capsa").glob("*.json"))


@pytest.mark.parametrize("name", LISTED)
def test_a_golden_hand_is_unchanged(name):
    raw = (HERE / "capsa" / f"{name}.json").read_bytes()
    assert hashlib.sha256(raw).hexdigest() == LISTED[name]


def verify(golden):
    """Decide every act again; returns the end, or None with the first batch that differs."""
    cards = {int(position): card for position, card in golden.cards.items()}
    state, at = None, 0
    while at < len(golden.events):
        command = command_of(golden.events[at], golden.version + at)
        if command is None:
            return None
        try:
            batch = decide(state, command, cards)
        except Rejected:
            return None
        if list(batch) != golden.events[at : at + len(batch)]:
            return None
        for event in batch:
            state = evolve(state, event)
        at += len(batch)
    return state


@pytest.mark.parametrize("name", LISTED)
def test_a_golden_hand_verifies(name):
    golden = read(name)
    state = verify(golden)
    assert isinstance(state, EndedCapsa)
    cards = {int(position): card for position, card in golden.cards.items()}
    assert state.ended.digest == outcome_digest(state.last, state.ended.result, cards)


def forgeries(event):
    """One unit more, another row, another answer: what somebody might change in a log."""
    match event:
        case SetLocked(arrangement=rows) if rows is not None:
            other = (*rows.middle[1:], rows.middle[0])
            yield replace(event, arrangement=replace(rows, front=rows.back[:3]))
            yield replace(event, source="server", arrangement=replace(rows, middle=other))
        case Answered():
            yield replace(event, answer="surrender" if event.answer == "play" else "play")
        case NaturalShown():
            yield replace(event, units=event.units + 1)
        case RoyaltiesDeclared():
            yield replace(event, standings=event.standings[::-1])
        case SetsShown(sets=sets) if sets:
            yield replace(event, sets=(replace(sets[0], is_fouled=not sets[0].is_fouled), *sets[1:]))
        case PairSettled():
            yield replace(event, units=event.units + 1)
            yield replace(event, chips=-event.chips or 1)
        case HandEnded():
            yield replace(event, digest=bytes(32))
            yield replace(event, payoffs=tuple(payoff + 1 for payoff in event.payoffs))


@pytest.mark.parametrize("name", LISTED)
def test_a_changed_event_does_not_verify(name):
    golden = read(name)
    tried = 0
    for at, event in enumerate(golden.events):
        for forged in forgeries(event):
            events = [*golden.events[:at], forged, *golden.events[at + 1 :]]
            assert verify(replace(golden, events=events)) is None, forged
            tried += 1
    assert tried > 5


FIRST_EIGHT = "dd935b817acf18be49e4409ee6f42197a01a521d3d25555348b2969897537b73"
