"""Commands to a hand: what they make, and why they are refused."""

import pytest
from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.hand.commands import MoveDeadline, VoidHand
from diwan.core.hand.decide import decide
from diwan.core.hand.events import (
    Acted,
    BetReturned,
    BettingRoundEnded,
    BoardDealt,
    CardsShown,
    DeadlineMoved,
    Due,
    HandEnded,
    HandStarted,
    HandVoided,
    HoleCardsDealt,
    Posted,
    PotAwarded,
    Share,
    TurnBegan,
)
from diwan.core.hand.rules import UnknownRules
from diwan.core.hand.settings import HandSettings
from diwan.core.reasons import Reason
from tests.unit.hand.hands import NOW, SECONDS, Hand, deck, start

DEADLINE = NOW + SECONDS * 1000


def kinds(events):
    return [type(event) for event in events]


def test_a_hand_begins_with_everything_that_it_needs():
    command = start([100, 100, 100])
    hand = Hand(command)
    assert hand.events == [
        HandStarted(
            hand_id=command.hand_id,
            hand_no=1,
            rules_version=command.rules_version,
            settings=command.settings,
            seats=command.seats,
            button=0,
            big_blind_seat=2,
            dues=command.dues,
            secret_commitment=command.secret_commitment,
            seeds=(),
            absent=(0, 1, 2),
            deck_root=command.deck_root,
            next_commitment=command.next_commitment,
            started_at_ms=NOW,
        ),
        Posted(1, "small_blind", 5),
        Posted(2, "big_blind", 10),
        HoleCardsDealt(((2, 5), (0, 3), (1, 4))),
        TurnBegan(0, 5, DEADLINE),
    ]


def test_cards_go_one_at_a_time_from_the_buttons_left_over_empty_seats():
    """Seats 1, 4, 7 are dealt in, the button stands on the empty seat 5: seat 7 gets the first card."""
    hand = Hand(start({1: 100, 4: 100, 7: 100}, button=5))
    assert hand.all(HoleCardsDealt) == [HoleCardsDealt(((1, 4), (2, 5), (0, 3)))]
    assert [event.seat for event in hand.all(Posted)] == [7, 1]
    assert hand.actor == 4


def test_the_board_follows_the_hole_cards_without_burning():
    hand = Hand(start([100, 100])).do("call", "check", "check", "check", "check", "check", "check", "check")
    assert [(event.street, event.positions) for event in hand.all(BoardDealt)] == [
        ("flop", (4, 5, 6)),
        ("turn", (7,)),
        ("river", (8,)),
    ]


def test_an_action_that_passes_the_turn_makes_two_events():
    hand = Hand(start([100, 100, 100])).do("raise 30")
    assert hand.batch == (
        Acted(0, "raise", 30, 30, is_all_in=False, turn=5, decided_by="player", received_at_ms=NOW),
        TurnBegan(1, 7, DEADLINE),
    )


def test_the_order_of_a_batch_that_ends_a_round():
    hand = Hand(start([100, 100])).do("call", "check")
    assert kinds(hand.batch) == [Acted, BettingRoundEnded, BoardDealt, TurnBegan]
    assert hand.batch[1] == BettingRoundEnded(20)
    assert hand.batch[-1].turn == len(hand.events)


def test_the_order_of_a_batch_that_runs_out():
    """HD-19: nobody can bet any more, so the board comes by itself; what nobody matched goes back first."""
    hand = Hand(start([100, 60])).do("all_in", "call")
    assert kinds(hand.batch) == [
        Acted,
        BetReturned,
        BettingRoundEnded,
        *[BoardDealt] * 3,
        *[CardsShown] * 2,
        PotAwarded,
        HandEnded,
    ]
    assert hand.batch[1] == BetReturned(0, 40)


def test_a_fold_to_the_last_ends_the_hand_at_once():
    """HD-11, HD-18."""
    hand = Hand(start([100, 100, 100])).do("fold", "fold")
    assert kinds(hand.batch) == [Acted, BetReturned, BettingRoundEnded, PotAwarded, HandEnded]
    assert hand.batch[3] == PotAwarded(0, 10, (2,), (Share(2, 10),))
    assert (hand.ended.result, hand.ended.payoffs, hand.ended.won, hand.ended.returned) == (
        "uncontested",
        (0, -5, 5),
        (0, 0, 10),
        (0, 0, 5),
    )


def test_blinds_that_put_everybody_all_in_need_no_decision():
    hand = Hand(start([5, 7]))
    assert hand.is_over
    assert hand.ended.result == "showdown"
    assert hand.all(BetReturned) == [BetReturned(1, 2)]


def test_a_stack_that_the_ante_took_whole_posts_no_blind():
    hand = Hand(start([100, 100, 3], ante=3))
    assert [(event.seat, event.kind, event.amount) for event in hand.all(Posted)] == [
        (0, "ante", 3),
        (1, "ante", 3),
        (2, "ante", 3),
        (1, "small_blind", 5),
    ]


def test_a_nominal_price_alone_asks_nobody():
    """Finer point 5: the big blind has 4 of 10, the button folds: 5 against 4 needs no decision."""
    hand = Hand(start([100, 100, 4])).do("fold")
    assert hand.is_over
    assert hand.all(BetReturned) == [BetReturned(1, 1)]


def test_a_price_above_the_own_chips_in_must_be_met():
    """Finer point 5: the big blind has 8 of 10: the small blind must decide, for the full price (B1)."""
    hand = Hand(start([100, 100, 8])).do("fold")
    assert hand.actor == 1
    hand.do("call")
    assert hand.all(BetReturned) == [BetReturned(1, 2)]


def test_a_returner_posts_live_and_dead():
    """RULES 'joining': the dead chips count for no bet and lie in the main pot."""
    dues = [
        Due(1, "small_blind", 5),
        Due(2, "big_blind", 10),
        Due(3, "dead_blind", 5),
        Due(3, "big_blind", 10),
    ]
    hand = Hand(replace(start([100, 100, 100, 100], dues=dues), big_blind_seat=2))
    assert (hand.actor, hand.live.bets, hand.live.pot) == (3, (0, 5, 10, 10), 30)
    hand.do("check", "fold", "fold", "raise 20", "call")
    assert hand.live.pot == 50


def test_who_shows_first_bet_last():
    hand = Hand(start([100, 100, 100])).do("call", "call", "check", *["check"] * 6)
    hand.do("check", "bet 10", "call", "fold")
    assert [event.seat for event in hand.all(CardsShown)] == [2, 0]


def test_all_in_hands_show_at_once_where_the_table_wants_it():
    """HD-19, ``show_all_in``: first without strength, then with it."""
    hand = Hand(start([100, 100], show_all_in="at_once")).do("all_in", "call")
    assert kinds(hand.batch)[2:8] == [CardsShown, CardsShown, BoardDealt, BoardDealt, BoardDealt, CardsShown]
    early, late = hand.all(CardsShown)[:2], hand.all(CardsShown)[2:]
    assert [(event.category, event.rank) for event in early] == [("", 0), ("", 0)]
    assert all(event.category and event.rank for event in late)


def test_nothing_is_shown_early_while_somebody_can_still_bet():
    hand = Hand(start([100, 100, 50], show_all_in="at_once")).do("all_in", "call", "call")
    assert hand.is_over
    hand = Hand(start([100, 100, 50], show_all_in="at_once")).do("raise 50", "call", "call")
    assert not hand.all(CardsShown)


# Refusals ------------------------------------------------------------------------------------------------------------


def test_reasons_come_in_the_order_of_the_rules():
    """RULES: HAND_OVER, STALE_TURN, DEADLINE_PASSED, NOT_YOUR_TURN, the action, the amount."""
    hand = Hand(start([100, 100, 100]))
    late = DEADLINE + 1
    assert hand.refused(hand.command("check", seat=1, turn=4, now_ms=late)) == Reason.STALE_TURN
    assert hand.refused(hand.command("check", seat=1, turn=5, now_ms=late)) == Reason.DEADLINE_PASSED
    assert hand.refused(hand.command("check", seat=1, turn=5)) == Reason.NOT_YOUR_TURN
    assert hand.refused(hand.command("check", turn=5)) == Reason.CHECK_NOT_ALLOWED
    assert hand.refused(hand.command("raise 101")) == Reason.AMOUNT_OVER_STACK
    assert hand.refused(hand.command("raise 19")) == Reason.AMOUNT_TOO_SMALL
    hand.do("fold", "fold")
    assert hand.refused(hand.command("fold", seat=1, turn=4, now_ms=late)) == Reason.HAND_OVER
    assert hand.refused(hand.command("all_in", seat=1)) == Reason.HAND_OVER
    assert hand.refused(hand.command("expire", seat=1)) == Reason.HAND_OVER


def test_a_command_to_no_hand_finds_it_over():
    with pytest.raises(Rejected, match="HAND_OVER"):
        decide(None, Hand(start([100, 100])).command("fold"), {})


def test_an_action_at_the_deadline_itself_counts():
    hand = Hand(start([100, 100]))
    assert hand.refused(hand.command("call", turn=hand.live.turn, now_ms=DEADLINE)) is None


def test_a_turn_that_is_over_cannot_be_answered_on_the_next_street():
    hand = Hand(start([100, 100]))
    turn = hand.live.turn
    hand.do("call", "check")
    assert hand.refused(hand.command("check", turn=turn)) == Reason.STALE_TURN


def test_negative_and_absurd_amounts_are_refused():
    hand = Hand(start([100, 100]))
    for to in (-1, 0, 10**30):
        assert hand.refused(hand.command(f"raise {to}")) in {Reason.AMOUNT_TOO_SMALL, Reason.AMOUNT_OVER_STACK}
    assert hand.refused(hand.command("raise -5")) == Reason.AMOUNT_TOO_SMALL


def test_a_raise_with_less_than_the_call_is_an_amount_at_fault():
    """Finer point 4."""
    hand = Hand(start([1000, 1000, 80])).do("raise 100", "call")
    assert hand.refused(hand.command("raise 80")) == Reason.AMOUNT_TOO_SMALL
    assert hand.refused(hand.command("raise 200")) == Reason.AMOUNT_OVER_STACK


def test_a_running_hand_is_not_dealt_over():
    hand = Hand(start([100, 100]))
    assert hand.refused(start([100, 100])) == Reason.HAND_IN_PROGRESS


def test_the_next_hand_follows_an_ended_one():
    hand = Hand(start([100, 100])).do("fold")
    hand.tell(replace(start([95, 105], button=1), version=len(hand.events)))
    assert hand.actor == 1
    assert hand.live.turn == len(hand.events)


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"seats": "swapped"}, "seats"),
        ({"seats": "twice"}, "seats"),
        ({"seats": "broke"}, "stacks"),
        ({"dues": (Due(7, "ante", 1),)}, "dues"),
        ({"dues": (Due(0, "ante", -1),)}, "dues"),
        ({"big_blind_seat": 6}, "big_blind_seat"),
        ({"button": 9}, "button"),
        ({"settings": HandSettings(big_blind=0)}, "big_blind"),
        ({"settings": HandSettings(decision_seconds=0)}, "decision_seconds"),
    ],
)
def test_a_hand_that_cannot_be_played_is_refused(changes, setting):
    command = start([100, 100, 100])
    one, two, three = command.seats
    seats = {"swapped": (two, one, three), "twice": (one, one, three), "broke": (one, two, replace(three, stack=0))}
    changes = {name: seats.get(value, value) if name == "seats" else value for name, value in changes.items()}
    with pytest.raises(Rejected) as refusal:
        decide(None, replace(command, **changes), {})
    assert (refusal.value.reason, refusal.value.facts) == (Reason.SETTING_INVALID, {"setting": setting})


def test_a_lone_player_is_dealt_no_hand():
    command = start([100, 100])
    with pytest.raises(Rejected, match="TOO_FEW_PLAYERS"):
        decide(None, replace(command, seats=command.seats[:1]), {})


def test_unknown_rules_cannot_be_decided():
    """DESIGN 3: an unknown version is "cannot say"."""
    with pytest.raises(UnknownRules, match="version 99"):
        decide(None, start([100, 100], rules_version=99), {})


# The clock, the operator ---------------------------------------------------------------------------------------------


def test_the_clock_checks_where_that_is_legal_and_folds_otherwise():
    """CL-2."""
    hand = Hand(start([100, 100])).do("call", "expire")
    acted = hand.batch[0]
    assert (acted.kind, acted.decided_by, acted.received_at_ms) == ("check", "clock", DEADLINE)
    hand.do("bet 10", "expire")
    assert hand.batch[0].kind == "fold"


def test_the_clock_cannot_act_before_the_deadline():
    hand = Hand(start([100, 100]))
    assert hand.refused(hand.command("expire", now_ms=DEADLINE - 1)) == Reason.CLOCK_RUNNING


def test_the_clock_chooses_no_action_of_its_own():
    """Else a fold by the clock where it should check would stand in a log and could not be decided again."""
    hand = Hand(start([100, 100])).do("call")
    assert hand.refused(hand.command("fold", decided_by="clock")) == Reason.ARGUMENT_INVALID


def test_somebody_who_left_is_played_at_once():
    """A departed player's turn needs no clock: check or fold by the system."""
    hand = Hand(start([100, 100]))
    hand.tell(hand.command("fold", decided_by="system", now_ms=DEADLINE + 1))
    assert hand.batch[0].decided_by == "system"
    hand = Hand(start([100, 100])).do("call")
    hand.tell(hand.command("expire", now_ms=NOW + 1, decided_by="system"))
    assert (hand.batch[0].kind, hand.batch[0].decided_by) == ("check", "system")


def test_an_outage_of_our_own_moves_the_deadline():
    hand = Hand(start([100, 100]))
    turn = hand.live.turn
    hand.tell(MoveDeadline(turn, DEADLINE + 5000, "outage", len(hand.events), NOW + 7))
    assert hand.batch == (DeadlineMoved(turn, DEADLINE + 5000, "outage", NOW + 7),)
    assert hand.refused(hand.command("call", turn=turn, now_ms=DEADLINE + 5000)) is None
    assert hand.refused(hand.command("call", turn=turn, now_ms=DEADLINE + 5001)) == Reason.DEADLINE_PASSED


def test_a_deadline_never_comes_nearer_and_only_the_open_turn_has_one():
    hand = Hand(start([100, 100]))
    turn = hand.live.turn
    assert hand.refused(MoveDeadline(turn, DEADLINE - 1, "", 4, NOW)) == Reason.ARGUMENT_INVALID
    assert hand.refused(MoveDeadline(turn - 1, DEADLINE + 1, "", 4, NOW)) == Reason.STALE_TURN
    hand.do("fold")
    assert hand.refused(MoveDeadline(turn, DEADLINE + 1, "", 9, NOW)) == Reason.HAND_OVER


def test_a_void_hand_gives_everything_back():
    """H9, finer point 8: the refund shows in stacks and payoffs, not in what was returned."""
    hand = Hand(start([100, 100, 100])).do("raise 30", "call", "call", "bet 20")
    hand.tell(VoidHand("operator", len(hand.events), NOW + 1, "operator"))
    assert hand.batch[0] == HandVoided("operator", (Share(0, 30), Share(1, 50), Share(2, 30)), NOW + 1, "operator")
    ended = hand.ended
    assert (ended.result, ended.stacks, ended.payoffs, ended.returned) == ("void", (100,) * 3, (0,) * 3, (0,) * 3)
    assert (hand.live.pot, hand.live.bets) == (0, (0, 0, 0))
    assert hand.refused(VoidHand("operator", 99, NOW)) == Reason.HAND_OVER


# Rules by version ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rules_version", "won"), [(1, (8, 6, 6)), (2, (7, 7, 6))])
def test_odd_chips_go_by_the_version_of_the_rules(rules_version, won):
    """B4: pot 20 tied three ways. Version 1 gave both odd chips to the first winner, version 2 one each."""
    command = start([100, 100, 100, 100], button=3, rules_version=rules_version, small_blind=2, big_blind=6)
    hand = Hand(command, deck("2c2d2h3c 4c4d4h3d AsKsQsJsTs"))
    hand.do("call", "call", "fold", "check", *["check"] * 9)
    (pot,) = hand.all(PotAwarded)
    assert (pot.amount, tuple(share.amount for share in pot.shares)) == (20, won)
    assert sum(share.odd for share in pot.shares) == 2
