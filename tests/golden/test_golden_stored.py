"""Golden hands as stored bytes: every later version reads the same events from them and decides the same (H4, P6)."""

import hashlib

import pytest

from diwan.core.games.capsa.events import NaturalShown, SetsShown
from diwan.core.games.capsa.state import EndedCapsa
from diwan.core.hand.state import EndedHand
from tests.golden.record import Golden
from tests.golden.stored import (
    CAPSA_HASHES,
    HASHES,
    capsa_path_of,
    committed,
    golden_capsa,
    golden_hand,
    path_of,
    read_back,
)
from tests.golden.test_golden_capsa import LISTED as CAPSA_HANDS
from tests.golden.test_golden_capsa import verify as verify_capsa
from tests.golden.test_golden_hands import HANDS, verify


def listed(path):
    return dict(reversed(line.split("  ")) for line in path.read_text(encoding="utf-8").splitlines())


LISTED = listed(HASHES)
LISTED_CAPSA = listed(CAPSA_HASHES)


def test_every_golden_hand_is_there_as_bytes():
    assert set(HANDS) == set(LISTED)
    assert set(CAPSA_HANDS) == set(LISTED_CAPSA)


@pytest.mark.parametrize("name", LISTED)
def test_the_bytes_of_a_golden_hand_are_unchanged(name):
    assert hashlib.sha256(path_of(name).read_bytes()).hexdigest() == LISTED[name]


@pytest.mark.parametrize("name", LISTED)
def test_the_bytes_of_a_golden_hand_are_read_as_its_events_and_verify(name):
    _, hand = committed(golden_hand(name))

    events, cards = read_back(path_of(name).read_bytes())

    assert events == hand.events
    assert cards == hand.cards
    assert isinstance(verify(Golden(hand.note, hand.version, cards, events)), EndedHand)


@pytest.mark.parametrize("name", LISTED_CAPSA)
def test_the_bytes_of_a_golden_capsa_hand_are_unchanged(name):
    assert hashlib.sha256(capsa_path_of(name).read_bytes()).hexdigest() == LISTED_CAPSA[name]


@pytest.mark.parametrize("name", LISTED_CAPSA)
def test_the_bytes_of_a_golden_capsa_hand_are_read_as_its_events_and_verify(name):
    """CS-84: the bytes carry the cards that were turned up, proved, and no others; judging needs the rest as well."""
    _, hand = committed(golden_capsa(name))

    events, shown = read_back(capsa_path_of(name).read_bytes())

    assert events == hand.events
    turned_up = {
        str(position) for event in events if isinstance(event, NaturalShown | SetsShown) for position in event.positions
    }
    assert set(shown) == turned_up
    assert shown.items() <= hand.cards.items()
    assert isinstance(verify_capsa(hand), EndedCapsa)
