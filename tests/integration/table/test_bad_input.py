"""Bad input to every method: a clear reason, no change, and the service lives (A1, A2, L11)."""

from uuid import uuid4

import grpc
import pytest

from diwan.api.event.v1 import hand_pb2, table_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role, rule_of
from diwan.chassis.reasons import CATALOGUE
from tests.integration.table.house import Seat, error_of, has_decision, named, player_of

SERVICE = pb.DESCRIPTOR.services_by_name["TableService"]
UNARY = [method.name for method in SERVICE.methods if not method.server_streaming]
HUGE = (0, -1, -(2**63), 2**53, 2**63 - 1)


def rid():
    return str(uuid4())


def config(**changes):
    hand = changes.pop("hand", {})
    return table_pb2.TableConfig(**{"name": "x"} | changes, hand=hand_pb2.HandSettings(**hand))


CREATE = [
    ({"name": ""}, "name"),
    ({"name": "   "}, "name"),
    ({"name": "a" * 81}, "name"),
    ({"name": "a\nb"}, "name"),
    ({"seats": 1}, "seats"),
    ({"seats": 10}, "seats"),
    ({"seats": 2**32 - 1}, "seats"),
    ({"hand": {"game": "whist"}}, "hand.game"),
    ({"hand": {"game": "omaha", "limit": "no_limit"}}, "hand.limit"),
    ({"hand": {"naiko": {}}}, "hand.naiko"),
    ({"hand": {"game": "naiko", "naiko": {"response_seconds": 601}}}, "hand.naiko.response_seconds"),
    ({"hand": {"limit": "fixed"}}, "hand.limit"),
    ({"hand": {"show_all_in": "never"}}, "hand.show_all_in"),
    ({"hand": {"small_blind": -1}}, "hand.small_blind"),
    ({"hand": {"small_blind": 3, "big_blind": 2}}, "hand.small_blind"),
    ({"hand": {"small_blind": 2**62, "big_blind": 2**62}}, "hand.big_blind"),
    ({"hand": {"decision_seconds": -5}}, "hand.decision_seconds"),
    ({"hand": {"decision_seconds": 3601}}, "hand.decision_seconds"),
    ({"buy_in_min": -1}, "buy_in_min"),
    ({"buy_in_min": 300, "buy_in_max": 200}, "buy_in_min"),
    ({"buy_in_max": 2**63 - 1}, "buy_in_max"),
    ({"pause_ms": -1}, "pause_ms"),
    ({"pause_ms": 2**31 - 1}, "pause_ms"),
    ({"reserve_seconds": -1}, "reserve_seconds"),
    ({"sit_out_after": -1}, "sit_out_after"),
    ({"return_minutes": -1}, "return_minutes"),
    ({"bots_fill": 10}, "bots_fill"),
    ({"chips": 2}, "chips"),
    ({"chips": 77}, "chips"),
    ({"start": 2}, "start"),
    ({"start": 77}, "start"),
]


OF_SEATS = ("SitDown", "TopUp", "SetSittingOut", "StandUp", "Act", "UsePower", "AnswerAnchor")


@pytest.mark.parametrize(("changes", "setting"), CREATE)
async def test_a_setting_that_makes_no_sense_is_named(house, changes, setting):
    request = pb.CreateTableRequest(request_id=rid(), config=config(**changes))
    reason, facts = await house.refused("CreateTable", request)
    assert (reason, facts["setting"]) == ("SETTING_INVALID", setting)


@pytest.mark.parametrize(
    # Fixed texts: the workers of a parallel run must all collect the same tests.
    "request_id",
    ["", "x", "A" * 36, "E58C04A2-475E-44FC-A8D6-57BF2579DC3A", "00000000-0000-1000-8000-000000000000"],
)
@pytest.mark.parametrize("method", ["CreateTable", *OF_SEATS, "CloseTable"])
async def test_a_mutating_call_needs_a_request_id(house, method, request_id):
    request_class = getattr(pb, f"{method}Request")
    request = request_class(request_id=request_id)
    subject = "host" if method in {"CreateTable", "CloseTable"} else "ann"
    reason, _ = await house.refused(method, request, subject)
    assert reason == ("REQUEST_ID_INVALID" if request_id else "FIELD_REQUIRED")


@pytest.mark.parametrize("table_id", ["", "nonsense", "x" * 10_000, "é"])
@pytest.mark.parametrize("method", ["GetTable", *OF_SEATS, "CloseTable"])
async def test_an_id_that_is_none_is_refused(house, method, table_id):
    request = getattr(pb, f"{method}Request")(table_id=table_id)
    if "request_id" in request.DESCRIPTOR.fields_by_name:
        request.request_id = rid()
    subject = "host" if method in {"GetTable", "CloseTable"} else "ann"
    reason, facts = await house.refused(method, request, subject)
    assert (reason, facts["field"]) == ("ID_INVALID" if table_id else "FIELD_REQUIRED", "table_id")


async def test_unknown_tables_and_hands_are_not_found(house):
    nowhere = rid()
    assert (await house.refused("GetTable", pb.GetTableRequest(table_id=nowhere)))[0] == "TABLE_NOT_FOUND"
    sit = pb.SitDownRequest(request_id=rid(), table_id=nowhere, amount=100)
    assert (await house.refused("SitDown", sit, "ann"))[0] == "TABLE_NOT_FOUND"
    assert (await house.refused("GetHand", pb.GetHandRequest(hand_id=nowhere)))[0] == "HAND_NOT_FOUND"
    assert (await house.refused("GetHand", pb.GetHandRequest(hand_id="x")))[0] == "ID_INVALID"
    for method in ("Watch", "Play"):
        call = house.stub.Watch(pb.WatchRequest(table_id=nowhere), metadata=house.metadata("ann"))
        if method == "Play":
            call = house.stub.Play(metadata=house.metadata("ann"))
            await call.write(pb.PlayRequest(attach=pb.Attach(table_id=nowhere)))
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await call.read()
        assert error_of(refused.value)[0] == "TABLE_NOT_FOUND"


@pytest.mark.parametrize("amount", HUGE)
async def test_an_amount_is_1_to_2_53_minus_1(house, amount):
    """L11."""
    table_id = await house.create()
    sit = pb.SitDownRequest(request_id=rid(), table_id=table_id, amount=amount)
    assert (await house.refused("SitDown", sit, "ann"))[0] == "AMOUNT_INVALID"
    top_up = pb.TopUpRequest(request_id=rid(), table_id=table_id, amount=amount)
    assert (await house.refused("TopUp", top_up, "ann"))[0] == "AMOUNT_INVALID"
    assert not (await house.view(table_id)).seats


@pytest.mark.parametrize("seat", [9, 77, 2**32 - 1])
async def test_a_seat_that_the_table_does_not_have_is_refused(house, seat):
    table_id = await house.create()
    request = pb.SitDownRequest(request_id=rid(), table_id=table_id, amount=100, seat=seat)
    assert (await house.refused("SitDown", request, "ann"))[0] == "SEAT_NOT_FOUND"


async def test_decisions_that_make_no_sense_change_nothing_by_call_and_by_stream(house):
    table_id = await house.create()
    for player in ("ann", "ben"):
        await house.sit(table_id, player)
    view = await house.until(table_id, has_decision)
    player, turn = player_of(view, view.hand.decision.seat), view.hand.decision.turn
    bad = [
        (pb.Action(), "FIELD_REQUIRED"),
        (pb.Action(turn=turn), "FIELD_INVALID"),
        (pb.Action(turn=turn, kind=99), "FIELD_INVALID"),
        (pb.Action(turn=turn, kind=2, is_all_in=True), "FIELD_INVALID"),
        (pb.Action(turn=-1, kind=2), "FIELD_REQUIRED"),
        (pb.Action(turn=2**62, kind=3), "STALE_TURN"),
        (pb.Action(turn=turn, kind=2), "CHECK_NOT_ALLOWED"),
        (pb.Action(turn=turn, kind=4, to=10), "BET_NOT_ALLOWED"),
        (pb.Action(turn=turn, kind=5, to=1), "AMOUNT_TOO_SMALL"),
        (pb.Action(turn=turn, kind=5, to=2**53 - 1), "AMOUNT_OVER_STACK"),
        *[(pb.Action(turn=turn, kind=5, to=to), "AMOUNT_INVALID") for to in HUGE],
    ]
    for action, reason in bad:
        request = pb.ActRequest(request_id=rid(), table_id=table_id, action=action)
        assert (await house.refused("Act", request, player))[0] == reason, action
    assert (await house.refused("Act", pb.ActRequest(request_id=rid(), table_id=table_id), player))[
        0
    ] == "FIELD_REQUIRED"
    stranger = pb.ActRequest(request_id=rid(), table_id=table_id, action=pb.Action(turn=turn, kind=3))
    assert (await house.refused("Act", stranger, "zoe"))[0] == "NOT_SEATED"
    async with Seat(house, table_id, player) as seat:
        await seat.until(lambda seat: seat.view is not None)
        for action, reason in bad:
            request_id = rid()
            await seat.call.write(pb.PlayRequest(request_id=request_id, action=action))
            assert (await seat.result(request_id)).refusal.reason == reason, action
        await seat.call.write(pb.PlayRequest(request_id="x", action=pb.Action(turn=turn, kind=3)))
        assert (await seat.result("x")).refusal.reason == "REQUEST_ID_INVALID"
    assert (await house.view(table_id)).version == view.version


@pytest.mark.parametrize("method", ["ListTables", "ListHands"])
async def test_pages_have_bounds_and_tokens_are_ours(house, method):
    request_class, most = getattr(pb, f"{method}Request"), {"ListTables": 100, "ListHands": 500}[method]
    for size in (-1, most + 1, 2**31 - 1):
        reason, facts = await house.refused(method, request_class(page_size=size))
        assert (reason, facts["max"]) == ("PAGE_SIZE_INVALID", str(most))
    for token in ("x", "!!!", "A" * 5000, "MTIzNDU", "LTEvMDA"):
        assert (await house.refused(method, request_class(page_token=token)))[0] == "PAGE_TOKEN_INVALID"


async def test_a_player_lists_own_hands_alone(house):
    assert (await house.refused("ListHands", pb.ListHandsRequest(player="ben"), "ann"))[0] == "PERMISSION_DENIED"
    assert (await house.refused("ListHands", pb.ListHandsRequest(player="x" * 129)))[0] == "FIELD_INVALID"


@pytest.mark.parametrize("method", UNARY)
async def test_garbage_too_much_and_nobody_are_refused(house, method):
    """64 KiB + 1, bytes that are no message, no token, a token that is none."""
    call = house.channel.unary_unary(f"/{SERVICE.full_name}/{method}")
    rule = rule_of(SERVICE.methods_by_name[method])
    metadata = house.metadata(named("somebody", min(rule.roles)), min(rule.roles))
    for raw, reason in ((b"\xff" * 40, "REQUEST_MALFORMED"), (bytes(64 * 1024 + 1), "MESSAGE_TOO_LARGE")):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await call(raw, timeout=5, metadata=metadata)
        assert error_of(refused.value)[0] == reason
    for metadata in ((), (("authorization", "Bearer nonsense"),)):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await call(b"", timeout=5, metadata=metadata)
        assert error_of(refused.value)[0] == "UNAUTHENTICATED"


@pytest.mark.parametrize(
    ("method", "role"),
    [
        ("CreateTable", Role.BOT),
        ("CloseTable", Role.BOT),
        ("SitDown", Role.OPERATOR),
        ("Act", Role.AUDITOR),
        ("TopUp", Role.SERVICE),
        ("OpenHand", Role.OPERATOR),
        ("OpenHand", Role.SERVICE),
        ("ListHands", Role.BOT),
    ],
)
async def test_a_role_that_the_contract_does_not_name_is_denied(house, method, role):
    request = getattr(pb, f"{method}Request")()
    assert (await house.refused(method, request, named("x", role), role))[0] == "PERMISSION_DENIED"


async def test_the_service_lives_after_all_that_and_every_reason_is_explained(house):
    table_id = await house.create()
    await house.sit(table_id, "ann")
    assert len((await house.view(table_id)).seats) == 1
    assert {"SETTING_INVALID", "FIELD_INVALID", "FIELD_REQUIRED"} <= set(CATALOGUE)
