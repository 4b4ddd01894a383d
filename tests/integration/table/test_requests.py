"""Request ids: the first answer for ever, other content is a conflict (H6, P2), and the buy-in saga (L3, L6)."""

import asyncio
from uuid import uuid4

import grpc
import pytest

from diwan.api.event.v1 import hand_pb2, table_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from tests.integration.table.house import Seat, a_house, a_wallet, error_of, has_decision, keys_in, player_of


async def two(house, **config):
    table_id = await house.create(**config)
    for player in ("ann", "ben"):
        await house.sit(table_id, player)
    return table_id, await house.until(table_id, has_decision)


def act_request(table_id, turn, kind=hand_pb2.ACTION_KIND_CALL, *, request_id, to=0):
    action = pb.Action(turn=turn, kind=kind, to=to)
    return pb.ActRequest(request_id=request_id, table_id=table_id, action=action)


async def test_a_decision_sent_twenty_times_takes_effect_once(house):
    """P2: one answer is the act, the others are the same answer again."""
    table_id, view = await two(house)
    decision, request_id = view.hand.decision, str(uuid4())
    player = player_of(view, decision.seat)
    request = act_request(table_id, decision.turn, request_id=request_id)
    answers = await asyncio.gather(*(house.call("Act", request, player) for _ in range(20)))
    assert sum(not answer.result.is_replayed for answer in answers) == 1
    assert {(a.result.first_version, a.result.last_version) for a in answers} == {
        (decision.turn + 1, decision.turn + 2)
    }
    assert (await house.view(table_id)).version == decision.turn + 2


async def test_the_first_answer_is_given_long_after_when_the_decision_would_be_refused(house):
    table_id, view = await two(house)
    decision, request_id = view.hand.decision, str(uuid4())
    player = player_of(view, decision.seat)
    first = await house.call("Act", act_request(table_id, decision.turn, request_id=request_id), player)
    view = await house.view(table_id)
    await house.act(table_id, player_of(view, view.hand.decision.seat), view.hand.decision.turn, "check")
    again = await house.call("Act", act_request(table_id, decision.turn, request_id=request_id), player)
    assert again.result.is_replayed
    assert again.result.first_version == first.result.first_version


async def test_the_same_id_with_other_content_is_a_conflict_and_changes_nothing(house):
    table_id, view = await two(house)
    decision, request_id = view.hand.decision, str(uuid4())
    player = player_of(view, decision.seat)
    await house.call("Act", act_request(table_id, decision.turn, request_id=request_id), player)
    version = (await house.view(table_id)).version
    other = act_request(table_id, decision.turn, hand_pb2.ACTION_KIND_FOLD, request_id=request_id)
    assert (await house.refused("Act", other, player))[0] == "REQUEST_ID_CONFLICT"
    assert (await house.view(table_id)).version == version


async def test_another_caller_may_use_the_same_id_for_something_else(house):
    """Ids are scoped to the caller."""
    table_id, view = await two(house)
    request_id = str(uuid4())
    for _ in range(2):
        view = await house.until(table_id, has_decision)
        decision = view.hand.decision
        kind = "check" if decision.can_check else "call"
        number = hand_pb2.ActionKind.Value(f"ACTION_KIND_{kind.upper()}")
        request = act_request(table_id, decision.turn, number, request_id=request_id)
        result = (await house.call("Act", request, player_of(view, decision.seat))).result
        assert not result.is_replayed


async def test_a_decision_sent_by_stream_and_again_by_a_unary_call_is_one_request(house):
    """A client that lost its stream asks by the other way."""
    table_id, view = await two(house)
    player = player_of(view, view.hand.decision.seat)
    async with Seat(house, table_id, player) as seat:
        await seat.until(lambda seat: seat.view is not None and has_decision(seat.view))
        turn, request_id = seat.view.hand.decision.turn, str(uuid4())
        first = await seat.result(await seat.act("call", request_id=request_id))
    again = await house.call("Act", act_request(table_id, turn, request_id=request_id), player)
    assert again.result.is_replayed
    assert again.result.first_version == first.first_version


async def test_answers_survive_a_restart_of_the_service(postgres, database, folder):
    """H6: the store's outcome, not a memory."""
    key = keys_in(folder)
    async with a_wallet(folder) as wallet:
        async with a_house(postgres, database, folder, wallet=wallet) as house:
            assert house.key.key_id == key.key_id
            table_id, view = await two(house, decision_seconds=60)
            decision, request_id = view.hand.decision, str(uuid4())
            player = player_of(view, decision.seat)
            first = await house.call("Act", act_request(table_id, decision.turn, request_id=request_id), player)
            sat_id = str(uuid4())
            sat = await house.sit(table_id, "cid", request_id=sat_id)
        async with a_house(postgres, database, folder, wallet=wallet) as house:
            again = await house.call("Act", act_request(table_id, decision.turn, request_id=request_id), player)
            assert again.result.is_replayed
            assert again.result.first_version == first.result.first_version
            sat_again = await house.sit(table_id, "cid", request_id=sat_id)
            assert (sat_again.result.is_replayed, sat_again.seat) == (True, sat.seat)


async def test_a_table_is_created_once_a_request(house):
    config = table_pb2.TableConfig(name="Once")
    request = pb.CreateTableRequest(request_id=str(uuid4()), config=config)
    first, again = [(await house.call("CreateTable", request)).table.table_id for _ in range(2)]
    assert first == again
    other = pb.CreateTableRequest(request_id=request.request_id, config=table_pb2.TableConfig(name="Other"))
    assert (await house.refused("CreateTable", other))[0] == "REQUEST_ID_CONFLICT"


async def test_chips_are_asked_for_once_however_often_a_player_sits_down(house):
    table_id = await house.create()
    request_id = str(uuid4())
    answers = await asyncio.gather(*(house.sit(table_id, "ann", request_id=request_id) for _ in range(10)))
    assert {answer.seat for answer in answers} == {0}
    assert len(house.wallet.transfers) == 1
    assert (await house.view(table_id)).seats[0].stack == 100


async def test_a_buy_in_that_the_wallet_refuses_frees_the_seat_and_stays_refused(house):
    """L5: the same request is refused again even when there are chips by now."""
    table_id, request_id = await house.create(), str(uuid4())
    house.wallet.refusal = "EXCEEDS_BALANCE"
    for _ in range(2):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await house.sit(table_id, "ann", request_id=request_id)
        assert error_of(refused.value)[0] == "EXCEEDS_BALANCE"
        house.wallet.refusal = None
    assert not (await house.view(table_id)).seats
    assert (await house.sit(table_id, "ann")).seat == 0


async def test_with_the_wallet_away_sitting_down_is_unavailable_and_play_goes_on(house):
    """DESIGN 8: the reservation is kept; when the wallet answers, the chips come without another request."""
    table_id, view = await two(house)
    house.wallet.is_away = True
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await house.sit(table_id, "cid")
    assert error_of(refused.value)[0] == "WALLET_UNAVAILABLE"
    view = await house.view(table_id)
    await house.act(table_id, player_of(view, view.hand.decision.seat), view.hand.decision.turn)
    house.wallet.is_away = False
    view = await house.until(table_id, lambda view: any(s.player == "cid" and s.stack == 100 for s in view.seats))
    assert len([each for each in house.wallet.transfers.values() if each.player == "cid"]) == 1


async def test_a_pending_buy_in_is_resolved_by_the_next_process(postgres, database, folder):
    """D9: unknown is resolved only by asking again with the same id, also after a restart."""
    keys_in(folder)
    async with a_wallet(folder) as wallet:
        wallet.is_away = True
        async with a_house(postgres, database, folder, wallet=wallet) as house:
            table_id = await house.create()
            with pytest.raises(grpc.aio.AioRpcError):
                await house.sit(table_id, "ann")
        wallet.is_away = False
        async with a_house(postgres, database, folder, wallet=wallet) as house:
            await house.until(table_id, lambda view: [seat.stack for seat in view.seats] == [100])
    assert len(wallet.transfers) == 1


async def test_a_top_up_in_mid_hand_plays_from_the_next_hand(house):
    table_id, view = await two(house)
    player = player_of(view, view.hand.decision.seat)
    await house.call("TopUp", pb.TopUpRequest(request_id=str(uuid4()), table_id=table_id, amount=50), player)
    view = await house.view(table_id)
    assert sum(seat.stack for seat in view.seats) + view.hand.pot == 200
    await house.act(table_id, player, view.hand.decision.turn)
    view = await house.until(table_id, lambda view: view.hand.hand_no == 2 and has_decision(view))
    assert sum(seat.stack for seat in view.seats) + view.hand.pot == 250


async def test_a_player_sits_at_four_tables_and_no_more(postgres, database, folder):
    async with a_house(postgres, database, folder, tables_per_player_max=4) as house:
        player = f"many-{uuid4()}"
        for _ in range(4):
            await house.sit(await house.create(), player)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await house.sit(await house.create(), player)
        assert error_of(refused.value) == ("TOO_MANY_TABLES", {"max": "4"})


async def test_a_back_end_acts_for_its_players_and_for_nobody_elses(house):
    table_id = await house.create()
    request = pb.SitDownRequest(request_id=str(uuid4()), table_id=table_id, amount=100, on_behalf_of="app/ann")
    metadata = house.metadata("back-end", Role.BACKEND, players="app/")
    assert (await house.stub.SitDown(request, timeout=5, metadata=metadata)).seat == 0
    other = pb.SitDownRequest(request_id=str(uuid4()), table_id=table_id, amount=100, on_behalf_of="other/ben")
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await house.stub.SitDown(other, timeout=5, metadata=metadata)
    assert error_of(refused.value)[0] == "ON_BEHALF_OF_NOT_ALLOWED"
    assert (await house.view(table_id)).seats[0].player == "app/ann"


async def test_a_bot_is_marked_in_its_seat(house):
    table_id = await house.create()
    await house.sit(table_id, "bot:7", role=Role.BOT)
    seat = (await house.view(table_id)).seats[0]
    assert seat.is_bot
    assert seat.display_name == "BOT bot:7"
