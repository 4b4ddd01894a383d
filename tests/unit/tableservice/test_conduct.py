"""What a table does by itself is remembered as done only when it stands in the log (O4)."""

from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from diwan.core.table.commands import RecordRefusals, StandUp
from services.table.conduct import Conduct
from services.table.refusals import Refusals
from services.table.stream import Lost
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

    async def by_itself(self, command):
        if self.losses:
            self.losses -= 1
            raise Lost("the answer was another's")
        self.done.append(command)


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
    conduct.left("ann")
    actor.now += 60_000

    with pytest.raises(Lost):
        await conduct._give_up_seats(actor.state, actor.now)
    await conduct._give_up_seats(actor.state, actor.now)
    await conduct._give_up_seats(actor.state, actor.now)

    assert actor.done == [StandUp("ann", "disconnected", actor.now)]
