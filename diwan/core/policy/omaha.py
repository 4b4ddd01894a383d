"""What four own cards are worth in pot-limit Omaha, where exactly two of them count (OM-2).

Starting holdings are put in order by points that were fitted, by least squares, to the share of the pot that 1,800 random
holdings won against three random opponents in simulation; a point is about a thousandth of the pot.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cache
from itertools import combinations, islice
from typing import Final

from diwan.core.cards import DECK, Card
from diwan.core.evaluation import evaluate, evaluate_omaha
from diwan.core.policy.betting import Reading
from diwan.core.policy.equity import draw_to_front, unseen_cards
from diwan.core.policy.situation import Chance, Situation

SAMPLES: Final = 40
OPPONENTS_SAMPLED_MAX: Final = 3
"""Whoever beats three random holdings of four cards has little to fear from the fourth."""

_HOLDING: Final = 4
_BOARD: Final = 5
_ACE: Final = 12
_GAP_POINTS: Final = (0, 14, 13, 9, 4)
_SAMPLED_EACH: Final = 97
"""Every such holding of the 270,725 stands for all: the order is exact to about a percent."""


def points_of(cards: Sequence[Card]) -> int:
    """Return the points of four starting cards: high cards, one pair's worth a pair, suits and neighbours."""
    ranks = [card >> 2 for card in cards]
    suits = [card & 3 for card in cards]
    points = 15 * sum(ranks) // 4
    for rank in set(ranks):
        match ranks.count(rank):
            case 2:
                points += 34 + rank // 2 + 2 * max(0, rank - 7) ** 2
            case 3:
                points -= 34
            case 4:
                points -= 80  # Nothing can improve them.
    for suit in set(suits):
        held = [rank for rank, of in zip(ranks, suits, strict=True) if of == suit]
        if len(held) > 1:
            points += 22 + 8 * max(held) // 5 - 11 * (len(held) - 2)
    low_ace = [-1] if _ACE in ranks else []
    for first, second in combinations([*set(ranks), *low_ace], 2):
        gap = abs(first - second)
        points += _GAP_POINTS[gap] if gap < len(_GAP_POINTS) else 0
    return points


@cache
def _sorted_points() -> list[int]:
    return sorted([points_of(cards) for cards in islice(combinations(DECK, _HOLDING), 0, None, _SAMPLED_EACH)])


def percent_better(cards: tuple[Card, ...]) -> float:
    """Return how many of all starting holdings are better, in percent, ties counted half."""
    if len(cards) != _HOLDING:
        raise ValueError("this policy plays four own cards")
    known, points = _sorted_points(), points_of(cards)
    worse_or_half = (bisect_left(known, points) + bisect_right(known, points)) / 2
    return 100 * (1 - worse_or_half / len(known))


def sampled_equity(situation: Situation, chance: Chance, has_bet: bool) -> float:
    """Return the share of the pot, 0 to 1, that four own cards win on average against the opponents.

    An opponent who has bet holds the better of two random holdings on the board as it lies.
    """
    own, board = situation.own_cards, situation.board
    unseen = unseen_cards(situation)
    missing = _BOARD - len(board)
    rivals = min(situation.opponents, OPPONENTS_SAMPLED_MAX)
    holdings = rivals + (1 if has_bet else 0)
    won = 0.0
    for _ in range(SAMPLES):
        draw_to_front(unseen, missing + _HOLDING * holdings, chance)
        full = board + tuple(unseen[:missing])
        theirs = [tuple(unseen[at : at + _HOLDING]) for at in range(missing, missing + _HOLDING * holdings, _HOLDING)]
        if has_bet:
            first, second = theirs.pop(), theirs.pop()
            theirs.append(first if _made(first, board) >= _made(second, board) else second)
        ours, best = evaluate_omaha(own, full), max([evaluate_omaha(each, full) for each in theirs])
        won += 1.0 if ours > best else 0.5 if ours == best else 0.0
    return won / SAMPLES


def _made(hole: Sequence[Card], board: tuple[Card, ...]) -> int:
    """Return the strength on the board as it lies; of four board cards only the first three and the last three count.

    On the turn the two triples in the middle are left out: it is a guess about somebody's reasons to bet, and they are
    half of the work.
    """
    if len(board) == _BOARD:
        return evaluate_omaha(hole, board)
    pairs = list(combinations(hole, 2))
    return max([evaluate((*pair, *triple)) for triple in {board[:3], board[-3:]} for pair in pairs])


OMAHA: Final = Reading(percent=percent_better, equity=sampled_equity, raising_equity=0.7)
