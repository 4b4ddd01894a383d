"""The time bank: a sitting's own time after the decision clock (RULES.md table defaults, CL-2, H7)."""

from msgspec.structs import replace

from diwan.core.hand.commands import Act, ExpireClock, MoveDeadline
from diwan.core.hand.events import Acted, HandStarted, TimeBankBegan, WindowOpened
from diwan.core.hand.settings import HandSettings, NaikoSettings
from diwan.core.redact import public_view
from diwan.core.table.events import SatOut
from tests.unit.table.play import Table

DECISION_MS = 20_000


def heads_up(bank=30, gain=1, **more):
    table = Table(time_bank_seconds=bank, time_bank_gain_seconds=gain, **more)
    table.seat("ann")
    table.seat("ben")
    table.start()
    return table


def bank_of(table, seat):
    return table.state.seat(seat).time_bank_ms


def shown(table):
    return public_view(table.state, table.cards, names={}, next_hand_id="next")


def test_at_the_end_of_the_clock_the_bank_runs_and_the_same_decision_stays_open():
    table = heads_up()
    seat, turn, deadline = table.to_act, table.live.turn, table.live.deadline_ms
    table.now = deadline + 40
    batch = table.when(ExpireClock(seat, turn, table.state.version, table.now))
    assert batch == (TimeBankBegan(seat, turn, 30_000, deadline + 30_000, deadline + 40),)
    assert (table.to_act, table.live.turn) == (seat, turn)
    acted = table.act("call")[0]
    assert acted.bank_spent_ms == 40, "counted from the clock's end, however late that was noticed"


def test_what_a_decision_takes_of_the_bank_is_gone():
    table = heads_up()
    seat = table.to_act
    table.time_out()
    table.now += 12_345
    assert table.act("call")[0].bank_spent_ms == 12_345
    assert bank_of(table, seat) == 30_000 - 12_345


def test_an_empty_bank_leaves_the_clock_to_decide():
    table = heads_up()
    seat = table.to_act
    table.time_out()
    table.now += 29_999
    assert table.refused(ExpireClock(seat, table.live.turn, table.state.version, table.now))[0] == "CLOCK_RUNNING"
    folded = table.time_out()[0]
    assert (folded.kind, folded.decided_by, folded.bank_spent_ms) == ("fold", "clock", 30_000)
    assert bank_of(table, seat) == 0


def test_an_action_counts_up_to_the_end_of_the_bank_and_not_later():
    """H7, G3."""
    table = heads_up()
    table.time_out()
    end = table.live.deadline_ms
    late = Act(table.to_act, "call", 0, table.live.turn, table.state.version, end + 1)
    assert table.refused(late)[0] == "DEADLINE_PASSED"
    table.now = end
    assert table.act("call")[0].bank_spent_ms == 30_000


def test_a_bank_begins_once_a_decision_and_running_out_of_it_counts_as_one_decision_of_the_clock():
    table = heads_up(sit_out_after=1)
    seat = table.to_act
    first = table.time_out()
    assert not any(isinstance(event, SatOut) for event in first)
    assert any(isinstance(event, SatOut) and event.seat == seat for event in table.time_out())


def test_every_hand_dealt_in_gives_some_back_up_to_the_whole():
    table = heads_up(bank=10, gain=4)
    seat = table.to_act
    table.time_out()
    table.now += 7_000
    table.act("fold")
    assert bank_of(table, seat) == 3_000
    for left in (7_000, 10_000, 10_000):
        table.now += 60_000
        started = table.start()[0]
        assert isinstance(started, HandStarted)
        assert started.time_banks_ms[table.live.deal.places[seat]] == left
        table.fold_out()


def test_bots_have_none():
    table = Table(time_bank_seconds=30)
    table.seat("ann")
    table.seat("robot", is_bot=True)
    started = table.start()[0]
    assert started.time_banks_ms == (30_000, 0)
    while table.to_act == 0:
        table.act("call")
    assert isinstance(table.time_out()[0], Acted)


def test_a_table_without_banks_says_nothing_of_them():
    table = heads_up(bank=0)
    assert table.live.deal.started.time_banks_ms == ()
    assert isinstance(table.time_out()[0], Acted)


def test_who_stands_up_is_not_waited_for():
    """A11: the room decides for the leaver at once, also while the bank runs."""
    table = heads_up()
    seat = table.to_act
    table.time_out()
    table.now += 1_000
    batch = table.stand_up(table.state.seat(seat).player)
    acted = next(event for event in batch if isinstance(event, Acted))
    assert (acted.seat, acted.decided_by, acted.bank_spent_ms) == (seat, "system", 1_000)


def test_a_new_sitting_has_a_whole_bank():
    table = heads_up()
    player = table.state.seat(table.to_act).player
    table.time_out()
    table.now += 20_000
    table.act("fold")
    table.stand_up(player)
    table.now += 3_600_000
    table.seat(player)
    assert table.state.seat_of(player).time_bank_ms is None
    assert {seat.time_bank_ms for seat in shown(table).seats} == {30_000}


def test_an_outage_gives_back_what_the_bank_would_have_lost():
    """O7: the deadline is an interval, so is the bank."""
    table = heads_up()
    table.time_out()
    table.now += 10_000
    end = table.live.deadline_ms + 60_000
    table.now += 60_000
    table.when(MoveDeadline(table.live.turn, end, "outage", table.state.version, table.now))
    table.now += 5_000
    assert table.act("call")[0].bank_spent_ms == 15_000


def test_a_response_window_knows_no_bank_and_the_declarer_s_bank_stands_still_in_it():
    """NK-40."""
    naiko = NaikoSettings(gain_per_deal=3)
    table = Table(time_bank_seconds=30, hand=HandSettings(game="naiko", naiko=naiko))
    for player in ("ann", "ben", "cid"):
        table.seat(player)
    while True:
        table.start()
        if {"short_anchor", "seal_shield"} <= set(table.live.deal.started.naiko.carousel):
            break
        table.fold_out()
    declarer = table.to_act
    table.time_out()
    table.now += 4_000
    target = next(seat for seat in table.live.deal.seats if seat != declarer)
    opened = table.use("short_anchor", target=target)[-1]
    assert isinstance(opened, WindowOpened)
    assert opened.remaining_ms == 26_000
    assert shown(table).hand.decision is None
    table.now = opened.deadline_ms
    table.when(ExpireClock(target, table.live.asked_turn, table.state.version, table.now))
    assert not isinstance(table.batches[-1][0], TimeBankBegan)
    table.now += 1_000
    assert shown(table).hand.decision.is_time_bank_running
    assert table.act("fold")[0].bank_spent_ms == 5_000


def test_the_view_tells_what_is_left_and_that_it_runs():
    table = heads_up()
    decision = shown(table).hand.decision
    assert not decision.is_time_bank_running
    assert [seat.time_bank_ms for seat in shown(table).seats] == [30_000, 30_000]
    table.time_out()
    after = shown(table).hand.decision
    assert after == replace(decision, is_time_bank_running=True, deadline_ms=decision.deadline_ms + 30_000)
    table.now += 1_500
    seat = table.to_act
    table.act("call")
    assert shown(table).seats[seat].time_bank_ms == 28_500
