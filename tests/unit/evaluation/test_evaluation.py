"""Strength of five to seven cards (HD-20, HD-22, HD-23)."""

import random  # noqa: TID251  (tests may use chance)
import time
from collections import Counter
from itertools import combinations

import pytest
from pokerkit import Card, StandardHighHand

from diwan.core import evaluation
from diwan.core.cards import DECK, format_cards, parse_cards
from diwan.core.evaluation import CATEGORIES, STRONGEST, category_of, evaluate

FREQUENCIES = {
    "royal_flush": 4,
    "straight_flush": 36,
    "four_of_a_kind": 624,
    "full_house": 3_744,
    "flush": 5_108,
    "straight": 10_200,
    "three_of_a_kind": 54_912,
    "two_pair": 123_552,
    "pair": 1_098_240,
    "high_card": 1_302_540,
}


def strength(text):
    return evaluate(parse_cards(text))


def test_all_five_card_hands_fall_into_the_known_classes_and_categories():
    """All 2,598,960 hands: 7,462 classes, and each category as often as combinatorics says."""
    counts = [0] * (STRONGEST + 1)
    for hand in combinations(DECK, 5):
        counts[evaluate(hand)] += 1
    assert counts[0] == 0
    assert all(counts[1:])
    found = Counter()
    for value in range(1, STRONGEST + 1):
        found[category_of(value)] += counts[value]
    assert found == FREQUENCIES


def test_categories_are_ranked_in_the_order_of_the_rules():
    """HD-22."""
    order = [category_of(value) for value in range(1, STRONGEST + 1)]
    assert list(dict.fromkeys(order)) == list(CATEGORIES)


@pytest.mark.parametrize("size", [5, 6, 7])
def test_order_and_ties_are_those_of_pokerkit(size):
    chance = random.Random(size)
    hands = [chance.sample(DECK, size) for _ in range(500)]
    # Neighbours in strength are what random pairs hardly ever give.
    hands.sort(key=evaluate)
    theirs = [
        StandardHighHand.from_game("".join(repr(card) for card in Card.parse(format_cards(hand, "")))) for hand in hands
    ]
    for one, two, their_one, their_two in zip(hands, hands[1:], theirs, theirs[1:], strict=False):
        assert (evaluate(one) < evaluate(two)) == (their_one < their_two)


@pytest.mark.parametrize("size", [6, 7])
def test_more_cards_are_worth_their_best_five(size):
    chance = random.Random(size)
    for _ in range(300):
        hand = chance.sample(DECK, size)
        assert evaluate(hand) == max(evaluate(five) for five in combinations(hand, 5))


def test_suited_sevens_are_worth_their_best_five():
    """Random hands hardly ever hold six or seven of a suit."""
    for ranks in combinations(range(13), 7):
        hand = [rank * 4 + 2 for rank in ranks]
        value = evaluate(hand)
        assert value == max(evaluate(five) for five in combinations(hand, 5))


def test_the_ace_begins_or_ends_a_straight_but_joins_no_ends():
    """HD-23."""
    assert category_of(strength("As2d3c4h5s")) == "straight"
    assert category_of(strength("AsKdQcJhTs")) == "straight"
    assert category_of(strength("QsKdAc2h3s")) == "high_card"
    assert strength("As2d3c4h5s") < strength("2d3c4h5s6s")


def test_suits_have_no_order():
    assert len({evaluate([rank * 4 + suit for rank in (12, 9, 5, 3, 1)]) for suit in range(4)}) == 1


@pytest.mark.parametrize("size", [5, 6, 7])
def test_every_multiset_of_ranks_has_a_sum_of_its_own(size):
    multisets = evaluation._multisets(size)
    assert len({evaluation._key(ranks) for ranks in multisets}) == len(multisets) == {5: 6175, 6: 18395, 7: 49205}[size]


@pytest.mark.parametrize("cards", [(), (0,), (0, 4, 8, 12), (0, 4, 8, 12, 16, 20, 24, 28), tuple(range(0, 40, 5))])
def test_another_number_of_cards_is_refused(cards):
    with pytest.raises(ValueError, match="five to seven"):
        evaluate(cards)


@pytest.mark.parametrize("cards", [(0, 1, 2, 3, 52), (0, 4, 8, 12, 16, 20, 99)])
def test_what_is_no_card_is_refused(cards):
    with pytest.raises(ValueError, match="five to seven"):
        evaluate(cards)


def test_the_tables_are_built_within_a_moment():
    """Built once a process, at the first call; ten times the usual time, for a busy machine."""
    started = time.perf_counter()
    evaluation._build_tables.__wrapped__()
    assert time.perf_counter() - started < 5
