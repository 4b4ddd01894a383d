"""Batches of hands: the same strengths as one hand a call (HD-20, HD-22, HD-23, OM-2)."""

from itertools import combinations

import numpy as np
import pytest

from diwan.analysis.evaluation import evaluate_batch, evaluate_omaha_batch
from diwan.core.cards import parse_cards
from diwan.core.evaluation import STRONGEST, evaluate, evaluate_omaha

LARGER_THAN_A_CHUNK = 70_000


def random_hands(seed, hands, cards):
    deck = np.tile(np.arange(52, dtype=np.uint8), (hands, 1))
    return np.random.default_rng(seed).permuted(deck, axis=1)[:, :cards]


def few_suits(seed, hands, cards):
    """Hands of two suits only, where flushes and straight flushes are frequent."""
    deck = np.tile(np.array([card for card in range(52) if card & 3 < 2], dtype=np.uint8), (hands, 1))
    return np.random.default_rng(seed).permuted(deck, axis=1)[:, :cards]


def test_all_five_card_hands_have_the_strength_of_one_call():
    """All 2,598,960 hands, and so all 7,462 classes with their known frequencies."""
    hands = np.array(list(combinations(range(52), 5)), dtype=np.uint8)

    strengths = evaluate_batch(hands)

    assert strengths.tolist() == [evaluate(hand) for hand in hands.tolist()]
    assert len(np.unique(strengths)) == STRONGEST


@pytest.mark.parametrize("cards", [5, 6, 7])
@pytest.mark.parametrize("make", [random_hands, few_suits])
def test_random_hands_have_the_strength_of_one_call(make, cards):
    hands = make(cards, LARGER_THAN_A_CHUNK, cards)

    assert evaluate_batch(hands).tolist() == [evaluate(hand) for hand in hands.tolist()]


@pytest.mark.parametrize("make", [random_hands, few_suits])
def test_random_omaha_hands_have_the_strength_of_one_call(make):
    hands = make(9, LARGER_THAN_A_CHUNK, 9)
    holes, boards = hands[:, :4], hands[:, 4:]

    expected = [evaluate_omaha(hole, board) for hole, board in zip(holes.tolist(), boards.tolist(), strict=True)]

    assert evaluate_omaha_batch(holes, boards).tolist() == expected


@pytest.mark.parametrize(("hole", "board"), [
    ("AsKs QsJs", "Ts 9s 8s 2d 2h"),  # a straight flush with two of four
    ("As 2d 3c 4h", "Ks Qs Js 9s 2s"),  # one own spade makes no flush
    ("AsAdAcAh", "KsKd2s3s4s"),  # four own aces are a pair
])  # fmt: skip
def test_omaha_takes_exactly_two_own_cards(hole, board):
    """OM-2."""
    own, shared = parse_cards(hole), parse_cards(board)
    expected = max(evaluate((*two, *three)) for two in combinations(own, 2) for three in combinations(shared, 3))

    assert evaluate_omaha_batch(np.array([own]), np.array([shared])).tolist() == [expected]


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_integers_in_any_order_will_do(dtype, order):
    hands = random_hands(1, 1000, 7)

    assert (evaluate_batch(np.array(hands, dtype=dtype, order=order)) == evaluate_batch(hands)).all()
    assert (evaluate_batch(hands[::-1])[::-1] == evaluate_batch(hands)).all()


def test_no_hands_have_no_strengths():
    assert evaluate_batch(np.empty((0, 7), dtype=np.uint8)).tolist() == []
    assert evaluate_omaha_batch(np.empty((0, 4), np.uint8), np.empty((0, 5), np.uint8)).tolist() == []


@pytest.mark.parametrize("cards", [
    np.zeros((3, 4), dtype=np.uint8),
    np.zeros((3, 8), dtype=np.uint8),
    np.zeros(7, dtype=np.uint8),
    np.zeros((3, 7)),
    np.full((3, 7), 52),
    np.full((3, 7), -1),
])  # fmt: skip
def test_what_is_no_array_of_hands_is_refused(cards):
    with pytest.raises(ValueError, match="card"):
        evaluate_batch(cards)


def test_holdings_and_boards_must_be_as_many():
    with pytest.raises(ValueError, match="belong together"):
        evaluate_omaha_batch(random_hands(1, 3, 4), random_hands(1, 2, 5))
