"""Tables of tournaments (TR, B5, C2, TDA R8, R10, R23, RP-8, RP-11)."""

import random  # noqa: TID251  (tests may use chance)

import pytest

from diwan.core.decider import Rejected
from diwan.core.games.capsa.settings import CapsaSettings
from diwan.core.hand.commands import VoidHand
from diwan.core.hand.events import CardsShown, Due, HandEnded, HandStarted, RunoutHeld, RunoutReleased
from diwan.core.hand.settings import HandSettings, NaikoSettings, SarabSettings
from diwan.core.table.commands import (
    FundSeat,
    RequestTopUp,
    SitIn,
    SitOut,
    StandUp,
)
from diwan.core.table.config import TableConfig
from diwan.core.table.games import plan_next_hand
from diwan.core.table.hosting.commands import ChangeSettings, SetPaused
from diwan.core.table.tournament.commands import (
    AddChips,
    GrantHand,
    HoldRunouts,
    ReleaseEntrant,
    SeatEntrant,
    SetClock,
    SetStartMode,
)
from diwan.core.table.tournament.events import EntrantReleased, EntrantReleaseOrdered, EntrantSeated
from diwan.core.table.tournament.terms import BlindLevel
from diwan.core.table.waiting.commands import WaitForSeat
from tests.unit.table.directing import BEGINS, MINUTE, TournamentTable, counted, forced, timed
from tests.unit.table.play import Table, asking, kinds


def one(events, kind):
    (found,) = [event for event in events if isinstance(event, kind)]
    return found


def test_a_hand_begins_at_the_level_of_its_moment_and_says_so():
    """TDA R23: a new level counts for the next hand."""
    table = TournamentTable(levels=timed(20, 40, 80)).filled()

    first = one(table.start(), HandStarted)
    last = table.fold_out()
    table.now = BEGINS + 5 * MINUTE
    second = one(table.start(), HandStarted)

    assert (first.tournament.level, first.settings.small_blind, first.settings.big_blind) == (1, 10, 20)
    assert isinstance(last[-1], HandEnded)
    assert (second.tournament.level, second.settings.small_blind, second.settings.big_blind) == (2, 20, 40)
    assert [due.amount for due in second.dues] == [20, 40]


def test_levels_by_hands_count_the_hands_of_the_table():
    table = TournamentTable(levels=counted(20, 40, hands=2)).filled()
    levels = []
    for _ in range(4):
        levels.append(one(table.start(), HandStarted).tournament.level)
        table.fold_out()

    assert levels == [1, 1, 2, 2]


def test_no_hand_begins_in_a_break_or_while_the_clock_stands():
    table = TournamentTable(levels=timed(20, 40, break_after=(1,))).filled()

    assert plan_next_hand(table.state, BEGINS) is not None
    assert plan_next_hand(table.state, BEGINS + 5 * MINUTE) is None
    assert plan_next_hand(table.state, BEGINS + 15 * MINUTE - 1) is None
    assert plan_next_hand(table.state, BEGINS + 15 * MINUTE).tournament.level == 2
    table.clock(BEGINS, stopped_at_ms=BEGINS + MINUTE)
    assert plan_next_hand(table.state, BEGINS + 2 * MINUTE) is None
    table.clock(BEGINS + 20 * MINUTE)
    assert plan_next_hand(table.state, BEGINS + 21 * MINUTE).tournament.level == 1


def test_who_loses_the_last_chip_is_released_at_once_and_the_table_ends_when_told_to():
    table = TournamentTable().filled(2)
    table.start()
    table.when_all_in()
    table.when_all_in()

    (out,) = [event for event in table.batches[-1] if isinstance(event, EntrantReleased)]
    winner = table.state.seats[0]

    assert (out.cause, out.stack, out.move_id) == ("busted", 0, "")
    assert winner.stack == 2_000
    assert kinds(table.close()) == ["TableClosing", "EntrantReleased", "TableClosed"]
    assert (table.batches[-1][1].player, table.batches[-1][1].stack) == (winner.player, 2_000)


# ---- levels and antes ------------------------------------------------------------------------------------------------


def test_everybody_s_ante_goes_in_before_the_blinds():
    """A short stack pays the ante first and has the less for its blind (HD-9)."""
    table = TournamentTable(levels=timed(20, ante=5))
    for number, stack in enumerate((1_000, 8, 1_000)):
        table.come(f"p{number}", number, stack)

    started = one(table.start(), HandStarted)

    assert started.dues == (
        *[Due(seat, "ante", 5) for seat in (0, 1, 2)],
        Due(1, "small_blind", 10),
        Due(2, "big_blind", 20),
    )
    assert table.live.bets == (0, 3, 20)
    assert table.live.antes == (5, 5, 5)


def test_the_big_blind_s_ante_is_one_for_all_and_the_blind_goes_before_it():
    """RP-11."""
    table = TournamentTable(levels=timed(20, ante=20, ante_kind="big_blind"))
    for number, stack in enumerate((1_000, 1_000, 30)):
        table.come(f"p{number}", number, stack)

    started = one(table.start(), HandStarted)

    assert started.dues[-1] == Due(2, "ante", 20)
    assert table.live.bets == (0, 10, 20)
    assert table.live.antes == (0, 0, 10)
    assert table.live.pot == 40


def test_the_big_blind_s_ante_is_won_with_the_pot_and_comes_back_to_nobody():
    """Finer point 6: dead money of the main pot."""
    table = TournamentTable(levels=timed(20, ante=20, ante_kind="big_blind")).filled(3)
    table.start()
    table.act("raise", 60)
    last = table.fold_out()

    assert one(last, HandEnded).payoffs == (50, -10, -40)


def test_sarab_counts_its_deals_by_itself_and_the_ladder_names_the_level():
    """SB-28, SB-36: the forced bets are the ladder's."""
    table = TournamentTable(game="sarab", levels=forced(10, 20, 40, deals=2)).filled(3)
    seen = []
    for _ in range(5):
        started = one(table.start(), HandStarted)
        seen.append((started.tournament.level, started.settings.big_blind, started.tournament.small_blind_place))
        while table.state.is_running:
            table.act("fold")

    assert seen == [(1, 10, None), (1, 10, None), (2, 20, None), (2, 20, None), (3, 40, None)]


def test_a_table_of_sarab_that_everybody_has_left_comes_to_an_end():
    """A3, CL-2: with all of them away every hand would be void for ever; after five idle deals none is any more."""
    table = TournamentTable(game="sarab", levels=forced(10, 20, 50, deals=2)).filled(3, 200)
    results, rules, chance = [], [], random.Random(1)
    while len(table.state.seats) > 1:
        table.cards = dict(enumerate(chance.sample(range(52), 52)))
        rules.append(one(table.start(), HandStarted).settings.sarab.void_rule)
        while table.state.is_running:
            last = table.time_out()
        results.append(one(last, HandEnded).result)
        assert len(results) < 100

    assert results[:6] == ["void"] * 5 + ["showdown"]
    assert (set(rules[:5]), set(rules[5:])) == ({"no_voluntary_bet"}, {"off"})
    assert table.state.seats[0].stack == 600


def test_hands_of_sarab_are_void_again_once_somebody_has_come_back():
    table = TournamentTable(game="sarab", levels=forced(10, deals=2)).filled(3, 200)
    for _ in range(6):
        table.start()
        while table.state.is_running:
            table.time_out()
    table.start()
    table.act("check")
    while table.state.is_running:
        table.time_out()

    assert one(table.start(), HandStarted).settings.sarab.void_rule == "no_voluntary_bet"


def test_omaha_is_played_at_the_level_s_blinds_by_the_pot():
    table = TournamentTable(game="omaha", levels=timed(40)).filled(3)
    started = one(table.start(), HandStarted)

    assert (started.settings.limit, started.settings.big_blind) == ("pot_limit", 40)
    assert table.refused_act("raise", 1_000)[0] == "AMOUNT_TOO_LARGE"


def test_the_first_button_is_the_one_that_was_drawn():
    table = TournamentTable(first_button=4).filled(3)
    started = one(table.start(), HandStarted)

    assert (started.button, started.tournament.small_blind_place, started.big_blind_seat) == (4, 0, 1)


def test_a_hand_waits_for_its_clock_to_begin_and_the_time_before_it_counts_for_nothing():
    table = TournamentTable(clock_base_ms=0).filled()
    assert plan_next_hand(table.state, BEGINS + MINUTE) is None
    table.clock(BEGINS + 10 * MINUTE)

    assert plan_next_hand(table.state, BEGINS + 10 * MINUTE - 1) is None
    assert plan_next_hand(table.state, BEGINS + 10 * MINUTE).tournament.level == 1


# ---- coming and going ------------------------------------------------------------------------------------------------


def test_a_moved_player_plays_the_hand_to_its_end_and_leaves_with_the_stack():
    table = TournamentTable().filled()
    table.start()
    assert kinds(table.go("p0")) == ["EntrantReleaseOrdered"]
    table.act("raise", 60)
    table.act("fold")
    last = table.act("fold")

    left = one(last, EntrantReleased)

    assert (left.player, left.cause, left.stack, left.move_id) == ("p0", "moved", 1_030, "order-4")
    assert table.state.seat_of("p0") is None


def test_between_hands_a_player_leaves_at_once():
    table = TournamentTable().filled()

    assert kinds(table.go("p1")) == ["EntrantReleaseOrdered", "EntrantReleased"]


def test_who_is_removed_decides_nothing_any_more():
    """The floor takes a player out: the room folds, as soon as it is its turn."""
    table = TournamentTable().filled()
    table.start()
    events = table.go("p0", "removed")

    acted = next(event for event in events if type(event).__name__ == "Acted")
    assert (acted.seat, acted.kind, acted.decided_by) == (0, "fold", "system")
    last = table.fold_out()
    assert (one(last, EntrantReleased).cause, one(last, EntrantReleased).stack) == ("removed", 1_000)


def test_who_busts_on_the_way_to_another_table_is_busted_and_the_order_is_named():
    table = TournamentTable().filled(2)
    table.start()
    loser = "p0" if table.loser_if_all_in() == 0 else "p1"
    table.go(loser)
    table.when_all_in()
    (out,) = [event for event in table.when_all_in() if isinstance(event, EntrantReleased)]

    assert (out.player, out.cause, out.stack) == (loser, "busted", 0)
    assert out.move_id.startswith("order-")


def test_rebought_chips_are_not_lost_with_the_hand_that_runs():
    table = TournamentTable().filled(2)
    table.start()
    loser = table.loser_if_all_in()
    table.add(f"p{loser}", 700)
    table.when_all_in()
    last = table.when_all_in()

    assert not [event for event in last if isinstance(event, EntrantReleased)]
    assert sorted(seat.stack for seat in table.state.seats) == [700, 2_000]


def test_an_arrival_is_dealt_in_and_posts_nothing():
    """TDA R10: seated behind the button."""
    table = TournamentTable().filled(3)
    table.start()
    table.fold_out()
    table.come("p9", 4)
    started = one(table.start(), HandStarted)

    assert {seat.seat for seat in started.seats} == {0, 1, 2, 4}
    assert {due.seat for due in started.dues} == {2, 4}, "the small blind is seat 2's, seat 4 is the next big blind"
    assert not [due for due in started.dues if due.kind == "dead_blind"]


def test_an_arrival_between_the_button_and_the_big_blind_waits_until_it_is_past():
    """TDA R8: not into the small blind, which stays dead (B5)."""
    table = TournamentTable().filled(5)
    table.start()  # button 0, small blind 1, big blind 2
    table.go("p2")
    table.fold_out()
    table.come("p9", 2)
    started = one(table.start(), HandStarted)

    assert (started.button, started.tournament.small_blind_place, started.big_blind_seat) == (1, 2, 3)
    assert {seat.seat for seat in started.seats} == {0, 1, 3, 4}
    assert [due.kind for due in started.dues] == ["big_blind"], "the small blind is dead"
    table.fold_out()
    following = one(table.start(), HandStarted)
    assert (following.button, following.big_blind_seat) == (2, 4)
    assert 2 in {seat.seat for seat in following.seats}, "on the button now, and past it"
    assert {due.seat for due in following.dues} == {3, 4}


def test_destellos_begin_anew_or_are_brought_along():
    """C2."""
    table = TournamentTable(game="naiko", levels=timed(20))
    table.come("p0", 0)
    table.come("p1", 1, destellos=2)
    started = one(table.start(), HandStarted)

    assert started.naiko.destellos == (1, 3)
    table.go("p1")
    (left,) = [event for event in table.fold_out() if isinstance(event, EntrantReleased)]
    assert left.destellos == 3


def test_a_time_bank_is_brought_along():
    table = TournamentTable(time_bank_seconds=30)
    table.come("p0", 0, time_bank_ms=4_000)
    table.come("p1", 1)
    started = one(table.start(), HandStarted)

    assert started.time_banks_ms == (4_000, 30_000)


def test_who_is_away_is_dealt_in_and_played_by_the_clock_for_ever():
    """CL-2: no sitting out, however many decisions the clock makes."""
    table = TournamentTable(sit_out_after=1).filled(3)
    for _ in range(4):
        started = one(table.start(), HandStarted)
        assert len(started.seats) == 3
        while table.state.is_running:
            table.time_out()

    assert all(not seat.is_sitting_out for seat in table.state.seats)
    assert all(seat.clock_decisions for seat in table.state.seats)


def test_a_void_hand_gives_everything_back_and_the_grant_is_used():
    """H9: the tournament learns of it and may grant another round."""
    table = TournamentTable(start="on_grant").filled(3)
    table.grant(1)
    table.start()
    table.when(VoidHand("interrupted", table.state.version, table.now))

    assert [seat.stack for seat in table.state.seats] == [1_000] * 3
    assert plan_next_hand(table.state, table.now) is None
    table.grant(2)
    assert plan_next_hand(table.state, table.now).button == 0, "the button stays"


# ---- hand for hand ---------------------------------------------------------------------------------------------------


def test_a_table_on_grant_deals_one_hand_a_grant():
    table = TournamentTable(start="on_grant").filled()
    assert plan_next_hand(table.state, table.now) is None
    table.grant(7)
    assert one(table.start(), HandStarted).tournament.round_no == 7
    table.fold_out()
    assert plan_next_hand(table.state, table.now) is None
    table.grant(8)
    table.mode("automatic")
    assert plan_next_hand(table.state, table.now).tournament.round_no == 0
    table.mode("on_grant")
    assert plan_next_hand(table.state, table.now) is None, "a grant that was not used is forgotten with its mode"


def test_an_all_in_waits_for_the_other_tables_until_it_is_released():
    """RP-8."""
    table = TournamentTable().filled(2)
    table.hold(180_000)
    table.start()
    table.when_all_in()
    held = one(table.when_all_in(), RunoutHeld)

    assert held.until_ms == table.now + 180_000
    assert table.live.board == ()
    assert table.refused(table.last_release(is_by_clock=True))[0] == "CLOCK_RUNNING"
    went_on = table.release_runout()
    assert isinstance(went_on[0], RunoutReleased)
    assert isinstance(one(went_on, HandEnded), HandEnded)
    assert one(table.come("p9", 4), EntrantSeated).stack == 1_000


def test_a_held_all_in_goes_on_by_the_clock_when_nobody_releases_it():
    table = TournamentTable(start="on_grant").filled(2)
    table.when(GrantHand(table.order(), 1, table.now, 5_000))
    table.start()
    table.when_all_in()
    held = one(table.when_all_in(), RunoutHeld)
    table.now = held.until_ms

    went_on = table.release_runout(is_by_clock=True)

    assert (went_on[0].order_id, went_on[0].is_by_clock) == ("", True)
    assert not table.state.is_running
    assert table.refused(table.last_release())[0] == "RUNOUT_NOT_HELD"


def test_a_release_is_for_the_hand_that_it_names():
    """A late copy of an order must not turn up the next all-in."""
    table = TournamentTable().filled(2)
    table.hold(5_000)
    table.start()
    table.when_all_in()
    table.when_all_in()
    late = table.last_release()

    assert table.refused(type(late)("late", late.hand_no - 1, late.version, late.now_ms))[0] == "RUNOUT_NOT_HELD"


def test_cards_stay_down_while_an_all_in_is_held_also_where_they_are_shown_at_once():
    table = TournamentTable(hand=HandSettings(show_all_in="at_once")).filled(2)
    table.hold(5_000)
    table.start()
    table.when_all_in()

    assert not [event for event in table.when_all_in() if isinstance(event, CardsShown)]
    assert kinds(table.release_runout())[:4] == ["RunoutReleased", "CardsShown", "CardsShown", "BoardDealt"]


def test_nothing_is_held_where_somebody_can_still_act_or_no_card_is_to_come():
    table = TournamentTable().filled(3)
    table.hold(5_000)
    table.start()
    table.call_down()

    assert not [event for batch in table.batches for event in batch if isinstance(event, RunoutHeld)]
    assert not table.state.is_running


def test_a_held_hand_can_be_voided():
    table = TournamentTable().filled(2)
    table.hold(5_000)
    table.start()
    table.when_all_in()
    table.when_all_in()
    table.when(VoidHand("operator", table.state.version, table.now, "operator"))

    assert [seat.stack for seat in table.state.seats] == [1_000, 1_000]


def test_held_is_only_a_hand_that_began_after_the_order():
    table = TournamentTable().filled(2)
    table.start()
    table.hold(5_000)
    table.when_all_in()

    assert isinstance(one(table.when_all_in(), HandEnded), HandEnded)


# ---- refusals --------------------------------------------------------------------------------------------------------

NOT_FOR_PLAYERS = (
    lambda now: asking("ann", "t", now),
    lambda now: RequestTopUp("p0", 100, "t", now),
    lambda now: FundSeat("t", now),
    lambda now: SitOut("p0", "player", now),
    lambda now: SitIn("p0", post_at_once=False, now_ms=now),
    lambda now: StandUp("p0", "player", now),
    lambda now: StandUp("p0", "operator", now, "staff"),
    lambda now: WaitForSeat("ann", now),
    lambda now: SetPaused(True, "staff", True, now),  # noqa: FBT003
    lambda now: ChangeSettings(TableConfig(name="x"), "staff", True, now),  # noqa: FBT003
)


@pytest.mark.parametrize("command", NOT_FOR_PLAYERS)
def test_nobody_but_the_tournament_says_who_sits_here(command):
    table = TournamentTable().filled()

    assert table.refused(command(table.now))[0] == "TOURNAMENT_TABLE"


ORDERS = (
    lambda now: SeatEntrant("o", 0, "ann", is_bot=False, stack=5, now_ms=now),
    lambda now: ReleaseEntrant("o", "ann", "moved", now),
    lambda now: AddChips("o", "ann", 5, now),
    lambda now: SetClock("o", 5, 0, now),
    lambda now: SetStartMode("o", "on_grant", now),
    lambda now: GrantHand("o", 1, now),
    lambda now: HoldRunouts("o", 5, now),
)


@pytest.mark.parametrize("order", ORDERS)
def test_other_tables_take_no_orders_and_closed_ones_neither(order):
    assert Table().refused(order(1_000_000))[0] == "NOT_A_TOURNAMENT_TABLE"
    table = TournamentTable()
    table.close()
    assert table.refused(order(table.now))[0] == "TABLE_CLOSED"


@pytest.mark.parametrize(
    ("order", "reason", "fact"),
    [
        (lambda t: SeatEntrant("o", 6, "ann", is_bot=False, stack=5, now_ms=t.now), "SEAT_NOT_FOUND", ("seat", 6)),
        (lambda t: SeatEntrant("o", 1, "ann", is_bot=False, stack=5, now_ms=t.now), "SEAT_TAKEN", ("seat", 1)),
        (lambda t: SeatEntrant("o", 5, "p1", is_bot=False, stack=5, now_ms=t.now), "ALREADY_SEATED", None),
        (
            lambda t: SeatEntrant("o", 5, "ann", is_bot=False, stack=0, now_ms=t.now),
            "FIELD_INVALID",
            ("field", "stack"),
        ),
        (
            lambda t: SeatEntrant("o", 5, "ann", is_bot=False, stack=5, now_ms=t.now, destellos=1),
            "FIELD_INVALID",
            ("field", "destellos"),
        ),
        (
            lambda t: SeatEntrant("o", 5, "ann", is_bot=False, stack=5, now_ms=t.now, time_bank_ms=1),
            "FIELD_INVALID",
            ("field", "time_bank_ms"),
        ),
        (lambda t: ReleaseEntrant("o", "ann", "moved", t.now), "NOT_SEATED", None),
        (lambda t: AddChips("o", "p1", 0, t.now), "FIELD_INVALID", ("field", "amount")),
        (lambda t: SetClock("o", 0, 0, t.now), "FIELD_INVALID", ("field", "base_ms")),
        (lambda t: SetClock("o", 5, 0, t.now, 3), "ORDER_OVERTAKEN", ("newest", 3)),
        (lambda t: SetStartMode("o", "automatic", t.now, 2), "ORDER_OVERTAKEN", ("newest", 2)),
        (lambda t: GrantHand("o", 4, t.now), "ROUND_GRANTED_ALREADY", ("granted", 4)),
        (lambda t: GrantHand("o", 5, t.now, -1), "FIELD_INVALID", ("field", "hold_ms")),
        (lambda t: HoldRunouts("o", 3_600_001, t.now), "FIELD_INVALID", ("field", "hold_ms")),
    ],
)
def test_an_order_that_makes_no_sense_is_refused_with_the_fact_at_fault(order, reason, fact):
    table = TournamentTable(start="on_grant").filled()
    table.when(SetClock("c", BEGINS, 0, table.now, 3))
    table.when(SetStartMode("s", "on_grant", table.now, 2))
    table.grant(4)

    found, facts = table.refused(order(table))

    assert found == reason
    assert fact is None or facts[fact[0]] == fact[1]


def test_who_leaves_after_the_hand_gets_no_other_order():
    table = TournamentTable().filled()
    table.start()
    assert isinstance(one(table.go("p0"), EntrantReleaseOrdered), EntrantReleaseOrdered)

    assert table.refused(ReleaseEntrant("o", "p0", "moved", table.now))[0] == "LEAVING"
    assert table.refused(AddChips("o", "p0", 5, table.now))[0] == "LEAVING"


def test_a_grant_where_hands_start_by_themselves_is_refused():
    assert TournamentTable().refused(GrantHand("o", 1, 5))[0] == "GRANT_NOT_NEEDED"


CLOCKED = BlindLevel(small_blind=10, big_blind=20, duration_ms=5)
BY_HANDS = BlindLevel(small_blind=10, big_blind=20, hands=5)


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"levels": ()}, "tournament.levels"),
        ({"levels": (CLOCKED, BY_HANDS, CLOCKED)}, "tournament.levels"),
        ({"levels": (BlindLevel(small_blind=10, big_blind=20), CLOCKED)}, "tournament.levels"),
        (
            {"levels": (BlindLevel(small_blind=10, big_blind=20, hands=3, break_after_ms=5), BY_HANDS)},
            "tournament.levels",
        ),
        ({"levels": timed(40, 20)}, "tournament.levels"),
        ({"levels": timed(20, ante=181)}, "tournament.levels[0].ante"),
        ({"levels": (BlindLevel(small_blind=0, big_blind=20),)}, "tournament.levels[0].small_blind"),
        ({"levels": (BlindLevel(small_blind=30, big_blind=20),)}, "tournament.levels[0].small_blind"),
        ({"levels": forced(10, 20), "game": "holdem"}, "tournament.levels[0].small_blind"),
        ({"levels": timed(20), "game": "sarab"}, "tournament.levels[0].small_blind"),
        ({"game": "sarab", "levels": (*forced(10, deals=1), *forced(20, 30, deals=2))}, "tournament.levels"),
        ({"chips": "wallet"}, "tournament"),
        ({"tournament": None}, "tournament"),
        ({"is_private": True, "host": "ann"}, "is_private"),
        ({"bots_fill": 2}, "bots_fill"),
        ({"buy_in_min": 5}, "buy_in_min"),
        ({"first_button": 9}, "tournament.first_button"),
        ({"tournament_id": ""}, "tournament.tournament_id"),
        ({"table_no": 0}, "tournament.table_no"),
        (
            {"game": "sarab", "levels": forced(10), "sarab": SarabSettings(void_antes="carry")},
            "hand.sarab.void_antes",
        ),
    ],
)
def test_settings_that_make_no_sense_are_named(changes, setting):
    with pytest.raises(Rejected) as refused:
        TournamentTable(**changes)

    assert (refused.value.reason, refused.value.facts["setting"]) == ("SETTING_INVALID", setting)


def test_capsa_is_played_in_no_tournament():
    with pytest.raises(Rejected) as refused:
        TournamentTable(capsa=CapsaSettings(), seats=4)

    assert refused.value.facts["setting"] == "hand.game"


def test_a_table_on_grant_is_a_tournament_s():
    with pytest.raises(Rejected) as refused:
        Table(start="on_grant")

    assert refused.value.facts["setting"] == "start"


def test_the_hands_of_a_table_have_the_first_level_s_blinds_in_their_settings():
    table = TournamentTable(levels=timed(50, 100), game="naiko")

    assert (table.state.config.hand.small_blind, table.state.config.hand.big_blind) == (25, 50)
    assert table.state.config.hand.naiko == NaikoSettings()
    assert (table.state.config.buy_in_min, table.state.config.buy_in_max) == (0, 0)
