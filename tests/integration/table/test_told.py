"""O4, DESIGN 8: decide, append, and only then tell anyone anything."""

import asyncio

from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.store import EventStore
from tests.integration.table.house import Seat, has_decision, player_of

SETTLING_SECONDS = 0.5
"""How long everybody is listened to while an append is held up: a hundred times what telling takes."""


class HeldAppends:
    """Stops appends between the decision and the commit until it is told to let them through; all is written ahead by then."""

    def __init__(self, monkeypatch):
        self.reached, self.is_open = asyncio.Event(), asyncio.Event()
        append = EventStore.append

        async def held(store, one, meanwhile):
            meanwhile()
            self.reached.set()
            await self.is_open.wait()
            return await append(store, one)

        monkeypatch.setattr(EventStore, "append", held)


async def heard(call, told):
    """Note everything that a stream says but signs of life, and who is there."""
    while True:
        message = await call.read()
        if message.WhichOneof("message") not in {"heartbeat", "presence"}:
            told.append(message)


async def test_nobody_is_told_of_a_decision_before_it_is_committed(house, monkeypatch):
    """Neither who acted, nor the other seat, nor a spectator, nor who asks for the table; afterwards all of them."""
    table_id = await house.create(decision_seconds=60)
    for player in ("ann", "ben"):
        await house.sit(table_id, player)
    view = await house.until(table_id, has_decision)
    async with Seat(house, table_id, "ann") as ann, Seat(house, table_id, "ben") as ben:
        seats = {"ann": ann, "ben": ben}
        for seat in seats.values():
            await seat.until(lambda seat: seat.private is not None)
        watching = house.stub.Watch(pb.WatchRequest(table_id=table_id), metadata=house.metadata("w", Role.SERVICE))
        await watching.read()
        before = await house.view(table_id)
        told = {"ann": [], "ben": [], "spectator": []}
        calls = {"ann": ann.call, "ben": ben.call, "spectator": watching}
        listening = [asyncio.create_task(heard(call, told[name])) for name, call in calls.items()]
        appends = HeldAppends(monkeypatch)

        await seats[player_of(view, view.hand.decision.seat)].act("call")
        await asyncio.wait_for(appends.reached.wait(), 5)
        await asyncio.sleep(SETTLING_SECONDS)

        assert told == {"ann": [], "ben": [], "spectator": []}
        assert await house.view(table_id) == before

        appends.is_open.set()
        await house.until(table_id, lambda view: view.version > before.version)
        await asyncio.sleep(SETTLING_SECONDS)
        assert all(told.values())
        for task in listening:
            task.cancel()
        watching.cancel()
