"""Waiting for a seat over gRPC: the line in the view, kept seats and their clock, notices, outages (CL-6)."""

import asyncio
from uuid import uuid4

import pytest

from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from tests.integration.table.gamers import verified
from tests.integration.table.house import a_house, has_decision, named, player_of
from tests.integration.table.test_notices import following, next_of
from tests.integration.table.test_private import client_of, clients, opened, reason_of, someone


async def full(house, *, bots=1, seats=2, **config):
    """A table whose seats are taken by one person and bots; returns its id and the person."""
    ann = someone("ann")
    table_id = await house.create(seats=seats, bots_fill=seats, **config)
    await house.sit(table_id, ann)
    for number in range(bots):
        await house.sit(table_id, f"bot:{number}.{uuid4()}", role=Role.BOT)
    return table_id, ann


def line_of(view):
    return [(each.player, each.seat if each.HasField("seat") else None) for each in view.waiting]


async def test_a_bot_goes_after_its_hand_its_seat_is_kept_and_the_person_sits_down(house):
    eve = someone("eve")
    table_id, _ = await full(house, pause_ms=600_000)
    async with clients(house, eve) as (tables,), following(house, players=(eve,)) as notices:
        view = await house.until(table_id, has_decision)
        assert not (await tables.wait_for_seat(table_id)).HasField("seat"), "the bot plays its hand"
        assert line_of(await tables.get(table_id)) == [(eve, None)]
        assert await reason_of(tables.wait_for_seat(table_id)) == "WAITING_ALREADY"
        await act_out(house, table_id, view)
        ready = await next_of(notices, eve, "seat_ready")
        view = await tables.get(table_id)
        assert line_of(view) == [(eve, ready.seat)]
        assert view.waiting[0].until_ms == ready.deadline_ms
        assert not any(seat.is_bot for seat in view.seats)
        assert (await tables.sit_down(table_id, 100)).seat == ready.seat
        assert not (await tables.get(table_id)).waiting
    events = await verified(house, table_id)
    causes = [event.cause for event in events if type(event).__name__ == "SeatReleased"]
    assert causes == ["yielded"]


async def act_out(house, table_id, view):
    """Fold the running hand; a bot's decisions are made with a bot's token."""
    hand_no = view.hand.hand_no
    while has_decision(view) and view.hand.hand_no == hand_no:
        seat = next(each for each in view.seats if each.seat == view.hand.decision.seat)
        async with client_of(house, seat.player, Role.BOT if seat.is_bot else Role.PLAYER) as client:
            await client.tables.act(table_id, view.hand.decision.turn, "fold")
        view = await house.view(table_id)


async def test_a_kept_seat_is_refused_to_bots_and_others(house):
    eve, fay = someone("eve"), someone("fay")
    table_id, _ = await full(house, pause_ms=600_000)
    await act_out(house, table_id, await house.until(table_id, has_decision))
    async with clients(house, eve, fay) as (first, second), client_of(house, "bot:x", Role.BOT) as bot:
        kept = await first.wait_for_seat(table_id)
        assert kept.HasField("seat")
        assert kept.until_ms > 0
        for tables in (second, bot.tables):
            assert await reason_of(tables.sit_down(table_id, 100)) == "TABLE_FULL"
            assert await reason_of(tables.sit_down(table_id, 100, seat=kept.seat)) == "SEAT_TAKEN"
        request_id = str(uuid4())
        await first.stop_waiting(table_id, request_id=request_id)
        await first.stop_waiting(table_id, request_id=request_id)
        assert await reason_of(first.stop_waiting(table_id)) == "NOT_WAITING"
        await second.sit_down(table_id, 100)


@pytest.mark.soak
async def test_a_seat_that_nobody_comes_for_goes_to_the_next_in_line_by_the_clock(house):
    eve, fay = someone("eve"), someone("fay")
    table_id, _ = await full(house, hold_seconds=11, pause_ms=600_000)
    await act_out(house, table_id, await house.until(table_id, has_decision))
    async with clients(house, eve, fay) as (first, second), following(house, players=(eve, fay)) as notices:
        kept = await first.wait_for_seat(table_id)
        await second.wait_for_seat(table_id)
        ended = await next_of(notices, eve, "wait_ended", seconds=20)
        assert ended.cause == "expired"
        assert ended.at_ms >= kept.until_ms
        ready = await next_of(notices, fay, "seat_ready")
        assert ready.seat == kept.seat
        await second.sit_down(table_id, 100)
    await verified(house, table_id)


async def test_the_line_outlives_the_server_and_a_kept_seat_gets_time_after_an_outage(postgres, database, folder):
    """O7: nobody loses a seat to an outage of ours."""
    eve, fay = someone("eve"), someone("fay")
    async with a_house(postgres, database, folder) as house:
        table_id, _ = await full(house, hold_seconds=1, pause_ms=600_000)
        await act_out(house, table_id, await house.until(table_id, has_decision))
        async with clients(house, eve, fay) as (first, second):
            await first.wait_for_seat(table_id)
            await second.wait_for_seat(table_id)
    await asyncio.sleep(1.5)
    async with a_house(postgres, database, folder) as house, clients(house, eve) as (tables,):
        view = await house.view(table_id)
        assert line_of(view) == [(eve, 1), (fay, None)], "the second was up while the house was closed"
        assert (await tables.sit_down(table_id, 100)).seat == 1
        assert line_of(await house.view(table_id)) == [(fay, None)]


async def test_who_is_excluded_or_not_invited_does_not_stand_in_line(house):
    """CL-7, TB-3."""
    hal, eve = someone("hal"), someone("eve")
    table_id, ann = await full(house)
    async with client_of(house, "op", Role.OPERATOR) as staff, clients(house, hal, eve) as (host, stranger):
        await staff.tables.set_exclusion(eve, apart_from=ann, reason="collusion")
        assert await reason_of(stranger.wait_for_seat(table_id)) == "PLAYER_EXCLUDED"
        private = await opened(host, seats=2)
        assert await reason_of(stranger.wait_for_seat(private)) == "INVITATION_REQUIRED"


@pytest.mark.parametrize("role", [Role.BOT, Role.OPERATOR, Role.SERVICE])
async def test_only_people_stand_in_line(house, role):
    table_id, _ = await full(house)
    async with client_of(house, named("x", role), role) as client:
        assert await reason_of(client.tables.wait_for_seat(table_id)) == "PERMISSION_DENIED"


async def test_without_a_line_nothing_is_kept_and_people_play_on(house):
    table_id, ann = await full(house)
    view = await house.until(table_id, has_decision)
    await act_out(house, table_id, view)
    view = await house.until(table_id, lambda view: view.hand.hand_no == 2 and has_decision(view))
    assert player_of(view, 0) == ann
    await house.call("CloseTable", pb.CloseTableRequest(request_id=str(uuid4()), table_id=table_id))
