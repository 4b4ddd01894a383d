"""Sitting out, standing up, the clock, closing (RULES.md "table defaults", CL-2, CL-4, TB-2)."""

from diwan.core.hand.commands import VoidHand
from diwan.core.hand.events import Acted, HandEnded, HandVoided
from diwan.core.table.commands import CloseTable, FundSeat, RequestTopUp, SitOut, StandUp
from diwan.core.table.events import SatIn, SatOut, SeatReleased, StandUpRequested, TableClosed, TableClosing
from tests.unit.table.play import Table, asking, coming_back, kinds, transfer_of


def three(**changes):
    table = Table(**changes)
    for seat, player in enumerate(("ann", "ben", "cid")):
        table.seat(player, seat=seat)
    return table


def test_who_stands_up_between_hands_is_released_with_the_chips_at_once():
    table = three()
    sitting = table.state.seat(1).sitting
    assert table.stand_up("ben") == (
        StandUpRequested(1, "player", table.now),
        SeatReleased(1, "ben", sitting, 100, "player", table.now),
    )
    assert table.state.seat_of("ben") is None


def test_who_stands_up_in_mid_hand_leaves_after_it_and_the_room_decides_on_the_turn():
    """A11, CL-2: check where that is legal, else fold; the decision is marked as the room's."""
    table = three()
    table.start()
    leaver = table.to_act
    player = table.state.seat(leaver).player
    batch = table.stand_up(player)
    assert kinds(batch) == ["StandUpRequested", "Acted", "TurnBegan"]
    assert (batch[1].kind, batch[1].decided_by, batch[1].seat) == ("fold", "system", leaver)
    assert table.state.seat(leaver).leaving == "player"
    ended = table.fold_out()
    assert isinstance(ended[-1], SeatReleased)
    assert (ended[-1].seat, ended[-1].amount) == (leaver, 100)


def test_a_leaver_who_may_check_is_not_folded():
    """CL-2, G4."""
    table = three()
    table.start()
    big_blind = table.live.deal.started.big_blind_seat
    table.stand_up(table.state.seat(big_blind).player)
    table.act("call")
    batch = table.act("call")
    checked = [event for event in batch if isinstance(event, Acted) and event.seat == big_blind]
    assert [(event.kind, event.decided_by) for event in checked] == [("check", "system")]


def test_the_last_decision_of_a_leaver_may_end_the_hand_and_everything_stands_in_one_batch():
    table = Table()
    table.seat("ann")
    table.seat("ben")
    table.start()
    player = table.state.seat(table.to_act).player
    batch = table.stand_up(player)
    assert kinds(batch)[:2] == ["StandUpRequested", "Acted"]
    assert kinds(batch)[-2:] == ["HandEnded", "SeatReleased"]
    assert batch[-1].amount == 99


def test_a_leaver_can_do_nothing_more_and_leaves_once():
    table = three()
    table.start()
    seat = next(seat for seat in table.state.seats if seat.seat != table.to_act)
    table.stand_up(seat.player)
    for command in (
        StandUp(seat.player, "player", table.now),
        SitOut(seat.player, "player", table.now),
        coming_back(seat.player, table.now),
        RequestTopUp(seat.player, 10, transfer_of("t"), table.now),
    ):
        assert table.refused(command)[0] == "LEAVING"


def test_nobody_stands_up_or_sits_out_without_a_seat():
    table = three()
    assert table.refused(StandUp("zoe", "player", table.now))[0] == "NOT_SEATED"
    assert table.refused(SitOut("zoe", "player", table.now))[0] == "NOT_SEATED"


def test_who_leaves_while_chips_are_on_their_way_is_released_when_they_have_come():
    """The saga's answer must find a seat: chips that reached the escrow go home with the rest."""
    table = Table()
    table.when(asking("ann", transfer_of("ann"), table.now, seat=0))
    assert kinds(table.stand_up("ann")) == ["StandUpRequested"]
    batch = table.when(FundSeat(transfer_of("ann"), table.now))
    assert kinds(batch) == ["SeatFunded", "SeatReleased"]
    assert batch[1].amount == 100


def test_two_decisions_running_by_the_clock_sit_a_player_out():
    """RULES.md table defaults: sit out after 2 clock decisions running."""
    table = three()
    table.start()
    while table.to_act != table.live.deal.started.big_blind_seat:
        table.act("call")
    sleeper = table.to_act
    assert "SatOut" not in kinds(table.time_out())
    while table.to_act != sleeper:
        table.act("check")
    assert SatOut(sleeper, "clock", table.now + 20_000) in table.time_out()
    assert table.state.is_running
    assert not table.state.seat(sleeper).leaving


def test_an_own_decision_begins_the_count_again():
    table = three()
    table.start()
    while table.to_act != table.live.deal.started.big_blind_seat:
        table.act("call")
    sleeper = table.to_act
    table.time_out()
    for decide in (lambda: table.act("check"), table.time_out):
        while table.to_act != sleeper:
            table.act("check")
        decide()
    assert table.state.seat(sleeper).clock_decisions == 1
    assert not table.state.seat(sleeper).is_sitting_out


def test_coming_back_is_an_event_and_only_for_who_is_out():
    table = three()
    assert table.refused(coming_back("ann", table.now, post=True))[0] == "NOT_SITTING_OUT"
    table.sit_out("ann")
    assert table.refused(SitOut("ann", "player", table.now))[0] == "SITTING_OUT_ALREADY"
    assert table.sit_in("ann", post=True) == (SatIn(0, post_at_once=True, sat_in_at_ms=table.now),)


def bust(table):
    """Play heads-up all-in hands until somebody has nothing left; returns that batch."""
    for _ in range(20):
        table.start()
        actor = table.live.actor
        table.act("raise", table.live.stacks[actor] + table.live.bets[actor])
        batch = table.act("call")
        if any(seat.stack == 0 for seat in table.state.seats):
            return batch
    raise AssertionError("nobody busted")


def test_who_is_out_of_chips_watches_and_may_reload_by_own_will():
    """TB-2: never automatic."""
    table = Table()
    table.seat("ann")
    table.seat("ben")
    batch = bust(table)
    loser = next(seat for seat in table.state.seats if seat.stack == 0)
    assert batch[-1] == SatOut(loser.seat, "busted", table.now)
    assert table.refused(coming_back(loser.player, table.now, post=True))[0] == "NO_CHIPS"
    assert table.refused(RequestTopUp(loser.player, 39, transfer_of("r"), table.now))[1]["min"] == 40
    table.when(RequestTopUp(loser.player, 100, transfer_of("r"), table.now))
    table.when(FundSeat(transfer_of("r"), table.now))
    table.sit_in(loser.player)
    assert table.start()[0].hand_no == table.state.hand_no


def test_chips_that_land_in_the_hand_that_busts_a_player_keep_the_player_in():
    table = Table()
    table.seat("ann")
    table.seat("ben")
    table.start()
    shover = table.state.seat(table.to_act).player
    other = "ben" if shover == "ann" else "ann"
    for player in (shover, other):
        table.when(RequestTopUp(player, 50, transfer_of(player + "+"), table.now))
        table.when(FundSeat(transfer_of(player + "+"), table.now))
    table.act("raise", 100)
    batch = table.act("call")
    assert kinds(batch)[-1] == "HandEnded"
    assert {seat.stack for seat in table.state.seats} == {50, 250}


def test_a_table_that_closes_between_hands_sends_everybody_home_at_once():
    table = three()
    batch = table.when(CloseTable("host", table.now))
    assert kinds(batch) == ["TableClosing", *["SeatReleased"] * 3, "TableClosed"]
    assert {event.cause for event in batch[1:4]} == {"table_closed"}
    assert table.refused(CloseTable("host", table.now))[0] == "TABLE_CLOSED"
    assert table.refused(asking("dan", transfer_of("d"), table.now, seat=None))[0] == "TABLE_CLOSED"


def test_a_table_that_closes_in_mid_hand_plays_it_to_the_end():
    table = three()
    table.seat("dan", seat=4)
    table.sit_out("dan")
    table.start()
    batch = table.when(CloseTable("host", table.now))
    # Who is not in the hand goes home at once.
    assert kinds(batch) == ["TableClosing", "SeatReleased"]
    assert table.refused(asking("eve", transfer_of("e"), table.now, seat=None))[0] == "TABLE_CLOSED"
    ended = table.fold_out()
    assert isinstance(ended[-1], TableClosed)
    assert sum(event.amount for event in ended if isinstance(event, SeatReleased)) == 300
    assert isinstance(batch[0], TableClosing)


def test_a_voided_hand_gives_everything_back_and_leavers_go_home():
    """H9: a hand ends Settled or Voided."""
    table = three()
    table.start()
    leaver = next(seat.player for seat in table.state.seats if seat.seat != table.to_act)
    table.stand_up(leaver)
    batch = table.when(VoidHand("interrupted", table.state.version, table.now))
    assert isinstance(batch[0], HandVoided)
    assert isinstance(batch[1], HandEnded)
    assert (batch[2].player, batch[2].amount) == (leaver, 100)
    assert [seat.stack for seat in table.state.seats] == [100, 100]


def test_after_a_void_hand_the_button_stays_and_who_posted_owes_again():
    """A6: a void hand is no hand of the schedule; refunded blinds bought nobody in."""
    table = three()
    table.start()
    table.fold_out()
    table.seat("dan", seat=4, post=True)
    table.start()
    before = table.live.deal.started
    assert 4 in table.state.dealt
    table.when(VoidHand("interrupted", table.state.version, table.now))
    table.start()
    again = table.live.deal.started
    assert (again.button, again.big_blind_seat, again.dues) == (before.button, before.big_blind_seat, before.dues)
