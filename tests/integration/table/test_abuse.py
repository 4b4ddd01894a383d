"""P12: one caller at full speed, over the real server: an honest player's game goes on."""

import asyncio
import contextlib
import time
from uuid import uuid4

import grpc
import pytest

from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.pace import BURST
from tests.integration.table.house import Seat, error_of, has_decision, player_of

STREAMS = 16
"""As many as the server gives one player."""


async def floods(house, table_id, player):
    """Open every stream that a player may have and send decisions that make no sense, as fast as they are taken.

    Each takes the place of the one before, and is opened again.
    """

    async def one(channel):
        call = channel.stream_stream(
            "/diwan.api.table.v1.TableService/Play", request_serializer=pb.PlayRequest.SerializeToString
        )(metadata=house.metadata(player))

        async def read():
            while await call.read() is not grpc.aio.EOF:
                pass

        reading = asyncio.create_task(read())
        try:
            await call.write(pb.PlayRequest(attach=pb.Attach(table_id=table_id)))
            while True:
                await call.write(pb.PlayRequest(request_id=str(uuid4()), action=pb.Action(turn=1, kind=1)))
        finally:
            reading.cancel()
            call.cancel()

    async def again_and_again(channel):
        while True:
            with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                await one(channel)

    async with grpc.aio.insecure_channel(house.address) as channel:
        await asyncio.gather(*(again_and_again(channel) for _ in range(STREAMS)))


@pytest.mark.parametrize("player", ["mallory", "cid"])
async def test_a_player_who_floods_a_table_keeps_nobody_from_playing(house, player):
    """A stranger, and one who sits there: the others are never told that the table is busy, nor do they wait long."""
    table_id = await house.create(decision_seconds=30)
    for name in ("ann", "ben"):
        await house.sit(table_id, name)
    if player == "cid":
        await house.sit(table_id, player)
    view = await house.until(table_id, has_decision)
    flood = asyncio.create_task(floods(house, table_id, player))
    waits = []
    try:
        await asyncio.sleep(0.5)
        while len(waits) < 12:
            view = await house.until(table_id, has_decision)
            decision = view.hand.decision
            began = time.monotonic()
            actor = player_of(view, decision.seat)
            kind = "check" if decision.can_check else "call"
            if actor == player:
                # The flood takes its own player's turns.
                with contextlib.suppress(grpc.aio.AioRpcError):
                    await house.act(table_id, actor, decision.turn, kind)
                continue
            await house.act(table_id, actor, decision.turn, kind)
            waits.append(time.monotonic() - began)
            assert not flood.done()
    finally:
        flood.cancel()
        await asyncio.gather(flood, return_exceptions=True)
    assert sorted(waits)[len(waits) // 2] < 1.0, waits


async def test_a_name_of_a_request_that_is_none_is_not_kept_to_be_sent_back(house):
    """60,000 characters in every refused message would lie in memory for as long as nobody reads."""
    table_id = await house.create()
    await house.sit(table_id, "ann")
    async with Seat(house, table_id, "ann") as seat:
        await seat.call.write(pb.PlayRequest(request_id="x" * 60_000, open_seed=pb.OpenSeed(hand_no=9, seed=b"y")))
        refused = await seat.result("")
        assert refused.refusal.reason == "SEED_NOT_ASKED"


async def test_a_player_who_goes_out_and_comes_back_without_end_fills_no_log(house):
    """Each is an event for ever; a retry of what took effect is none and is never refused."""
    table_id = await house.create()
    await house.sit(table_id, "ann")
    first, refused = str(uuid4()), []
    for number in range(2 * BURST):
        request = pb.SetSittingOutRequest(
            request_id=first if number == 0 else str(uuid4()), table_id=table_id, is_sitting_out=number % 2 == 0
        )
        try:
            await house.call("SetSittingOut", request, "ann")
        except grpc.aio.AioRpcError as error:
            refused.append(error_of(error)[0])
    assert set(refused) >= {"RATE_LIMITED"}
    again = pb.SetSittingOutRequest(request_id=first, table_id=table_id, is_sitting_out=True)
    assert (await house.call("SetSittingOut", again, "ann")).result.is_replayed
    assert (await house.sit(table_id, "ben")).seat == 1
    await house.call("StandUp", pb.StandUpRequest(request_id=str(uuid4()), table_id=table_id), "ann")
