"""Naiko's powers one by one (NK-1 to NK-42, C1 to C13)."""

import pytest
from msgspec.structs import replace

from diwan.core.cards import parse_card, parse_cards
from diwan.core.decider import Rejected
from diwan.core.games.naiko.carousel import CAROUSELS, deal_of, destellos_of, draw_carousel, gained
from diwan.core.games.naiko.game import checked
from diwan.core.hand.betting import legal_actions
from diwan.core.hand.commands import MoveDeadline, UsePower, VoidHand
from diwan.core.hand.decide import decide
from diwan.core.hand.events import (
    Acted,
    AnchorAnswered,
    AnchorDeclared,
    AnchorSettled,
    BoardDealt,
    CardGlanced,
    CardsShown,
    CardSwapped,
    DestellosReturned,
    Due,
    HandVoided,
    NaikoDeal,
    TurnBegan,
    WindowOpened,
)
from diwan.core.hand.settings import NaikoSettings, PowerCosts
from diwan.core.reasons import Reason
from tests.property.random_hands import game_of
from tests.unit.games.naiko import ANCHOR, GLANCE, NO_GLANCE, NO_SHIELD, NO_TRICK, SHIELD, TRICK, naiko, naiko_start
from tests.unit.hand.hands import NOW, Hand, deck, start

SECRET = bytes(range(32))
HAND_ID = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"


# Destellos and carousel


def test_a_deal_gains_one_destello_up_to_three():
    """NK-1, E-NK-1."""
    have = 0
    saved = []
    for _ in range(5):
        have = gained(NaikoSettings(), have)
        saved.append(have)
    assert saved == [1, 2, 3, 3, 3]


def test_who_sits_down_begins_with_the_gain_of_the_first_deal():
    """C1; NK-3: others keep what they had."""
    assert deal_of(NaikoSettings(), NO_SHIELD, (0, 4, 7), {0: 3, 4: 1}) == NaikoDeal(NO_SHIELD, (3, 2, 1))


def test_a_hand_gives_out_what_is_left():
    """NK-3: the table carries it on."""
    hand = naiko(destellos=[3, 2, 1, 0]).do("fold", "glance", "fold", "fold")
    assert destellos_of(hand.live) == {0: 2, 1: 2, 2: 1, 3: 0}


def test_there_are_three_carousels():
    """NK-5 to NK-7: with the Shield comes the Anchor, so the Anchor is always there."""
    assert len({frozenset(carousel) for carousel in CAROUSELS}) == 3
    assert all(len(set(carousel)) == 3 and ANCHOR in carousel for carousel in CAROUSELS)


def test_the_carousel_is_drawn_evenly_from_the_hands_secret():
    """C3, NK-38."""
    drawn = [draw_carousel(SECRET, HAND_ID[:-4] + f"{number:04x}") for number in range(3000)]
    counts = [drawn.count(carousel) for carousel in CAROUSELS]
    assert sum(counts) == 3000
    assert all(900 < count < 1100 for count in counts)
    assert drawn[5] == draw_carousel(SECRET, HAND_ID[:-4] + "0005")


@pytest.mark.parametrize(
    ("change", "setting"),
    [
        ({"naiko": None}, "naiko"),
        ({"naiko": NaikoDeal((GLANCE, TRICK, SHIELD), (3, 3))}, "carousel"),
        ({"naiko": NaikoDeal((GLANCE, GLANCE, ANCHOR), (3, 3))}, "carousel"),
        ({"naiko": NaikoDeal((GLANCE, ANCHOR), (3, 3))}, "carousel"),
        ({"naiko": NaikoDeal(NO_SHIELD, (3,))}, "destellos"),
        ({"naiko": NaikoDeal(NO_SHIELD, (3, 4))}, "destellos"),
        ({"naiko": NaikoDeal(NO_SHIELD, (-1, 3))}, "destellos"),
    ],
)
def test_a_hand_that_cannot_be_is_refused(change, setting):
    with pytest.raises(Rejected) as refusal:
        decide(None, replace(naiko_start([100, 100]), **change), deck(""))
    assert (refusal.value.reason, refusal.value.facts["setting"]) == ("SETTING_INVALID", setting)


@pytest.mark.parametrize(
    ("change", "setting"),
    [
        ({"max_destellos": -1}, "max_destellos"),
        ({"max_destellos": 101}, "max_destellos"),
        ({"gain_per_deal": 4}, "gain_per_deal"),
        ({"gain_per_deal": -1}, "gain_per_deal"),
        ({"costs": PowerCosts(sleeve_trick=-1)}, "costs"),
        ({"activations_per_round": -1}, "activations_per_round"),
        ({"response_seconds": 0}, "response_seconds"),
        ({"response_seconds": 601}, "response_seconds"),
    ],
)
def test_settings_that_make_no_sense_are_refused(change, setting):
    with pytest.raises(Rejected) as refusal:
        checked(NaikoSettings(**change))
    assert (refusal.value.reason, refusal.value.facts["setting"]) == ("SETTING_INVALID", setting)
    assert refusal.value.facts["why"]


def test_other_games_have_no_powers():
    """HD-3, OM-5: neither settings nor carousel, and every attempt is refused."""
    with pytest.raises(Rejected, match="setting=naiko"):
        Hand(start([100, 100], naiko=NaikoSettings()))
    with pytest.raises(Rejected, match="setting=naiko"):
        Hand(replace(start([100, 100]), naiko=NaikoDeal(NO_SHIELD, (3, 3))))
    hand = Hand(start([100, 100]))
    power = UsePower(hand.actor, GLANCE, None, None, None, 0, NOW)
    assert hand.refused(power) == Reason.POWER_NOT_IN_GAME
    assert legal_actions(game_of(hand.state), hand.state).powers == ()


# Hidden Glance


@pytest.mark.parametrize(
    ("street", "actions"),
    [
        ("preflop", []),
        ("flop", ["call", "call", "call", "check"]),
        ("turn", ["call", "call", "call", "check", *["check"] * 4]),
    ],
)
def test_the_glance_is_at_the_first_card_of_the_next_round(street, actions):
    """NK-16: it moves nothing, and the turn goes on (NK-11)."""
    hand = naiko().do(*actions)
    assert hand.live.street == street
    before, actor = hand.live.next_position, hand.actor
    hand.do("glance")
    assert hand.batch == (CardGlanced(actor, before, 1, hand.live.turn, NOW),)
    assert (hand.live.next_position, hand.actor, hand.powers) == (before, actor, ())
    assert hand.destellos[actor] == 2


def test_two_seats_that_look_see_the_same_card_unless_a_trick_came_between():
    """NK-19, E-NK-13: seat 0's Trick takes the card that seat 3 saw; seat 1 looks at the next; the board begins there."""
    hand = naiko(cards=deck("2c3c4c5c6c7c8c9c5sKh9d2dJc"))
    hand.do("glance", "call").do("trick 5c", "call").do("glance", "call", "check")
    glances = [hand.cards[event.position] for event in hand.all(CardGlanced)]
    assert glances == list(parse_cards("5sKh"))
    assert hand.held(0) == {parse_card("9c"), parse_card("5s")}
    assert [hand.cards[position] for position in hand.live.board] == list(parse_cards("Kh9d2d"))


def test_no_glance_on_the_river():
    """NK-17."""
    hand = naiko().do("fold", "fold", "call", "check", *["check"] * 4)
    assert hand.live.street == "river"
    assert hand.refused(hand.command("glance")) == Reason.POWER_TOO_LATE == hand.why_not(GLANCE)


# Sleeve Trick


def test_the_trick_swaps_a_card_for_the_next_of_the_deck():
    """NK-20, E-NK-12."""
    hand = naiko(cards=deck("2c3c7c5c6c8d2d9cAd"))
    assert hand.held(3) == set(parse_cards("7c2d"))
    hand.do("trick 2d")
    assert hand.batch == (CardSwapped(3, 6, 8, 2, hand.live.turn, NOW),)
    assert hand.held(3) == set(parse_cards("7cAd"))
    assert hand.destellos == [3, 3, 3, 1]
    assert hand.actor == 3


def test_the_tricked_card_is_shown_and_the_thrown_one_does_not_come_back():
    """NK-14, NK-21."""
    hand = naiko([100, 100], cards=deck("AcKd2c2dAd5h6h9sTsJs"))
    hand.do("trick 2d", "call", "check", *["check"] * 6)
    shown = {event.seat: {hand.cards[position] for position in event.positions} for event in hand.all(CardsShown)}
    assert shown[0] == set(parse_cards("KdAd"))
    assert [event.positions for event in hand.all(BoardDealt)] == [(5, 6, 7), (8,), (9,)]


def test_the_trick_is_for_the_first_turn_before_the_flop():
    """NK-22, E-NK-5: posting a blind is no action, calling is one."""
    hand = naiko().do("call", "raise 30", "fold", "fold")
    assert (hand.actor, hand.refused(hand.command("trick 2c"))) == (3, Reason.POWER_TOO_LATE)
    hand = naiko(cards=deck("2c3c4c5c6c7c8c9c")).do("call", "call", "trick 2c", "call", "trick 3c", "check")
    assert [event.seat for event in hand.all(CardSwapped)] == [1, 2]
    hand = flop()
    assert hand.refused(hand.command("trick 2c")) == Reason.POWER_TOO_LATE == hand.why_not(TRICK)


@pytest.mark.parametrize("discard", [None, 0, 12, 51, -1])
def test_only_an_own_card_can_be_thrown_away(discard):
    """NK-20, NK-13: the attempt is free."""
    hand = naiko()
    assert hand.refused(UsePower(3, TRICK, None, discard, None, 0, NOW)) == Reason.CARD_NOT_HELD
    assert hand.destellos == [3, 3, 3, 3]


# Short Anchor


def flop(**more):
    """Pot 100 on the flop, seat 1 to act."""
    return naiko(**more).do("raise 25", "call", "call", "call")


def test_an_anchored_seat_raises_to_the_pot_at_most():
    """NK-25, E-NK-6: pot 100, a bet of 40: to 220."""
    hand = flop().do("anchor 2", "bet 40")
    assert (hand.actor, hand.lift) == (2, (80, 220))
    assert hand.refused(hand.command("raise 221")) == Reason.AMOUNT_TOO_LARGE
    assert hand.refused(hand.command("all_in")) == Reason.AMOUNT_TOO_LARGE  # NK-30
    hand.do("call")
    assert hand.lift == (80, 975)  # others are free (C13)


def test_the_limit_is_computed_when_the_target_acts():
    """C8, E-NK-7, E-NK-8."""
    hand = naiko().do("raise 30", "anchor 2", "call", "fold")
    assert (hand.actor, hand.lift) == (2, (50, 125))
    hand = flop().do("bet 40", "anchor 3", "raise 120")
    assert hand.lift == (200, 500)


def test_the_limit_holds_for_an_opening_bet():
    """C8, E-NK-9."""
    assert flop().do("anchor 2", "check").lift == (10, 100)


def test_the_limit_never_takes_away_the_least_that_is_legal():
    """NK-28, E-NK-10: pot 8, big blind 10: exactly 10 may be bet."""
    hand = naiko(dues=[Due(seat, "ante", 2) for seat in range(4)])
    assert hand.live.pot == 8
    hand.do("anchor 2", "check")
    assert hand.lift == (10, 10)


def test_the_anchor_ends_with_the_round():
    """NK-29, E-NK-17."""
    hand = flop().do("anchor 2", *["check"] * 4)
    assert (hand.live.street, hand.actor) == ("turn", 1)
    hand.do("check")
    assert (hand.actor, hand.lift) == (2, (10, 975))


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (1, Reason.TARGET_NOT_ELIGIBLE),  # oneself
        (9, Reason.TARGET_NOT_ELIGIBLE),  # nobody
        (2, Reason.TARGET_NOT_ELIGIBLE),  # all in
        (0, Reason.TARGET_NOT_ELIGIBLE),  # folded
        (3, None),
    ],
)
def test_an_anchor_needs_an_opponent_who_can_act_and_has_not(target, reason):
    """NK-26, C7."""
    hand = naiko([1000, 1000, 25, 1000]).do("raise 25", "fold", "call", "call")
    assert hand.refused(hand.command(f"anchor {target}")) == reason


def test_who_has_acted_cannot_be_anchored_and_a_blind_is_no_act():
    """C7, finer point 10: what the clock does counts as acting."""
    hand = naiko().do("call")
    assert hand.refused(hand.command("anchor 3")) == Reason.TARGET_NOT_ELIGIBLE
    assert hand.refused(hand.command("anchor 2")) is None
    hand = flop().do("expire")
    assert hand.refused(hand.command("anchor 1")) == Reason.TARGET_NOT_ELIGIBLE


def test_nobody_is_anchored_twice_in_a_round():
    """NK-27; finer point 3: who was anchored and has acted is not eligible."""
    hand = naiko().do("anchor 2", "call")
    assert hand.refused(hand.command("anchor 2")) == Reason.TARGET_ALREADY_ANCHORED
    hand.do("call", "call", "raise 20")
    assert hand.refused(hand.command("anchor 2")) == Reason.POWER_ALREADY_USED
    hand.do("fold")
    assert (hand.actor, hand.refused(hand.command("anchor 2"))) == (0, Reason.TARGET_NOT_ELIGIBLE)


# Response window and Seal Shield


def test_an_anchor_opens_a_window_for_whoever_can_answer():
    """NK-34, NK-39: the declarer's clock stands still meanwhile (NK-40)."""
    hand = naiko(carousel=NO_TRICK)
    deadline = hand.live.deadline_ms
    hand.now_ms = NOW + 3000
    hand.do("anchor 0")
    assert hand.batch == (
        AnchorDeclared(3, 0, 2, hand.live.turn, NOW + 3000),
        WindowOpened(0, len(hand.events), NOW + 11_000, deadline - NOW - 3000),
    )
    assert (hand.actor, hand.live.window.target) == (3, 0)


@pytest.mark.parametrize(
    ("carousel", "destellos"),
    [(NO_SHIELD, [3, 3, 3, 3]), (NO_TRICK, [0, 3, 3, 3]), (NO_GLANCE, [0, 3, 3, 3])],
)
def test_no_window_where_the_target_cannot_answer(carousel, destellos):
    """C10, NK-32."""
    hand = naiko(carousel=carousel, destellos=destellos).do("anchor 0")
    assert hand.batch[1:] == (AnchorSettled(0, is_blocked=False),)
    assert (hand.live.window, hand.actor) == (None, 3)


def test_the_shield_blocks_the_anchor_and_both_have_paid():
    """NK-31, NK-35, E-NK-2; NK-36: the target is safe for this round."""
    hand = naiko(carousel=NO_TRICK, destellos=[1, 3, 3, 3]).do("anchor 0")
    window = hand.live.window
    hand.now_ms = NOW + 5000
    hand.do("shield")
    assert hand.batch == (
        AnchorAnswered(0, SHIELD, 1, window.turn, "player", NOW + 5000),
        AnchorSettled(0, is_blocked=True),
        TurnBegan(3, len(hand.events), NOW + 5000 + 20_000),
    )
    assert hand.destellos == [0, 3, 3, 1]
    hand.do("raise 30")
    assert hand.lift == (50, 1000)
    hand.do("fold")
    assert hand.refused(hand.command("anchor 0")) == Reason.TARGET_NOT_ELIGIBLE


def test_a_blocked_target_is_not_aimed_at_again_in_the_round():
    """NK-36."""
    hand = naiko(carousel=NO_TRICK).do("anchor 2", "shield", "call")
    assert hand.refused(hand.command("anchor 2")) == Reason.TARGET_ALREADY_ANCHORED


def test_a_pass_costs_nothing_and_keeps_the_shield():
    """NK-34, C9."""
    hand = naiko(carousel=NO_TRICK).do("anchor 0", "pass")
    assert hand.batch[1] == AnchorSettled(0, is_blocked=False)
    assert hand.destellos == [3, 3, 3, 1]
    hand.do("call")
    assert hand.lift == (20, 45)


def test_a_window_that_runs_out_lets_the_anchor_through():
    """NK-34, E-NK-15: 8.000 s count, later does not."""
    hand = naiko(carousel=NO_TRICK).do("anchor 0")
    at = hand.live.window.deadline_ms
    assert at == NOW + 8000
    assert hand.refused(hand.command("shield", now_ms=at)) is None
    assert hand.refused(hand.command("shield", now_ms=at + 1)) == Reason.DEADLINE_PASSED
    assert hand.refused(hand.command("expire", seat=0, now_ms=at - 1)) == Reason.CLOCK_RUNNING
    hand.tell(hand.command("expire", seat=0, now_ms=at))
    assert hand.batch[0] == AnchorAnswered(0, "pass", 0, hand.batch[0].turn, "clock", at)
    assert hand.destellos == [3, 3, 3, 1]
    assert (hand.actor, hand.live.deadline_ms) == (3, at + 20_000)


def test_while_the_window_is_open_nobody_else_does_anything():
    """NK-40, finer point 3; and nothing is offered to the declarer."""
    hand = naiko(carousel=NO_TRICK).do("anchor 0")
    late = NOW + 60_000
    for seat in range(4):
        for action in ("fold", "call", "raise 30", "all_in", "glance", "anchor 1"):
            assert hand.refused(hand.command(action, seat=seat, now_ms=late)) == Reason.WINDOW_OPEN
        if seat != 0:
            assert hand.refused(hand.command("shield", seat=seat)) == Reason.NO_RESPONSE_WINDOW
            assert hand.refused(hand.command("expire", seat=seat, now_ms=late)) == Reason.WINDOW_OPEN
    legal = legal_actions(game_of(hand.state), hand.state)
    assert (legal.seat, legal.to_call) == (3, 10)
    assert (legal.fold, legal.check, legal.call, legal.lift) == (False, False, None, None)
    assert (legal.powers, legal.pot_to) == ((), None)


def test_answers_name_the_window_and_acts_the_turn():
    """STALE_TURN comes right after HAND_OVER."""
    hand = naiko(carousel=NO_TRICK).do("anchor 0")
    turn, window = hand.live.turn, hand.live.window.turn
    assert hand.refused(hand.command("shield", turn=turn)) == Reason.STALE_TURN
    assert hand.refused(hand.command("shield", turn=window)) is None
    assert hand.refused(hand.command("call", turn=turn)) == Reason.WINDOW_OPEN
    assert hand.refused(hand.command("call", turn=window)) == Reason.STALE_TURN
    hand.do("pass")
    assert hand.refused(hand.command("call", turn=turn)) == Reason.STALE_TURN
    assert hand.refused(hand.command("call", turn=hand.live.turn)) is None
    assert hand.refused(hand.command("shield", seat=0, turn=window)) == Reason.STALE_TURN
    assert hand.refused(hand.command("shield", seat=0)) == Reason.NO_RESPONSE_WINDOW


def test_an_outage_gives_the_window_its_time_back():
    hand = naiko(carousel=NO_TRICK).do("anchor 0")
    window, deadline = hand.live.window, hand.live.deadline_ms
    later = window.deadline_ms + 5000
    assert hand.refused(MoveDeadline(hand.live.turn, later, "outage", 0, NOW)) == Reason.STALE_TURN
    assert hand.refused(MoveDeadline(window.turn, NOW, "outage", 0, NOW)) == Reason.ARGUMENT_INVALID
    hand.tell(MoveDeadline(window.turn, later, "outage", len(hand.events), NOW))
    assert (hand.live.window.deadline_ms, hand.live.deadline_ms) == (later, deadline)


# Limits


def test_each_power_once_a_hand_and_one_a_turn():
    """NK-9, NK-10: until the seat acts, the turn lasts, also over a window."""
    hand = naiko(carousel=NO_TRICK).do("anchor 0", "pass")
    assert hand.refused(hand.command("glance")) == Reason.ONE_POWER_PER_TURN
    assert hand.refused(hand.command("anchor 1")) == Reason.POWER_ALREADY_USED
    hand.do("call", "raise 30", "fold", "fold")
    assert (hand.actor, hand.refused(hand.command("glance"))) == (3, None)  # C4: a second turn, a second power


def test_three_activations_a_round_by_the_whole_table():
    """NK-12, C5, E-NK-4: a shield is not counted, a refused attempt neither; a blocked Anchor is."""
    hand = naiko(carousel=NO_TRICK).do("glance", "call", "glance", "call", "anchor 2", "shield", "call")
    assert hand.refused(hand.command("glance")) == Reason.ROUND_POWER_LIMIT == hand.why_not(GLANCE)
    hand.do("check")
    assert hand.refused(hand.command("anchor 2")) == Reason.POWER_ALREADY_USED
    hand.do("check")
    assert hand.refused(hand.command("glance")) is None


def test_the_number_of_activations_is_a_setting():
    hand = naiko(settings=NaikoSettings(activations_per_round=1)).do("glance", "call")
    assert hand.refused(hand.command("glance")) == Reason.ROUND_POWER_LIMIT


def test_costs_are_a_setting():
    """NK-4."""
    hand = naiko(settings=NaikoSettings(costs=PowerCosts(hidden_glance=3))).do("glance")
    assert hand.destellos == [3, 3, 3, 0]


def test_a_used_power_stays_used_when_the_clock_ends_the_turn():
    """C12, CL-2."""
    hand = naiko().do("glance", "expire")
    assert [(event.kind, event.decided_by) for event in hand.all(Acted)] == [("fold", "clock")]
    assert hand.destellos == [3, 3, 3, 2]


# The order of reasons


def test_reasons_come_in_the_order_of_the_rules():
    """RULES.md: each step takes the first reason away and finds the next."""
    hand = naiko(carousel=NO_TRICK, destellos=[0, 3, 0, 3])
    late = hand.live.deadline_ms + 1
    assert hand.refused(hand.command("trick 2c", seat=0, turn=1, now_ms=late)) == Reason.STALE_TURN
    assert hand.refused(hand.command("trick 2c", seat=0, now_ms=late)) == Reason.DEADLINE_PASSED
    assert hand.refused(hand.command("trick 2c", seat=0)) == Reason.NOT_YOUR_TURN
    assert hand.refused(hand.command("trick 2c")) == Reason.POWER_NOT_IN_CAROUSEL
    hand.do("glance")
    assert hand.refused(hand.command("glance")) == Reason.POWER_ALREADY_USED
    assert hand.refused(hand.command("anchor 3")) == Reason.ONE_POWER_PER_TURN
    hand.do("call")
    assert hand.refused(hand.command("anchor 0")) == Reason.NOT_ENOUGH_DESTELLOS
    hand.do("call")
    assert hand.refused(hand.command("anchor 3")) == Reason.TARGET_NOT_ELIGIBLE
    hand.do("fold", "fold", "fold")
    assert hand.is_over
    assert hand.refused(hand.command("glance", seat=0, turn=1)) == Reason.HAND_OVER
    assert hand.refused(hand.command("shield", seat=0)) == Reason.HAND_OVER


def test_holdem_names_the_stale_turn_before_the_game():
    hand = Hand(start([100, 100]))
    stale = UsePower(0, GLANCE, None, None, 99, 0, NOW)
    assert hand.refused(stale) == Reason.STALE_TURN


@pytest.mark.parametrize(
    ("power", "seat", "reason"),
    [
        (GLANCE, 3, None),
        (ANCHOR, 3, None),
        (TRICK, 3, Reason.POWER_NOT_IN_CAROUSEL),
        (GLANCE, 0, Reason.NOT_YOUR_TURN),
        (SHIELD, 0, Reason.NO_RESPONSE_WINDOW),
    ],
)
def test_views_are_told_why_a_power_is_out_of_reach(power, seat, reason):
    assert naiko(carousel=NO_TRICK).why_not(power, seat) == reason


def test_views_are_told_that_there_is_nobody_to_anchor():
    """C4, C7."""
    hand = naiko().do("call", "call", "call")
    assert hand.why_not(ANCHOR) == Reason.TARGET_NOT_ELIGIBLE
    hand = naiko([1000, 1000, 1000]).do("anchor 1", "call", "fold")
    assert hand.why_not(ANCHOR) == Reason.TARGET_NOT_ELIGIBLE
    hand = naiko([1000, 1000, 1000]).do("anchor 2", "call")
    assert hand.why_not(ANCHOR) == Reason.TARGET_ALREADY_ANCHORED


# Interruption


def test_an_interrupted_hand_gives_back_what_powers_cost():
    """H9: as it gives back the chips."""
    hand = naiko(carousel=NO_TRICK).do("glance", "call", "anchor 2")
    hand.tell(VoidHand("interrupted", len(hand.events), NOW))
    assert [type(event) for event in hand.batch[:2]] == [HandVoided, DestellosReturned]
    assert hand.destellos == [3, 3, 3, 3]
    assert hand.live.window is None
    hand = naiko().do("call")
    hand.tell(VoidHand("interrupted", len(hand.events), NOW))
    assert not hand.all(DestellosReturned)
