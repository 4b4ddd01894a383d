"""Strength of Omaha hands: exactly two own cards, exactly three shared ones (OM-2, OM-3)."""

import random  # noqa: TID251  (tests may use chance)
import time
from itertools import combinations, combinations_with_replacement

import pytest
from pokerkit import Card, OmahaHoldemHand

from diwan.core import evaluation
from diwan.core.cards import DECK, format_cards, parse_cards
from diwan.core.evaluation import category_of, evaluate, evaluate_omaha, prepare_omaha


def by_all_choices(hole, board):
    return max(evaluate((*own, *shared)) for own in combinations(hole, 2) for shared in combinations(board, 3))


def category(hole, board):
    return category_of(evaluate_omaha(parse_cards(hole), parse_cards(board)))


def test_four_suited_cards_in_the_hand_are_no_flush():
    """OM-3, E-OM-1: two hearts of the hand, one of the board."""
    assert category("AhKhQhJh", "2h7c9dTs3s") == "high_card"


def test_three_aces_in_the_hand_are_two():
    """E-OM-4: aces full of kings, four aces are impossible."""
    aces_full = evaluate(parse_cards("AcAdAhKdKc"))
    assert evaluate_omaha(parse_cards("AcAdAs7h"), parse_cards("AhKdKc9s2c")) == aces_full


def test_the_board_does_not_play_alone():
    assert category("AhKd2c3d", "ThJdQsKs9c") == "straight"
    assert category("Ah4d2c3d", "ThJdQsKs9c") == "high_card"


def test_four_of_a_suit_on_the_board_need_two_of_it_in_the_hand():
    assert category("Ah2d3c4s", "Kh9h7h5hJc") == "high_card"
    assert category("Ah2h3c4s", "Kh9h7h5hJc") == "flush"


def test_a_straight_flush_need_not_hold_the_highest_cards_of_its_suit():
    """The highest two and three make an ace-high flush; lower ones are consecutive."""
    assert category("Ah5h6hKd", "7h8h9hQhQd") == "straight_flush"
    assert category("AhKh2h9s", "3h4h5hQhQd") == "straight_flush"
    assert category("AhKh2d9s", "3h4h5hQhQd") == "flush"


@pytest.mark.parametrize("seed", range(4))
def test_random_hands_are_worth_the_best_of_their_sixty_choices(seed):
    chance = random.Random(seed)
    for _ in range(1500):
        cards = chance.sample(DECK, 9)
        assert evaluate_omaha(cards[:4], cards[4:]) == by_all_choices(cards[:4], cards[4:])


def test_suited_hands_are_worth_the_best_of_their_sixty_choices():
    """Random hands seldom hold many cards of one suit."""
    chance = random.Random(5)
    for _ in range(3000):
        suited = chance.sample(range(2, 52, 4), chance.randint(5, 9))
        others = chance.sample([card for card in DECK if card % 4 != 2], 9 - len(suited))
        own = chance.randint(max(0, 4 - len(others)), min(4, len(suited)))
        hole = suited[:own] + others[: 4 - own]
        board = suited[own:] + others[4 - own :]
        assert evaluate_omaha(hole, board) == by_all_choices(hole, board)


def test_hands_of_few_ranks_are_worth_the_best_of_their_sixty_choices():
    """Pairs, threes and fours on board and in the hand."""
    chance = random.Random(6)
    for _ in range(3000):
        ranks = chance.sample(range(13), 3)
        cards = chance.sample([card for card in DECK if card // 4 in ranks], 9)
        assert evaluate_omaha(cards[:4], cards[4:]) == by_all_choices(cards[:4], cards[4:])


@pytest.mark.parametrize("size", [3, 4])
def test_before_the_river_too(size):
    chance = random.Random(size)
    for _ in range(100):
        cards = chance.sample(DECK, 4 + size)
        assert evaluate_omaha(cards[:4], cards[4:]) == by_all_choices(cards[:4], cards[4:])


def test_order_and_ties_are_those_of_pokerkit():
    chance = random.Random(7)
    board = chance.sample(DECK, 5)
    rest = [card for card in DECK if card not in board]
    hands = sorted([chance.sample(rest, 4) for _ in range(200)], key=lambda hole: evaluate_omaha(hole, board))
    theirs = [OmahaHoldemHand.from_game(text(hole), text(board)) for hole in hands]
    for one, two, their_one, their_two in zip(hands, hands[1:], theirs, theirs[1:], strict=False):
        assert (evaluate_omaha(one, board) < evaluate_omaha(two, board)) == (their_one < their_two)


def text(cards):
    return "".join(repr(card) for card in Card.parse(format_cards(cards, "")))


def test_every_five_ranks_and_every_four_have_a_key_of_their_own():
    keys = evaluation.OMAHA_KEYS
    for size in (4, 5):
        sums = [
            sum(keys[rank] for rank in ranks)
            for ranks in combinations_with_replacement(range(13), size)
            if max(map(ranks.count, ranks)) <= 4
        ]
        assert len(set(sums)) == len(sums)


def test_all_boards_are_prepared_within_seconds():
    started = time.process_time()
    prepare_omaha()
    assert time.process_time() - started < 8  # two on an idle machine
    size = len(evaluation._OMAHA_ROWS)
    assert size == 6175 * 1820


@pytest.mark.parametrize(
    ("hole", "board"),
    [
        ((0, 1, 2), (4, 5, 6, 7, 8)),
        ((0, 1, 2, 3, 4), (5, 6, 7, 8, 9)),
        ((0, 1, 2, 3), (4, 5)),
        ((0, 1, 2, 3), (4, 5, 6, 7, 8, 9)),
        ((0, 1, 2, 60), (4, 5, 6, 7, 8)),
        ((0, 1, 2, 3), (48, 49, 50, 51, 51)),
        ((51, 51, 51, 51), (0, 0, 0, 0, 0)),
        ((), ()),
    ],
)
def test_what_is_no_omaha_hand_is_a_value_error(hole, board):
    with pytest.raises(ValueError, match=r"cards"):
        evaluate_omaha(hole, board)
