"""A table over real gRPC: sit, play, leave (DESIGN 8)."""

from uuid import uuid4

import grpc
import pytest

from diwan.api.event.v1 import event_pb2, table_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.pump import Pump
from diwan.core.decider import Rejected
from tests.integration.table.house import Seat, error_of, has_decision, player_of


async def seated(house, *players, **config):
    table_id = await house.create(**config)
    for player in players:
        await house.sit(table_id, player)
    return table_id


async def test_two_players_sit_down_and_a_hand_is_dealt_and_folded_by_unary_calls(house):
    table_id = await seated(house, "ann", "ben")
    view = await house.until(table_id, has_decision)
    assert sum(seat.stack for seat in view.seats) + view.hand.pot == 200
    decision = view.hand.decision
    result = await house.act(table_id, player_of(view, decision.seat), decision.turn)
    assert result.first_version == decision.turn + 1
    ended = await house.until(table_id, lambda view: view.hand.hand_no == 2 and has_decision(view))
    assert sorted(seat.stack + seat.bet for seat in ended.seats) == [99, 101]


async def test_a_seat_plays_by_its_stream_and_sees_its_own_cards_alone(house):
    """S1: the private view is the seat's own; updates carry no card before the flop."""
    table_id = await seated(house, "ann", "ben")
    async with Seat(house, table_id, "ann") as ann, Seat(house, table_id, "ben") as ben:
        for seat in (ann, ben):
            await seat.until(lambda seat: seat.view is not None and has_decision(seat.view) and seat.private)
        assert len(ann.private.reveals) == len(ben.private.reveals) == 2
        assert {reveal.position for reveal in ann.private.reveals}.isdisjoint(
            reveal.position for reveal in ben.private.reveals
        )
        actor, other = (ann, ben) if player_of(ann.view, ann.view.hand.decision.seat) == "ann" else (ben, ann)
        result = await actor.result(await actor.act("call"))
        assert not result.HasField("refusal")
        version = result.last_version
        await other.until(lambda seat: seat.view.version >= version)
        assert other.view.hand.decision.can_check


async def update(seat):
    """The next message that is not about who is there."""
    while (message := await seat.read()).WhichOneof("message") == "presence":
        pass
    return message


async def test_the_answer_comes_with_the_update_to_who_asked_and_to_nobody_else(house):
    """H6, S2: one frame says that the decision stands and what came of it; asked again it is answered by itself."""
    table_id = await seated(house, "ann", "ben")
    async with Seat(house, table_id, "ann") as ann, Seat(house, table_id, "ben") as ben:
        for seat in (ann, ben):
            await seat.until(lambda seat: seat.view is not None and has_decision(seat.view) and seat.private)
        actor, other = (ann, ben) if player_of(ann.view, ann.view.hand.decision.seat) == "ann" else (ben, ann)
        turn = actor.view.hand.decision.turn
        request_id = await actor.act("call")
        told, heard = await update(actor), await update(other)

        assert told.update.result.request_id == request_id
        assert told.update.result.last_version == told.update.events[-1].version == told.update.view.version
        assert not heard.update.HasField("result")
        told.update.ClearField("result")
        assert told == heard

        await actor.act("call", turn=turn, request_id=request_id)
        again = await update(actor)
        assert again.WhichOneof("message") == "result"
        assert again.result.is_replayed


async def test_a_refused_decision_is_answered_on_the_stream_with_reason_and_both_texts(house):
    table_id = await seated(house, "ann", "ben")
    async with Seat(house, table_id, "ann") as ann, Seat(house, table_id, "ben") as ben:
        for seat in (ann, ben):
            await seat.until(lambda seat: seat.view is not None and has_decision(seat.view))
        waiting = ben if player_of(ann.view, ann.view.hand.decision.seat) == "ann" else ann
        result = await waiting.result(await waiting.act("call"))
        assert result.refusal.reason == "NOT_YOUR_TURN"
        assert result.refusal.message
        assert result.refusal.message_ar
        stale = await waiting.result(await waiting.act("call", turn=1))
        assert stale.refusal.reason == "STALE_TURN"


async def test_standing_up_in_mid_hand_folds_and_brings_the_chips_home_after_it(house):
    table_id = await seated(house, "ann", "ben")
    view = await house.until(table_id, has_decision)
    leaver = player_of(view, view.hand.decision.seat)
    await house.call("StandUp", pb.StandUpRequest(request_id=str(uuid4()), table_id=table_id), leaver)
    view = await house.until(table_id, lambda view: len(view.seats) == 1)
    assert view.seats[0].stack == 101


async def test_the_log_says_whether_a_player_left_was_removed_or_a_bot_made_room(house):
    """CL-6, A11: an operator removes whom it names, a bot yields; nobody else can claim either."""
    table_id = await house.create()
    await house.sit(table_id, "ann")
    await house.sit(table_id, "ben")
    await house.sit(table_id, "bot:one", role=Role.BOT)

    def leave(**fields):
        return pb.StandUpRequest(request_id=str(uuid4()), table_id=table_id, **fields)

    assert await house.refused("StandUp", leave(is_yielding=True), "ann") == (
        "FIELD_INVALID",
        {"field": "is_yielding", "why": "only a bot makes room"},
    )
    assert (await house.refused("StandUp", leave(), "ops", Role.OPERATOR))[0] == "ON_BEHALF_OF_REQUIRED"
    await house.call("StandUp", leave(), "ann")
    await house.call("StandUp", leave(on_behalf_of="ben"), "ops", Role.OPERATOR)
    await house.call("StandUp", leave(is_yielding=True), "bot:one", Role.BOT)
    await house.until(table_id, lambda view: not view.seats)

    call = house.stub.Watch(
        pb.WatchRequest(table_id=table_id, after_version=1), metadata=house.metadata("w", Role.SERVICE)
    )
    events = (await call.read()).update.events
    call.cancel()
    released = [event_pb2.Event.FromString(event.body).seat_released for event in events if event.type_id == 49]
    assert [(each.player, table_pb2.SeatCause.Name(each.cause)) for each in released] == [
        ("ann", "SEAT_CAUSE_PLAYER"),
        ("ben", "SEAT_CAUSE_OPERATOR"),
        ("bot:one", "SEAT_CAUSE_YIELDED"),
    ]
    asked = [event_pb2.Event.FromString(event.body).stand_up_requested for event in events if event.type_id == 48]
    assert [each.requested_by for each in asked] == ["", "ops", ""]


async def test_a_table_closes_after_the_running_hand_and_its_streams_end(house):
    table_id = await seated(house, "ann", "ben")
    view = await house.until(table_id, has_decision)
    await house.call("CloseTable", pb.CloseTableRequest(request_id=str(uuid4()), table_id=table_id))
    assert (await house.view(table_id)).is_closing
    await house.act(table_id, player_of(view, view.hand.decision.seat), view.hand.decision.turn)
    last = [view async for view in house.views(table_id)][-1]
    assert last.is_closed
    assert not last.seats


@pytest.mark.parametrize("players", [2, 3, 9])
async def test_hands_go_on_by_themselves_and_chips_are_conserved(house, players):
    """L10 over the wire."""
    names = [f"p{number}" for number in range(players)]
    table_id = await seated(house, *names)
    hands = 0
    async for view in house.views(table_id):
        if not has_decision(view):
            continue
        assert sum(seat.stack for seat in view.seats if seat.in_hand) + view.hand.pot >= 200
        hands = view.hand.hand_no
        if hands > 5:
            break
        decision = view.hand.decision
        kind = "check" if decision.can_check else "call" if hands % 2 else "fold"
        await house.act(table_id, player_of(view, decision.seat), decision.turn, kind)
    total = sum(seat.stack for seat in view.seats) + view.hand.pot
    assert total == 100 * players


async def test_a_stream_that_is_refused_while_its_first_message_is_written_says_why(house, monkeypatch):
    """DESIGN 10: one ErrorInfo an error, also where the stream ends in the middle of its first write."""
    table_id = await seated(house, "ann", "ben")
    write = Pump._waits

    def refused_meanwhile(pump, writing):
        is_waiting = write(pump, writing)
        pump._source.end(Rejected("READER_TOO_SLOW"))
        return is_waiting

    monkeypatch.setattr(Pump, "_waits", refused_meanwhile)
    call = house.stub.Play(metadata=house.metadata("ann"), timeout=5)
    await call.write(pb.PlayRequest(attach=pb.Attach(table_id=table_id)))
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        _ = [message async for message in call]

    assert error_of(refused.value)[0] == "READER_TOO_SLOW"
