"""The floor: even tables, broken tables, redraws, hand-for-hand, the clock (TDA R10, R11, RP-8, RP-9, WSOP R66 to R68)."""

from hashlib import sha256

import pytest
from msgspec.structs import replace

from diwan.core.fairness import draw_order
from diwan.core.tournament import batch
from diwan.core.tournament import commands as c
from diwan.core.tournament import events as e
from diwan.core.tournament import orders as o
from diwan.core.tournament.balancing import seat_candidates
from diwan.core.tournament.ladders import point_at
from diwan.core.tournament.settings import Break, EntryTerms, FloorRules, Payout
from diwan.core.tournament.timing import next_due_ms
from tests.property.tournament_fields import ladder, scheduled, sit_and_go
from tests.property.tournament_sim import START_MS, TOURNAMENT_ID
from tests.unit.tournament.floor import Floor

START = EntryTerms(starts_at_ms=START_MS + 60_000)
NO_BUBBLE = FloorRules(hand_for_hand=False)


def field(players, size=9, **changes):
    return Floor(scheduled(size=size, entries=START, **({"floor": NO_BUBBLE} | changes)), players)


def sizes(floor):
    return sorted(len(table.sitters) for table in floor.tables.values())


# Seats.


@pytest.mark.parametrize(("players", "expected"), [(9, [9]), (10, [5, 5]), (20, [6, 7, 7]), (64, [8] * 8)])
def test_the_field_is_seated_at_as_few_tables_as_hold_it_and_evenly(players, expected):
    """TDA R7."""
    assert sizes(field(players)) == expected


def test_seats_are_drawn_by_the_committed_secret_and_the_list_of_entrants():
    """F7: whoever has the log can draw again."""
    floor = field(20)
    drawn = floor.told(e.Drawn)[0]
    order = draw_order(drawn.secret, "places/v1", TOURNAMENT_ID, 20, seeds={0: drawn.entrants_digest})
    at_tables = [event.seats for event in floor.told(e.SeatsDrawn)]

    assert drawn.secret == sha256((1).to_bytes(8)).digest()
    assert [given.player for given in at_tables[0]] == [f"p{number}" for number in order[0::3]]
    assert [given.player for given in at_tables[2]] == [f"p{number}" for number in order[2::3]]


def test_play_begins_when_everybody_sits_and_a_little_later_so_that_all_can_look():
    floor = Floor(scheduled(entries=START), 9, play=False)
    floor.do(c.Tick(START.starts_at_ms))
    floor.now = START.starts_at_ms
    floor.obey(but=(o.SeatEntrant,))
    assert floor.state.phase == "seating"
    floor.obey()

    assert floor.told(e.PlayBegan)[0].clock_base_ms == floor.now + 5000
    assert {table.mode for table in floor.tables.values()} == {"automatic"}


# Even tables.


def test_a_player_of_the_longest_table_goes_to_the_shortest():
    floor = field(20)
    short = next(table.table_no for table in floor.tables.values() if table.size == 6)
    floor.hand(short, out=[floor.players_at(short)[0]])

    ordered = floor.told(e.BalancingOrdered)[0]
    assert (ordered.to_table, ordered.from_size, ordered.to_size, ordered.rule) == (short, 7, 5, "TDA R11-A")
    assert sizes(floor) == [6, 6, 7]
    assert floor.state.entrants[floor.told(e.MoverChosen)[0].player].moves == 1


def test_the_next_big_blind_moves_and_to_the_worst_seat():
    """TDA R11-A: the player who will have the big blind next goes to the seat that has it soonest."""
    floor = field(20)
    for number in floor.tables:
        floor.hand(number)
    short = next(table.table_no for table in floor.tables.values() if table.size == 6)
    floor.hand(short, out=[floor.players_at(short)[0]])
    chosen = floor.told(e.MoverChosen)[0]
    seat = floor.told(e.SeatChosen)[0]

    mover = next(each for each in chosen.candidates if each.player == chosen.player)
    assert mover.hands_to_big_blind == 0
    best = min(each.hands_to_big_blind for each in seat.candidates if each.may_take)
    assert next(each for each in seat.candidates if each.seat == seat.seat).hands_to_big_blind == best


def test_nobody_takes_the_seat_of_the_coming_small_blind():
    """TDA R11-A: where the big blind was, the small blind will be."""
    floor = field(20)
    short = next(table.table_no for table in floor.tables.values() if table.size == 6)
    floor.hand(short)
    table = floor.state.tables[short]
    big = next(sitter.player for sitter in table.sitters if sitter.seat == table.big_blind)
    gone = replace(table, sitters=tuple(sitter for sitter in table.sitters if sitter.player != big))

    candidates = {each.seat: each for each in seat_candidates(floor.state, gone)}
    assert not candidates[table.big_blind].may_take
    assert all(each.may_take for seat, each in candidates.items() if seat != table.big_blind)


def test_the_same_player_does_not_move_again_where_another_would_do():
    floor = field(12, size=6, floor=replace(NO_BUBBLE, few_tables=100))
    movers = []
    for _ in range(2):
        one, other = sorted(floor.tables, key=lambda number: len(floor.players_at(number)))
        keep = set(movers)
        for _ in range(2):
            floor.hand(one, out=[next(player for player in floor.players_at(one) if player not in keep)])
            if len(floor.told(e.MoverChosen)) > len(movers):
                break
        movers = [event.player for event in floor.told(e.MoverChosen)]
        one, other = other, one

    for event in floor.told(e.MoverChosen):
        chosen = next(each for each in event.candidates if each.player == event.player)
        assert chosen.balanced == min(each.balanced for each in event.candidates)
    assert len(movers) == len(set(movers)) > 0


def test_with_many_tables_a_difference_of_two_is_let_be_and_with_twelve_it_is_not():
    """WSOP R67: within one at twelve tables or fewer."""
    many = field(13 * 9, size=9)
    first = next(iter(many.tables))
    for _ in range(2):
        many.hand(first, out=[many.players_at(first)[0]])
    few = field(12 * 9, size=9)
    for _ in range(2):
        few.hand(first, out=[few.players_at(first)[0]])

    assert many.told(e.BalancingOrdered) == []
    assert len(few.told(e.BalancingOrdered)) == 1


def test_a_table_three_short_waits_for_its_players_and_deals_again_with_them():
    """TDA R11-D."""
    floor = field(16, size=8)
    short, other = floor.tables
    floor.deaf = {other}
    floor.hand(short, out=floor.players_at(short)[1:4])
    assert floor.state.tables[short].is_halted
    assert o.wanted_mode(floor.state, floor.state.tables[short]) == "on_grant"
    floor.deaf = set()
    floor.obey()

    assert [event.is_halted for event in floor.told(e.TableHalted)] == [True, False]
    assert {table.mode for table in floor.tables.values()} == {"automatic"}
    assert sizes(floor) == [6, 7]


def test_both_ends_of_a_move_stand_still_for_it_and_a_crash_between_them_loses_nothing():
    """Two steps: released there, seated here; in between the chips go with the move and the orders stay pending."""
    floor = field(20)
    short = next(table.table_no for table in floor.tables.values() if table.size == 6)
    floor.hand(short, out=[floor.players_at(short)[0]], obey=False)
    source = floor.told(e.BalancingOrdered)[0].from_table
    assert o.SetStartMode(source, floor.state.tables[source].table_id, 2, "on_grant") in list(
        o.pending_orders(floor.state)
    )
    floor.obey(but=(o.SeatEntrant,))
    move = next(iter(floor.state.moves.values()))

    assert move.phase == "seating"
    assert floor.state.tables[source].sitter(move.player) is None
    assert (
        next(order for order in o.pending_orders(floor.state) if isinstance(order, o.SeatEntrant)).stack == move.stack
    )
    floor.obey()
    assert floor.table_of(move.player).table_no == short


def test_a_mover_who_goes_out_in_the_last_hand_there_does_not_move():
    floor = field(23)
    short = next(table.table_no for table in floor.tables.values() if table.size == 7)
    floor.hand(short, out=[floor.players_at(short)[0]], obey=False)
    source = floor.told(e.BalancingOrdered)[0].from_table
    floor.hand(source, out=[floor.players_at(source)[0]])

    assert [event.reason for event in floor.told(e.MoveCancelled)] == ["even without it"]
    assert sizes(floor) == [7, 7, 7]
    assert len(floor.told(e.MoverChosen)) == 1


# Fewer tables.


def test_a_table_is_broken_as_soon_as_everybody_fits_at_one_fewer():
    """TDA R10, in the published order (WSOP R66): the highest number first."""
    floor = field(28)
    floor.bust_down_to(27)

    assert floor.told(e.RegistrationClosed)[0].breaking_order == (4, 3, 2, 1)
    assert [event.table_no for event in floor.told(e.TableBreaking)] == [4]
    assert sizes(floor) == [9, 9, 9]
    assert {event.rule for event in floor.told(e.SeatsDrawn)} == {"TDA R7", "TDA R10"}


def test_a_table_that_is_broken_while_only_somebody_not_chosen_yet_is_on_the_way_there_is_closed():
    """TDA R10: nobody is left to draw a seat for, so nothing is drawn, and nothing waits for it."""
    floor = Floor(scheduled(size=3, entries=replace(START, late_levels=1)), 3)
    floor.deaf = {1}
    floor.enter("late")
    assert [(each.from_table, each.to_table) for each in floor.told(e.BalancingOrdered)] == [(1, 2)]
    floor.do(c.Remove("late", "op", "case 17", floor.now))
    floor.obey()
    floor.deaf = set()
    floor.obey()

    assert [event.table_no for event in floor.told(e.TableBreaking)] == [2]
    assert [event.reason for event in floor.told(e.MoveCancelled)] == ["table broken"]
    assert [event.table_no for event in floor.told(e.TableGone)] == [2]
    assert floor.state.breaking == ()
    assert len(floor.told(e.Drawn)) == 2, "the start's and the late seat's"
    floor.finish()
    assert floor.state.phase == "finished"


def test_a_command_that_would_never_end_is_given_up_and_nothing_has_happened(monkeypatch):
    """One process drives all tournaments: none may keep it for itself."""
    floor = Floor(scheduled(entries=START), 9, play=False)
    before = floor.state
    monkeypatch.setattr(batch, "EVENTS_MAX", 3)
    with pytest.raises(RuntimeError, match="has no end"):
        floor.do(c.Tick(START.starts_at_ms))

    assert floor.state is before


@pytest.mark.timeout(20)
def test_a_table_whose_players_are_all_being_removed_is_asked_for_nobody():
    """TDA R11-A: else a move is ordered and undone without end, in one command."""
    floor = Floor(sit_and_go(6, size=3))
    for number in range(5):
        floor.enter(f"p{number}")
    floor.do(floor.asks("p5"))
    floor.obey(but=(o.SetStartMode, o.SetClock))
    assert floor.state.phase == "playing"
    removed = [*floor.players_at(2), *floor.players_at(1)[:2]]
    floor.deaf = {2}
    for player in removed:
        floor.do(c.Remove(player, "op", "case 17", floor.now))
    floor.obey(but=(o.SetStartMode, o.SetClock))
    assert (floor.state.left, sizes(floor)) == (4, [1, 3])
    floor.deaf = set()
    floor.obey()

    assert floor.told(e.BalancingOrdered) == []
    assert floor.state.phase == "finished"
    assert floor.state.winner not in removed


def test_the_breaking_order_is_published_when_registration_closes():
    terms = EntryTerms(starts_at_ms=START_MS + 60_000, late_levels=1)
    floor = Floor(scheduled(entries=terms), 28)
    floor.tick(floor.now + 10 * 60_000)

    assert floor.told(e.RegistrationClosed)[0].breaking_order == (4, 3, 2, 1)


@pytest.mark.parametrize(("size", "at"), [(9, 9), (8, 9), (6, 7)])
def test_everybody_draws_a_new_seat_for_the_final_table(size, at):
    """RP-9, WSOP R68."""
    floor = field(2 * size, size=size)
    before = set(floor.tables)
    floor.bust_down_to(at)

    assert [(event.purpose, event.rule) for event in floor.told(e.RedrawOrdered)] == [("final", "RP-9")]
    assert len(floor.tables) == 1
    assert not set(floor.tables) & before
    assert floor.state.has_final_table
    assert sizes(floor) == [at]


def test_large_fields_draw_anew_at_three_and_two_tables_too():
    """WSOP R68: 100 entries or more."""
    floor = field(100)
    floor.bust_down_to(9)
    small = field(36)
    small.bust_down_to(9)

    assert [event.tables for event in floor.told(e.RedrawOrdered)] == [3, 2, 1]
    assert [event.tables for event in small.told(e.RedrawOrdered)] == [1]


def test_a_lost_table_is_given_up_and_its_players_sit_elsewhere_with_what_they_had():
    """Page e2: a broken hand is void, stacks are those of its start."""
    floor = field(20)
    lost = max(floor.tables)
    stacks = {sitter.player: sitter.stack for sitter in floor.state.tables[lost].sitters}
    floor.do(c.ReportTableGone(lost, floor.version(lost), floor.now))
    floor.obey()

    assert {player: floor.table_of(player).sitter(player).stack for player in stacks} == stacks
    assert sum(sizes(floor)) == 20
    floor.finish()
    assert floor.state.phase == "finished"


# Hand-for-hand.


def bubble(**changes):
    """Return a tournament of 20 with 12 paid places and 14 left: hand-for-hand at three tables of six."""
    payout = Payout(table="shares", shares=(45_000, *[5_000] * 11))
    floor = Floor(scheduled(size=6, entries=START, players_min=12, payout=payout, **changes), 20)
    floor.bust_down_to(14)
    return floor


def test_the_next_hand_starts_only_when_all_tables_have_reported_this_one():
    floor = bubble()
    first, *others = floor.state.hand_for_hand.tables
    floor.hand(first)
    assert floor.state.tables[first].is_idle
    assert floor.told(e.RoundGranted)[-1].round_no == 1
    for number in others:
        floor.hand(number)

    assert [event.round_no for event in floor.told(e.RoundGranted)] == [1, 2]
    assert floor.told(e.RoundGranted)[0].tables == tuple(floor.tables)


def test_a_round_costs_the_level_two_minutes_whatever_it_took():
    """RP-8."""
    floor = bubble()
    began = floor.state.clock.elapsed_ms(floor.told(e.RoundGranted)[0].at_ms)
    for number in floor.state.hand_for_hand.tables:
        floor.hand(number, seconds=5)
    moved = floor.told(e.ClockSet)[-1]

    assert moved.cause == "hand_for_hand"
    assert moved.at_ms - moved.base_ms == began + 120_000
    assert all(table.clock_no == floor.state.clock.clock_no for table in floor.tables.values())


def test_a_round_takes_nothing_of_a_break_however_short():
    """RP-8: the two minutes of a round end where the break begins, which is as long as the conditions say."""
    floor = bubble(ladder=ladder(breaks=tuple(Break(level, 60_000) for level in range(1, 9))))
    for _ in range(4):  # rounds of two minutes in a level of six
        if floor.state.is_break:
            break
        for number in floor.state.hand_for_hand.tables:
            floor.hand(number, seconds=5, obey=False)
        floor.obey()
    began, ended = floor.told(e.LevelBegan)[-1], floor.told(e.RoundEnded)[-1]

    assert (began.is_break, began.at_ms, began.ends_at_ms - began.at_ms) == (True, ended.at_ms, 60_000)
    assert 0 < ended.counted_ms < 120_000
    floor.tick(began.ends_at_ms - 1)
    assert not floor.state.hand_for_hand.is_playing
    floor.tick(began.ends_at_ms)
    assert floor.state.hand_for_hand.is_playing
    assert (floor.state.level_no, floor.state.is_break) == (began.level_no + 1, False)


def test_a_grant_waits_until_the_table_has_the_clock():
    floor = bubble()
    for number in floor.state.hand_for_hand.tables:
        floor.hand(number, obey=False)
    orders = list(o.pending_orders(floor.state))

    assert {type(order) for order in orders} == {o.SetClock}
    floor.obey()
    assert {type(order) for order in o.pending_orders(floor.state)} == {o.GrantHand}


def test_a_late_table_is_waited_for_three_minutes_and_its_hand_still_counts_to_its_round():
    floor = bubble()
    late, *others = floor.state.hand_for_hand.tables
    loser = floor.players_at(late)[0]
    for number in others:
        floor.hand(number)
    assert next_due_ms(floor.state) == floor.told(e.RoundGranted)[-1].limit_at_ms
    floor.tick(floor.told(e.RoundGranted)[-1].limit_at_ms)
    assert floor.told(e.TablesLate)[0].tables == (late,)
    assert floor.told(e.RoundGranted)[-1].tables == tuple(others)
    early = floor.players_at(others[0])[0]
    for number in others:
        floor.hand(number, out=[early] if number == others[0] else [])
    assert not [event for event in floor.told(e.PlayersOut) if early in {each.player for each in event.players}]
    floor.hand(late, out=[loser])

    outs = [event.players[0].player for event in floor.told(e.PlayersOut)][-2:]
    assert outs == [loser, early], "the late table's hand was of the earlier round"


def test_an_all_in_waits_until_every_table_has_finished_or_waits_too():
    """RP-8: cards stay down."""
    floor = bubble()
    first, second, third = floor.state.hand_for_hand.tables
    for number in (first, second):
        hand_no = floor.state.tables[number].hand_no + 1
        floor.do(c.ReportRunoutHeld(number, floor.version(number), hand_no, floor.now + 180_000, floor.now))
    assert floor.told(e.RunoutsReleased) == []
    floor.hand(third, obey=False)

    assert floor.told(e.RunoutsReleased)[0].tables == (first, second)
    released = [order for order in o.pending_orders(floor.state) if isinstance(order, o.ReleaseRunout)]
    assert {order.table_no for order in released} == {first, second}


def test_nobody_and_no_seat_is_chosen_before_the_table_has_said_anew_that_it_stands_still():
    """TDA R11-A: it may just have been told to deal, and a hand that begins meanwhile would change who has which blind."""
    rules = FloorRules(hand_for_hand_within=16)
    payout = Payout(table="shares", shares=(60_000, 40_000))
    floor = Floor(scheduled(size=6, entries=START, payout=payout, floor=rules), 18)
    while floor.state.left > 13:  # all of them at the first table
        running = floor.state.hand_for_hand
        for number in running.tables:
            out = [floor.players_at(number)[0]] if number == running.tables[0] else []
            floor.hand(number, out=out, obey=False)
        floor.obey()
    orders = {event.move_no: event for event in floor.told(e.BalancingOrdered)}
    told = floor.events

    def said_between(table_no, first, last):
        between = told[told.index(first) : told.index(last)]
        return any(isinstance(event, e.StartModeSet) and event.table_no == table_no for event in between)

    movers, seats = floor.told(e.MoverChosen), floor.told(e.SeatChosen)
    assert movers
    assert seats
    assert all(said_between(orders[each.move_no].from_table, orders[each.move_no], each) for each in movers)
    released = {each.move_id: each for each in floor.told(e.EntrantReleased)}
    ids = {each.move_no: each.move_id for each in movers}
    assert all(said_between(each.table_no, released[ids[each.move_no]], each) for each in seats)


def test_hand_for_hand_ends_with_the_bubble_and_tables_deal_by_themselves_again():
    floor = bubble()
    while floor.state.hand_for_hand is not None:
        first, *others = floor.state.hand_for_hand.tables
        floor.hand(first, out=[floor.players_at(first)[0]], obey=False)
        for number in others:
            floor.hand(number, obey=False)
        floor.obey()

    assert floor.state.left == 12
    assert floor.told(e.HandForHandEnded)[0].players_left == 12
    assert {table.mode for table in floor.tables.values()} == {"automatic"}


def test_nobody_moves_while_a_round_is_played():
    floor = bubble()
    before = len(floor.told(e.BalancingOrdered)) + len(floor.told(e.TableBreaking))
    first = floor.state.hand_for_hand.tables[0]
    floor.hand(first, out=[floor.players_at(first)[0]])

    assert len(floor.told(e.BalancingOrdered)) + len(floor.told(e.TableBreaking)) == before


# Clock.


def test_a_level_begins_by_its_time_and_its_number_is_told_once():
    floor = field(9)
    assert next_due_ms(floor.state) == floor.state.clock.base_ms + 6 * 60_000
    floor.tick(next_due_ms(floor.state) - 1)
    floor.tick(next_due_ms(floor.state))

    assert [event.level_no for event in floor.told(e.LevelBegan)] == [1, 2]


def test_a_pause_stops_the_clock_of_every_table_and_the_rest_of_the_level_is_played_after_it():
    floor = field(20)
    floor.now += 120_000
    floor.do(c.Pause("op", "fire drill", floor.now))
    floor.obey()
    elapsed = floor.state.clock.elapsed_ms(floor.now)
    assert next_due_ms(floor.state) is None
    floor.now += 3_600_000
    assert floor.state.clock.elapsed_ms(floor.now) == elapsed
    floor.do(c.Resume("op", "over", floor.now))
    floor.obey()

    assert floor.state.clock.elapsed_ms(floor.now) == elapsed
    assert point_at(ladder(), elapsed).level_no == 1
    assert {table.clock_no for table in floor.tables.values()} == {3}
    assert floor.refuse(c.Resume("op", "", floor.now)) == "TOURNAMENT_NOT_PAUSED"


def test_a_table_that_is_opened_later_is_told_the_clock_and_that_it_stands():
    terms = EntryTerms(starts_at_ms=START_MS + 60_000, late_levels=2)
    floor = Floor(scheduled(size=3, entries=terms), 9)
    floor.do(c.Pause("op", "fire drill", floor.now))
    floor.obey()
    floor.do(floor.asks("late"))
    floor.obey(but=(o.SetClock,))
    opened = max(floor.tables)

    clocks = [order for order in o.pending_orders(floor.state) if isinstance(order, o.SetClock)]
    assert [(order.table_no, order.clock.paused_at_ms) for order in clocks] == [(opened, floor.now)]


def test_operators_give_a_reason():
    floor = field(9)

    assert floor.refuse(c.Pause("op", " ", floor.now)) == "REASON_REQUIRED"
    assert floor.refuse(c.Remove("p1", "op", "", floor.now)) == "REASON_REQUIRED"
    assert floor.refuse(c.Cancel("op", "", floor.now)) == "REASON_REQUIRED"


# Reports.


def test_a_hand_that_makes_or_moves_chips_is_refused():
    floor = Floor(sit_and_go(2, size=2), 2)

    def report(stacks, *, is_void=False, hand_no=1):
        seats = tuple(
            e.SeatResult(sitter.seat, sitter.player, sitter.stack, stack)
            for sitter, stack in zip(floor.state.tables[1].sitters, stacks, strict=True)
        )
        version = floor.versions[1] + 1
        return c.ReportHand(1, version, hand_no, is_void, 0, 0, 1, seats, floor.now, floor.now, floor.now)

    assert floor.refuse(report((1501, 1500))) == "CHIPS_DIFFER"
    assert floor.refuse(report((1400, 1600), is_void=True)) == "CHIPS_DIFFER"
    assert floor.refuse(report((1500, 1500), hand_no=2)) == "OUT_OF_ORDER"
    assert floor.do(report((1400, 1600))) != ()


def test_a_report_twice_or_late_tells_nothing_new():
    floor = field(20)
    table = floor.state.tables[1]
    player = table.sitters[0].player

    assert floor.do(c.ReportSeated(1, 1, "x", player, 0, floor.now)) == ()
    assert floor.do(c.ReportHand(1, table.version, 1, False, 0, 0, 1, (), 0, 0, floor.now)) == ()  # noqa: FBT003
    assert floor.do(c.ReportTableReady(1, 1, floor.now)) == ()


def test_what_nobody_ordered_is_not_believed():
    floor = field(20)
    player = floor.players_at(1)[0]
    version = floor.versions[1] + 1

    assert floor.refuse(c.ReportReleased(1, version, "x", player, 2000, 0, None, floor.now)) == "UNEXPECTED"
    assert floor.refuse(c.ReportReleased(1, version, "x", player, 1999, 0, None, floor.now)) == "CHIPS_DIFFER"
    assert floor.refuse(c.ReportSeated(1, version, "x", player, 5, floor.now)) == "UNEXPECTED"
    assert floor.refuse(c.ReportTableReady(99, 1, floor.now)) == "TABLE_NOT_FOUND"
