"""Taking a seat, bringing chips, coming back (RULES.md "table defaults" and "joining", TB-1, TB-2)."""

import pytest

from diwan.core.table.commands import FundSeat, RefuseBuyIn, RequestTopUp
from diwan.core.table.events import BuyInRefused, BuyInRequested, SeatFunded, TopUpRequested
from tests.unit.table.play import Table, asking, kinds, transfer_of


def request(table, player="ann", *, amount=100, seat=None, now=None):
    return asking(player, transfer_of(player), now or table.now, seat=seat, amount=amount)


def test_a_seat_is_reserved_until_the_wallet_has_answered_and_then_holds_the_chips():
    """TB-1: the chips stand at the seat only once they are in escrow; the transfer names the sitting."""
    table = Table()
    assert table.when(request(table)) == (
        BuyInRequested(
            0,
            "ann",
            is_bot=False,
            amount=100,
            transfer_id=transfer_of("ann"),
            requested_at_ms=table.now,
            post_at_once=False,
        ),
    )
    assert table.state.seat(0).stack == 0
    assert table.when(FundSeat(transfer_of("ann"), table.now)) == (SeatFunded(0, 100, transfer_of("ann"), table.now),)
    assert (table.state.seat(0).stack, table.state.seat(0).sitting) == (100, transfer_of("ann"))


def test_a_refused_buy_in_frees_the_seat():
    table = Table()
    table.when(request(table))
    batch = table.when(RefuseBuyIn(transfer_of("ann"), "EXCEEDS_BALANCE", table.now))
    assert batch == (BuyInRefused(0, transfer_of("ann"), "EXCEEDS_BALANCE", table.now),)
    assert table.state.seats == ()


def test_an_answer_for_a_transfer_that_nobody_waits_for_is_refused():
    table = Table()
    table.seat("ann")
    again = FundSeat(table.state.seat(0).sitting, table.now)
    assert table.refused(again)[0] == "UNEXPECTED"
    assert table.refused(RefuseBuyIn(transfer_of("nobody"), "X", table.now))[0] == "UNEXPECTED"


@pytest.mark.parametrize("amount", [39, 201, 0, -5, 2**60])
def test_a_buy_in_is_20_to_100_big_blinds(amount):
    table = Table()
    reason, facts = table.refused(request(table, amount=amount))
    assert (reason, facts["min"], facts["max"]) == ("BUY_IN_OUT_OF_RANGE", 40, 200)


@pytest.mark.parametrize("amount", [40, 200])
def test_the_bounds_of_a_buy_in_are_allowed(amount):
    assert Table().seat("ann", amount=amount).stack == amount


def test_who_returns_within_30_minutes_brings_at_least_what_was_taken_home():
    table = Table()
    table.seat("ann", amount=150)
    table.stand_up("ann")
    table.now += 30 * 60_000
    assert table.refused(request(table, amount=149)) == (
        "BUY_IN_OUT_OF_RANGE",
        {"amount": 149, "min": 150, "max": 200},
    )
    table.now += 1
    assert table.seat("ann", amount=40).stack == 40


def test_who_took_more_than_the_highest_buy_in_home_may_bring_all_of_it_back():
    """The lower bound of a returner would otherwise lie above the upper one."""
    table = Table()
    table.seat("ann", amount=200)
    table.seat("ben", amount=200)
    table.start()
    table.act("raise", 200)
    table.act("call")
    winner = next(seat for seat in table.state.seats if seat.stack == 400)
    table.stand_up(winner.player)
    assert table.refused(request(table, winner.player, amount=200))[1]["min"] == 400
    assert table.seat(winner.player, amount=400).stack == 400


def test_a_player_has_one_seat_at_a_table():
    table = Table()
    table.seat("ann")
    assert table.refused(request(table))[0] == "ALREADY_SEATED"


def test_a_taken_seat_a_seat_that_is_not_there_and_a_full_table_are_refused():
    table = Table(seats=2)
    table.seat("ann", seat=1)
    assert table.refused(request(table, "ben", seat=1)) == ("SEAT_TAKEN", {"seat": 1})
    assert table.refused(request(table, "ben", seat=2)) == ("SEAT_NOT_FOUND", {"seat": 2})
    assert table.refused(request(table, "ben", seat=-1)) == ("SEAT_NOT_FOUND", {"seat": -1})
    assert table.seat("ben").seat == 0
    assert table.refused(request(table, "cid"))[0] == "TABLE_FULL"


def test_a_top_up_reaches_the_highest_buy_in_and_no_further():
    table = Table()
    table.seat("ann", amount=150)
    top_up = RequestTopUp("ann", 51, transfer_of("more"), table.now)
    assert table.refused(top_up) == ("BUY_IN_OUT_OF_RANGE", {"amount": 51, "min": 1, "max": 50})
    batch = table.when(RequestTopUp("ann", 50, transfer_of("more"), table.now))
    assert batch == (TopUpRequested(0, 50, transfer_of("more"), table.now),)
    assert table.refused(RequestTopUp("ann", 1, transfer_of("third"), table.now))[0] == "BUY_IN_PENDING"
    table.when(FundSeat(transfer_of("more"), table.now))
    assert table.state.seat(0).stack == 200


def test_a_refused_top_up_changes_nothing_but_itself():
    table = Table()
    table.seat("ann", amount=50)
    table.when(RequestTopUp("ann", 50, transfer_of("more"), table.now))
    table.when(RefuseBuyIn(transfer_of("more"), "EXCEEDS_BALANCE", table.now))
    assert (table.state.seat(0).stack, table.state.seat(0).pending) == (50, None)


def test_chips_that_come_in_mid_hand_play_from_the_next_hand():
    """Table stakes: the hand goes on with the chips it began with."""
    table = Table()
    table.seat("ann", amount=50)
    table.seat("ben", amount=50)
    table.start()
    table.when(RequestTopUp("ann", 100, transfer_of("more"), table.now))
    table.when(FundSeat(transfer_of("more"), table.now))
    assert table.live.deal.stacks == (50, 50)
    before = sum(seat.stack for seat in table.state.seats)
    table.fold_out()
    assert sum(seat.stack for seat in table.state.seats) == before == 200
    table.start()
    assert sum(table.live.deal.stacks) == 200


def test_only_who_sits_here_tops_up():
    table = Table()
    assert table.refused(RequestTopUp("ann", 50, transfer_of("x"), table.now))[0] == "NOT_SEATED"


def test_a_newcomer_waits_for_the_big_blind():
    """RULES.md joining: from the next hand, when the big blind comes around."""
    table = Table()
    table.seat("ann", seat=0)
    table.seat("ben", seat=1)
    table.seat("cid", seat=2)
    table.start()
    table.seat("dan", seat=4)
    seen = []
    for _ in range(5):
        table.fold_out()
        table.start()
        seen.append((table.live.deal.started.big_blind_seat, 4 in table.state.dealt))
    first = seen.index((4, True))
    assert [is_in for _, is_in in seen] == [number >= first for number in range(len(seen))]


def test_a_newcomer_who_posts_is_dealt_in_at_once_and_posts_a_live_big_blind():
    table = Table()
    for seat, player in enumerate(("ann", "ben", "cid")):
        table.seat(player, seat=seat)
    table.start()
    table.fold_out()
    table.seat("dan", seat=4, post=True)
    table.start()
    dues = [(due.kind, due.amount) for due in table.live.deal.started.dues if due.seat == 4]
    assert dues == [("big_blind", 2)]


def test_a_returner_who_missed_hands_posts_the_big_blind_live_and_the_small_blind_dead():
    table = Table()
    for seat, player in enumerate(("ann", "ben", "cid", "dan")):
        table.seat(player, seat=seat)
    table.start()
    table.sit_out("ann")
    for _ in range(3):
        table.fold_out()
        table.start()
    assert 0 not in table.state.dealt
    table.fold_out()
    table.sit_in("ann", post=True)
    dealt = False
    for _ in range(4):
        table.start()
        dues = [(due.kind, due.amount) for due in table.live.deal.started.dues if due.seat == 0]
        if 0 in table.state.dealt:
            dealt = True
            break
        table.fold_out()
    assert dealt
    assert sorted(dues) == [("big_blind", 2), ("dead_blind", 1)]


def test_a_bot_stays_marked():
    table = Table()
    assert table.seat("b1", is_bot=True).is_bot
    table.seat("ann")
    batch = table.start()
    assert [seat.is_bot for seat in batch[0].seats] == [True, False]
    assert kinds(batch)[0] == "HandStarted"
