"""Getting in: entries by saga, withdrawals, late entries and re-entries, extra chips, bots, cancellation (TR-1 to TR-3)."""

import pytest
from msgspec.structs import replace

from diwan.core.tournament import commands as c
from diwan.core.tournament import events as e
from diwan.core.tournament import orders as o
from diwan.core.tournament.settings import BotTerms, EntryTerms, Payout
from diwan.core.tournament.timing import next_due_ms
from tests.property.tournament_fields import a_spin, scheduled, sit_and_go
from tests.property.tournament_sim import START_MS
from tests.unit.tournament.floor import Floor, pay_of

LATER = EntryTerms(starts_at_ms=START_MS + 600_000)
LATE = EntryTerms(
    starts_at_ms=START_MS + 600_000,
    late_levels=2,
    re_entries=1,
    rebuys=1,
    rebuy_price=50,
    rebuy_chips=1000,
    has_add_on=True,
    add_on_price=70,
    add_on_chips=3000,
)


def entry(floor, player):
    return floor.state.entrants[player].standing


def test_an_entry_counts_when_it_is_paid_for_and_not_before():
    floor = Floor(scheduled(entries=LATER))
    floor.do(floor.asks("ann"))

    assert (entry(floor, "ann"), floor.state.accepted) == ("requested", 0)
    floor.obey()
    assert (entry(floor, "ann"), floor.state.accepted) == ("registered", 1)
    assert pay_of(floor, "entry/1") == 110


def test_a_refused_entry_is_final_and_the_player_may_enter_again():
    floor = Floor(scheduled(entries=LATER))
    floor.refused = {"entry/1"}
    floor.enter("ann")

    assert entry(floor, "ann") == "none"
    assert floor.told(e.EntryEnded)[0].reason == "INSUFFICIENT_FUNDS"
    floor.enter("ann")
    assert entry(floor, "ann") == "registered"
    assert floor.state.accepted == 1


def test_nobody_enters_twice_nor_a_full_tournament_nor_one_that_is_not_open():
    floor = Floor(scheduled(entries=replace(LATER, opens_at_ms=START_MS + 1000), players_max=2), play=False)

    assert floor.refuse(floor.asks("ann")) == "REGISTRATION_NOT_OPEN"
    floor.tick(START_MS + 1000)
    floor.enter("ann")
    assert floor.refuse(floor.asks("ann")) == "ALREADY_ENTERED"
    floor.enter("ben")
    assert floor.refuse(floor.asks("cid")) == "TOURNAMENT_FULL"


def test_who_withdraws_before_play_gets_entry_and_fee_back():
    floor = Floor(scheduled(entries=LATER), 3, play=False)
    floor.do(c.Withdraw("p1", floor.now))
    floor.obey()

    assert pay_of(floor, "refund/2") == 110
    assert (floor.state.accepted, floor.state.pool, floor.state.fees) == (2, 200, 20)
    assert floor.refuse(c.Withdraw("p1", floor.now)) == "NOT_ENTERED"


def test_a_payment_that_comes_in_after_the_withdrawal_goes_back():
    floor = Floor(scheduled(entries=LATER))
    floor.do(floor.asks("ann"))
    floor.do(c.Withdraw("ann", floor.now))
    floor.obey()

    assert floor.state.accepted == 0
    assert pay_of(floor, "entry/1") == pay_of(floor, "refund/1") == 110


def test_who_withdrew_and_is_refused_by_the_wallet_may_still_enter():
    """An entry that was given back is none: it neither makes a player one who is out nor uses up a re-entry."""
    floor = Floor(scheduled(size=9, entries=LATE), 3, play=False, refused=["entry/5"])
    floor.enter("ann")
    floor.do(c.Withdraw("ann", floor.now))
    floor.obey()
    floor.enter("ann")
    assert (entry(floor, "ann"), floor.state.entrants["ann"].entries) == ("none", 0)

    floor.enter("ann")
    assert entry(floor, "ann") == "registered"
    floor.enter("ben")
    floor.tick(LATE.starts_at_ms)
    floor.hand(1, out=["ann"])
    floor.enter("ann")
    assert entry(floor, "ann") == "playing"


def test_nobody_withdraws_once_seats_are_drawn():
    floor = Floor(scheduled(entries=LATER), 3)

    assert floor.refuse(c.Withdraw("p1", floor.now)) == "TOURNAMENT_STARTED"


def test_the_same_answer_of_the_wallet_twice_tells_nothing_new():
    floor = Floor(scheduled(entries=LATER), 2, play=False)

    assert floor.do(c.ReportPayment("entry/1", 0, is_refused=False, reason="", now_ms=floor.now)) == ()
    assert floor.do(c.ReportPayment("entry/99", 0, is_refused=False, reason="", now_ms=floor.now)) == ()


def test_with_too_few_at_the_start_everything_goes_back():
    floor = Floor(scheduled(entries=LATER, players_min=4, payout=Payout(guarantee=900)), 3)

    assert floor.state.phase == "finished"
    assert floor.state.cancelled == "too_few"
    assert [pay_of(floor, f"refund/{number}") for number in (1, 2, 3)] == [110, 110, 110]
    assert pay_of(floor, "guarantee/reserved") == pay_of(floor, "guarantee/returned") == 900


def test_registration_is_never_opened_where_the_house_cannot_pay_the_guarantee():
    floor = Floor(scheduled(entries=LATER, payout=Payout(guarantee=900)), refused={"guarantee/reserved"})

    assert floor.state.cancelled == "house_short"
    assert floor.state.phase == "finished"
    assert floor.told(e.RegistrationOpened) == []


def test_a_guarantee_pays_what_entries_lack_and_the_rest_of_it_goes_home():
    floor = Floor(scheduled(entries=LATER, payout=Payout(guarantee=900)), 5)
    floor.finish()

    assert sum(payment.amount for payment in floor.paid if payment.code == "prize") == 900
    assert pay_of(floor, "guarantee/returned") == 500
    assert pay_of(floor, "fee") == 50


def test_a_sit_and_go_starts_with_its_last_seat():
    floor = Floor(sit_and_go(3, size=3), 2)

    assert floor.state.phase == "registering"
    floor.enter("last")
    assert floor.state.phase == "playing"
    assert len(floor.players_at(1)) == 3


def test_a_late_entry_gets_a_full_stack_at_a_shortest_table():
    """TDA R8."""
    floor = Floor(scheduled(size=4, entries=LATE), 7)
    shortest = min(floor.tables.values(), key=lambda table: table.size).table_no
    floor.enter("late")
    drawn = floor.told(e.SeatsDrawn)[-1]

    assert (drawn.rule, drawn.purpose, drawn.table_no) == ("TDA R8", "late", shortest)
    assert floor.table_of("late").sitter("late").stack == 2000


def test_where_all_tables_are_full_a_late_entry_opens_one_and_others_move_there():
    floor = Floor(scheduled(size=3, entries=LATE), 9)
    floor.enter("late")
    for _ in range(3):
        for number in list(floor.tables):
            if len(floor.players_at(number)) > 1:
                floor.hand(number)

    assert len(floor.tables) == 4
    assert sorted(table.size for table in floor.tables.values()) == [2, 2, 3, 3]
    assert {event.rule for event in floor.told(e.BalancingOrdered)} == {"TDA R11-A"}


def test_who_is_out_may_enter_again_as_often_as_the_conditions_say():
    floor = Floor(scheduled(size=9, entries=LATE), 8)
    floor.hand(1, out=["p3"])
    floor.enter("p3")

    assert entry(floor, "p3") == "playing"
    assert floor.told(e.EntryRequested)[-1].kind == "re_entry"
    assert floor.state.accepted == 9
    floor.hand(1, out=["p3"])
    assert floor.refuse(floor.asks("p3")) == "RE_ENTRY_NOT_ALLOWED"


def test_late_entries_end_with_their_level_and_at_the_money_at_the_latest():
    floor = Floor(scheduled(size=9, entries=LATE), 8)
    floor.bust_down_to(3)
    assert floor.state.is_open
    floor.bust_down_to(2)
    assert floor.told(e.RegistrationClosed)[0].cause == "money"
    timed = Floor(scheduled(size=9, entries=LATE), 8)
    timed.tick(timed.now + 30 * 60_000)
    assert timed.told(e.RegistrationClosed)[0].cause == "time"
    assert timed.refuse(timed.asks("late")) == "REGISTRATION_CLOSED"


def test_an_entry_asked_for_in_time_counts_although_it_is_paid_after_the_close():
    floor = Floor(scheduled(size=9, entries=LATE), 4)
    floor.do(floor.asks("late"))
    floor.do(c.Tick(floor.now + 30 * 60_000))

    assert floor.state.is_closed
    assert floor.state.prizes is None
    floor.obey()
    assert entry(floor, "late") == "playing"
    assert sum(floor.state.prizes) == 500


def test_a_rebuy_and_an_add_on_bring_chips_for_their_price():
    floor = Floor(scheduled(size=9, entries=LATE), 4)
    floor.do(c.BuyExtra("p1", "rebuy", floor.now))
    assert floor.refuse(c.BuyExtra("p1", "add_on", floor.now)) == "EXTRA_PENDING"
    floor.obey()
    assert floor.table_of("p1").sitter("p1").stack == 3000
    assert floor.refuse(c.BuyExtra("p1", "rebuy", floor.now)) == "EXTRA_NOT_ALLOWED"
    floor.do(c.BuyExtra("p1", "add_on", floor.now))
    floor.obey()

    assert floor.table_of("p1").sitter("p1").stack == 6000
    assert floor.refuse(c.BuyExtra("p1", "add_on", floor.now)) == "EXTRA_NOT_ALLOWED"
    assert floor.state.pool == 400 + 50 + 70
    assert floor.state.chips_in_play == 8000 + 4000


def test_extra_chips_for_who_goes_out_before_they_come_are_paid_back():
    floor = Floor(scheduled(size=9, entries=LATE), 6)
    floor.do(c.BuyExtra("p1", "rebuy", floor.now))
    floor.hand(1, out=["p1"], obey=False)
    floor.obey()

    assert pay_of(floor, "extra/1") == pay_of(floor, "extra_refund/1") == 50
    assert floor.state.pool == 600


def test_a_refused_rebuy_may_be_asked_for_again():
    floor = Floor(scheduled(size=9, entries=LATE), 6)
    floor.refused = {"extra/1"}
    floor.do(c.BuyExtra("p1", "rebuy", floor.now))
    floor.obey()
    floor.do(c.BuyExtra("p1", "rebuy", floor.now))
    floor.obey()

    assert floor.table_of("p1").sitter("p1").stack == 3000


def test_bots_come_only_where_seats_stay_free_and_only_as_many_as_the_conditions_say():
    floor = Floor(sit_and_go(4, size=4, bots=BotTerms(up_to=2, after_ms=30_000)), 1)

    assert floor.refuse(floor.asks("bot:1", is_bot=True)) == "BOTS_NOT_WANTED"
    floor.tick(floor.now + 30_000)
    assert floor.told(e.BotsWanted)[0].count == 2
    floor.enter("bot:1", is_bot=True)
    floor.enter("bot:2", is_bot=True)
    assert floor.refuse(floor.asks("bot:3", is_bot=True)) == "BOTS_NOT_WANTED"
    floor.enter("ben")
    assert floor.state.phase == "playing"
    assert floor.state.entrants["bot:1"].is_bot


def test_for_a_bot_whose_entry_the_wallet_refuses_none_comes_at_once_but_after_a_while():
    """Else a bots' account that pays nothing would be asked without end, or a Sit & Go would stand still for ever."""
    floor = Floor(sit_and_go(4, size=4, bots=BotTerms(up_to=2, after_ms=1)), 1, refused=["entry/2"])
    floor.tick(floor.now + 1)
    floor.enter("bot:1", is_bot=True)
    assert floor.told(e.EntryEnded)[0].cause == "refused"

    assert floor.state.more_bots == 1
    floor.enter("bot:2", is_bot=True)
    assert floor.state.more_bots == 0
    assert floor.refuse(floor.asks("bot:3", is_bot=True)) == "BOTS_NOT_WANTED"
    floor.tick(floor.now + 59_999)
    assert floor.state.more_bots == 0
    assert next_due_ms(floor.state) == floor.now + 1
    floor.tick(floor.now + 1)
    assert floor.state.more_bots == 1
    floor.enter("bot:3", is_bot=True)
    assert [each.count for each in floor.told(e.BotsWanted)] == [2, 2]
    floor.enter("ben")
    assert floor.state.phase == "playing"


def test_bots_that_the_wallet_goes_on_refusing_are_asked_for_ever_more_rarely():
    floor = Floor(sit_and_go(2, size=2, bots=BotTerms(up_to=1, after_ms=1)), 1)
    floor.refused = {f"entry/{number}" for number in range(2, 9)}
    floor.tick(floor.now + 1)
    waits = []
    for number in range(6):
        floor.enter(f"bot:{number}", is_bot=True)
        waits.append(next_due_ms(floor.state) - floor.now)
        floor.tick(next_due_ms(floor.state))

    assert [wait // 60_000 for wait in waits] == [1, 5, 15, 60, 60, 60]


@pytest.mark.parametrize("how", ["unregisters", "is removed", "is refused"])
def test_bots_go_home_when_the_last_person_goes_and_come_again_for_the_next(how):
    """CL-6: they come for people; none plays a Sit & Go alone, though they may be as many as its seats."""
    floor = Floor(sit_and_go(4, size=4, bots=BotTerms(up_to=4, after_ms=1000)))
    floor.do(floor.asks("ann"))
    if how != "is refused":
        floor.obey()
    floor.tick(floor.now + 1000) if how != "is refused" else floor.do(c.Tick(floor.now + 1000))
    floor.do(floor.asks("bot:1", is_bot=True))
    floor.do(floor.asks("bot:2", is_bot=True))
    match how:
        case "unregisters":
            floor.done(o.Pay(floor.state.payments["entry/2"].payment, 0))
            floor.do(c.Withdraw("ann", floor.now))
        case "is removed":
            floor.do(c.Remove("ann", "op", "case 17", floor.now))
        case _:
            floor.refused = {"entry/1"}
    floor.obey()

    assert floor.state.accepted == floor.state.open_entries == floor.state.bots == 0
    assert {floor.state.entrants[bot].standing for bot in ("bot:1", "bot:2")} == {"none"}
    assert pay_of(floor, "refund/2") == pay_of(floor, "refund/3") == 110
    assert floor.refuse(floor.asks("bot:3", is_bot=True)) == "BOTS_NOT_WANTED"
    assert next_due_ms(floor.state) is None
    floor.enter("ben")
    assert next_due_ms(floor.state) == floor.now + 1000
    floor.tick(floor.now + 1000)
    for number in range(3, 6):
        floor.enter(f"bot:{number}", is_bot=True)
    assert floor.state.phase == "playing"


def test_a_bot_gives_its_place_to_a_person_who_finds_none_free():
    """CL-6: the one that came last, entry and fee go back; only before seats are drawn, and never to another bot."""
    floor = Floor(scheduled(entries=LATER, players_max=3, bots=BotTerms(up_to=2, after_ms=600_000)), 1, play=False)
    floor.tick()
    floor.enter("bot:1", is_bot=True)
    floor.enter("bot:2", is_bot=True)
    floor.enter("ann")

    assert (entry(floor, "bot:1"), entry(floor, "bot:2"), entry(floor, "ann")) == ("registered", "none", "registered")
    assert pay_of(floor, "refund/3") == 110
    assert floor.refuse(floor.asks("bot:3", is_bot=True)) == "TOURNAMENT_FULL"
    floor.enter("ben")
    assert entry(floor, "bot:1") == "none"
    assert floor.refuse(floor.asks("cid")) == "TOURNAMENT_FULL", "people give way to nobody"
    assert (floor.state.accepted, floor.state.bots) == (3, 0)
    floor.tick(LATER.starts_at_ms)
    assert floor.state.phase == "playing"


def test_a_bot_whose_entry_is_under_way_gives_way_too_and_gets_it_back():
    floor = Floor(sit_and_go(3, size=3, bots=BotTerms(up_to=2, after_ms=1)), 1)
    floor.tick(floor.now + 1)
    floor.do(floor.asks("bot:1", is_bot=True))
    floor.do(floor.asks("bot:2", is_bot=True))
    floor.do(floor.asks("ann"))
    floor.obey()

    assert floor.state.phase == "playing"
    assert {each.player for event in floor.told(e.SeatsDrawn) for each in event.seats} == {"p0", "ann", "bot:1"}
    assert pay_of(floor, "refund/3") == 110


def test_bots_of_a_scheduled_tournament_stay_where_no_person_is():
    """Its conditions say that it is played by bots, and when."""
    floor = Floor(scheduled(entries=LATER, bots=BotTerms(up_to=4, after_ms=600_000)), 1, play=False)
    floor.tick()
    floor.enter("bot:1", is_bot=True)
    floor.do(c.Withdraw("p0", floor.now))

    assert floor.state.entrants["bot:1"].standing == "registered"


def test_a_bots_prize_goes_to_the_bots_account():
    floor = Floor(sit_and_go(2, size=2, bots=BotTerms(up_to=1, after_ms=1)), 1)
    floor.tick(floor.now + 1)
    floor.enter("bot:1", is_bot=True)
    floor.hand(1, out=["p0"], by="bot:1")

    prize = next(payment for payment in floor.paid if payment.code == "prize")
    assert (prize.taker, prize.player, prize.amount) == ("bots", "bot:1", 200)


def test_a_spins_difference_is_one_line_of_the_house():
    """E-TR-1: three fees of 100 come in, the multiplier says what goes out, the rest is the house's."""
    floor = Floor(a_spin(), 3)
    times = floor.told(e.MultiplierDrawn)[0].times
    floor.finish()

    assert pay_of(floor, "guarantee/reserved") == 99_700
    assert sum(payment.amount for payment in floor.paid if payment.code == "prize") == 100 * times
    assert pay_of(floor, "guarantee/returned") == 99_700 + 300 - 100 * times


def test_the_multiplier_is_drawn_before_anybody_is_seated_and_by_the_first_secret():
    """F1, F7: committed to in the first event, shown with the draw, with the list of entrants mixed in."""
    floor = Floor(a_spin(), 3)
    kinds = [type(event).__name__ for event in floor.events]
    drawn = floor.told(e.Drawn)[0]

    assert kinds.index("Drawn") < kinds.index("MultiplierDrawn") < kinds.index("TableOpened") < kinds.index("PlayBegan")
    assert drawn.draw_no == 1
    assert floor.commitment(1) == floor.told(e.TournamentCreated)[0].commitment
    assert len(drawn.entrants_digest) == 32
    assert drawn.next_commitment == floor.commitment(2)


def test_what_the_operator_removes_before_play_gets_everything_back_and_stays_out():
    floor = Floor(scheduled(entries=LATER), 3, play=False)
    floor.do(c.Remove("p1", "op", "excluded", floor.now))
    floor.obey()

    assert pay_of(floor, "refund/2") == 110
    assert floor.refuse(floor.asks("p1")) == "PLAYER_REMOVED"
    floor.enter("p9")
    floor.tick(LATER.starts_at_ms)
    floor.finish()
    assert floor.state.phase == "finished"
