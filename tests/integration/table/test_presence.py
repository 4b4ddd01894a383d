"""Who is there: second devices, dead readers, reserved seats, coming back (CL-3, CL-4, CL-5, G2)."""

import asyncio
from contextlib import AsyncExitStack
from uuid import uuid4

import grpc
import pytest

from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.client import DiwanError
from services.table import tables
from services.table.frames import heartbeat_frame
from services.table.hub import Hub
from tests.integration.table.gamers import client_of
from tests.integration.table.house import Seat, error_of, has_decision, player_of
from tests.integration.table.test_clocks import events_of_hand


async def two(house, **config):
    table_id = await house.create(**config)
    for player in ("ann", "ben"):
        await house.sit(table_id, player)
    return table_id, await house.until(table_id, has_decision)


async def end_of(seat, seconds=5):
    """Read a stream to its end and return the reason."""
    try:
        async with asyncio.timeout(seconds):
            while (await seat.call.read()) is not grpc.aio.EOF:
                continue
    except grpc.aio.AioRpcError as error:
        return error_of(error)[0]
    return None


# ---- a second connection --------------------------------------------------------------------------------------------


async def test_a_second_stream_of_a_player_ends_the_first_and_what_that_one_asked_counts_once(house):
    """Given an action that the first device has just sent, when a second one attaches, then it stands in the log once."""
    table_id, view = await two(house)
    decision = view.hand.decision
    player = player_of(view, decision.seat)
    async with Seat(house, table_id, player) as first:
        await first.until(lambda seat: seat.view is not None)
        request_id = await first.act("call")
        async with Seat(house, table_id, player) as second:
            await second.until(lambda seat: seat.view is not None)
            assert await end_of(first) == "REPLACED"
            action = pb.Action(turn=decision.turn, kind=3)
            await second.call.write(pb.PlayRequest(request_id=request_id, action=action))
            result = await second.result(request_id)
            assert not result.refusal.reason
            acted = [event.acted for event in await events_of_hand(house, table_id, 1) if event.HasField("acted")]
            assert [each.turn for each in acted] == [decision.turn]
            assert [seat.player for seat in (await house.view(table_id)).seats] == ["ann", "ben"]


async def test_the_seat_of_a_replaced_stream_is_not_given_up(house):
    table_id = await house.create(reserve_seconds=1)
    await house.sit(table_id, "ann")
    async with Seat(house, table_id, "ann") as first, Seat(house, table_id, "ann") as second:
        await second.read()
        assert await end_of(first) == "REPLACED"
        await asyncio.sleep(1.5)
        assert [seat.player for seat in (await house.view(table_id)).seats] == ["ann"]


async def test_two_devices_do_not_take_the_seat_from_each_other_for_ever(house):
    """The library does not open a stream again that another device has replaced."""
    table_id = await house.create()
    await house.sit(table_id, "ann")
    async with AsyncExitStack() as stack:
        phone, tablet = [await stack.enter_async_context(client_of(house, "ann")) for _ in range(2)]
        first = await stack.enter_async_context(phone.tables.play(table_id))
        await anext(first)
        second = await stack.enter_async_context(tablet.tables.play(table_id))

        async def read_on():
            async for _ in first:
                continue

        with pytest.raises(DiwanError) as replaced:
            await asyncio.wait_for(read_on(), 5)
        assert replaced.value.reason == "REPLACED"
        assert not replaced.value.can_be_retried
        await anext(second)
        with pytest.raises(DiwanError) as late:
            await first.act(1, "fold")
        assert late.value.reason == "UNKNOWN_OUTCOME"
        async with asyncio.timeout(5):
            while second.presence is None or not second.presence.seats[0].is_connected:
                await anext(second)


async def test_a_watching_stream_replaces_none_and_is_replaced_by_none(house):
    table_id = await house.create()
    await house.sit(table_id, "ann")
    watching = house.stub.Watch(pb.WatchRequest(table_id=table_id), metadata=house.metadata("ann"))
    await watching.read()
    async with Seat(house, table_id, "ann") as seat:
        await seat.read()
        again = house.stub.Watch(pb.WatchRequest(table_id=table_id), metadata=house.metadata("ann"))
        await again.read()
        assert not watching.done()
        assert not seat.call.done()
        again.cancel()
    watching.cancel()


# ---- readers who are dead -------------------------------------------------------------------------------------------


async def test_a_seat_that_says_nothing_at_all_is_ended_and_one_that_acknowledges_is_not(house, monkeypatch):
    monkeypatch.setattr(tables, "HEARTBEAT_SECONDS", 0.05)
    table_id = await house.create()
    async with Seat(house, table_id, "ann") as silent, Seat(house, table_id, "ben") as alive:
        await house.until(table_id, lambda view: view.version > 0)
        await asyncio.sleep(5.0)  # The heartbeat's task sleeps one last time as long as before.

        async def acknowledging():
            while True:
                await alive.read()
                await alive.call.write(pb.PlayRequest(acknowledge=pb.Acknowledge(version=1)))

        task = asyncio.create_task(acknowledging())
        assert await end_of(silent, seconds=8) == "READER_SILENT"
        await asyncio.sleep(1)
        assert not task.done()
        task.cancel()


async def test_a_reader_that_takes_nothing_is_ended_and_the_table_lets_go_of_it(house, monkeypatch):
    """P12: the line is full up to grpc's own buffers, so that a write waits for ever."""
    monkeypatch.setattr(tables, "HEARTBEAT_SECONDS", 0.05)
    hubs = []

    class Kept(Hub):
        def __init__(self, *args):
            super().__init__(*args)
            hubs.append(self)

    monkeypatch.setattr("services.table.actor.Hub", Kept)
    table_id = await house.create()
    call = house.stub.Watch(pb.WatchRequest(table_id=table_id), metadata=house.metadata("ann"))
    await call.read()
    (watcher,) = hubs[0]._watchers
    frame = heartbeat_frame(1, 1) + b"\x7a\x80\x80\x04" + bytes(65536)  # of a field that nobody knows
    async with asyncio.timeout(30):
        while hubs[0].has_watchers:
            if watcher.waiting < 100:
                watcher.push(frame)
            await asyncio.sleep(0.01)
    call.cancel()


# ---- presence -------------------------------------------------------------------------------------------------------


async def presence_until(watch, condition):
    async with asyncio.timeout(5):
        async for message in watch:
            if message.WhichOneof("message") == "presence" and condition(message.presence):
                return message.presence
    raise AssertionError("the stream ended")


async def test_everybody_sees_who_is_there_who_is_not_and_until_when_the_seat_is_kept(house):
    table_id = await house.create(reserve_seconds=30)
    watch = house.stub.Watch(pb.WatchRequest(table_id=table_id), metadata=house.metadata("guest"))
    await house.sit(table_id, "ann")
    (never,) = (await presence_until(watch, lambda told: told.seats)).seats
    assert (never.player, never.is_connected, never.disconnected_since_ms, never.reserved_until_ms) == (
        "ann",
        False,
        0,
        0,
    )
    async with Seat(house, table_id, "ann") as seat:
        await seat.read()
        (there,) = (await presence_until(watch, lambda told: told.seats[0].is_connected)).seats
        assert there.reserved_until_ms == 0
    (away,) = (await presence_until(watch, lambda told: not told.seats[0].is_connected)).seats
    assert away.reserved_until_ms == away.disconnected_since_ms + 30_000 > 1_700_000_000_000
    table = await house.call("GetTable", pb.GetTableRequest(table_id=table_id))
    assert list(table.presence.seats) == [away]
    async with Seat(house, table_id, "ann"):
        await presence_until(watch, lambda told: told.seats[0].is_connected)
    watch.cancel()


async def test_a_seat_that_is_given_up_is_stood_up_after_the_hand_and_plays_by_the_clock_until_then(house):
    """CL-3, G2, A11: the clock is not touched; who is asked and will not come back is decided for."""
    table_id, view = await two(house, reserve_seconds=1, decision_seconds=60)
    sleeper = view.hand.decision.seat
    player = player_of(view, sleeper)
    async with Seat(house, table_id, player) as seat:
        await seat.read()
    view = await house.until(table_id, lambda view: player not in [each.player for each in view.seats])
    events = await events_of_hand(house, table_id, 1)
    acted = [event.acted for event in events if event.HasField("acted")]
    assert [(each.seat, each.decided_by) for each in acted] == [(sleeper, 4)]
    left = next(event.stand_up_requested for event in events if event.HasField("stand_up_requested"))
    assert left.cause == 4


async def test_who_comes_back_in_time_goes_on_in_the_same_decision(house):
    """CL-5: neither the deadline nor a bet has changed."""
    table_id, view = await two(house, reserve_seconds=30)
    decision = view.hand.decision
    player = player_of(view, decision.seat)
    async with Seat(house, table_id, player) as seat:
        await seat.until(lambda seat: seat.view is not None)
    async with Seat(house, table_id, player, after_version=view.version) as seat:
        await seat.until(lambda seat: seat.view is not None and seat.private is not None)
        assert seat.view.hand.decision == decision
        assert not (await seat.result(await seat.act("call"))).refusal.reason


async def test_who_sits_out_is_dealt_out_and_comes_back_when_asked(house):
    table_id, view = await two(house)
    player = player_of(view, view.hand.decision.seat)
    asked = pb.SetSittingOutRequest(request_id=str(uuid4()), table_id=table_id, is_sitting_out=True)
    await house.call("SetSittingOut", asked, player)
    await house.act(table_id, player, view.hand.decision.turn, "fold")
    await asyncio.sleep(0.2)
    assert (await house.view(table_id)).hand.hand_no == 1, "one player alone plays no hand"
    back = pb.SetSittingOutRequest(request_id=str(uuid4()), table_id=table_id, post_at_once=True)
    await house.call("SetSittingOut", back, player)
    await house.until(table_id, lambda view: view.hand.hand_no == 2)
