"""Waiting for a seat: the line, seats that are kept, bots that make room after the hand (CL-6)."""

import contextlib
import random  # noqa: TID251  (tests may use chance)

import pytest

from diwan.core.decider import Rejected
from diwan.core.table.commands import CloseTable, FundSeat, RefuseBuyIn
from diwan.core.table.decide import decide
from diwan.core.table.evolve import evolve
from diwan.core.table.hosting.commands import RevokeInvitation
from diwan.core.table.inverse import command_of
from diwan.core.table.waiting.commands import ExpireHold, StopWaiting, WaitForSeat
from diwan.core.table.waiting.decide import WAITING_MAX
from diwan.core.table.waiting.events import SeatHeld, SeatWanted, WaitEnded
from tests.unit.table.play import Table, asking, kinds, transfer_of
from tests.unit.table.test_hosting import AS_HOST, Private

HOLD_MS = 60_000


class Full(Table):
    """A table whose seats are all taken; names with "bot" are bots'."""

    def __init__(self, *players, **changes):
        super().__init__(seats=len(players), bots_fill=len(players), **changes)
        for player in players:
            self.seat(player, is_bot=player.startswith("bot"))

    def wait(self, player):
        return self.when(WaitForSeat(player, self.now))

    def sit(self, player, *, seat=None, is_bot=False):
        return self.when(asking(player, transfer_of(f"{player}/{self.now}"), self.now, seat=seat, is_bot=is_bot))

    def refused_seat(self, player, *, seat=None, is_bot=False):
        return self.refused(asking(player, transfer_of(player), self.now, seat=seat, is_bot=is_bot))[0]

    def line(self):
        return [(waiter.player, waiter.seat) for waiter in self.state.line.waiters]


def test_a_bot_between_hands_makes_room_at_once_and_its_seat_is_kept():
    table = Full("ann", "bot.1", "bot.2")
    assert kinds(table.wait("eve")) == ["SeatWanted", "StandUpRequested", "SeatReleased", "SeatHeld"]
    released = table.batches[-1][2]
    assert (released.player, released.cause) == ("bot.2", "yielded")
    assert table.batches[-1][3] == SeatHeld(2, "eve", table.now + HOLD_MS, table.now)


def test_a_bot_in_a_hand_plays_it_to_its_end_before_it_makes_room():
    """CL-6: after the hand. Nobody plays on for a bot that is still in it."""
    table = Full("ann", "bot.1")
    table.start()
    assert kinds(table.wait("eve")) == ["SeatWanted"]
    assert table.state.seat_of("bot.1").leaving is None
    last = table.fold_out()
    assert kinds(last)[-3:] == ["StandUpRequested", "SeatReleased", "SeatHeld"]
    assert table.line() == [("eve", 1)]


def test_the_kept_seat_is_for_nobody_else_and_bots_do_not_retake_it():
    table = Full("ann", "bot.1")
    table.wait("eve")
    assert table.refused_seat("bot.9", is_bot=True) == "TABLE_FULL"
    assert table.refused_seat("bot.9", seat=1, is_bot=True) == "SEAT_TAKEN"
    assert table.refused_seat("fay") == "TABLE_FULL"
    events = table.sit("eve")
    assert kinds(events) == ["BuyInRequested", "WaitEnded"]
    assert events[0].seat == 1
    assert events[1] == WaitEnded("eve", "seated", table.now)
    assert table.line() == []


def test_who_waits_first_is_served_first_and_one_bot_goes_for_each():
    table = Full("ann", "bot.1", "bot.2", "bot.3")
    table.start()
    for player in ("eve", "fay"):
        table.wait(player)
    table.fold_out()
    bots = [seat.player for seat in table.state.seats if seat.is_bot]
    assert bots == ["bot.1"], "two went for two"
    assert table.line() == [("eve", 3), ("fay", 2)]


def test_without_bots_the_line_waits_for_somebody_to_leave():
    table = Full("ann", "ben")
    assert kinds(table.wait("eve")) == ["SeatWanted"]
    assert kinds(table.stand_up("ben"))[-1] == "SeatHeld"
    assert table.line() == [("eve", 1)]


def test_a_person_who_leaves_spares_a_bot():
    table = Full("ann", "ben", "bot.1")
    table.start()
    table.stand_up("ben")
    table.wait("eve")
    table.fold_out()
    assert [seat.player for seat in table.state.seats] == ["ann", "bot.1"]


def test_where_a_seat_is_free_it_is_kept_at_once():
    table = Table(seats=3)
    table.seat("ann")
    events = table.when(WaitForSeat("eve", table.now))
    assert kinds(events) == ["SeatWanted", "SeatHeld"]


def test_a_seat_that_is_not_taken_in_time_goes_to_the_next_in_line():
    table = Full("ann", "bot.1")
    table.wait("eve")
    table.wait("fay")
    assert table.refused(ExpireHold("eve", table.now + HOLD_MS - 1))[0] == "UNEXPECTED"
    assert table.refused(ExpireHold("fay", table.now + HOLD_MS))[0] == "UNEXPECTED"
    table.now += HOLD_MS
    events = table.when(ExpireHold("eve", table.now))
    assert events == (WaitEnded("eve", "expired", table.now), SeatHeld(1, "fay", table.now + HOLD_MS, table.now))


def test_who_does_not_want_to_wait_any_more_frees_the_kept_seat():
    table = Full("ann", "bot.1")
    table.wait("eve")
    table.wait("fay")
    events = table.when(StopWaiting("eve", table.now))
    assert kinds(events) == ["WaitEnded", "SeatHeld"]
    assert table.refused(StopWaiting("eve", table.now))[0] == "NOT_WAITING"


def test_a_player_waits_once_and_not_with_a_seat():
    table = Full("ann", "bot.1")
    table.wait("eve")
    assert table.refused(WaitForSeat("eve", table.now))[0] == "WAITING_ALREADY"
    assert table.refused(WaitForSeat("ann", table.now))[0] == "ALREADY_SEATED"


def test_the_line_has_an_end():
    table = Full("ann", "ben")
    for number in range(WAITING_MAX):
        table.wait(f"p{number}")
    assert table.refused(WaitForSeat("eve", table.now))[0] == "WAITING_LINE_FULL"


def test_a_refused_buy_in_gives_the_seat_to_the_next_in_line():
    table = Full("ann", "bot.1")
    table.wait("eve")
    table.wait("fay")
    table.sit("eve")
    events = table.when(RefuseBuyIn(table.state.seat_of("eve").pending.transfer_id, "EXCEEDS_BALANCE", table.now))
    assert kinds(events) == ["BuyInRefused", "SeatHeld"]
    assert table.line() == [("fay", 1)]


def test_closing_ends_the_line():
    table = Full("ann", "bot.1")
    table.start()
    table.wait("eve")
    events = table.when(CloseTable("host", table.now))
    assert kinds(events) == ["TableClosing", "WaitEnded"]
    assert events[1].cause == "closed"
    assert table.refused(WaitForSeat("fay", table.now))[0] == "TABLE_CLOSED"
    assert kinds(table.fold_out())[-1] == "TableClosed"


def test_at_a_private_table_only_who_is_invited_waits():
    """TB-3."""
    table = Private(seats=2)
    table.let_in("ann", "eve")
    table.seat("hal")
    table.seat("ann")
    assert table.refused(WaitForSeat("fay", table.now))[0] == "INVITATION_REQUIRED"
    table.when(WaitForSeat("eve", table.now))
    events = table.when(RevokeInvitation("eve", "hal", AS_HOST, table.now))
    assert kinds(events) == ["InvitationRevoked", "WaitEnded"]
    assert events[1].cause == "not_invited"


def test_a_kept_seat_stays_within_the_table():
    """D2: a seat that is kept is as good as taken."""
    table = Private(seats=3)
    table.let_in("ann", "eve")
    table.seat("hal")
    table.seat("ann")
    table.when(WaitForSeat("eve", table.now))
    assert table.refused(table.change(seats=2))[1]["setting"] == "seats"


def test_a_table_says_how_long_it_keeps_a_seat():
    table = Table(seats=2, hold_seconds=5)
    (_, held) = table.when(WaitForSeat("eve", table.now))
    assert held.until_ms == table.now + 5_000


@pytest.mark.parametrize("seed", range(60))
def test_random_lines_are_served_fairly_and_decided_again_from_the_log(seed):
    """No seat is kept twice or kept and taken; where somebody waits no seat is free; no bot in a hand is sent away."""
    chance = random.Random(seed)
    table = Table(seats=chance.choice((2, 4)), bots_fill=2, hold_seconds=30)
    people = ("ann", "ben", "cid", "dan", "eve", "fay")
    for _ in range(120):
        table.now += chance.choice((0, 1000, 31_000))
        with contextlib.suppress(Rejected):
            step(table, chance, people)
        check(table.state)
    assert verified(table)


def step(table, chance, people):
    who, roll, now = chance.choice(people), chance.random(), table.now
    if roll < 0.2:
        table.when(WaitForSeat(who, now))
    elif roll < 0.25:
        table.when(StopWaiting(who, now))
    elif roll < 0.3:
        table.when(ExpireHold(who, now))
    elif roll < 0.5:
        is_bot = chance.random() < 0.4
        player = f"bot.{chance.randrange(4)}" if is_bot else who
        transfer = transfer_of(f"{player}/{len(table.batches)}")
        table.when(asking(player, transfer, now, is_bot=is_bot))
        table.when(FundSeat(transfer, now) if chance.random() < 0.9 else RefuseBuyIn(transfer, "NO", now))
    elif roll < 0.58:
        table.stand_up(who)
    elif table.state.is_running:
        table.act(chance.choice(("fold", "check", "call")))
    else:
        table.start()


def check(state):
    kept = [waiter.seat for waiter in state.line.waiters if waiter.seat is not None]
    taken = {seat.seat for seat in state.seats}
    assert len(kept) == len(set(kept))
    assert not taken & set(kept)
    assert all(state.seat_of(waiter.player) is None for waiter in state.line.waiters)
    unserved = [waiter for waiter in state.line.waiters if waiter.seat is None]
    if unserved and not state.is_closing:
        assert len(taken) + len(kept) == state.config.seats
        # Bots that could go have gone, as many as are waited for.
        idle = [
            seat
            for seat in state.seats
            if seat.is_bot and seat.leaving is None and seat.pending is None and not state.is_in_hand(seat.seat)
        ]
        assert not idle or len(unserved) <= sum(seat.leaving is not None for seat in state.seats)
    # A bot that was told to go while it plays a hand would be played for: that never happens for a person in line.
    assert not any(seat.leaving == "yielded" and state.is_in_hand(seat.seat) for seat in state.seats)


def verified(table):
    state = None
    for batch in table.batches:
        command = command_of(batch[0], state)
        assert decide(state, command, table.cards) == batch
        for event in batch:
            state = evolve(state, event)
    return state == table.state


def test_the_random_lines_tell_of_everything():
    seen = set()
    for seed in range(60):
        chance, table = random.Random(seed), Table(seats=2, bots_fill=2, hold_seconds=30)
        for _ in range(120):
            table.now += chance.choice((0, 1000, 31_000))
            with contextlib.suppress(Rejected):
                step(table, chance, ("ann", "ben", "cid", "dan"))
        for batch in table.batches:
            seen |= {(type(event).__name__, getattr(event, "cause", "")) for event in batch}
    wanted = {("WaitEnded", cause) for cause in ("seated", "left", "expired")}
    assert wanted | {("SeatReleased", "yielded"), ("SeatHeld", ""), (SeatWanted.__name__, "")} <= seen
