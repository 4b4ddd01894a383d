"""What a tournament's table shows of it, in every view and in the conditions (TR-1, TDA R23, RP-8)."""

import pytest

from diwan.core.redact import public_view
from diwan.core.table.conditions import conditions_of
from diwan.wire.conditions import conditions_message
from diwan.wire.views import read_table_view, table_view_message
from tests.unit.table.directing import BEGINS, MINUTE, TournamentTable, counted, forced, timed


def shown(table):
    """The public view, once as message and back."""
    cards = dict(table.cards)
    view = public_view(table.state, cards, names={}, next_hand_id="next")
    assert read_table_view(table_view_message(view, table.state.config)).tournament == view.tournament
    return view.tournament


def test_the_level_of_a_hand_stays_in_view_until_it_is_over():
    table = TournamentTable(levels=timed(20, 40)).filled()
    table.start()
    table.now = BEGINS + 6 * MINUTE
    while table.state.is_running:
        assert shown(table).level.big_blind == 20
        table.time_out()

    assert shown(table).level.big_blind == 40
    assert shown(table).coming == ()
    assert shown(table).level.ends_at_ms == 0, "the last one stays"


def test_a_break_lies_between_two_levels():
    table = TournamentTable(levels=timed(20, 40, 80, 160, 320, break_after=(1,)))
    view = shown(table)

    assert (view.level.begins_at_ms, view.level.ends_at_ms) == (BEGINS, BEGINS + 5 * MINUTE)
    assert [step.level for step in view.coming] == [2, 3, 4]
    assert view.coming[0].begins_at_ms == BEGINS + 15 * MINUTE


def test_a_clock_that_stands_names_no_times():
    table = TournamentTable(levels=timed(20, 40))
    table.clock(BEGINS, BEGINS + 1)
    view = shown(table)

    assert not view.is_clock_running
    assert {each.begins_at_ms for each in (view.level, *view.coming)} == {0}


def test_levels_by_hands_tell_how_many_are_left():
    table = TournamentTable(levels=counted(20, 40, hands=3)).filled()
    left = [shown(table).hands_left]
    for _ in range(3):
        table.start()
        table.fold_out()
        left.append(shown(table).hands_left)

    assert left == [3, 2, 1, 0]
    assert shown(table).level.level == 2


def test_a_table_that_waits_for_the_others_says_so():
    table = TournamentTable(start="on_grant").filled()
    assert shown(table).is_waiting
    table.grant(3)
    assert (shown(table).is_waiting, shown(table).round_no) == (False, 3)
    table.start()
    assert not shown(table).is_waiting
    table.fold_out()
    assert shown(table).is_waiting
    table.mode("automatic")
    assert (shown(table).is_waiting, shown(table).is_on_grant, shown(table).round_no) == (False, False, 0)


def test_a_held_all_in_says_until_when():
    table = TournamentTable().filled(2)
    table.hold(9_000)
    table.start()
    table.when_all_in()
    assert shown(table).held_until_ms == 0
    table.when_all_in()
    assert shown(table).held_until_ms == table.now + 9_000
    table.release_runout()
    assert shown(table).held_until_ms == 0


def test_sarab_shows_the_level_of_its_last_deal():
    table = TournamentTable(game="sarab", levels=forced(10, 20, deals=1)).filled()
    assert shown(table).level.big_blind == 10
    for bet in (10, 20, 20):
        table.start()
        assert shown(table).level.big_blind == bet
        while table.state.is_running:
            table.act("fold")


def test_who_is_to_leave_is_shown_so_and_who_waits_behind_the_button():
    table = TournamentTable().filled(5)
    table.start()
    table.go("p2")
    assert statuses(table)["p2"] == "leaving"
    table.fold_out()
    table.come("p9", 2)
    assert statuses(table)["p9"] == "playing", "the coming hand will tell"
    table.start()

    assert statuses(table) == {"p0": "playing", "p1": "playing", "p3": "playing", "p4": "playing", "p9": "waiting"}


def statuses(table):
    view = public_view(table.state, dict(table.cards), names={}, next_hand_id="next")
    return {seat.player: seat.status for seat in view.seats}


@pytest.mark.parametrize("kind", ["each", "big_blind"])
def test_the_conditions_hold_the_whole_ladder(kind):
    table = TournamentTable(levels=timed(20, 40, ante=5, ante_kind=kind, break_after=(1,)))
    message = conditions_message(conditions_of(table.state.config))

    assert message.tournament.tournament_id == "t-1"
    assert [level.big_blind for level in message.tournament.levels] == [20, 40]
    assert [level.break_after_ms for level in message.tournament.levels] == [10 * MINUTE, 0]
    assert (message.buy_in_min, message.buy_in_max) == (0, 0)
    assert message.big_blind == 20


def test_a_view_leaves_the_ladder_to_the_conditions():
    """It goes with every update to everybody who watches."""
    table = TournamentTable(levels=timed(*range(20, 220, 2)))
    view = public_view(table.state, {}, names={}, next_hand_id="next")
    message = table_view_message(view, table.state.config)

    assert len(message.config.tournament.levels) == 0
    assert message.config.tournament.tournament_id == "t-1"
    assert len(message.tournament.coming) == 3
