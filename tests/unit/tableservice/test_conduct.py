"""What a table does by itself is remembered as done only when it stands in the log (O4)."""

from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from diwan.chassis.store import Lost
from diwan.core.table.commands import RecordRefusals, StandUp
from services.table.conduct import Conduct
from services.table.presence import Presence
from services.table.refusals import Refusals
from tests.unit.table.play import Table


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
