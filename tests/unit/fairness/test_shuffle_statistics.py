"""F6: the statistics reject every known-bad shuffle, accept a fair one, and accept ours."""

import hashlib
import uuid

import numpy as np
import pytest

from diwan.core.fairness import deal
from tests.unit.fairness import known_bad_shuffles as bad
from tests.unit.fairness import shuffle_statistics as statistics

SHUFFLES = 20_000
# A fair shuffle passes 5 standard deviations once in a million samples; ours and the bad ones are fixed by their seeds.
BAR = 5


def _scores(sample):
    return {
        "position": statistics.position_score(sample),
        "adjacency": statistics.adjacency_score(sample),
        "hole cards": statistics.pair_score(sample, 0, 1),
        "top and bottom": statistics.pair_score(sample, 0, 51),
        "turn and river": statistics.pair_score(sample, 12, 13),
        "serial top": statistics.serial_score(sample, 0),
        "serial bottom": statistics.serial_score(sample, 51),
    }


@pytest.fixture(scope="module")
def dealt():
    """Decks of 20,000 hands of one table: new secret and hand each, seeds of three seats that never change."""
    table = uuid.UUID(int=1)
    seeds = {seat: hashlib.sha256(b"seed %d" % seat).digest() for seat in (0, 3, 8)}
    decks = (
        deal(str(uuid.uuid5(table, f"hand/{number}")), hashlib.sha256(b"secret %d" % number).digest(), seeds)
        for number in range(SHUFFLES)
    )
    return np.array([deck.cards for deck in decks], dtype=np.uint8)


def test_our_shuffle_is_accepted_by_every_statistic(dealt):
    scores = _scores(dealt)

    assert all(abs(score) < BAR for score in scores.values()), scores
    assert statistics.repeats(dealt) == 0


def test_the_seeds_alone_move_the_deck_as_fairly_as_the_secret():
    """One secret, 20,000 seeds: a seat's seed is enough to make the deck fair if the house is not."""
    hand, secret = str(uuid.UUID(int=2)), bytes(32)
    sample = np.array(
        [deal(hand, secret, {4: hashlib.sha256(b"%d" % number).digest()}).cards for number in range(SHUFFLES)],
        dtype=np.uint8,
    )
    scores = _scores(sample)

    assert all(abs(score) < BAR for score in scores.values()), scores
    assert statistics.repeats(sample) == 0


@pytest.mark.parametrize("seed", range(100, 106))
def test_a_fair_shuffle_of_another_generator_is_accepted(seed):
    """The statistics themselves are right: they do not reject what is fair."""
    sample = bad.fair(SHUFFLES, seed)
    scores = _scores(sample)

    assert all(abs(score) < BAR for score in scores.values()), scores
    assert statistics.repeats(sample) == 0


@pytest.mark.parametrize(
    "shuffle", [bad.random_comparator, bad.sattolo, bad.swap_with_any, bad.clock_seeded_1999, bad.byte_modulo]
)
def test_the_five_known_bad_shuffles_are_rejected_by_the_positions_of_their_cards(shuffle):
    sample = shuffle(SHUFFLES)

    assert (np.sort(sample, axis=1) == np.arange(52)).all()
    assert abs(statistics.position_score(sample)) > BAR


def test_a_cut_is_rejected_by_its_neighbours_though_its_positions_are_even():
    sample = bad.cut_only(SHUFFLES)

    assert abs(statistics.position_score(sample)) < BAR
    assert statistics.adjacency_score(sample) > BAR
    assert statistics.pair_score(sample, 0, 1) > BAR


@pytest.mark.parametrize("shuffle", [bad.clock_seeded_fair, bad.one_secret_for_two_hands])
def test_a_fair_shuffle_of_too_few_seeds_is_rejected_by_its_repeats(shuffle):
    """F6, no seed reuse: what positions and neighbours cannot see."""
    assert statistics.repeats(shuffle(SHUFFLES)) > 0


def test_a_deck_dealt_twice_is_seen_from_one_hand_to_the_next():
    assert statistics.serial_score(bad.one_secret_for_two_hands(SHUFFLES), 0) > BAR
