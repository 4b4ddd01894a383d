"""kill -9 at tables of tournaments: seats, clock, grants, holds and orders in flight survive (P1, P2, H6, RP-8)."""

import asyncio
from uuid import uuid4

import grpc

from diwan.api.event.v1 import event_pb2, table_pb2
from diwan.api.table.v1 import tournament_pb2 as pb
from diwan.core.hand.events import HandEnded, HandStarted, RunoutHeld, RunoutReleased
from diwan.core.table.tournament.events import EntrantReleased
from diwan.wire.events import decode
from tests.integration.table.director import Director
from tests.integration.table.house import a_house, a_wallet, has_decision, keys_in, player_of
from tests.integration.table.test_crash import a_process, checked, log_of

ON_GRANT = table_pb2.START_MODE_ON_GRANT


async def all_in(house, table_id):
    """Let the two at a table put in everything; returns the view in which the board is held."""
    for _ in range(2):
        view = await house.until(table_id, has_decision)
        decision = view.hand.decision
        await house.act(table_id, player_of(view, decision.seat), decision.turn, is_all_in=True)
    return await house.until(table_id, lambda view: view.tournament.held_until_ms)


async def events_of(postgres, database, table_id):
    rows = await log_of(postgres, database, table_id)
    checked(table_id, rows)
    return [decode(row["type_id"], row["schema_v"], row["body"]).event for row in rows]


async def test_a_table_goes_on_after_kill_9_where_it_stood(postgres, database, folder):
    """A grant, a held all-in and an order to leave: each is there again, and each takes effect once."""
    key = keys_in(folder)
    async with a_wallet(folder) as wallet:
        async with a_process(postgres, database, folder, wallet, key) as house:
            director = Director(house)
            table_id = await director.open(start=ON_GRANT)
            for number, player in enumerate(("ann", "ben")):
                await director.seat(table_id, player, number)
            granted = str(uuid4())
            await director.order(table_id, granted, grant_hand=pb.GrantHandOrder(round_no=1, hold_ms=600_000))
            house.process.kill()
            await house.process.wait()
        async with a_process(postgres, database, folder, wallet, key) as house:
            director = Director(house)
            again = await director.order(table_id, granted, grant_hand=pb.GrantHandOrder(round_no=1, hold_ms=600_000))
            assert again.is_replayed
            held = await all_in(house, table_id)
            ordered = str(uuid4())
            leaving = pb.ReleaseEntrantOrder(player="ann", cause=1)
            await director.order(table_id, ordered, release_entrant=leaving)
            house.process.kill()
            await house.process.wait()
        async with a_house(postgres, database, folder, wallet=wallet) as house:
            director = Director(house)
            view = await house.view(table_id)
            assert view.tournament.held_until_ms == held.tournament.held_until_ms
            assert not view.hand.board
            released = str(uuid4())
            runout = pb.ReleaseRunoutOrder(hand_no=view.hand.hand_no)
            await director.order(table_id, released, release_runout=runout)
            assert (await director.order(table_id, released, release_runout=runout)).is_replayed
            # The order to leave is answered as it was, whatever became of its player since.
            assert (await director.order(table_id, ordered, release_entrant=leaving)).is_replayed
            assert (await house.view(table_id)).tournament.is_waiting, "the grant was for one hand"
            await director.close(table_id)
    events = await events_of(postgres, database, table_id)
    left = [event for event in events if isinstance(event, EntrantReleased)]
    assert sum(event.stack for event in left) == 2_000
    assert {event.player for event in left} == {"ann", "ben"}
    assert [event.tournament.round_no for event in events if isinstance(event, HandStarted)] == [1]
    assert sum(isinstance(event, RunoutHeld) for event in events) == 1
    assert [event.order_id for event in events if isinstance(event, RunoutReleased)] == [released]
    assert [event.result for event in events if isinstance(event, HandEnded)] == ["showdown"]


async def test_an_order_in_flight_at_kill_9_takes_effect_once_or_not_at_all(postgres, database, folder):
    """P1, P2: given again under its id it says which, and happens once."""
    key = keys_in(folder)
    async with a_wallet(folder) as wallet:
        async with a_house(postgres, database, folder, wallet=wallet) as house:
            table_id = await Director(house).open(start=ON_GRANT)
        for number in range(2):
            order_id, given = str(uuid4()), pb.SeatEntrantOrder(seat=number, player=f"p{number}", stack=100)
            async with a_process(postgres, database, folder, wallet, key) as house:
                await house.view(table_id)
                asked = asyncio.create_task(Director(house).order(table_id, order_id, seat_entrant=given))
                # Killed before the first arrives, and the second while it is stored or after its answer.
                await asyncio.sleep(0.003 * number)
                house.process.kill()
                await house.process.wait()
                answer = (await asyncio.gather(asked, return_exceptions=True))[0]
            rows = await log_of(postgres, database, table_id)
            was_stored = any(_seated(row) == f"p{number}" for row in rows)
            assert was_stored or isinstance(answer, grpc.aio.AioRpcError), "an answer before the commit"
            async with a_house(postgres, database, folder, wallet=wallet) as house:
                again = await Director(house).order(table_id, order_id, seat_entrant=given)
                assert again.is_replayed == was_stored
        rows = await log_of(postgres, database, table_id)
        assert [_seated(row) for row in rows if _seated(row)] == ["p0", "p1"]
        checked(table_id, rows)


def _seated(row):
    return event_pb2.Event.FromString(row["body"]).entrant_seated.player


async def test_a_held_all_in_goes_on_by_itself_with_everybody_else_away(postgres, database, folder):
    """RP-8: also where the tournament is dead and the table's own process was."""
    key = keys_in(folder)
    async with a_wallet(folder) as wallet:
        async with a_process(postgres, database, folder, wallet, key) as house:
            director = Director(house)
            table_id = await director.open(start=ON_GRANT)
            for number, player in enumerate(("ann", "ben")):
                await director.seat(table_id, player, number)
            await director.order(table_id, hold_runouts=pb.HoldRunoutsOrder(hold_ms=1_500))
            await director.start(table_id)
            await all_in(house, table_id)
            house.process.kill()
            await house.process.wait()
        async with a_house(postgres, database, folder, wallet=wallet) as house:
            await house.until(table_id, lambda view: len(view.hand.board) == 5)
    events = await events_of(postgres, database, table_id)
    (released,) = (event for event in events if isinstance(event, RunoutReleased))
    (held,) = (event for event in events if isinstance(event, RunoutHeld))
    assert released.is_by_clock
    assert released.released_at_ms >= held.until_ms
