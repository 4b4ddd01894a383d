"""Estimates of what a hand is worth, beside exact counts."""

from itertools import combinations

import numpy as np
import pytest

from diwan.analysis.equity import _Deal, equity
from diwan.core.cards import DECK, parse_cards
from diwan.core.evaluation import evaluate

DEALS = 200_000


def exact_share(hole, board):
    """The share against one random hand, by looking at every deal."""
    left = [card for card in DECK if card not in hole and card not in board]
    share = deals = 0
    for more in combinations(left, 5 - len(board)):
        shared = (*board, *more)
        own = evaluate((*hole, *shared))
        for other in combinations([card for card in left if card not in more], 2):
            theirs = evaluate((*other, *shared))
            share += 1 if own > theirs else 0.5 if own == theirs else 0
            deals += 1
    return share / deals


@pytest.mark.parametrize(("hole", "board"), [
    ("7h7d", "Ks 9s 2h 3d 7c"),
    ("AsKs", "Qs Js 2d 3d"),
    ("2c 7d", "As Ks Qd 7s"),
    ("AcAd", "Ah As Kd Kh Qc"),
    ("3c 4d", "As Ks Qs Js Ts"),  # always shared
])  # fmt: skip
def test_an_estimate_is_as_near_to_the_exact_share_as_its_deals_allow(hole, board):
    """Within five standard deviations of the mean, which are 0.5 at most."""
    own, shared = parse_cards(hole), parse_cards(board)

    found = equity(own, shared, 1, DEALS, seed=7)

    assert abs(found.share - exact_share(own, shared)) <= 5 * 0.5 / DEALS**0.5


@pytest.mark.parametrize(("hole", "share"), [("AsAh", 0.852037), ("7c2d", 0.345839), ("AsKs", 0.670446)])
def test_known_shares_before_the_flop(hole, share):
    """Published shares against one random hand, from all 2.1 billion deals."""
    found = equity(parse_cards(hole), (), 1, DEALS, seed=11)

    assert abs(found.share - share) <= 5 * 0.5 / DEALS**0.5


def test_equal_hands_share_alike_among_many():
    """The board is the best hand: nine players take a ninth each."""
    found = equity(parse_cards("3c4d"), parse_cards("AsKsQsJsTs"), 8, 5_000, seed=1)

    assert found.tied == found.deals == 5_000
    assert found.share == pytest.approx(1 / 9)


def test_all_players_together_win_one_pot():
    """Against random hands every one of six has the same right, so aces have more than a sixth and 72 has less."""
    aces, worst = (equity(parse_cards(hole), (), 5, DEALS, seed=3).share for hole in ("AsAh", "7c2d"))

    assert aces == pytest.approx(0.492, abs=0.006)
    assert worst < 1 / 6


def test_the_same_seed_gives_the_same_answer():
    own = parse_cards("QhJh")

    assert equity(own, (), 3, 20_000, seed=5) == equity(own, (), 3, 20_000, seed=5)
    assert equity(own, (), 3, 20_000, seed=5) != equity(own, (), 3, 20_000, seed=6)


@pytest.mark.parametrize("board", ["", "2c3c4c", "2c3c4c5c", "2c3c4c5c6c"])
def test_no_card_is_dealt_twice_and_every_card_equally_often(board):
    """Seven opponents: twenty-one random cards at most beside the known ones."""
    hole, known, deals = parse_cards("AsAh"), parse_cards(board), 40_000
    deal = _Deal(hole, known, seed=2)
    deal.shuffle(deals)
    for _ in range(7):
        deal.opponent_strengths()

    dealt = 5 + 14
    assert (np.bitwise_count(deal._used) == dealt).all()
    left = 52 - 2 - len(known)
    expected = deals * (dealt - len(known)) / left
    for card in DECK:
        bit = np.uint64(13 * (card & 3) + (card >> 2))
        often = int(np.sum(deal._used >> bit & np.uint64(1)))
        if card in hole:
            assert often == 0
        elif card in known:
            assert often == deals
        else:
            assert abs(often - expected) < 5 * (deals * 0.25) ** 0.5


@pytest.mark.parametrize(("hole", "board", "opponents", "deals"), [
    ((1,), (), 1, 10),
    ((1, 1), (), 1, 10),
    ((1, 52), (), 1, 10),
    ((1, 2), (2, 3, 4), 1, 10),
    ((1, 2), (3, 4, 5, 6, 7, 8), 1, 10),
    ((1, 2), (), 0, 10),
    ((1, 2), (), 9, 10),
    ((1, 2), (), 1, 0),
])  # fmt: skip
def test_what_makes_no_estimate_is_refused(hole, board, opponents, deals):
    with pytest.raises(ValueError, match="no"):
        equity(hole, board, opponents, deals, seed=1)
