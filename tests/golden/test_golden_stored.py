"""Golden hands as stored bytes: every later version reads the same events from them and decides the same (H4, P6)."""

import hashlib

import pytest

from diwan.core.hand.state import EndedHand
from tests.golden.record import Golden
from tests.golden.stored import HASHES, committed, golden_hand, path_of, read_back
from tests.golden.test_golden_hands import HANDS, verify

LISTED = dict(reversed(line.split("  ")) for line in HASHES.read_text(encoding="utf-8").splitlines())


def test_every_golden_hand_is_there_as_bytes():
    assert set(HANDS) == set(LISTED)


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
