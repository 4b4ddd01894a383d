"""Reconnecting: a contiguous view from any version, and readers who do not read (H10, P12)."""

import asyncio
from uuid import UUID, uuid4

import grpc
import pytest

from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.core.redact import public_view
from diwan.core.table.evolve import evolve
from diwan.wire.events import decode
from diwan.wire.views import read_table_view
from services.table.ids import hand_id_of
from services.table.watchers import FRAMES_MAX
from tests.integration.table.house import Seat, error_of, has_decision, player_of


async def played(house, decisions=8):
    """A table in mid-hand with some history."""
    table_id = await house.create()
    for player in ("ann", "ben", "cid"):
        await house.sit(table_id, player)
    for number in range(decisions):
        view = await house.until(table_id, has_decision)
        decision = view.hand.decision
        kind = "check" if decision.can_check else "fold" if number == 4 else "call"
        await house.act(table_id, player_of(view, decision.seat), decision.turn, kind)
    return table_id, await house.until(table_id, has_decision)


async def caught_up(house, table_id, after_version, version):
    """Return the events and the last view of a stream that goes on from a version."""
    call = house.stub.Watch(
        pb.WatchRequest(table_id=table_id, after_version=after_version), metadata=house.metadata("w", Role.SERVICE)
    )
    events, view, was_snapshot = [], None, False
    async with asyncio.timeout(5):
        async for message in call:
            if message.WhichOneof("message") == "update":
                events += message.update.events
                was_snapshot |= message.update.is_snapshot
                if message.update.HasField("view"):
                    view = message.update.view
            if view is not None and view.version >= version:
                break
    call.cancel()
    return events, view, was_snapshot


def folded(events):
    """Return the public view that the events alone give, by the product's own fold."""
    state, shown = None, {}
    for event in events:
        decoded = decode(event.type_id, event.schema_version, event.body)
        if type(decoded.event).__name__ == "HandStarted":
            shown = {}
        shown |= {reveal.position: reveal.card for reveal in decoded.reveals}
        state = evolve(state, decoded.event)
    return public_view(state, shown, names={}, next_hand_id=hand_id_of(UUID(state.table_id), state.hand_no + 1))


async def test_from_every_version_the_missed_events_come_without_hole_or_duplicate(house):
    """H10: old versions of any age, and the view is that of the whole log."""
    table_id, view = await played(house)
    everything, _, _ = await caught_up(house, table_id, 1, view.version)
    assert [event.version for event in everything] == list(range(2, view.version + 1))
    for after in range(1, view.version):
        events, last, was_snapshot = await caught_up(house, table_id, after, view.version)
        assert not was_snapshot
        assert [event.version for event in events] == list(range(after + 1, view.version + 1))
        assert events == everything[after - 1 :]
        assert last == view


async def test_the_view_that_is_sent_is_the_view_of_the_folded_log(house, postgres, database):
    """H3: live state = fold of the stored events."""
    table_id, view = await played(house)
    hand = await house.call("GetHand", pb.GetHandRequest(hand_id=view.hand.hand_id))
    first = hand.events[0].version
    before, _, _ = await caught_up(house, table_id, 1, view.version)
    import asyncpg

    connection = await asyncpg.connect(postgres.url("postgres", postgres.password, database))
    row = await connection.fetchrow(
        "select type_id, schema_v, body from event where stream_id = $1 and version = 1", UUID(table_id)
    )
    await connection.close()
    created = pb.Update().events.add(type_id=row["type_id"], schema_version=row["schema_v"], body=row["body"])
    assert first <= view.version
    assert folded([created, *before]) == read_table_view(view)


async def test_from_version_0_and_from_the_newest_a_snapshot_comes(house):
    table_id, view = await played(house, 2)
    for after in (0, view.version):
        events, last, was_snapshot = await caught_up(house, table_id, after, view.version)
        assert (events, was_snapshot) == ([], True)
        assert last == view


@pytest.mark.parametrize("beyond", [1, 1000, 2**62, -1, -(2**63)])
async def test_a_version_that_does_not_exist_is_out_of_range(house, beyond):
    """H10: wrong v = OUT_OF_RANGE, then a full resync."""
    table_id = await house.create()
    # A new table commits to its first secret by itself; then nothing happens until somebody sits down.
    view = await house.until(table_id, lambda view: view.HasField("seed_exchange"))
    after = view.version + beyond if 0 < beyond < 10_000 else beyond
    call = house.stub.Watch(
        pb.WatchRequest(table_id=table_id, after_version=after), metadata=house.metadata("w", Role.SERVICE)
    )
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call.read()
    assert refused.value.code() is grpc.StatusCode.OUT_OF_RANGE
    reason, facts = error_of(refused.value)
    assert reason == "VERSION_OUT_OF_RANGE"
    assert int(facts["version"]) == view.version


async def test_a_seat_that_comes_back_gets_its_own_cards_again_and_no_others(house):
    table_id, view = await played(house, 0)
    async with Seat(house, table_id, "ann") as ann:
        await ann.until(lambda seat: seat.private is not None)
    for after in (0, view.version, view.version - 1):
        async with Seat(house, table_id, "ann", after_version=after) as again:
            await again.until(lambda seat: seat.private is not None)
            assert again.private == ann.private
            assert len(again.private.reveals) == 2


async def test_a_watcher_that_does_not_read_costs_a_bounded_queue_and_is_dropped_to_a_snapshot():
    """P12: the queue itself, since a real connection hides some hundred kilobytes in its buffers."""
    from services.table.frames import result_frame
    from services.table.watchers import Watcher

    watcher = Watcher(lambda _: [b"snapshot"])
    for number in range(FRAMES_MAX):
        watcher.push(b"%d" % number)
    watcher.tell(b"answer")
    for _ in range(1000):
        watcher.push(b"too late")
    assert watcher.waiting <= FRAMES_MAX + 1
    assert [watcher.take() for _ in range(3)] == [result_frame(b"answer"), b"snapshot", None]
    watcher.push(b"live")
    assert watcher.take() == b"live"


async def test_a_table_plays_on_beside_a_watcher_that_does_not_read(house):
    table_id, _ = await played(house, 0)
    calls = [
        house.stub.Watch(pb.WatchRequest(table_id=table_id), metadata=house.metadata("w", Role.SERVICE))
        for _ in range(5)
    ]
    for _ in range(60):
        view = await house.view(table_id)
        if has_decision(view):
            decision = view.hand.decision
            kind = "check" if decision.can_check else "call"
            await house.act(table_id, player_of(view, decision.seat), decision.turn, kind)
    assert (await house.view(table_id)).version > view.version - 1
    for call in calls:
        newest = 0
        async with asyncio.timeout(5):
            async for message in call:
                newest = max(newest, message.update.view.version)
                if newest >= view.version:
                    break
        call.cancel()


async def test_idle_streams_get_heartbeats_with_the_tables_time(house, monkeypatch):
    from services.table import tables

    monkeypatch.setattr(tables, "HEARTBEAT_SECONDS", 0.05)
    table_id = await house.create()
    call = house.stub.Watch(pb.WatchRequest(table_id=table_id), metadata=house.metadata("w", Role.SERVICE))
    async with asyncio.timeout(8):
        async for message in call:
            if message.WhichOneof("message") == "heartbeat":
                break
    assert message.heartbeat.server_time_ms > 1_700_000_000_000
    assert message.heartbeat.version == (await house.view(table_id)).version
    call.cancel()


async def test_the_first_message_of_a_seats_stream_is_attach_and_only_the_first(house):
    table_id = await house.create()
    call = house.stub.Play(metadata=house.metadata("ann"))
    await call.write(pb.PlayRequest(request_id=str(uuid4()), action=pb.Action(turn=1)))
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call.read()
    assert error_of(refused.value)[0] == "STREAM_OUT_OF_ORDER"
    # A new table commits to its first secret by itself; then nothing happens until somebody sits down.
    await house.until(table_id, lambda view: view.HasField("seed_exchange"))
    async with Seat(house, table_id, "ann") as seat:
        await seat.until(lambda seat: seat.view is not None)
        await seat.call.write(pb.PlayRequest(attach=pb.Attach(table_id=table_id)))
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await seat.until(lambda _: False)
        assert error_of(refused.value)[0] == "STREAM_OUT_OF_ORDER"


async def test_who_says_that_everything_is_said_gets_the_answers_and_then_the_end(house):
    table_id, view = await played(house, 0)
    player = player_of(view, view.hand.decision.seat)
    async with Seat(house, table_id, player) as seat:
        await seat.until(lambda seat: seat.view is not None)
        request_id = await seat.act("call")
        await seat.call.done_writing()
        await seat.until(lambda seat: request_id in seat.results)
        async with asyncio.timeout(5):
            while (await seat.call.read()) is not grpc.aio.EOF:
                continue
