"""Pots, dead money and refunds in the corners that recorded hands hardly reach (HD-9, HD-17, HD-18, finer points 6 to 8)."""

from diwan.core.games import GAMES
from diwan.core.hand.betting import legal_actions
from diwan.core.hand.events import BetReturned, BettingRoundEnded, Due, PotAwarded
from diwan.core.hand.pots import cut_pots
from tests.unit.hand.hands import Hand, deck, start


def paid(hand):
    return [(pot.amount, pot.eligible) for pot in hand.all(PotAwarded)]


def no_blinds(stacks, antes, **settings):
    dues = [Due(seat, "ante", ante) for seat, ante in enumerate(antes) if ante]
    return start(stacks, dues=dues, **settings)


def test_an_ante_that_nobody_can_match_goes_back():
    """Finer point 6: antes of 5, but the other has 3: 2 come back, out of what lay in the middle."""
    hand = Hand(no_blinds([100, 3], [5, 5]))
    assert hand.all(BetReturned) == [BetReturned(0, 2)]
    assert hand.all(BettingRoundEnded) == [BettingRoundEnded(6)]
    assert paid(hand) == [(6, (0, 1))]


def test_an_unmatched_ante_comes_back_with_the_bet():
    """The big blind's 10 and 2 of its ante are above what the other could put in."""
    hand = Hand(start([3, 100], ante=5))
    assert hand.all(BetReturned) == [BetReturned(1, 12)]
    assert paid(hand) == [(6, (0, 1))]


def test_a_single_ante_is_dead_and_can_be_won_by_the_shortest():
    """FORMAT: the big blind's ante of 10 lies in the main pot, whatever the others put in."""
    hand = Hand(
        start(
            [100, 100, 100, 7],
            dues=[Due(2, "ante", 10), Due(1, "small_blind", 5), Due(2, "big_blind", 10)],
        ),
    )
    hand.do("all_in", "call", "call", "check")
    assert [(pot.amount, pot.eligible) for pot in cut_pots(hand.live)] == [(38, (0, 1, 2, 3)), (9, (0, 1, 2))]


def test_unequal_antes_are_dead():
    """Finer point 6: seat 1 owes none; the short seat 2 still plays for all antes."""
    hand = Hand(no_blinds([100, 100, 3], [5, 0, 5]))
    hand.do("bet 10", "call")
    assert [(pot.amount, pot.eligible) for pot in cut_pots(hand.live)] == [(8, (0, 1, 2)), (20, (0, 1))]


def test_equal_antes_are_matched_level_by_level():
    """FORMAT: seat 2 has 3 of 5 and can win 3 from each."""
    hand = Hand(no_blinds([100, 100, 3], [5, 5, 5]))
    hand.do("bet 10", "call")
    assert [(pot.amount, pot.eligible) for pot in cut_pots(hand.live)] == [(9, (0, 1, 2)), (24, (0, 1))]


def test_whoever_has_nothing_but_the_dead_ante_plays_for_the_dead_money():
    dues = [Due(2, "ante", 10), Due(1, "small_blind", 5), Due(2, "big_blind", 10)]
    hand = Hand(start([100, 100, 8], dues=dues)).do("call", "call")
    assert [(pot.amount, pot.eligible) for pot in cut_pots(hand.live)] == [(8, (0, 1, 2)), (20, (0, 1))]


def test_chips_of_folded_players_above_everybody_left_go_to_the_last_pot():
    """HD-11, HD-17: two who posted 10 fold, the big blind has 4, seat 0 calls with its 7: nobody left plays for more."""
    dues = [
        Due(1, "small_blind", 5),
        Due(2, "big_blind", 10),
        Due(3, "big_blind", 10),
        Due(4, "big_blind", 10),
    ]
    hand = Hand(start([7, 100, 4, 100, 100], dues=dues)).do("fold", "fold", "call", "fold")
    assert paid(hand) == [(20, (0, 2)), (16, (0,))]
    assert not hand.all(BetReturned)


def test_pots_in_the_middle_of_a_hand_are_cut_at_all_ins_only():
    """Finer point 8: a small blind that folded, a bet that nobody has answered yet: one pot."""
    hand = Hand(start([100, 100, 100])).do("raise 30")
    assert [(pot.amount, pot.eligible) for pot in cut_pots(hand.live)] == [(45, (0, 1, 2))]
    hand.do("fold")
    assert [(pot.amount, pot.eligible) for pot in cut_pots(hand.live)] == [(45, (0, 2))]


def test_no_pot_is_empty():
    hand = Hand(start([100, 50, 100])).do("raise 50", "call", "call")
    assert [(pot.amount, pot.eligible) for pot in cut_pots(hand.live)] == [(150, (0, 1, 2))]


def test_the_pot_limit_never_forbids_the_smallest_bet():
    """Finer point 7: pot 8, smallest bet 10: exactly 10."""
    hand = Hand(no_blinds([100] * 4, [2] * 4, limit="pot_limit"))
    legal = legal_actions(GAMES["holdem"], hand.live)
    assert (legal.bet, legal.pot_to) == ((10, 10), 10)
    assert hand.refused(hand.command("bet 11")) == "AMOUNT_TOO_LARGE"


def test_a_side_pot_of_one_is_won_by_it():
    """E-HD-7: the caller's 1 and the small blind's 1 above the short big blind are a pot of their own."""
    hand = Hand(start([100, 100, 4, 100]), deck("")).do("call", "fold", "fold")
    assert paid(hand) == [(12, (2, 3)), (2, (3,))]
    assert hand.ended.returned == (0, 0, 0, 5)


def test_a_refund_is_no_win():
    """HD-18."""
    hand = Hand(start([100, 60])).do("all_in", "call")
    assert sum(hand.ended.won) == 120
    assert hand.ended.returned == (40, 0)
