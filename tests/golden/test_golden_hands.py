"""Recorded hands verify in every later version: same acts, same batches, same outcome (DESIGN 3)."""

import hashlib
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.hand.decide import decide
from diwan.core.hand.events import (
    Acted,
    AnchorAnswered,
    AnchorDeclared,
    AnchorSettled,
    BetReturned,
    BoardDealt,
    CardGlanced,
    CardsShown,
    CardSwapped,
    DestellosReturned,
    HandEnded,
    HandVoided,
    Posted,
    PotAwarded,
    Share,
    TurnBegan,
    WindowOpened,
)
from diwan.core.hand.evolve import evolve
from diwan.core.hand.inverse import command_of
from diwan.core.hand.outcome import outcome_digest
from diwan.core.hand.state import EndedHand
from tests.golden.record import HASHES, HERE, Golden

LISTED = dict(reversed(line.split("  ")) for line in HASHES.read_text(encoding="utf-8").splitlines())
HANDS = sorted(path.stem for path in (HERE / "hands").glob("*.json"))


def read(name):
    return msgspec.json.decode((HERE / "hands" / f"{name}.json").read_bytes(), type=Golden)


def test_the_list_of_hashes_only_grows():
    """The first hashes, as they stood when the list began; a hand taken out or changed fails here."""
    lines = HASHES.read_text(encoding="utf-8").splitlines(keepends=True)
    assert len(lines) >= 12
    assert hashlib.sha256("".join(lines[:12]).encode()).hexdigest() == FIRST_TWELVE


def test_every_hand_is_listed_and_every_listed_hand_is_there():
    assert sorted(LISTED) == HANDS


@pytest.mark.parametrize("name", LISTED)
def test_a_golden_hand_is_unchanged(name):
    raw = Path(HERE / "hands" / f"{name}.json").read_bytes()
    assert hashlib.sha256(raw).hexdigest() == LISTED[name]


def verify(golden):
    """Decide every act again from the revealed cards alone; returns the end, or None with the first batch that differs."""
    cards = {int(position): card for position, card in golden.cards.items()}
    state, at = None, 0
    while at < len(golden.events):
        command = command_of(golden.events[at], golden.version + at)
        if command is None:
            return None
        try:
            batch = decide(state, command, cards)
        except (Rejected, LookupError):
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
    assert isinstance(state, EndedHand)
    cards = {int(position): card for position, card in golden.cards.items()}
    assert state.ended.digest == outcome_digest(state.last, state.ended.result, cards)


def forgeries(event):
    """One chip more, another card, another winner: what somebody might change in a log."""
    match event:
        case Acted(added=added) if added:
            yield replace(event, added=added + 1)
        case Acted() | TurnBegan():
            yield replace(event, seat=(event.seat + 1) % 9)
        case CardGlanced(position=position):
            yield replace(event, position=position + 1)
            yield replace(event, cost=event.cost + 1)
        case CardSwapped(taken=taken):
            yield replace(event, taken=taken + 1)
        case AnchorDeclared():
            yield replace(event, cost=event.cost - 1)
        case WindowOpened():
            yield replace(event, deadline_ms=event.deadline_ms + 1)
            yield replace(event, remaining_ms=event.remaining_ms + 1)
        case AnchorAnswered():
            yield replace(event, cost=event.cost + 1)
        case AnchorSettled():
            yield replace(event, is_blocked=not event.is_blocked)
        case DestellosReturned():
            yield replace(event, destellos=event.destellos[:-1])
        case Posted() | BetReturned():
            yield replace(event, amount=event.amount + 1)
        case BoardDealt() | CardsShown():
            yield replace(event, positions=tuple(position + 1 for position in event.positions))
        case PotAwarded():
            yield replace(event, amount=event.amount + 1)
            yield replace(event, shares=(replace(event.shares[0], amount=event.shares[0].amount - 1),))
        case HandVoided():
            yield replace(event, carried=event.carried + 1)
            yield replace(event, refunds=(*event.refunds, Share(0, 1)))
        case HandEnded():
            yield replace(event, digest=bytes(32))
            yield replace(event, payoffs=event.payoffs[::-1], stacks=event.stacks[::-1], digest=event.digest[::-1])


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


def test_the_same_commands_end_differently_under_older_rules():
    """B4 as settled by version 2; the hand under version 1 keeps what it was paid."""
    old, new = read("v1_odd_chips").events, read("v2_odd_chips").events
    assert (old[0].rules_version, new[0].rules_version) == (1, 2)
    assert old[-1].stacks != new[-1].stacks
    assert sum(old[-1].stacks) == sum(new[-1].stacks)


def test_a_hand_of_one_version_does_not_verify_under_another():
    golden = read("v1_odd_chips")
    events = [replace(golden.events[0], rules_version=2), *golden.events[1:]]
    assert verify(replace(golden, events=events)) is None


FIRST_TWELVE = "19ce996efda13f5b8082c118bb5566b0f1deb66604835686f3e4d53f87f0fee9"
