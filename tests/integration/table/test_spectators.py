"""S8 over the real service: every door shows a running hand late to who holds no seat, and no hidden card to anybody."""

import asyncio
from uuid import UUID

import grpc
import pytest

from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from services.table.ids import hand_id_of
from tests.integration.table.gamers import client_of
from tests.integration.table.house import Seat, error_of, player_of

DELAY = 6


async def deciding(seat):
    async with asyncio.timeout(10):
        while seat.view is None or not seat.view.hand.HasField("decision"):
            await seat.read()


async def seen_by(house, table_id, subject, role=Role.PLAYER):
    return (await house.call("GetTable", pb.GetTableRequest(table_id=table_id), subject, role)).table


async def started(house):
    table_id = await house.create(spectator_delay_events=DELAY, pause_ms=60_000)
    for player in ("ann", "ben"):
        await house.sit(table_id, player)
    return table_id


@pytest.mark.parametrize("role", [Role.PLAYER, Role.OPERATOR, Role.AUDITOR, Role.SERVICE, Role.BACKEND])
async def test_every_door_shows_a_running_hand_late_and_all_of_it_when_it_is_over(house, role):
    table_id = await started(house)
    hand_id = str(hand_id_of(UUID(table_id), 1))
    async with Seat(house, table_id, "ann") as ann:
        await deciding(ann)
        for _ in range(4):
            live = ann.view
            assert live == await seen_by(house, table_id, "ben"), "seats see it as it is"
            late = await seen_by(house, table_id, "guest", role)
            assert late.version <= live.version - DELAY or not late.hand.pot
            request = pb.WatchRequest(table_id=table_id, after_version=0)
            call = house.stub.Watch(request, metadata=house.metadata("guest", role))
            message = await call.read()
            assert message.update.view == late
            assert not any(each.WhichOneof("message") == "private" for each in (message,))
            call.cancel()
            beyond = house.stub.Watch(
                pb.WatchRequest(table_id=table_id, after_version=late.version + 1),
                metadata=house.metadata("guest", role),
            )
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await beyond.read()
            reason, facts = error_of(refused.value)
            assert (reason, facts["version"]) == ("VERSION_OUT_OF_RANGE", str(late.version))
            listed = await house.call("ListTables", pb.ListTablesRequest(), "guest", role)
            assert [each for each in listed.tables if each.table_id == table_id] in ([late], [])
            asked = pb.GetHandRequest(hand_id=hand_id)
            if late.hand.hand_id != hand_id:
                assert (await house.refused("GetHand", asked, "guest", role))[0] == "HAND_NOT_FOUND"
            else:
                told = await house.call("GetHand", asked, "guest", role)
                assert not told.is_ended
                assert max(event.version for event in told.events) == late.version
            decision = live.hand.decision
            kind = "check" if decision.can_check else "call"
            await house.act(table_id, player_of(live, decision.seat), decision.turn, kind)
            await ann.until(lambda seat, live=live: seat.view.version > live.version)
        decision = ann.view.hand.decision
        await house.act(table_id, player_of(ann.view, decision.seat), decision.turn, "fold")
        await ann.until(lambda seat: not seat.view.hand.HasField("decision"))
        assert await seen_by(house, table_id, "guest", role) == ann.view
        told = await house.call("GetHand", pb.GetHandRequest(hand_id=hand_id), "guest", role)
        assert told.events[-1].version <= ann.view.version


async def test_a_seat_sees_it_at_once_by_watching_too_and_only_its_own_cards(house):
    table_id = await started(house)
    async with Seat(house, table_id, "ann") as ann:
        await deciding(ann)
        call = house.stub.Watch(pb.WatchRequest(table_id=table_id), metadata=house.metadata("ben"))
        message = await call.read()
        assert message.update.view == ann.view
        private = (await call.read()).private
        assert private.seat == 1
        assert len(private.reveals) == 2
        call.cancel()


async def test_who_watches_from_the_beginning_gets_every_event_late_and_in_order(house):
    table_id = await started(house)
    events, views, has_all = [], [], asyncio.Event()

    async def watching():
        async with client_of(house, "guest") as client, client.tables.watch(table_id, after_version=1) as messages:
            async for message in messages:
                if message.WhichOneof("message") == "update":
                    events.extend(message.update.events)
                    views.append(message.update.view)
                    if message.update.view.hand.hand_no and not message.update.view.hand.HasField("decision"):
                        has_all.set()

    async with Seat(house, table_id, "ann") as ann:
        task = asyncio.create_task(watching())
        await deciding(ann)
        while ann.view.hand.HasField("decision"):
            decision, before = ann.view.hand.decision, ann.view.version
            kind = "check" if decision.can_check else "call"
            await house.act(table_id, player_of(ann.view, decision.seat), decision.turn, kind)
            await ann.until(lambda seat, before=before: seat.view.version > before)
            if ann.view.hand.HasField("decision"):
                assert not views or views[-1].version <= ann.view.version - DELAY or not views[-1].hand.pot
        await asyncio.wait_for(has_all.wait(), 5)
        assert views[-1] == ann.view
        task.cancel()
    versions = [event.version for event in events]
    assert versions == list(range(2, 2 + len(versions))), "no hole and no duplicate"
