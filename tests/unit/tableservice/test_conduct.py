"""What a table does by itself is remembered as done only when it stands in the log (O4)."""

from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from diwan.chassis.store import Lost
from diwan.core.hand.commands import MoveDeadline
from diwan.core.hand.settings import HandSettings, NaikoSettings
from diwan.core.table.commands import CloseTable, CommitSecret, RecordRefusals, StandUp
from diwan.core.table.playing import open_clock
from services.table.conduct import GRACE_MS, SETTINGS_NOTICE_MS, UNUSED_MS, Conduct
from services.table.presence import Presence
from services.table.refusals import Refusals
from services.table.seeds import SeedBook
from tests.unit.table.directing import TournamentTable
from tests.unit.table.play import Table, kinds
from tests.unit.table.test_capsa import CapsaTable
from tests.unit.table.test_hosting import Private
from tests.unit.table.test_matches import entered


class Actor:
    """A table between two hands whose appends may get lost."""

    def __init__(self):
        table = Table(reserve_seconds=60)
        table.seat("ann")
        self.state = replace(table.state, hand_no=1)
        self.clock = SimpleNamespace(now_ms=lambda: self.now)
        self.refusals = Refusals()
        self.table_id = table.state.table_id
        self.now = table.now
        self.losses = 1
        self.done = []
        self.presence = Presence(self)

    async def by_itself(self, command):
        if self.losses:
            self.losses -= 1
            raise Lost("the answer was another's")
        self.done.append(command)


async def test_who_had_a_stream_under_the_former_owner_is_expected_back_and_stood_up_otherwise():
    """CL-4: given a table that another process takes over, when a player does not come back, then the seat is given up.

    Ann's seed is in the last deck, ben's is too but he comes back, cid never had a stream.
    """
    table = Table(reserve_seconds=60)
    for player in ("ann", "ben", "cid"):
        table.seat(player)
    table.start({0: bytes(32), 1: bytes([1]) * 32})
    actor = Actor()
    actor.losses, actor.state, actor.now = 0, table.state, table.now
    conduct = Conduct(actor)

    actor.presence.begin()
    actor.presence.came("ben")
    actor.now += 59_999
    await conduct._give_up_seats(actor.state, actor.now)
    assert actor.done == []
    actor.now += 1
    await conduct._give_up_seats(actor.state, actor.now)

    assert actor.done == [StandUp("ann", "disconnected", actor.now)]


async def test_a_stranger_on_the_seat_of_one_who_left_is_not_expected_back():
    table = Table(reserve_seconds=60)
    for player in ("ann", "ben"):
        table.seat(player)
    table.start({0: bytes(32)})
    table.fold_out()
    table.stand_up("ann")
    table.seat("zoe", seat=0)
    actor = Actor()
    actor.losses, actor.state, actor.now = 0, table.state, table.now
    conduct = Conduct(actor)

    actor.presence.begin()
    actor.now += 60_000
    await conduct._give_up_seats(actor.state, actor.now)

    assert actor.done == []


async def test_refusals_are_kept_until_they_stand_in_the_log():
    actor = Actor()
    conduct = Conduct(actor)
    actor.refusals.count(0, "NOT_YOUR_TURN")

    with pytest.raises(Lost):
        await conduct._between_hands(actor.state, actor.now)
    await conduct._between_hands(actor.state, actor.now)

    [recorded] = [command for command in actor.done if isinstance(command, RecordRefusals)]
    assert [(each.seat, each.reason, each.count) for each in recorded.counts] == [(0, "NOT_YOUR_TURN", 1)]
    assert not actor.refusals


async def test_an_absent_player_is_stood_up_even_if_the_first_attempt_got_lost():
    """CL-4."""
    actor = Actor()
    conduct = Conduct(actor)
    actor.presence.left("ann")
    actor.now += 60_000

    with pytest.raises(Lost):
        await conduct._give_up_seats(actor.state, actor.now)
    await conduct._give_up_seats(actor.state, actor.now)
    await conduct._give_up_seats(actor.state, actor.now)

    assert actor.done == [StandUp("ann", "disconnected", actor.now)]


def with_a_bank():
    table = Table(decision_seconds=20, time_bank_seconds=30)
    for player in ("ann", "ben"):
        table.seat(player)
    table.start()
    table.time_out()
    assert table.live.is_bank_running
    return table


def with_a_window():
    naiko = HandSettings(game="naiko", naiko=NaikoSettings(gain_per_deal=3))
    table = Table(hand=naiko)
    for player in ("ann", "ben"):
        table.seat(player)
    for number in range(50):
        table.secret = bytes([number]) * 32
        table.start()
        if {"short_anchor", "seal_shield"} <= set(table.live.deal.started.naiko.carousel):
            break
        table.fold_out()
    live = table.live
    table.use("short_anchor", target=live.deal.seats[1 - live.actor])
    assert table.live.window is not None
    return table


def with_sets():
    table = CapsaTable("ann", "ben")
    table.start()
    return table


def with_calls():
    table = with_sets()
    for place in table.live.setters:
        table.lock(table.live.deal.seats[place])
    assert table.live.phase == "declaring"
    return table


@pytest.mark.parametrize("of", [with_a_bank, with_a_window, with_sets, with_calls])
@pytest.mark.parametrize(("left_ms", "given_ms"), [(7_000, 7_000), (GRACE_MS - 1, GRACE_MS), (-1, GRACE_MS)])
async def test_whichever_clock_an_outage_met_has_what_was_left_and_some_seconds_at_least(of, left_ms, given_ms):
    """O7: also where the log fell silent right before the end of the clock, and however long nobody was there."""
    table = of()
    clock = open_clock(table.state.hand)
    actor = Actor()
    actor.losses, actor.state, actor.stalled_ms = 0, table.state, 0
    actor.cards = SimpleNamespace(may_go_on=True)
    actor.silent_since_ms = clock.deadline_ms - left_ms
    actor.now = clock.deadline_ms + 3_600_000

    await Conduct(actor).resume()

    (given,) = actor.done
    assert given == MoveDeadline(clock.turn, actor.now + given_ms, "outage", table.state.version, actor.now)
    table.when(given)
    assert open_clock(table.state.hand).deadline_ms == actor.now + given_ms


def a_match():
    return entered(("ann", "ben"))


def a_tournament():
    table = TournamentTable()
    table.filled(2)
    return table


@pytest.mark.parametrize("of", [a_match, a_tournament])
async def test_who_does_not_come_back_to_a_match_or_tournament_keeps_the_seat(of):
    """CL-4, G2: the clock plays on; given up is only what may be taken home."""
    table = of()
    actor = Actor()
    actor.losses, actor.state, actor.now = 0, table.state, table.now
    conduct = Conduct(actor)
    actor.presence.left(table.state.seats[0].player)
    actor.now += 60_000

    await conduct._give_up_seats(actor.state, actor.now)

    assert actor.done == []
    assert actor.presence.given_up_ms(actor.state) is None, "nobody is waited for any more"


def test_time_in_which_nobody_could_come_back_is_not_counted():
    """CL-4, O7: given an absent player, when the whole service stood still, then the seat is kept for as long again."""
    actor = Actor()
    presence = actor.presence
    presence.left("ann")
    until_ms = presence.given_up_ms(actor.state)

    presence.stalled(30_000)

    assert until_ms == actor.now + 60_000
    assert presence.given_up_ms(actor.state) == until_ms + 30_000
    assert presence.given_up(actor.state, until_ms) == []
    assert presence.given_up(actor.state, until_ms + 30_000) == ["ann"]


@pytest.mark.parametrize("is_running", [False, True])
def test_other_settings_are_shown_before_they_are_played_by(is_running):
    """TB-3: given blinds that the host lifts, between hands or in one, then who sits there has time to see it and to leave."""
    table = Private(pause_ms=1)
    table.let_in("ann")
    for player in ("hal", "ann"):
        table.seat(player)
    table.start()
    if not is_running:
        table.fold_out()
    table.now += 1_000
    table.when(
        table.change(
            hand=replace(table.state.config.hand, small_blind=50, big_blind=100), buy_in_min=100, buy_in_max=10_000
        )
    )
    if is_running:
        table.fold_out()
    actor = Actor()
    actor.state, actor.now, actor.seeds = table.state, table.now, SeedBook()
    actor.hub = SimpleNamespace(players=set)

    assert Conduct(actor).due_ms() == table.now + SETTINGS_NOTICE_MS


async def test_a_private_table_that_nobody_uses_is_closed():
    """P12: counted from the last seat that was left, or from its opening; a public one waits for people."""
    table = Private()
    table.let_in("ann")
    table.when(CommitSecret(bytes(32), table.now))
    opened_at_ms = table.now
    actor = Actor()
    actor.losses, actor.state, actor.now = 0, table.state, table.now
    assert Conduct(actor).due_ms() == opened_at_ms + UNUSED_MS
    table.now += 5_000
    table.seat("ann")
    actor.state = table.state
    assert Conduct(actor).due_ms() is None
    table.now += 5_000
    table.stand_up("ann")
    actor.state, actor.now = table.state, table.now + UNUSED_MS - 1
    await Conduct(actor).act()
    assert actor.done == []
    actor.now += 1
    await Conduct(actor).act()
    assert actor.done == [CloseTable("table", table.now + UNUSED_MS)]
    assert kinds(table.when(actor.done[0])) == ["TableClosing", "TableClosed"]
    public = Table()
    public.when(CommitSecret(bytes(32), public.now))
    actor.state = public.state
    assert Conduct(actor).due_ms() is None
