"""Notices over gRPC: derived from the feed, resumable, none missed and none twice (P5, P10)."""

import asyncio
from contextlib import asynccontextmanager
from uuid import uuid4

import grpc
import pytest

from diwan.api.table.v1 import notices_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.client import DiwanError
from tests.integration.table import capsa_house
from tests.integration.table.house import a_house, error_of, has_decision, named, player_of
from tests.integration.table.test_looking_back import eventually, fold_hands
from tests.integration.table.test_private import client_of, clients, let_in, opened, someone


def name_of(notice):
    return notices_pb2.NoticeKind.Name(notice.kind).removeprefix("NOTICE_KIND_").lower()


@asynccontextmanager
async def following(house, role=Role.OPERATOR, players=(), after=None):
    async with (
        client_of(house, "phones", role) as client,
        client.tables.notices(after_cursor=after, players=players, patience_seconds=10) as notices,
    ):
        if after is None:
            await notices.caught_up()
        yield notices


async def next_of(notices, player, kind, seconds=5.0):
    """Return the next notice of a kind for a player; others before it are passed over."""
    async with asyncio.timeout(seconds):
        async for notice in notices:
            if (notice.player, name_of(notice)) == (player, kind):
                return notice
    raise AssertionError("the notices ended")


async def story_of(house, after, players, seconds=5.0):
    """Return all notices for some players from a cursor to where the server says that there is nothing more at the moment."""
    told = []
    metadata = house.metadata("phones", Role.SERVICE)
    request = notices_pb2.WatchNoticesRequest(after_cursor=after, players=players)
    call = house.stub.WatchNotices(request, metadata=metadata)
    try:
        async with asyncio.timeout(seconds + 10):
            async for message in call:
                if message.WhichOneof("message") == "heartbeat":
                    return told
                told.append(message.notice)
    finally:
        call.cancel()
    raise AssertionError("the stream ended")


async def test_a_turn_is_told_with_its_name_and_deadline_in_time_to_act_on_it(house):
    ann, ben = someone("ann"), someone("ben")
    async with following(house, players=(ann, ben)) as notices:
        table_id = await house.create(pause_ms=600_000)
        await house.sit(table_id, ann)
        funded = await next_of(notices, ann, "seat_funded")
        assert (funded.table_id, funded.seat, funded.amount) == (table_id, 0, 100)
        await house.sit(table_id, ben)
        view = await house.until(table_id, has_decision)
        decision = view.hand.decision
        told = await next_of(notices, player_of(view, decision.seat), "your_turn")
        assert (told.seat, told.turn, told.deadline_ms) == (decision.seat, decision.turn, decision.deadline_ms)
        assert told.at_ms <= told.deadline_ms - 15_000, "there is time to take up the phone"
        await house.act(table_id, told.player, told.turn)


async def test_what_befalls_a_seat_is_told_to_its_player_alone(house):
    ann, ben = someone("ann"), someone("ben")
    async with following(house, players=(ann,)) as of_ann, following(house, players=(ben,)) as of_ben:
        table_id = await house.create(decision_seconds=1, sit_out_after=1, pause_ms=600_000)
        await house.sit(table_id, ann)
        await house.sit(table_id, ben)
        view = await house.until(table_id, has_decision)
        sleeper = player_of(view, view.hand.decision.seat)
        mine, other = (of_ann, of_ben) if sleeper == ann else (of_ben, of_ann)
        told = await next_of(mine, sleeper, "sat_out")
        assert told.cause == "clock"
        await house.call("StandUp", pb.StandUpRequest(request_id=str(uuid4()), table_id=table_id, on_behalf_of=sleeper))
        assert (await next_of(mine, sleeper, "removed")).amount in {98, 99}
        await house.call("CloseTable", pb.CloseTableRequest(request_id=str(uuid4()), table_id=table_id))
        left = await next_of(other, ben if sleeper == ann else ann, "table_closed")
        assert left.amount in {101, 102}


async def test_a_refused_buy_in_is_told(house):
    ann = someone("ann")
    async with following(house, players=(ann,)) as notices:
        table_id = await house.create()
        house.wallet.refusal = "EXCEEDS_BALANCE"
        with pytest.raises(grpc.aio.AioRpcError):
            await house.sit(table_id, ann)
        house.wallet.refusal = None
        told = await next_of(notices, ann, "seat_refused")
        assert told.cause == "EXCEEDS_BALANCE"


async def test_guests_of_a_private_table_are_told(house):
    hal, ann, ben = someone("hal"), someone("ann"), someone("ben")
    async with following(house, players=(hal, ann, ben)) as notices, clients(house, hal, ann, ben) as (host, a, b):
        table_id = await opened(host)
        sent = await host.private.invite(table_id, ann)
        told = await next_of(notices, ann, "invited")
        assert (told.table_id, told.deadline_ms, told.HasField("seat")) == (table_id, sent.expires_at_ms, False)
        await a.private.answer(table_id, is_accepted=True)
        await host.private.revoke(table_id, ann)
        await next_of(notices, ann, "invitation_revoked")
        await let_in(host, table_id, (ben, b))
        await host.private.hand_over(table_id, ben)
        await next_of(notices, ben, "became_host")
        await b.private.remove_guest(table_id, hal)
        await next_of(notices, hal, "removed")


async def test_whoever_goes_on_from_any_notice_is_told_exactly_the_rest(house):
    """P5: cut at every notice, nothing is missed and nothing comes twice, also within one event."""
    ann, ben = someone("ann"), someone("ben")
    async with following(house, players=(ann, ben)) as notices:
        start = notices.cursor
    table_id = await house.create()
    for player in (ann, ben):
        await house.sit(table_id, player)
    await fold_hands(house, table_id, 4)
    await house.call("CloseTable", pb.CloseTableRequest(request_id=str(uuid4()), table_id=table_id))
    view = await house.until(table_id, lambda view: view.is_closed or has_decision(view))
    if not view.is_closed:
        await house.act(table_id, player_of(view, view.hand.decision.seat), view.hand.decision.turn)
    whole = await eventually(
        lambda: story_of(house, start, (ann, ben)),
        lambda told: sum(name_of(each) == "table_closed" for each in told) == 2,
    )
    assert [name_of(each) for each in whole[:2]] == ["seat_funded", "seat_funded"]
    assert sum(name_of(each) == "your_turn" for each in whole) >= 4
    assert [name_of(each) for each in whole[-2:]] == ["table_closed", "table_closed"]
    cursors = [each.cursor for each in whole]
    assert cursors == sorted(set(cursors)), "strictly rising: each names one notice"
    rest = await asyncio.gather(*(story_of(house, cursor, (ann, ben)) for cursor in cursors))
    for place, told in enumerate(rest):
        assert told == whole[place + 1 :]
    alone = await story_of(house, start, (ann,))
    assert alone == [each for each in whole if each.player == ann]


async def test_a_follower_outlives_the_death_of_the_server_and_misses_nothing(postgres, database, folder):
    ann, ben = someone("ann"), someone("ben")
    async with a_house(postgres, database, folder) as house:
        async with following(house, players=(ann, ben)) as notices:
            start = notices.cursor
        table_id = await house.create()
        for player in (ann, ben):
            await house.sit(table_id, player)
        first = await fold_hands(house, table_id, 2)
        async with following(house, players=(ann, ben), after=start) as notices:
            seen = [await anext(notices) for _ in range(3)]
            cursor = notices.cursor
    async with a_house(postgres, database, folder) as house:
        await fold_hands_from(house, table_id, 3, 4)
        whole = await eventually(
            lambda: story_of(house, start, (ann, ben)),
            lambda told: sum(name_of(each) == "your_turn" for each in told) >= 4,
        )
        await house.call("CloseTable", pb.CloseTableRequest(request_id=str(uuid4()), table_id=table_id))
        rest = await story_of(house, cursor, (ann, ben))
        assert (seen + rest)[: len(whole)] == whole
        turns = [each.turn for each in whole if name_of(each) == "your_turn"]
        assert len(turns) == len(set(turns)) >= 4
        assert len(first) == 2


async def fold_hands_from(house, table_id, first, last):
    for number in range(first, last + 1):
        view = await house.until(table_id, lambda view, n=number: view.hand.hand_no == n and has_decision(view))
        await house.act(table_id, player_of(view, view.hand.decision.seat), view.hand.decision.turn)


async def test_a_back_end_is_told_of_its_own_players_alone(house):
    """S4."""
    ours, theirs = f"ours.{uuid4()}", f"theirs.{uuid4()}"
    async with following(house, Role.SERVICE) as everything:
        table_id = await house.create()
        async with (
            client_of(house, "phones", Role.BACKEND, players="ours.") as client,
            client.tables.notices(patience_seconds=0) as notices,
        ):
            await notices.caught_up()
            await house.sit(table_id, theirs)
            await house.sit(table_id, ours)
            assert (await anext(notices)).player == ours
            await next_of(everything, theirs, "seat_funded")
            refused = client.tables.notices(players=(theirs,), patience_seconds=0)
            with pytest.raises(DiwanError) as error:
                await anext(refused)
            assert error.value.reason == "ON_BEHALF_OF_NOT_ALLOWED"
    for role in (Role.PLAYER, Role.BOT, Role.AUDITOR):
        async with client_of(house, named(ours, role), role) as client:
            with pytest.raises(DiwanError) as error:
                await anext(client.tables.notices(patience_seconds=0))
            assert error.value.reason == "PERMISSION_DENIED"


@pytest.mark.parametrize("cursor", [-1, 2**62])
async def test_a_cursor_that_does_not_exist_is_refused(house, cursor):
    call = house.stub.WatchNotices(
        notices_pb2.WatchNoticesRequest(after_cursor=cursor), metadata=house.metadata("phones", Role.SERVICE)
    )
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call.read()
    reason, facts = error_of(refused.value)
    assert reason == "CURSOR_OUT_OF_RANGE"
    assert int(facts["newest"]) > 0


async def test_too_many_players_are_refused(house):
    async with client_of(house, "phones", Role.SERVICE) as client:
        with pytest.raises(DiwanError) as error:
            await anext(client.tables.notices(players=[str(n) for n in range(1001)], patience_seconds=0))
        assert error.value.reason == "FIELD_INVALID"


async def test_who_follows_while_nothing_happens_is_told_that_the_server_lives(house):
    async with following(house) as notices, asyncio.timeout(15):
        first = notices.cursor
        assert await notices.caught_up() >= first


async def test_whoever_goes_on_from_within_an_event_is_told_the_rest_of_it(house):
    """P5: one event asks all seats of Capsa for their sets; each notice of it is a place to go on from."""
    players = tuple(someone(name) for name in ("ann", "ben"))
    async with following(house, players=players) as notices:
        start = notices.cursor
    table_id = await capsa_house.open_table(house, players, pause_ms=600_000)
    await house.until(table_id, capsa_house.is_setting)
    whole = await eventually(
        lambda: story_of(house, start, players), lambda told: sum(name_of(each) == "set_cards" for each in told) == 2
    )
    asked = [each for each in whole if name_of(each) == "set_cards"]
    assert [each.player for each in asked] == list(players)
    for place, each in enumerate(asked):
        assert await story_of(house, each.cursor, players) == asked[place + 1 :]
