"""Clocks on a live table: the decision clock, seats of absent players, and our own outages (CL, H7, H8, O7)."""

import asyncio
import time
from uuid import UUID, uuid4

import grpc

from diwan.api.event.v1 import event_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.store import EventStore, UnknownOutcome
from services.table.ids import hand_id_of
from tests.integration.table.house import Seat, error_of, has_decision, player_of


async def two(house, **config):
    table_id = await house.create(**config)
    for player in ("ann", "ben"):
        await house.sit(table_id, player)
    return table_id, await house.until(table_id, has_decision)


async def events_of(house, hand_id):
    hand = await house.call("GetHand", pb.GetHandRequest(hand_id=hand_id))
    return [event_pb2.Event.FromString(event.body) for event in hand.events]


async def test_a_decision_that_is_not_made_is_made_by_the_clock(house):
    """CL-2: facing a bet it is a fold; the log says who decided."""
    table_id, view = await two(house, decision_seconds=1)
    sleeper = view.hand.decision.seat
    began = time.monotonic()
    view = await house.until(table_id, lambda view: view.hand.hand_no == 2)
    assert 0.9 <= time.monotonic() - began < 4
    first = await events_of(house, view.hand.hand_id)
    acted = [event.acted for event in await events_of_hand(house, table_id, 1) if event.HasField("acted")]
    assert [(each.seat, each.kind, each.decided_by) for each in acted] == [(sleeper, 1, 2)]
    assert first[0].hand_started.hand_no == 2


async def events_of_hand(house, table_id, hand_no):
    return await events_of(house, hand_id_of(UUID(table_id), hand_no))


async def test_a_decision_and_the_clock_at_the_same_moment_never_both_count(house):
    """H7: whichever is first; the other is refused, and every decision is in the log once."""
    table_id, _ = await two(house, decision_seconds=1, sit_out_after=100)
    outcomes = set()
    for _ in range(4):
        view = await house.until(table_id, has_decision)
        decision = view.hand.decision
        player, hand_no = player_of(view, decision.seat), view.hand.hand_no
        # The house's clock and ours are one machine's; aim around the deadline.
        wait = decision.deadline_ms / 1000 - time.time()
        await asyncio.sleep(max(0, wait + 0.001 * (len(outcomes) - 1)))
        action = pb.Action(turn=decision.turn, kind=1)
        request = pb.ActRequest(request_id=str(uuid4()), table_id=table_id, action=action)
        try:
            await house.call("Act", request, player)
            outcomes.add("player")
        except grpc.aio.AioRpcError as error:
            outcomes.add((error.code(), error_of(error)[0]))
        await house.until(table_id, lambda view, hand_no=hand_no: view.hand.hand_no > hand_no)
        acted = [event.acted for event in await events_of_hand(house, table_id, hand_no) if event.HasField("acted")]
        assert [each.turn for each in acted] == [decision.turn]
    late = {(grpc.StatusCode.FAILED_PRECONDITION, why) for why in ("HAND_OVER", "STALE_TURN", "DEADLINE_PASSED")}
    assert outcomes <= {"player"} | late


async def test_a_decision_that_comes_in_the_time_bank_counts_and_costs_what_it_took(house):
    """RULES.md table defaults: the bank runs by itself, and the log says from when."""
    table_id, view = await two(house, decision_seconds=1, time_bank_seconds=8, time_bank_gain_seconds=0)
    decision = view.hand.decision
    assert [seat.time_bank_ms for seat in view.seats] == [8000, 8000]
    view = await house.until(table_id, lambda view: view.hand.decision.is_time_bank_running)
    assert (view.hand.decision.turn, view.hand.decision.deadline_ms) == (decision.turn, decision.deadline_ms + 8000)
    await house.act(table_id, player_of(view, decision.seat), decision.turn, "call")
    events = await events_of_hand(house, table_id, 1)
    began = next(event.time_bank_began for event in events if event.HasField("time_bank_began"))
    acted = next(event.acted for event in events if event.HasField("acted"))
    assert 0 < acted.bank_spent_ms == acted.received_at_ms - decision.deadline_ms < 4000
    assert began.bank_ms == 8000
    left = {seat.seat: seat.time_bank_ms for seat in (await house.view(table_id)).seats}
    assert left == {decision.seat: 8000 - acted.bank_spent_ms, 1 - decision.seat: 8000}


async def test_a_decision_at_the_end_of_the_clock_is_never_too_late_for_a_bank(house):
    """H7: whichever comes first, the decision or the clock, the bank takes it; and it counts once."""
    table_id, _ = await two(
        house, decision_seconds=1, sit_out_after=100, time_bank_seconds=20, time_bank_gain_seconds=20
    )
    for number in range(4):
        view = await house.until(table_id, has_decision)
        decision, hand_no = view.hand.decision, view.hand.hand_no
        wait = decision.deadline_ms / 1000 - time.time()
        await asyncio.sleep(max(0, wait + 0.002 * (number - 1)))
        await house.act(table_id, player_of(view, decision.seat), decision.turn, "fold")
        await house.until(table_id, lambda view, hand_no=hand_no: view.hand.hand_no > hand_no)
        acted = [event.acted for event in await events_of_hand(house, table_id, hand_no) if event.HasField("acted")]
        assert [(each.turn, each.decided_by) for each in acted] == [(decision.turn, 1)]


async def test_the_clock_decides_at_the_end_of_the_bank(house):
    """CL-2."""
    table_id, view = await two(house, decision_seconds=1, time_bank_seconds=1)
    decision = view.hand.decision
    view = await house.until(table_id, lambda view: view.hand.hand_no == 2)
    acted = [event.acted for event in await events_of_hand(house, table_id, 1) if event.HasField("acted")]
    assert [(each.decided_by, each.bank_spent_ms) for each in acted] == [(2, 1000)]
    assert acted[0].received_at_ms >= decision.deadline_ms + 1000


async def test_a_late_tap_never_acts_on_the_next_decision(house):
    """G3, CL-5: a decision names its turn."""
    table_id, view = await two(house)
    decision = view.hand.decision
    player = player_of(view, decision.seat)
    await house.act(table_id, player, decision.turn, "call")
    action = pb.Action(turn=decision.turn, kind=1)
    request = pb.ActRequest(request_id=str(uuid4()), table_id=table_id, action=action)
    assert (await house.refused("Act", request, player))[0] == "STALE_TURN"


async def test_a_seat_is_kept_for_the_reserved_time_and_then_stood_up_with_its_chips(house):
    """CL-4, G2: the line was lost; clock and bets are not touched meanwhile."""
    table_id = await house.create(reserve_seconds=1)
    await house.sit(table_id, "ann")
    async with Seat(house, table_id, "ann") as ann:
        await ann.read()
    assert len((await house.view(table_id)).seats) == 1
    view = await house.until(table_id, lambda view: not view.seats, seconds=5)
    assert view.version > 0


async def test_who_comes_back_in_time_keeps_the_seat(house):
    """CL-5."""
    table_id = await house.create(reserve_seconds=2)
    await house.sit(table_id, "ann")
    async with Seat(house, table_id, "ann") as ann:
        await ann.read()
    await asyncio.sleep(0.5)
    async with Seat(house, table_id, "ann") as ann:
        await ann.read()
        await asyncio.sleep(2.2)
        assert [seat.player for seat in (await house.view(table_id)).seats] == ["ann"]


async def test_an_outage_of_the_store_gives_the_open_decision_its_time_back(house, monkeypatch):
    """O7: our outage, not the player's; the log says so."""
    table_id, view = await two(house, decision_seconds=3)
    real, until = EventStore.append, time.monotonic() + 2.5

    async def away(self, append, meanwhile):
        if time.monotonic() < until:
            await asyncio.sleep(0.1)
            raise UnknownOutcome("nobody answers")
        return await real(self, append, meanwhile)

    monkeypatch.setattr(EventStore, "append", away)
    decision = view.hand.decision
    await house.act(table_id, player_of(view, decision.seat), decision.turn, "call")
    events = await events_of(house, view.hand.hand_id)
    view = await house.until(table_id, lambda view: view.hand.decision.deadline_ms > decision.deadline_ms + 2000)
    events = await events_of(house, view.hand.hand_id)
    moved = [event.deadline_moved for event in events if event.HasField("deadline_moved")]
    assert [each.reason for each in moved] == ["outage"]
    assert moved[0].turn == view.hand.decision.turn


async def test_refusals_of_a_hand_are_counted_in_one_event_after_it(house):
    """DESIGN 3: refused play leaves no event of its own."""
    table_id, view = await two(house)
    waiting = next(seat.player for seat in view.seats if seat.seat != view.hand.decision.seat)
    for _ in range(3):
        action = pb.Action(turn=view.hand.decision.turn, kind=1)
        request = pb.ActRequest(request_id=str(uuid4()), table_id=table_id, action=action)
        assert (await house.refused("Act", request, waiting))[0] == "NOT_YOUR_TURN"
    assert (await house.view(table_id)).version == view.version
    async with Seat(house, table_id, "ann") as seat:
        await seat.until(lambda seat: seat.view is not None)
        await house.act(table_id, player_of(view, view.hand.decision.seat), view.hand.decision.turn)
        await seat.until(lambda seat: any(event.type_id == 52 for event in seat.events))
    recorded = next(event for event in seat.events if event.type_id == 52)
    counts = event_pb2.Event.FromString(recorded.body).refusals_recorded.counts
    assert [(each.reason, each.count) for each in counts] == [("NOT_YOUR_TURN", 3)]
