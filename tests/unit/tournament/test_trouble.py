"""What goes wrong: tournaments called off by the published policy, payments that fail, prizes that still always come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diwan.core.tournament import commands as c
from diwan.core.tournament import events as e
from diwan.core.tournament import orders as o
from diwan.core.tournament.payouts import band, prizes_of
from diwan.core.tournament.settings import EntryTerms, Payout
from diwan.core.tournament.timing import next_due_ms
from diwan.core.tournament.trouble import shares_called_off
from tests.property.tournament_fields import a_spin, scheduled, sit_and_go
from tests.property.tournament_sim import START_MS
from tests.unit.tournament.floor import Floor, pay_of

START = EntryTerms(starts_at_ms=START_MS + 60_000)


def paid_to(floor, player, *codes):
    return sum(p.amount for p in floor.paid if p.player == player and p.code in codes)


def check_pool_is_empty(floor):
    into = sum(p.amount for p in floor.paid if p.taker == "pool")
    out = sum(p.amount for p in floor.paid if p.giver == "pool")
    assert into == out


@pytest.mark.parametrize("config", [scheduled(entries=START, payout=Payout(guarantee=5000)), a_spin()])
def test_called_off_before_play_everything_goes_back(config):
    floor = Floor(config, 2, play=False)
    floor.do(c.Cancel("op", "no power", floor.now))
    floor.obey()

    assert floor.state.phase == "finished"
    assert [paid_to(floor, f"p{number}", "refund") for number in (0, 1)] == [config.entry + config.fee] * 2
    check_pool_is_empty(floor)


def test_called_off_while_seats_are_taken_everything_goes_back():
    floor = Floor(scheduled(entries=START), 5, play=False)
    floor.do(c.Tick(START.starts_at_ms))
    floor.do(c.Cancel("op", "no power", floor.now))
    floor.obey()

    assert floor.state.phase == "finished"
    assert sum(p.amount for p in floor.paid if p.code == "refund") == 550
    check_pool_is_empty(floor)


def test_a_drawn_multiplier_stands_though_the_spin_is_called_off_before_its_first_hand():
    """F1: who sees what was drawn must not be able to undo it."""
    floor = Floor(a_spin(), 3, play=False)
    drawn = floor.told(e.MultiplierDrawn)[0].times
    floor = Floor(a_spin(), 2, play=False)
    floor.do(floor.asks("p2"))
    floor.obey(but=(o.SeatEntrant,))
    assert (floor.state.phase, floor.told(e.MultiplierDrawn)[0].times) == ("seating", drawn)
    floor.do(c.Cancel("op", "too much", floor.now))
    floor.obey()

    assert floor.state.phase == "finished"
    fees = 3 * floor.config.fee
    assert sum(p.amount for p in floor.paid if p.code == "prize") == drawn * floor.config.entry + fees
    assert not [p for p in floor.paid if p.code == "refund"]
    check_pool_is_empty(floor)


def test_called_off_with_paid_chips_under_way_their_price_goes_back_once():
    """It is the buyer's again, and so no part of what is shared."""
    terms = EntryTerms(starts_at_ms=START_MS + 60_000, late_levels=2, rebuys=1, rebuy_price=50, rebuy_chips=1000)
    floor = Floor(scheduled(entries=terms), 4)
    floor.do(c.BuyExtra("p1", "rebuy", floor.now))
    floor.obey(but=(o.AddChips,))
    assert floor.told(e.ExtraPaid)
    floor.do(c.Cancel("op", "fire", floor.now))
    floor.obey()

    assert floor.state.phase == "finished"
    assert pay_of(floor, "extra_refund/1") == 50
    check_pool_is_empty(floor)


def test_called_off_before_the_money_half_is_shared_equally_and_half_by_chips():
    """Page e2; the fee of who is still in goes back too."""
    floor = Floor(sit_and_go(4, size=4), 4)
    order = floor.players_at(1)
    floor.hand(1, out=[order[3]], by=order[0])
    floor.do(c.Cancel("op", "fire", floor.now))
    floor.obey()

    cancelled = floor.told(e.TournamentCancelled)[0]
    assert cancelled.policy.startswith("before the money")
    # 400 in the pool: 200 in three parts, the odd chips to the earliest entries; 200 as 3000, 1500, 1500.
    shares = {player: pay_of(floor, f"share/{player}") - 10 for player in order[:3]}
    assert sum(shares.values()) == 400
    assert shares[order[0]] in (166, 167)
    assert paid_to(floor, order[3], "prize", "refund") == 0
    assert pay_of(floor, "fee") == 10
    check_pool_is_empty(floor)


def test_called_off_in_the_money_everybody_gets_the_lowest_open_prize_and_the_rest_by_chips():
    """Page e2."""
    floor = Floor(sit_and_go(10, size=5), 10)
    floor.bust_down_to(3)
    chips = {p: floor.table_of(p).sitter(p).stack for p in floor.players_at(max(floor.tables))}
    floor.do(c.Cancel("op", "fire", floor.now))
    floor.obey()

    assert floor.told(e.TournamentCancelled)[0].policy.startswith("in the money")
    lowest, rest = 200, 1000 - 3 * 200
    for player, stack in chips.items():
        assert abs(pay_of(floor, f"share/{player}") - 10 - lowest - rest * stack / 15_000) < 1
    check_pool_is_empty(floor)


def test_called_off_with_some_paid_already_their_prizes_stand():
    floor = Floor(sit_and_go(10, size=5), 10)
    floor.bust_down_to(2)
    third = next(p for p in floor.paid if p.code == "prize")
    floor.do(c.Cancel("op", "fire", floor.now))
    floor.obey()

    assert third.amount == 200
    assert sum(p.amount for p in floor.paid if p.code == "prize") == 1000 + 2 * 10
    check_pool_is_empty(floor)


@given(st.integers(0, 10**9), st.lists(st.integers(1, 10**9), min_size=1, max_size=30))
def test_a_shared_pool_sums_to_the_chip_and_more_chips_never_get_less(pool, stacks):
    stacks = sorted(stacks, reverse=True)
    shares = shares_called_off(pool, (), stacks, in_money=False)

    assert sum(shares) == pool
    assert list(shares) == sorted(shares, reverse=True)


@given(st.integers(1000, 10**9), st.lists(st.integers(1, 10**6), min_size=1, max_size=20))
def test_in_the_money_nobody_gets_less_than_the_lowest_open_prize(pool, stacks):
    prizes = prizes_of(pool, band(200))
    shares = shares_called_off(pool, prizes, stacks, in_money=True)

    assert sum(shares) == sum(prizes[: len(stacks)])
    assert min(shares) >= prizes[len(stacks) - 1]


def test_nobody_is_removed_from_a_called_off_tournament_to_be_paid_twice():
    floor = Floor(sit_and_go(4, size=4, payout=Payout(table="shares", shares=(40_000, 30_000, 20_000, 10_000))), 4)
    floor.do(c.Cancel("op", "fire", floor.now))

    assert floor.refuse(c.Remove("p1", "op", "too late", floor.now)) == "TOURNAMENT_OVER"
    floor.obey()
    check_pool_is_empty(floor)


def test_a_called_off_tournament_cannot_be_called_off_again_nor_entered():
    floor = Floor(scheduled(entries=START), 2, play=False)
    floor.do(c.Cancel("op", "x", floor.now))

    assert floor.refuse(c.Cancel("op", "x", floor.now)) == "TOURNAMENT_OVER"
    assert floor.refuse(floor.asks("late")) == "REGISTRATION_CLOSED"


def test_an_entry_that_is_paid_for_after_the_cancellation_comes_back():
    floor = Floor(scheduled(entries=START))
    floor.do(floor.asks("ann"))
    floor.do(c.Cancel("op", "x", floor.now))
    assert floor.state.phase == "paying"
    floor.obey()

    assert pay_of(floor, "entry/1") == pay_of(floor, "refund/1") == 110
    assert floor.state.phase == "finished"


def test_a_tournament_is_finished_only_when_every_payment_is_confirmed():
    floor = Floor(sit_and_go(2, size=2), 2)
    floor.refused = {"prize/1/p1"}
    floor.hand(1, out=["p0"])
    assert floor.state.phase == "paying"
    floor.refused = set()
    floor.obey()

    assert floor.state.phase == "finished"


def test_a_prize_that_is_refused_is_asked_for_again_under_another_name_for_ever():
    """L5: a refused transfer stays refused, so every attempt is a transfer of its own; one at a time."""
    floor = Floor(sit_and_go(2, size=2), 2)
    floor.refused = {"prize/1/p1"}
    floor.hand(1, out=["p0"])
    names = []
    for attempt in range(50):
        order = next(each for each in o.payment_orders(floor.state) if each.payment.code == "prize")
        names.append(order.name)
        late = c.ReportPayment("prize/1/p1", attempt, is_refused=True, reason="ACCOUNT_FROZEN", now_ms=floor.now)
        assert floor.do(late) != ()
        assert floor.do(late) == (), "a late copy of a refusal asks for nothing more"
    floor.refused = set()
    floor.obey()

    assert names[:3] == ["prize/1/p1", "prize/1/p1#1", "prize/1/p1#2"]
    assert len(set(names)) == 50
    assert pay_of(floor, "prize/1/p1") == 200
    assert floor.state.phase == "finished"


def test_a_payment_that_is_not_settled_for_long_is_told_of_once():
    floor = Floor(sit_and_go(2, size=2), 2)
    floor.refused = {"prize/1/p1"}
    floor.hand(1, out=["p0"])
    assert next_due_ms(floor.state) == floor.now + 60_000
    floor.tick(floor.now + 60_000)

    assert [event.key for event in floor.told(e.PaymentOverdue)] == ["prize/1/p1"]
    assert next_due_ms(floor.state) is None
    assert floor.tick(floor.now + 600_000) == ()


def test_nothing_follows_a_finished_tournament():
    floor = Floor(sit_and_go(2, size=2), 2)
    floor.finish()

    assert list(o.pending_orders(floor.state)) == []
    assert next_due_ms(floor.state) is None
    assert floor.tick(floor.now + 10**9) == ()
    assert floor.state.is_over


def test_a_table_that_stands_still_for_good_holds_up_a_redraw_and_everybody_is_paid_once_it_is_called_off():
    floor = Floor(scheduled(entries=START), 13)
    dead = floor.state.in_play[-1]
    floor.deaf.add(dead)
    while floor.state.redraw is None:
        number = floor.state.in_play[0]
        floor.hand(number, out=[floor.players_at(number)[-1]])
    floor.tick(floor.now + 3_600_000)
    assert [(type(order), order.table_no) for order in o.pending_orders(floor.state)] == [(o.SetStartMode, dead)]
    floor.do(c.Cancel("op", "a table is broken", floor.now))
    floor.obey()

    check_pool_is_empty(floor)
    assert list(o.pending_orders(floor.state)) == [o.CloseTable(dead, floor.state.tables[dead].table_id)]
    assert floor.state.phase == "paying"
    floor.deaf.clear()
    floor.obey()
    assert floor.state.phase == "finished"
