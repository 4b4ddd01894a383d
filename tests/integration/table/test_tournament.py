"""Tables of tournaments at the real service: orders over the contract, play by clients, kill -9 (TR, B5, RP-8)."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from diwan.api.event.v1 import table_pb2
from diwan.client import DiwanError
from diwan.core.hand.events import HandStarted
from diwan.core.table.tournament.events import EntrantReleased
from tests.integration.table.director import Director
from tests.integration.table.gamers import Gamer, client_of, verified

PLAYERS = ("ann", "ben", "cid")


class Bold(Gamer):
    """Plays until it has no seat any more, and often for everything."""

    async def play(self, _hands=0):
        try:
            async for _ in self.seat:
                if self.seat.table is not None:
                    await self._answer()
        except DiwanError as refusal:
            if refusal.reason != "MOVED_TO_ANOTHER_TABLE":
                raise

    def _choice(self, decision):
        if self.chance.random() < 0.4 and (decision.can_raise or decision.can_bet):
            return ("raise" if decision.can_raise else "bet"), decision.max_to
        return super()._choice(decision)


@pytest.mark.parametrize("game", ["holdem", "omaha", "naiko"])
async def test_a_table_is_played_by_clients_to_its_last_player_and_every_hand_is_proved(house, game):
    director = Director(house)
    table_id = await director.open(game=game, start=table_pb2.START_MODE_ON_GRANT)
    for number, player in enumerate(PLAYERS):
        await director.seat(table_id, player, number)
    await director.start(table_id)
    async with AsyncExitStack() as stack:
        gamers = []
        for number, player in enumerate(PLAYERS):
            client = await stack.enter_async_context(client_of(house, player))
            seat = await stack.enter_async_context(client.tables.play(table_id))
            gamers.append(asyncio.create_task(Bold(seat, number).play()))
        async with asyncio.timeout(60):
            view = await house.until(table_id, lambda view: len(view.seats) == 1, seconds=60)
            await director.close(table_id)
            await asyncio.gather(*gamers)
    events = await verified(house, table_id)
    released = [event for event in events if isinstance(event, EntrantReleased)]
    assert [event.cause for event in released] == ["busted", "busted", "table_closed"]
    assert (released[-1].player, released[-1].stack) == (view.seats[0].player, 3_000)
    assert all(sum(seat.stack for seat in hand.seats) == 3_000 for hand in events if isinstance(hand, HandStarted))
    assert not house.wallet.transfers
