"""Naiko's response window at a live table: a clock of its own, answers once, and deaths in the middle of it."""

import asyncio
from uuid import uuid4

import pytest

from diwan.api.event.v1 import hand_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.core.hand.events import AnchorAnswered, CardGlanced, TurnBegan, WindowOpened
from diwan.wire.events import decode
from tests.integration.table.gamers import verified
from tests.integration.table.house import Seat, a_house, has_decision, player_of

RICH = hand_pb2.NaikoSettings(gain_per_deal=3, max_destellos=3)


def use_request(table_id, turn, power="short_anchor", *, request_id=None, target=None, discard=None):
    use = pb.PowerUse(turn=turn, power=power, target=target, discard=discard)
    return pb.UsePowerRequest(request_id=request_id or str(uuid4()), table_id=table_id, use=use)


def answer_request(table_id, turn, answer="pass", *, request_id=None):
    said = pb.AnchorAnswer(turn=turn, answer=answer)
    return pb.AnswerAnchorRequest(request_id=request_id or str(uuid4()), table_id=table_id, answer=said)


def has_window(view):
    return view.hand.naiko.HasField("window")


async def a_table(house, *carousel, response_seconds=30, **config):
    """Fold until a hand has these powers on show; returns the table's id and the view of its first decision."""
    naiko = hand_pb2.NaikoSettings()
    naiko.CopyFrom(RICH)
    naiko.response_seconds = response_seconds
    table_id = await house.create(game="naiko", naiko=naiko, buy_in_max=10_000, **config)
    for player in ("ann", "ben"):
        await house.sit(table_id, player, amount=10_000)
    turn = 0
    while True:
        view = await house.until(table_id, lambda view, t=turn: has_decision(view) and view.hand.decision.turn > t)
        if set(carousel) <= set(view.hand.naiko.carousel):
            return table_id, view
        turn = view.hand.decision.turn
        await house.act(table_id, player_of(view, view.hand.decision.seat), turn)


async def anchored(house, **config):
    """Open a response window; returns the table's id, the view with it, the declarer and the target."""
    table_id, view = await a_table(house, "short_anchor", "seal_shield", **config)
    decision = view.hand.decision
    offer = next(offer for offer in view.hand.naiko.powers if offer.power == "short_anchor")
    declarer, target = player_of(view, decision.seat), player_of(view, offer.targets[0])
    await house.call("UsePower", use_request(table_id, decision.turn, target=offer.targets[0]), declarer)
    return table_id, await house.until(table_id, has_window), declarer, target


async def test_while_an_anchor_s_target_is_asked_nobody_else_decides(house):
    """NK-40, finer point 3: no decision in the view; the declarer's acts, timeouts and a stranger's answers are refused."""
    table_id, view, declarer, target = await anchored(house)
    window = view.hand.naiko.window
    assert not has_decision(view)
    assert player_of(view, window.seat) == target
    turn = (await _turns(house, view))[-1].turn
    for request, player, reason in (
        (answer_request(table_id, turn), target, "STALE_TURN"),
        (answer_request(table_id, window.turn), declarer, "NO_RESPONSE_WINDOW"),
        (answer_request(table_id, window.turn, "fold"), target, "FIELD_INVALID"),
        (answer_request(table_id, 0), target, "FIELD_REQUIRED"),
        (answer_request(table_id, window.turn), "zoe", "NOT_SEATED"),
    ):
        assert (await house.refused("AnswerAnchor", request, player))[0] == reason
    act = pb.ActRequest(request_id=str(uuid4()), table_id=table_id, action=pb.Action(turn=turn, kind=3))
    assert (await house.refused("Act", act, declarer))[0] == "WINDOW_OPEN"
    assert (await house.refused("UsePower", use_request(table_id, turn, "hidden_glance"), declarer))[0] == "WINDOW_OPEN"
    answered = await house.call("AnswerAnchor", answer_request(table_id, window.turn, "seal_shield"), target)
    assert not answered.result.is_replayed
    after = await house.until(table_id, has_decision)
    assert player_of(after, after.hand.decision.seat) == declarer
    assert not any(seat.is_anchored for seat in after.hand.naiko.seats)


async def test_an_answer_that_is_sent_again_by_call_or_stream_takes_effect_once(house):
    """H6: the first answer comes back under its id; under another id the window is over."""
    table_id, view, _, target = await anchored(house)
    turn = view.hand.naiko.window.turn
    request = answer_request(table_id, turn, request_id=str(uuid4()))
    answers = await asyncio.gather(*(house.call("AnswerAnchor", request, target) for _ in range(8)))
    assert len({answer.result.first_version for answer in answers}) == 1
    assert sum(not answer.result.is_replayed for answer in answers) == 1
    async with Seat(house, table_id, target) as seat:
        await seat.until(lambda seat: seat.view is not None)
        await seat.call.write(pb.PlayRequest(request_id=request.request_id, answer_anchor=request.answer))
        again = await seat.result(request.request_id)
        assert (again.is_replayed, again.first_version) == (True, answers[0].result.first_version)
    assert (await house.refused("AnswerAnchor", answer_request(table_id, turn), target))[0] == "STALE_TURN"
    other = answer_request(table_id, turn, "seal_shield", request_id=request.request_id)
    assert (await house.refused("AnswerAnchor", other, target))[0] == "REQUEST_ID_CONFLICT"
    events = await verified(house, table_id)
    assert sum(isinstance(event, AnchorAnswered) for event in events) == 1


async def test_a_window_that_runs_out_is_closed_by_the_clock_and_the_declarer_goes_on_with_its_time(house):
    """NK-34, NK-40, C9: the Anchor applies; the declarer's clock stood still for just as long."""
    table_id, view, declarer, _ = await anchored(house, response_seconds=1, decision_seconds=30)
    after = await house.until(table_id, has_decision)
    assert player_of(after, after.hand.decision.seat) == declarer
    assert [seat.is_anchored for seat in after.hand.naiko.seats].count(True) == 1
    events = await verified(house, table_id)
    opened = next(event for event in events if isinstance(event, WindowOpened))
    answered = next(event for event in events if isinstance(event, AnchorAnswered))
    began = [event for event in events if isinstance(event, TurnBegan)][-1]
    assert (answered.decided_by, answered.answer) == ("clock", "pass")
    assert answered.received_at_ms >= opened.deadline_ms
    assert began.deadline_ms == answered.received_at_ms + opened.remaining_ms
    late = answer_request(table_id, view.hand.naiko.window.turn, "seal_shield")
    assert (await house.refused("AnswerAnchor", late, player_of(view, view.hand.naiko.window.seat)))[0] == "STALE_TURN"


async def test_a_power_used_before_a_restart_is_answered_again_and_not_used_twice(postgres, database, folder):
    """H6: also for powers, for ever."""
    async with a_house(postgres, database, folder) as house:
        table_id, view = await a_table(house, "hidden_glance")
        player = player_of(view, view.hand.decision.seat)
        request = use_request(table_id, view.hand.decision.turn, "hidden_glance")
        first = (await house.call("UsePower", request, player)).result
    async with a_house(postgres, database, folder) as house:
        again = (await house.call("UsePower", request, player)).result
        assert (again.is_replayed, again.first_version) == (True, first.first_version)
        async with Seat(house, table_id, player) as seat:
            await seat.until(lambda seat: seat.private is not None)
            assert seat.private.HasField("glanced"), "who comes back still knows the card"
        events = await verified(house, table_id)
    assert sum(isinstance(event, CardGlanced) for event in events) == 1


async def test_the_card_of_a_glance_goes_to_its_seat_alone(house):
    """S1, NK-18: the other seat hears that somebody looked, and nothing more."""
    table_id, view = await a_table(house, "hidden_glance")
    player = player_of(view, view.hand.decision.seat)
    other = next(each.player for each in view.seats if each.player != player)
    async with Seat(house, table_id, player) as own, Seat(house, table_id, other) as waiting:
        for seat in (own, waiting):
            await seat.until(lambda seat: seat.private is not None)
        use = pb.PowerUse(turn=view.hand.decision.turn, power="hidden_glance")
        await own.call.write(pb.PlayRequest(request_id=str(uuid4()), use_power=use))
        await own.until(lambda seat: seat.private.HasField("glanced"))
        version = own.view.version
        await house.act(table_id, player, view.hand.decision.turn, "fold")
        await waiting.until(lambda seat: seat.view.version > version)
        assert not waiting.private.HasField("glanced")
        next_card = own.private.glanced.position
        assert next_card == 4, "the first card behind two hands of two"


@pytest.mark.parametrize(
    ("power", "fields", "reason"),
    [
        ("short_anchor", {}, "TARGET_NOT_ELIGIBLE"),
        ("short_anchor", {"target": 8}, "TARGET_NOT_ELIGIBLE"),
        ("sleeve_trick", {}, "CARD_NOT_HELD"),
        ("sleeve_trick", {"discard": 51}, "CARD_NOT_HELD"),
        ("seal_shield", {}, "FIELD_INVALID"),
        ("sleight", {}, "FIELD_INVALID"),
    ],
)  # fmt: skip
async def test_a_power_that_means_nothing_is_refused_with_its_reason(house, power, fields, reason):
    table_id, view = await a_table(house, "sleeve_trick", "short_anchor")
    player = player_of(view, view.hand.decision.seat)
    request = use_request(table_id, view.hand.decision.turn, power, **fields)
    assert (await house.refused("UsePower", request, player))[0] == reason


async def _turns(house, view):
    hand = await house.call("GetHand", pb.GetHandRequest(hand_id=view.hand.hand_id))
    events = [decode(each.type_id, each.schema_version, each.body).event for each in hand.events]
    return [event for event in events if isinstance(event, TurnBegan)]
