"""Whole tournaments on a whole stack, with kill -9 of every service in mid-play: nothing lost, nothing doubled (P1, P2)."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from diwan.chassis.access import Role
from diwan.cli.demo import floor
from diwan.cli.demo.command import DEMO_SETTINGS
from diwan.cli.demo.gather import until
from diwan.cli.stack.stack import Stack
from diwan.client import connect

pytestmark = pytest.mark.timeout(400)

GUEST = floor.GUEST


class PlayedFloor:
    """A stack on which tournaments are played while a test hurts it."""

    def __init__(self, stack, client, guest):
        self.stack = stack
        self.client = client
        self.guest = guest
        self.floor = None

    async def kill(self, service):
        """Kill a service, once it runs again where it was killed before."""

        async def is_hit():
            try:
                os.kill(self.stack.child(service).pid, signal.SIGKILL)
            except ProcessLookupError:
                return False
            return True

        await until(f"{service} runs", is_hit)

    def guests(self):
        return list(self.floor.guests.values())

    async def has_come_to(self, is_so, what, seconds=60.0):
        """Wait until a view that a guest was told of is so."""

        async def seen():
            return any(is_so(guest.view) for guest in self.guests() if guest.view is not None)

        await until(what, seen, seconds)

    async def goes_on(self, seconds=60.0):
        """Wait until a tournament tells something newer than now."""
        before = {guest.tournament_id: guest.view.version if guest.view else 0 for guest in self.guests()}

        async def is_newer():
            return any(
                guest.view is not None and (guest.view.version > before[guest.tournament_id] or guest.view.winner)
                for guest in self.guests()
            )

        await until("play goes on", is_newer, seconds)

    async def is_sound(self):
        """Every check of the demo, on what is left when all is played and paid."""
        played = [await floor.read_back(self.client, each, guest) for each, guest in self.floor.guests.items()]
        results = await floor.everything(self.client, self.stack, played)
        assert [result for result in results if not result.holds] == []
        return played


@asynccontextmanager
async def played_floor(folder, players) -> AsyncIterator[PlayedFloor]:
    stack = Stack(folder, report=lambda *_: None, overrides=DEMO_SETTINGS)
    await asyncio.to_thread(stack.start)
    try:
        async with (
            connect(stack.places.services, stack.token("test", Role.OPERATOR)) as client,
            connect(stack.places.services, stack.token(GUEST, Role.PLAYER)) as guest,
        ):
            house = PlayedFloor(stack, client, guest)
            starts_at_ms = time.time_ns() // 1_000_000 + floor.STARTS_IN_MS
            evening = floor.scheduled(starts_at_ms, players=players, level_ms=1_000 if players < 24 else 2_000)
            house.floor = await floor.open_floor(client, guest, evening)
            yield house
    finally:
        await asyncio.to_thread(stack.stop)


VICTIMS = (("tournament",), ("table",), ("wallet", "audit"), ("tournament", "bots"))


@pytest.mark.parametrize(
    ("players", "rounds"),
    [pytest.param(12, 1, id="two-tables"), pytest.param(24, 4, id="four-tables-long", marks=pytest.mark.soak)],
)
async def test_tournaments_are_played_to_paid_prizes_while_every_service_is_killed(tmp_path, players, rounds):
    """TR-1 to TR-5, P1, P2: a Sit & Go, a Spin and an evening; prizes to the chip, replay equal to what was told live."""
    async with played_floor(tmp_path, players) as house:
        playing = asyncio.create_task(floor.play_out(house.floor, lambda _: None, seconds=240.0))
        await house.has_come_to(lambda view: view.kind == "scheduled" and view.phase == "playing", "the evening begins")
        for victims in VICTIMS * rounds:
            for victim in victims:
                await house.kill(victim)
            await house.goes_on()
        await playing

        played = await house.is_sound()

        assert {one.view.phase for one in played} == {"finished"}
        assert all(house.stack.restarts[victim] >= 1 for victims in VICTIMS for victim in victims)
        evening = next(one for one in played if one.view.kind == "scheduled")
        assert evening.view.entries == players
        guest = house.floor.guests[evening.tournament_id]
        assert guest.own.status == "out" or evening.view.winner == GUEST
