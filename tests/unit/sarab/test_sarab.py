"""Sarab's rules by number, with the worked examples E-SB of the rule book."""

import pytest
from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.games import GAMES
from diwan.core.games.sarab import DEAL_NO_MAX, forced_bet_of
from diwan.core.hand.betting import legal_actions
from diwan.core.hand.commands import Act, AllIn, ExpireClock, VoidHand
from diwan.core.hand.decide import decide
from diwan.core.hand.events import Acted, BoardDealt, CardsShown, Due, HandVoided, Posted, PotAwarded, Share, TurnBegan
from diwan.core.hand.inverse import command_of
from diwan.core.hand.settings import SarabSettings
from diwan.core.reasons import Reason
from tests.unit.hand.hands import NOW, Hand
from tests.unit.hand.hands import start as holdem_start
from tests.unit.sarab.play import checks, dealt, start

SCHEDULE = [10, 10, 20, 20, 30, 30, 40, 40, 60, 60, 90, 90, 135, 135, 200, 200, 325, 325, 325]


def legal(hand):
    return legal_actions(GAMES["sarab"], hand.live)


def won(hand):
    return list(hand.ended.won)


# The beginning of a hand


def test_everybody_pays_the_forced_bet_dead_and_there_is_nothing_to_call():
    """SB-6, SB-30, A2; SB-29: the first to act is the first player left of the dealer."""
    hand = dealt([1000, 1000, 1000], button=1)
    assert [(post.seat, post.kind, post.amount) for post in hand.all(Posted)] == [
        (0, "ante", 10),
        (1, "ante", 10),
        (2, "ante", 10),
    ]
    assert (hand.live.pot, hand.live.bets, hand.actor) == (30, (0, 0, 0), 2)
    assert (legal(hand).to_call, legal(hand).check, legal(hand).bet) == (0, True, (10, 990))


def test_the_forced_bet_rises_every_two_deals_and_stays_at_the_last_level():
    """SB-27, SB-28, SB-36, A12, E-SB-2."""
    assert [forced_bet_of(SarabSettings(), deal) for deal in range(1, 20)] == SCHEDULE
    assert forced_bet_of(SarabSettings(), DEAL_NO_MAX) == 325
    assert forced_bet_of(SarabSettings(forced_bets=(5, 8), deals_per_level=3), 4) == 8


def test_sums_of_the_schedule_are_those_of_the_example():
    """E-SB-2: 770 paid after deal 14, 970 after deal 15, 30 left for deal 16; pots of nine players 90 and 2,925."""
    paid = [sum(SCHEDULE[:deals]) for deals in (14, 15, 16)]
    assert paid == [770, 970, 1170]
    assert dealt([1000] * 9).live.pot == 90
    assert dealt([1000] * 9, deal_no=17).live.pot == 2925


def test_who_has_less_than_the_forced_bet_is_all_in_with_it():
    """SB-30, E-SB-2: deal 16 asks 200, 30 are left."""
    hand = dealt([1000, 30, 1000], deal_no=16)
    assert (hand.live.pot, hand.live.stacks, hand.actor) == (430, (800, 0, 800), 2)


def test_the_smallest_bet_is_the_forced_bet_and_all_in_for_less_is_allowed():
    """SB-31."""
    hand = dealt([1000, 15, 1000])
    assert legal(hand).bet == (5, 5)
    hand.do("bet 5")
    assert legal(hand).raise_to == (15, 990)  # finer point 9: the amount and the forced bet on top


# Raising


def test_before_the_river_a_round_takes_one_bet_and_one_raise():
    """SB-24, SB-32, E-SB-6."""
    hand = checks(dealt([1000, 1000, 1000], deal_no=3), 1, 3).do("bet 40", "raise 100")
    assert (hand.actor, legal(hand).raise_to, legal(hand).call, legal(hand).sarab) == (0, None, 100, True)
    assert hand.refused(hand.command("raise 160")) == Reason.RAISE_NOT_ALLOWED
    hand.do("call")
    assert (hand.actor, legal(hand).raise_to, legal(hand).call, legal(hand).sarab) == (1, None, 60, True)
    hand.do("call")
    assert (hand.live.street, legal(hand).bet) == ("turn", (20, 880))


def test_on_the_river_raising_is_open_and_each_raise_is_at_least_the_one_before():
    """SB-24, SB-25, E-SB-7."""
    hand = dealt([1000, 1000], deal_no=3).do(
        "bet 20", "call", "check", "check", "check", "check", "bet 40", "raise 100"
    )
    assert hand.refused(hand.command("raise 150")) == Reason.AMOUNT_TOO_SMALL
    hand.do("raise 160")
    assert legal(hand).raise_to == (220, 960)
    hand.do("raise 220", "raise 280", "raise 340")
    assert legal(hand).raise_to == (400, 960)


def test_a_short_sarab_uses_up_the_rounds_one_raise():
    """Finer point 1."""
    hand = dealt([1000, 70, 1000], button=2).do("bet 40", "all_in")
    assert (hand.actor, legal(hand).call, legal(hand).raise_to, legal(hand).sarab) == (2, 60, None, True)


@pytest.mark.parametrize(("raises", "closed_after"), [(0, 1), (1, 2), (2, 3)])
def test_the_number_of_raises_before_the_river_is_a_setting(raises, closed_after):
    """A4: 0 leaves only the opening bet."""
    hand = dealt([1000, 1000], raises_before_river=raises)
    for lift in range(closed_after):
        assert legal(hand).lift is not None
        hand.do(f"{'raise' if lift else 'bet'} {(lift + 1) * 10}")
    assert (legal(hand).lift, legal(hand).sarab) == (None, True)


# Sarab


def test_sarab_over_closed_raising_does_not_reopen_it():
    """SB-17, A5."""
    hand = checks(dealt([500, 1000, 1000]), 1, 3).do("bet 40", "raise 100", "all_in")
    act = hand.all(Acted)[-1]
    assert (act.kind, act.to, act.is_all_in, act.is_sarab) == ("raise", 490, True, True)
    assert (hand.actor, legal(hand).raise_to, legal(hand).sarab) == (1, None, True)
    assert hand.refused(hand.command("raise 880")) == Reason.RAISE_NOT_ALLOWED


def test_sarab_is_playable_where_nobody_can_call_more_and_the_rest_comes_back():
    """Finer point 1."""
    hand = dealt([310, 1000], button=1, hole={0: "AsAh", 1: "KsKh"}, board="2c7d9hJs3s").do("all_in")
    assert (legal(hand).raise_to, legal(hand).sarab) == (None, True)
    hand.do("all_in")
    assert (hand.ended.returned, won(hand)) == ((0, 690), [620, 0])


def test_sarab_facing_more_than_the_stack_is_a_call():
    hand = dealt([1000, 1000, 100]).do("bet 300", "all_in")
    act = hand.all(Acted)[-1]
    assert (act.kind, act.to, act.is_sarab) == ("call", 90, True)


def test_an_all_in_bet_that_is_not_the_sarab_is_recorded_as_a_bet():
    hand = dealt([1000, 1000]).do("bet 990")
    act = hand.all(Acted)[-1]
    assert (act.kind, act.is_all_in, act.is_sarab) == ("bet", True, False)


def test_sarab_may_be_bound_by_the_cap():
    """A5 ``sarab_ignores_cap: false``: a raise like any other, still allowed where it is a call or open."""
    hand = dealt([500, 1000, 1000], sarab_ignores_cap=False)
    assert legal(hand).sarab
    hand.do("bet 40", "raise 100")
    assert not legal(hand).sarab
    assert hand.refused(hand.command("all_in")) == Reason.RAISE_NOT_ALLOWED
    short = dealt([1000, 1000, 100], sarab_ignores_cap=False).do("bet 300")
    assert legal(short).sarab
    short.do("all_in")
    assert short.all(Acted)[-1].kind == "call"


def test_a_bound_sarab_that_nobody_could_call_is_refused():
    """Finer point 1 with ``sarab_ignores_cap: false``: nobody is left to raise."""
    hand = dealt([310, 1000], button=1, sarab_ignores_cap=False).do("all_in")
    assert not legal(hand).sarab
    assert hand.refused(hand.command("all_in")) == Reason.RAISE_NOT_ALLOWED


def test_a_sarab_is_decided_again_from_its_event():
    """DESIGN 3: command_of is the inverse, also where an ordinary raise would be refused."""
    hand = checks(dealt([500, 1000, 1000]), 1, 3).do("bet 40", "raise 100")
    before, version = hand.state, len(hand.events)
    hand.do("all_in")
    again = command_of(hand.batch[0], version)
    assert again == AllIn(0, before.turn, version, NOW)
    assert decide(before, again, hand.cards) == hand.batch


def test_going_all_in_is_no_sarab_in_holdem():
    hand = Hand(holdem_start([100, 100])).do("all_in")
    assert not hand.all(Acted)[-1].is_sarab
    assert not legal_actions(GAMES["holdem"], hand.live).sarab


def test_side_pots_of_two_sarabs():
    """SB-37, E-SB-9: A 200, B 350, C calls 350: 630 and 300."""
    hand = dealt([1000, 210, 360], hole={0: "QsQh", 1: "AsAh", 2: "KsKh"}, board="2c7d9hTs3s")
    hand.do("all_in", "all_in", "call")
    assert [(pot.amount, pot.eligible) for pot in hand.all(PotAwarded)] == [(630, (0, 1, 2)), (300, (0, 2))]
    assert won(hand) == [0, 630, 300]


@pytest.mark.parametrize(("bets", "shares"), [((30, 0), [0, 45, 45]), ((0, 15), [0, 48, 47])])
def test_a_pot_is_split_with_the_odd_chip_left_of_the_dealer(bets, shares):
    """SB-21, A10, E-SB-10: 90 is 45 and 45; 95 is 48 and 47."""
    hand = dealt([1000, 1000, 1000], hole={0: "3c4d", 1: "AcKd", 2: "AdKc"}, board="2h7s9cJd3h")
    if bets[0]:
        hand.do("check", "check", "check", "bet 30", "call", "fold")
    else:
        hand.do("check", "check", "check", "check", "check", "bet 15", "call", "call", "bet 10", "call", "fold")
    while not hand.is_over:
        hand.do("check")
    assert won(hand) == shares


# The fifty rule


@pytest.mark.parametrize(
    ("balance", "facing", "may_fold", "call"),
    [(50, 30, False, 30), (60, 30, True, 30), (50, 200, False, 50), (51, 30, True, 30), (1, 10, False, 1)],
)
def test_a_player_at_fifty_or_less_may_not_fold(balance, facing, may_fold, call):
    """SB-26, A11, E-SB-8: measured behind, at the moment of decision."""
    hand = dealt([1000, balance + 10], button=1).do(f"bet {facing}")
    assert (legal(hand).fold, legal(hand).call) == (may_fold, call)
    expected = None if may_fold else Reason.FOLD_NOT_ALLOWED
    assert hand.refused(hand.command("fold")) == expected


def test_a_player_at_fifty_may_not_fold_with_nothing_to_call_either():
    """E-SB-8: balance 45, nothing to call: check; bet and Sarab stay allowed."""
    hand = dealt([1000, 55])
    assert (legal(hand).fold, legal(hand).check, legal(hand).bet, legal(hand).sarab) == (False, True, (10, 45), True)


def test_chips_bet_in_this_round_are_no_balance():
    """A11."""
    hand = dealt([1000, 160]).do("bet 100", "raise 200")
    assert (hand.live.stacks[1], legal(hand).fold) == (50, False)


@pytest.mark.parametrize("decided_by", ["clock", "system", "operator"])
def test_whatever_would_fold_a_player_at_fifty_calls(decided_by):
    """SB-40, CL-2, E-SB-8: the clock, standing up and removal call 30."""
    hand = dealt([1000, 60], button=1).do("bet 30")
    late = ExpireClock(1, None, len(hand.events), hand.live.deadline_ms, decided_by)
    hand.tell(late)
    act = hand.batch[0]
    assert (act.kind, act.added, act.decided_by) == ("call", 30, decided_by)


def test_the_clock_calls_all_in_for_less_at_fifty():
    """SB-40, A11."""
    hand = dealt([1000, 60], button=1).do("bet 200", "expire")
    act = hand.all(Acted)[-1]
    assert (act.kind, act.added, act.is_all_in, act.is_sarab) == ("call", 50, True, False)


@pytest.mark.parametrize(("action", "kind"), [((), "check"), (("bet 10",), "fold")])
def test_above_fifty_the_clock_checks_or_folds(action, kind):
    """CL-2."""
    hand = dealt([1000, 1000, 1000]).do(*action, "expire")
    assert hand.all(Acted)[-1].kind == kind


def test_the_balance_below_which_nobody_folds_is_a_setting():
    assert not legal(dealt([1000, 110], no_fold_at_or_below=100)).fold
    assert legal(dealt([1000, 11], no_fold_at_or_below=0)).fold


# Void hands


def test_a_hand_that_everybody_checks_to_the_end_of_the_turn_is_void():
    """SB-23, SB-33, SB-34, E-SB-3: 20 back to each, no card shown, no river."""
    hand = checks(dealt([1000] * 4, deal_no=4), 3, 4)
    assert hand.batch[-2] == HandVoided(
        "no_voluntary_bet", tuple(Share(seat, 20) for seat in range(4)), NOW, "system", 0
    )
    assert (hand.ended.result, hand.ended.stacks, hand.ended.payoffs) == ("void", (1000,) * 4, (0,) * 4)
    assert (hand.ended.returned, hand.live.pot, hand.all(CardsShown)) == ((0,) * 4, 0, [])
    assert [dealt.street for dealt in hand.all(BoardDealt)] == ["flop", "turn"]


def test_a_bet_on_the_turn_saves_the_hand():
    """SB-33, E-SB-4: pot 160, the river is dealt."""
    hand = checks(dealt([1000] * 4, deal_no=4), 2, 4).do("bet 40", "call", "fold", "fold")
    assert (hand.live.street, hand.live.pot, hand.actor) == ("river", 160, 1)


def test_a_turn_bet_that_everybody_folds_to_wins_the_forced_bets():
    """E-SB-5: 80 and the 40 back; HD-18: the refund is no win."""
    hand = checks(dealt([1000] * 4, deal_no=4), 2, 4).do("bet 40", "fold", "fold", "fold")
    assert (hand.ended.result, won(hand), hand.ended.returned) == ("uncontested", [0, 80, 0, 0], (0, 40, 0, 0))


@pytest.mark.parametrize("street", [0, 1, 2])
def test_a_bet_in_any_round_before_the_river_saves_the_hand(street):
    """A3."""
    hand = checks(dealt([1000, 1000]), street, 2).do("bet 10", "call")
    while hand.live.street != "river":
        hand.do("check")
    assert not hand.is_over


def test_a_fold_where_one_could_check_saves_nothing_and_the_forced_bet_comes_back():
    """Finer point 2."""
    hand = dealt([1000] * 3).do("fold", *["check"] * 6)
    assert (hand.ended.result, hand.ended.stacks) == ("void", (1000, 1000, 1000))


def test_a_single_player_left_wins_even_unbet():
    """HD-11: the void rule looks only at hands that reach the end of the turn."""
    hand = dealt([1000] * 3).do("check", "check", "check", "fold", "fold")
    assert (hand.ended.result, won(hand)) == ("uncontested", [30, 0, 0])


def test_no_hand_is_void_where_fewer_than_two_could_act():
    """SB-35: the others all in from the forced bet; what they could not match comes back."""
    hand = dealt([1000, 150], deal_no=15, hole={0: "KsKh", 1: "AsAh"}, board="2c7d9hTs3s")
    assert (hand.ended.result, won(hand), hand.ended.returned) == ("showdown", [0, 300], (50, 0))


def test_who_folds_does_not_count_among_those_who_could_act():
    """Finer point 2: judged among the players not folded."""
    hand = dealt([1000, 1000, 6], hole={0: "KsKh", 1: "QsQh", 2: "AsAh"}, board="2c7d9hTs3s").do(
        "check", "check", "check", "check", "fold"
    )
    assert (hand.ended.result, hand.ended.returned, won(hand)) == ("showdown", (0, 0, 0), [8, 0, 18])


def test_a_short_forced_bet_beside_two_who_could_act_is_void_and_comes_back():
    hand = checks(dealt([1000, 1000, 6]), 3, 2)
    assert (hand.ended.result, hand.ended.stacks) == ("void", (1000, 1000, 6))


def test_void_rule_no_raise_returns_bets_that_were_only_called():
    """A3, finer point 2."""
    hand = dealt([1000, 1000], void_rule="no_raise").do("bet 100", "call", *["check"] * 4)
    voided = hand.batch[-2]
    assert (voided.reason, voided.refunds) == ("no_raise", (Share(0, 110), Share(1, 110)))
    assert hand.ended.stacks == (1000, 1000)


@pytest.mark.parametrize("over", ["raise 200", "all_in"])
def test_void_rule_no_raise_is_satisfied_by_a_raise_or_a_sarab_over_a_bet(over):
    hand = dealt([1000, 1000, 210], button=1, void_rule="no_raise").do("bet 100", "call", over, "call", "call")
    while not hand.is_over and hand.live.street != "river":
        hand.do("check")
    assert hand.live.street == "river"


def test_void_rule_no_raise_voids_an_opening_sarab_that_was_only_called():
    """A3 read to the letter: a bet that was only called is no raise, and both could have acted (SB-35)."""
    hand = dealt([1000, 1000], void_rule="no_raise").do("all_in", "call")
    assert (hand.ended.result, hand.ended.stacks) == ("void", (1000, 1000))


def test_bets_of_two_rounds_are_no_raise():
    hand = dealt([1000, 1000], void_rule="no_raise").do("bet 10", "call", "bet 10", "call", "bet 10", "call")
    assert hand.ended.result == "void"


def test_void_rule_off_plays_on_to_the_showdown():
    hand = checks(dealt([1000] * 3, void_rule="off"), 4, 3)
    assert hand.ended.result == "showdown"


def test_carried_forced_bets_stay_in_the_middle_and_other_bets_go_back():
    """A6, finer point 2 with both settings."""
    hand = dealt([1000, 1000, 1000], void_antes="carry", void_rule="no_raise").do("fold", "bet 50", "call")
    hand.do(*["check"] * 4)
    voided = hand.batch[-2]
    assert (voided.refunds, voided.carried) == ((Share(0, 50), Share(2, 50)), 30)
    assert (hand.ended.stacks, hand.ended.payoffs, hand.live.pot) == ((990,) * 3, (-10,) * 3, 0)


def test_a_carried_pot_is_dead_money_of_the_next_main_pot():
    """Finer point 2: nobody can win more of it for having put in more, and who is short can win it too."""
    hand = dealt([1000, 30, 1000], carried=75, hole={0: "QsQh", 1: "AsAh", 2: "KsKh"}, board="2c7d9hTs3s")
    assert hand.live.pot == 105
    hand.do("all_in", "call", "call", "bet 100", "call", "check", "check", "check", "check")
    assert [(pot.amount, pot.eligible) for pot in hand.all(PotAwarded)] == [(165, (0, 1, 2)), (200, (0, 2))]
    assert sum(hand.ended.payoffs) == 75


def test_a_carried_pot_grows_with_each_void_hand():
    hand = checks(dealt([1000, 1000], carried=40, void_antes="carry"), 3, 2)
    assert hand.batch[-2].carried == 60


@pytest.mark.parametrize("reason", ["interrupted", "operator"])
def test_an_interrupted_hand_gives_everything_back_and_leaves_the_carried_pot(reason):
    """H9, A6: two outcomes; what others had left behind before is nobody's to give back."""
    hand = dealt([1000, 1000], carried=40, void_antes="carry").do("bet 100")
    hand.tell(VoidHand(reason, len(hand.events), NOW))
    assert (hand.batch[0].refunds, hand.batch[0].carried) == ((Share(0, 10), Share(1, 110)), 40)
    assert hand.ended.stacks == (1000, 1000)


def test_a_void_by_rule_is_an_outcome_and_no_command():
    hand = checks(dealt([1000, 1000], void_rule="no_raise"), 3, 2)
    assert command_of(hand.batch[-2], 5) is None


# What cannot begin


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"deal_no": 0}, "deal_no"),
        ({"deal_no": 3}, "big_blind"),
        ({"carried": -1}, "carried"),
        ({"big_blind_seat": 1}, "big_blind_seat"),
        ({"dues": (Due(0, "ante", 10),)}, "dues"),
        ({"dues": (Due(0, "ante", 10), Due(1, "ante", 20))}, "dues"),
        ({"dues": (Due(0, "small_blind", 10), Due(1, "ante", 10))}, "dues"),
    ],
)
def test_a_hand_that_does_not_fit_its_settings_does_not_begin(changes, setting):
    with pytest.raises(Rejected) as caught:
        decide(None, replace(start([100, 100]), **changes), {})
    assert (caught.value.reason, caught.value.facts["setting"]) == ("SETTING_INVALID", setting)
    assert caught.value.facts["why"]


@pytest.mark.parametrize(
    ("changes", "setting"),
    [({"sarab": None}, "sarab"), ({"limit": "pot_limit"}, "limit"), ({"big_blind": 5}, "big_blind")],
)
def test_settings_of_the_hand_itself_are_looked_at(changes, setting):
    command = start([100, 100])
    with pytest.raises(Rejected) as caught:
        decide(None, replace(command, settings=replace(command.settings, **changes)), {})
    assert caught.value.facts["setting"] == setting


@pytest.mark.parametrize(("changes", "setting"), [({"deal_no": 1}, "deal_no"), ({"carried": 5}, "carried")])
def test_holdem_knows_neither_schedule_nor_carried_pot(changes, setting):
    with pytest.raises(Rejected) as caught:
        decide(None, replace(holdem_start([100, 100]), **changes), {})
    assert caught.value.facts["setting"] == setting


def test_holdem_takes_no_settings_of_sarab():
    command = holdem_start([100, 100])
    with pytest.raises(Rejected) as caught:
        decide(None, replace(command, settings=replace(command.settings, sarab=SarabSettings())), {})
    assert caught.value.facts["setting"] == "sarab"


# Refusals


def test_refusals_come_in_the_order_of_the_rules():
    """RULES.md 'Reasons for refusal'."""
    hand = dealt([1000, 1000, 1000])
    assert hand.refused(Act(0, "check", 0, None, 0, NOW)) == Reason.NOT_YOUR_TURN
    assert hand.refused(Act(1, "call", 0, None, 0, NOW)) == Reason.CALL_NOT_ALLOWED
    assert hand.refused(Act(1, "raise", 20, None, 0, NOW)) == Reason.RAISE_NOT_ALLOWED
    assert hand.refused(Act(1, "bet", 9, None, 0, NOW)) == Reason.AMOUNT_TOO_SMALL
    assert hand.refused(Act(1, "bet", 991, None, 0, NOW)) == Reason.AMOUNT_OVER_STACK
    assert hand.refused(AllIn(1, 3, 0, NOW)) == Reason.STALE_TURN
    assert hand.refused(AllIn(1, None, 0, hand.live.deadline_ms + 1)) == Reason.DEADLINE_PASSED
    hand.do("fold", "fold")
    assert hand.refused(AllIn(1, None, 0, NOW)) == Reason.HAND_OVER


def test_a_raise_over_closed_raising_is_refused_for_that_and_not_for_its_amount():
    hand = dealt([1000, 1000]).do("bet 10", "raise 20")
    assert hand.refused(hand.command("raise 5000")) == Reason.RAISE_NOT_ALLOWED


def test_the_turn_passes_over_folded_and_all_in_players():
    """HD-6, SB-29."""
    hand = dealt([1000, 30, 1000, 1000], deal_no=16).do("fold")
    assert [turn.seat for turn in hand.all(TurnBegan)] == [2, 3]
