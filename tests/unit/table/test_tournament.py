"""Tables of tournaments (TR, B5, C2, TDA R8, R10, R23, RP-8, RP-11)."""

from diwan.core.hand.events import HandEnded, HandStarted, RunoutHeld, RunoutReleased
from diwan.core.table.games import plan_next_hand
from diwan.core.table.tournament.events import EntrantReleased, EntrantSeated
from tests.unit.table.directing import BEGINS, MINUTE, TournamentTable, counted, timed
from tests.unit.table.play import kinds


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
