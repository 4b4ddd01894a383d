"""A match from deal to deal (SB-4, SB-28, SB-29, SB-34, SB-36, SB-38, A6, A7)."""

import pytest
from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.games.coins import STARTING_COINS, Coins
from diwan.core.hand.commands import VoidHand
from diwan.core.hand.settings import HandSettings, SarabSettings
from diwan.core.match.course import Match, after_hand, next_deal, open_match, standings
from diwan.core.match.prizes import prizes_of
from diwan.core.match.settings import MatchSettings, checked
from tests.unit.hand.hands import NOW, Hand, deck
from tests.unit.sarab.play import start


def settings(**sarab):
    return HandSettings(game="sarab", sarab=SarabSettings(**sarab))


def match_of(stacks, button=0, deal_no=1, carried=0, **sarab):
    return Match(settings(**sarab), dict(enumerate(stacks)), button, deal_no, carried)


def deal(match, cards=None):
    """The match's next hand, in play."""
    coming = next_deal(match)
    command = replace(
        start(coming.stacks, button=coming.button),
        settings=coming.settings,
        dues=coming.dues,
        deal_no=coming.deal_no,
        carried=coming.carried,
    )
    return Hand(command, cards)


def everybody_folds(hand):
    while not hand.is_over:
        hand.do("fold")
    return hand.state


def everybody_checks(hand):
    while not hand.is_over:
        hand.do("check")
    return hand.state


def test_a_match_begins_with_equal_coins_and_the_drawn_dealer():
    """SB-4, SB-29."""
    match = open_match(MatchSettings(), [4, 1, 7], 4)
    assert match.stacks == {1: 1000, 4: 1000, 7: 1000}
    coming = next_deal(match)
    assert (coming.button, coming.deal_no, coming.settings.big_blind, coming.carried) == (4, 1, 10, 0)


def test_other_starting_coins_are_a_setting():
    assert open_match(MatchSettings(starting_coins=Coins(dinars=2, stones=5)), [0, 1], 0).stacks == {0: 250, 1: 250}


def test_the_button_moves_to_the_next_player_and_the_deal_counts_on():
    """SB-29, SB-36."""
    match = match_of([1000, 1000, 1000], button=2, deal_no=2)
    match = after_hand(match, everybody_folds(deal(match)))
    assert (match.button, match.deal_no, match.stacks) == (0, 3, {0: 990, 1: 990, 2: 1020})
    assert next_deal(match).settings.big_blind == 20


def test_after_a_void_hand_the_button_stays_and_the_deal_counts():
    """SB-34, SB-36, A7, E-SB-3: deal 4 is void, the new one is number 5 and costs 30."""
    match = match_of([1000] * 4, button=1, deal_no=4)
    match = after_hand(match, everybody_checks(deal(match)))
    assert (match.button, match.deal_no, set(match.stacks.values())) == (1, 5, {1000})
    assert next_deal(match).settings.big_blind == 30


def test_a_void_hand_need_not_count():
    """``void_counts_as_deal: false``."""
    match = match_of([500, 500], deal_no=2, void_counts_as_deal=False)
    match = after_hand(match, everybody_checks(deal(match)))
    assert (match.button, match.deal_no) == (0, 2)
    match = after_hand(match, everybody_folds(deal(match)))
    assert (match.button, match.deal_no) == (1, 3)


def test_carried_forced_bets_wait_in_the_carried_pot():
    """A6 ``carry``, over two void hands; the hand that is won takes them all."""
    match = match_of([1000, 1000], void_antes="carry")
    match = after_hand(match, everybody_checks(deal(match)))
    assert (match.carried, match.stacks) == (20, {0: 990, 1: 990})
    match = after_hand(match, everybody_checks(deal(match)))
    assert (match.carried, match.stacks) == (40, {0: 980, 1: 980})
    match = after_hand(match, everybody_folds(deal(match)))
    assert (match.carried, match.stacks) == (0, {0: 1040, 1: 960})


def test_a_player_left_with_nothing_by_a_carry_is_out():
    """Finer point 2; the button stays where it was, even if that seat is out."""
    match = match_of([6, 1000, 1000], button=0, void_antes="carry")
    match = after_hand(match, everybody_checks(deal(match)))
    assert (match.stacks, match.carried, match.button) == ({1: 990, 2: 990}, 26, 0)
    assert (match.out, match.winner) == (((0,),), None)
    hand = deal(match)
    assert (hand.actor, hand.live.pot) == (1, 46)
    match = after_hand(match, everybody_folds(hand))
    assert match.button == 1


def test_an_interrupted_hand_leaves_the_carried_pot_and_the_button():
    """A6: void by interruption is an outcome of its own: all chips back, whatever ``void_antes`` says."""
    match = match_of([1000, 1000], carried=40, void_antes="carry")
    hand = deal(match).do("bet 100")
    hand.tell(VoidHand("interrupted", len(hand.events), NOW))
    match = after_hand(match, hand.state)
    assert (match.stacks, match.carried, match.button, match.deal_no) == ({0: 1000, 1: 1000}, 40, 0, 2)


def test_the_last_one_with_coins_wins():
    """SB-38."""
    match = match_of([100, 100], button=1)
    hand = deal(match, deck("AsKsAhKh2c7d9hTs3s")).do("all_in", "call")
    match = after_hand(match, hand.state)
    assert (match.winner, match.stacks, next_deal(match)) == (0, {0: 200}, None)
    assert standings(match) == ((0,), (1,))


def test_a_busted_seat_is_skipped_by_the_button():
    match = match_of([1000, 60, 1000], button=0)
    hand = deal(match, deck("KsAsQsKhAhQh2c7d9hTs3s")).do("all_in", "call", "fold")
    match = after_hand(match, hand.state)
    assert (match.stacks, match.button, match.out) == ({0: 990, 2: 1070}, 2, ((1,),))


def out_together(stacks):
    match = match_of(stacks, button=len(stacks) - 1)
    hand = deal(match, deck("AsKsQsAhKhQh2c7d9hTs3s"))
    return after_hand(match, hand.do("all_in", "all_in", "all_in").state)


def test_who_began_the_last_hand_with_more_stands_higher():
    """F2."""
    assert standings(out_together([500, 300, 400])) == ((0,), (2,), (1,))


def test_equal_stacks_going_out_together_share_a_place():
    """F2."""
    match = replace(out_together([500, 300, 300]), out=((1, 2), (3,)))
    assert standings(out_together([500, 300, 300])) == ((0,), (1, 2))
    assert standings(match) == ((0,), (1, 2), (3,))


def test_by_default_the_winner_takes_the_entries():
    """RULES.md 'Sarab's economy'."""
    assert prizes_of(MatchSettings(entry_fee=100), [(3,), (1, 2), (0,)]) == {3: 400, 1: 0, 2: 0, 0: 0}


def test_who_shares_a_place_shares_its_prizes_and_nothing_is_lost():
    """The rest of rounding goes to the first place; a chip that does not divide to the lower seat."""
    terms = MatchSettings(entry_fee=101, prizes=(50, 30, 20))
    assert prizes_of(terms, [(3,), (2, 1), (0,)]) == {3: 203, 1: 101, 2: 100, 0: 0}
    assert prizes_of(MatchSettings(entry_fee=1, prizes=(70, 20, 10)), [(0,), (1, 2)]) == {0: 3, 1: 0, 2: 0}
    assert prizes_of(MatchSettings(entry_fee=5, prizes=(60, 30, 10)), [(0,), (2, 1)]) == {0: 10, 1: 3, 2: 2}


# Settings


def refusal(**changes):
    with pytest.raises(Rejected) as caught:
        checked(MatchSettings(**changes))
    assert caught.value.reason == "SETTING_INVALID"
    assert caught.value.facts["why"]
    return caught.value.facts["setting"]


def test_the_defaults_are_those_of_the_rules():
    """RULES.md, and rules/poker.md 10."""
    match = checked(MatchSettings())
    assert match.hand.sarab == SarabSettings(
        forced_bets=(10, 20, 30, 40, 60, 90, 135, 200, 325),
        deals_per_level=2,
        void_rule="no_voluntary_bet",
        void_antes="refund",
        void_counts_as_deal=True,
        raises_before_river=1,
        sarab_ignores_cap=True,
        no_fold_at_or_below=50,
    )
    assert (match.players, match.starting_coins, match.entry_fee, match.prizes) == (9, STARTING_COINS, 0, (100,))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("forced_bets", [(), (0,), (-5, 10), (20, 10), (10,) * 101, (2**53 + 1,)]),
        ("deals_per_level", [0, -1, 1001]),
        ("void_rule", ["never", ""]),
        ("void_antes", ["keep"]),
        ("raises_before_river", [-1, 1001]),
        ("no_fold_at_or_below", [-1, 2**53 + 1]),
    ],
)
def test_a_wrong_setting_of_the_game_is_named(name, values):
    for value in values:
        assert refusal(hand=settings(**{name: value})) == name


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"players": 1}, "players"),
        ({"players": 10}, "players"),
        ({"starting_coins": Coins()}, "starting_coins"),
        ({"starting_coins": Coins(dinars=-1, dirhams=10)}, "starting_coins"),
        ({"starting_coins": Coins(dinars=2**53)}, "starting_coins"),
        ({"starting_coins": Coins(stones=1)}, "starting_coins"),
        ({"entry_fee": -1}, "entry_fee"),
        ({"entry_fee": 2**53}, "entry_fee"),
        ({"prizes": ()}, "prizes"),
        ({"prizes": (50, 40)}, "prizes"),
        ({"prizes": (40, 60)}, "prizes"),
        ({"prizes": (100, 0)}, "prizes"),
        ({"prizes": (50, 30, 20), "players": 2}, "prizes"),
        ({"hand": HandSettings(game="holdem")}, "game"),
        ({"hand": HandSettings(game="sarab", limit="pot_limit")}, "limit"),
        ({"hand": HandSettings(game="sarab", decision_seconds=0)}, "decision_seconds"),
        ({"hand": HandSettings(game="sarab", show_all_in="never")}, "show_all_in"),
    ],
)
def test_a_wrong_setting_of_the_match_is_named(changes, setting):
    assert refusal(**changes) == setting


def test_carrying_what_is_never_void_contradicts_itself():
    assert refusal(hand=settings(void_rule="off", void_antes="carry")) == "void_antes"
