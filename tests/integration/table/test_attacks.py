"""Attacks on private tables, matches, seats and notices over gRPC: what is not yours you do not get (S3, S4, H6, TB-3)."""

import asyncio
from uuid import uuid4

import grpc
import pytest

from diwan.api.event.v1 import table_pb2
from diwan.api.table.v1 import hosting_pb2, notices_pb2, waiting_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.client import DiwanError
from diwan.core.hand.events import AnchorAnswered
from diwan.core.table.hosting.events import TablePaused, TableResumed
from diwan.wire.events import decode
from tests.integration.table import capsa_house
from tests.integration.table.gamers import verified
from tests.integration.table.house import a_house, error_of, has_decision, named
from tests.integration.table.test_match import a_match
from tests.integration.table.test_naiko import anchored, answer_request
from tests.integration.table.test_private import client_of, clients, let_in, opened, reason_of, settings, someone


def rid():
    return str(uuid4())


async def outcome(house, method, request, player, role=None):
    """Return a call's refusal, or None."""
    try:
        await house.call(method, request, player, role)
    except grpc.aio.AioRpcError as error:
        return error_of(error)[0]
    return None


# ---- request ids: the first answer for ever (H6) -------------------------------------------------------------------


@pytest.mark.parametrize("then", ["revoked", "replaced", "left"])
async def test_a_join_is_answered_again_when_its_code_counts_no_more(house, then):
    """A phone that joined and lost the answer asks again: it is a guest, whatever became of the code since."""
    hal, ann = someone("hal"), someone("ann")
    async with clients(house, hal, ann) as (host, guest):
        table_id = await opened(host)
        code = (await host.private.create_code(table_id)).code
        request = hosting_pb2.JoinTableRequest(request_id=rid(), code=code)
        first = await house.call("JoinTable", request, ann)
        if then == "revoked":
            await host.private.revoke_code(table_id)
        elif then == "replaced":
            await host.private.create_code(table_id)
        else:
            await guest.private.answer(table_id, is_accepted=False)
        assert (await house.call("JoinTable", request, ann)).table_id == first.table_id
        if then != "left":
            assert await reason_of(guest.private.join(code)) == "INVITATION_REQUIRED", (
                "another request is another matter"
            )


async def test_who_hosted_a_table_is_answered_again_after_being_sent_away(house):
    hal, ann = someone("hal"), someone("ann")
    async with clients(house, hal, ann) as (host, guest):
        table_id = await opened(host)
        await let_in(host, table_id, (ann, guest))
        request = hosting_pb2.HandOverTableRequest(request_id=rid(), table_id=table_id, player=ann)
        first = await house.call("HandOverTable", request, hal)
        await guest.private.remove_guest(table_id, hal)
        assert await house.call("HandOverTable", request, hal) == first
        again = hosting_pb2.HandOverTableRequest(request_id=rid(), table_id=table_id, player=ann)
        assert (await house.refused("HandOverTable", again, hal))[0] == "INVITATION_REQUIRED"


# ---- S3: what a bot's token opens ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "forged"), [("ann", Role.BOT), ("bot:ann", Role.PLAYER)])
@pytest.mark.parametrize("method", ["OpenHand", "Act", "Watch", "Play", "StandUp"])
async def test_a_token_of_a_bot_is_good_for_no_person_s_seat_nor_one_of_a_person_for_a_bot_s(
    house, name, forged, method
):
    """S3: whoever makes tokens for bots opens no player's cards with them: the name alone says which of the two it is."""
    table_id = await house.create(pause_ms=600_000)
    role = Role.BOT if name.startswith("bot:") else Role.PLAYER
    await house.sit(table_id, name, role=role)
    await house.sit(table_id, "ben")
    view = await house.until(table_id, has_decision)
    asked = {
        "OpenHand": pb.OpenHandRequest(hand_id=view.hand.hand_id),
        "Act": pb.ActRequest(request_id=rid(), table_id=table_id, action=pb.Action(turn=1, kind=1)),
        "StandUp": pb.StandUpRequest(request_id=rid(), table_id=table_id),
    }
    if method in asked:
        assert await outcome(house, method, asked[method], name, forged) == "UNAUTHENTICATED"
        return
    call = house.stub.Watch(pb.WatchRequest(table_id=table_id), metadata=house.metadata(name, forged))
    if method == "Play":
        call = house.stub.Play(metadata=house.metadata(name, forged))
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call.read()
    assert error_of(refused.value)[0] == "UNAUTHENTICATED"


async def test_a_back_end_acts_for_no_bot_and_sees_no_bot_s_cards(house):
    table_id = await house.create(pause_ms=600_000)
    await house.sit(table_id, "bot:ann", role=Role.BOT)
    await house.sit(table_id, "ben")
    view = await house.until(table_id, has_decision)
    for method, request in (
        ("OpenHand", pb.OpenHandRequest(hand_id=view.hand.hand_id, on_behalf_of="bot:ann")),
        ("StandUp", pb.StandUpRequest(request_id=rid(), table_id=table_id, on_behalf_of="bot:ann")),
        ("SitDown", pb.SitDownRequest(request_id=rid(), table_id=table_id, amount=100, on_behalf_of="bot:dan")),
    ):
        assert await outcome(house, method, request, "phones", Role.BACKEND) == "ON_BEHALF_OF_NOT_ALLOWED"
    leaving = pb.StandUpRequest(request_id=rid(), table_id=table_id, on_behalf_of="bot:ann")
    await house.call("StandUp", leaving, "op", Role.OPERATOR)


# ---- matches ---------------------------------------------------------------------------------------------------------


async def test_a_host_who_is_losing_a_match_does_not_get_the_entry_back_by_closing_the_table(house):
    """What a match's entries are worth is settled by playing; only the house calls one off."""
    hal, ann = someone("hal"), someone("ann")
    async with clients(house, hal, ann) as (host, guest):
        terms = table_pb2.MatchTerms(starting_coins=table_pb2.Coins(dinars=2), entry_fee=500)
        config = settings(
            hand={"game": "sarab"}, chips=table_pb2.CHIP_SOURCE_MATCH, match=terms, seats=2, pause_ms=600_000
        )
        table_id = (await host.create(config)).table_id
        await let_in(host, table_id, (ann, guest))
        await host.sit_down(table_id, 500)
        await guest.sit_down(table_id, 500)
        await house.until(table_id, has_decision)
        assert await reason_of(host.close(table_id)) == "MATCH_STARTED"
        assert not (await house.view(table_id)).is_closing
        await house.call("CloseTable", pb.CloseTableRequest(request_id=rid(), table_id=table_id))
        assert (await house.view(table_id)).is_closing


async def test_a_host_does_not_hold_a_match_for_ever(house, monkeypatch):
    """SB-4: nobody leaves a match with the entry; a pause ends by itself, by an event, and its time is the match's."""
    monkeypatch.setattr("diwan.core.table.hosting.decide.MATCH_PAUSE_MS_MAX", 300)
    hal, ann = someone("hal"), someone("ann")
    async with clients(house, hal, ann) as (host, guest):
        terms = table_pb2.MatchTerms(starting_coins=table_pb2.Coins(dinars=2), entry_fee=500)
        hand = {"game": "sarab", "sarab": {"forced_bets": [10]}}
        table_id = await opened(host, hand=hand, seats=2, chips=table_pb2.CHIP_SOURCE_MATCH, match=terms)
        await let_in(host, table_id, (ann, guest))
        await host.sit_down(table_id, 500)
        await host.private.set_paused(table_id, is_paused=True)
        await guest.sit_down(table_id, 500)
        view = await house.until(table_id, has_decision)
        assert not view.is_paused
        assert await reason_of(host.private.set_paused(table_id, is_paused=True)) == "PAUSE_USED_UP"
        events = await verified(house, table_id)
    (paused,) = [event for event in events if isinstance(event, TablePaused)]
    (resumed,) = [event for event in events if isinstance(event, TableResumed)]
    assert resumed.is_by_clock
    assert resumed.resumed_at_ms >= paused.until_ms == paused.paused_at_ms + 300


async def test_two_devices_enter_a_match_once_and_pay_once(house):
    ann, ben = someone("ann"), someone("ben")
    table_id = await a_match(house, players=(ann, ben))
    before = len(house.wallet.transfers)
    entering = [pb.SitDownRequest(request_id=rid(), table_id=table_id, amount=500) for _ in range(6)]
    found = await asyncio.gather(*(outcome(house, "SitDown", each, ann) for each in entering))
    assert sorted(map(str, found)) == ["ALREADY_SEATED"] * 5 + ["None"]
    await house.sit(table_id, ben, amount=500)
    await house.until(table_id, has_decision)
    assert len(house.wallet.transfers) == before + 2
    top_up = pb.TopUpRequest(request_id=rid(), table_id=table_id, amount=500)
    assert await outcome(house, "TopUp", top_up, ann) == "NOT_IN_THIS_GAME"
    for player in (ann, ben):
        leaving = pb.StandUpRequest(request_id=rid(), table_id=table_id)
        assert await outcome(house, "StandUp", leaving, player) == "MATCH_STARTED"
    assert [seat.player for seat in (await house.view(table_id)).seats] == [ann, ben]


# ---- lines -----------------------------------------------------------------------------------------------------------


async def test_nobody_keeps_a_seat_at_more_tables_than_may_be_sat_at(postgres, database, folder):
    """A seat that is kept is refused to everybody else, and a bot goes for it."""
    ann = someone("ann")
    async with a_house(postgres, database, folder, tables_per_player_max=2) as house:
        tables = [await house.create() for _ in range(4)]
        await house.sit(tables[0], ann)

        def waiting(table_id):
            return waiting_pb2.WaitForSeatRequest(request_id=rid(), table_id=table_id)

        assert await outcome(house, "WaitForSeat", waiting(tables[1]), ann) is None
        assert await outcome(house, "WaitForSeat", waiting(tables[2]), ann) == "TOO_MANY_TABLES"
        found = await asyncio.gather(*(outcome(house, "WaitForSeat", waiting(each), "zed") for each in tables))
        assert sorted(map(str, found)) == ["None", "None", "TOO_MANY_TABLES", "TOO_MANY_TABLES"]
        # Where it waits it sits down, as the second of two.
        await house.sit(tables[1], ann)
        sit = pb.SitDownRequest(request_id=rid(), table_id=tables[3], amount=100)
        assert await outcome(house, "SitDown", sit, ann) == "TOO_MANY_TABLES"


async def test_the_uninvited_learn_nothing_of_a_private_table_by_any_method(house):
    """TB-3, S4: one answer to everything that asks about the table, whatever version, hand or line is named."""
    hal, ann, eve = someone("hal"), someone("ann"), someone("eve")
    async with clients(house, hal, ann) as (host, guest):
        table_id = await opened(host, pause_ms=600_000)
        await let_in(host, table_id, (ann, guest))
        await host.sit_down(table_id, 100)
        await guest.sit_down(table_id, 100)
        view = await house.until(table_id, has_decision)
        at = {"request_id": rid(), "table_id": table_id}
        asked = {
            "GetTable": pb.GetTableRequest(table_id=table_id),
            "GetHand": pb.GetHandRequest(hand_id=view.hand.hand_id),
            "SitDown": pb.SitDownRequest(**at, amount=1),
            "WaitForSeat": waiting_pb2.WaitForSeatRequest(**at),
            "AnswerInvitation": hosting_pb2.AnswerInvitationRequest(**at, is_accepted=True),
            "InvitePlayer": hosting_pb2.InvitePlayerRequest(**at, player=eve),
            "RevokeInvitation": hosting_pb2.RevokeInvitationRequest(**at, player=ann),
            "CreateJoinCode": hosting_pb2.CreateJoinCodeRequest(**at),
            "RevokeJoinCode": hosting_pb2.RevokeJoinCodeRequest(**at),
            "RemoveGuest": hosting_pb2.RemoveGuestRequest(**at, player=ann),
            "SetPaused": hosting_pb2.SetPausedRequest(**at, is_paused=True),
            "ChangeSettings": hosting_pb2.ChangeSettingsRequest(**at, config=settings(bots_fill=3)),
            "HandOverTable": hosting_pb2.HandOverTableRequest(**at, player=eve),
            "CloseTable": pb.CloseTableRequest(**at),
        }
        for method, request in asked.items():
            if "request_id" in request.DESCRIPTOR.fields_by_name:
                request.request_id = rid()
            assert await outcome(house, method, request, eve) == "INVITATION_REQUIRED", method
        for after in (0, 1, view.version, view.version + 1, 10**9, -1):
            for stream in ("Watch", "Play"):
                call = getattr(house.stub, stream)
                if stream == "Watch":
                    call = call(pb.WatchRequest(table_id=table_id, after_version=after), metadata=house.metadata(eve))
                else:
                    call = call(metadata=house.metadata(eve))
                    await call.write(pb.PlayRequest(attach=pb.Attach(table_id=table_id, after_version=after)))
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await call.read()
                assert error_of(refused.value) == ("INVITATION_REQUIRED", {}), "not how far the table has come"
        listing = hosting_pb2.ListInvitationsRequest(table_id=table_id)
        assert await outcome(house, "ListInvitations", listing, eve) == "NOT_HOST"
        hands = await house.call("ListHands", pb.ListHandsRequest(table_id=table_id), eve)
        assert not hands.hands
        for role in (Role.PLAYER, Role.BOT, Role.AUDITOR):
            notices = house.stub.WatchNotices(
                notices_pb2.WatchNoticesRequest(players=[ann]), metadata=house.metadata(named(eve, role), role)
            )
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await notices.read()
            assert error_of(refused.value)[0] == "PERMISSION_DENIED"
        assert (await house.view(table_id)).version == view.version, "and nothing has changed"


# ---- powers and sets -------------------------------------------------------------------------------------------------


async def test_an_anchor_is_answered_once_whoever_answers_how_often_at_once(house):
    """NK-40: two answers race, by two devices, with the declarer's and a stranger's in between."""
    table_id, view, declarer, target = await anchored(house)
    turn = view.hand.naiko.window.turn
    asked = [(target, "seal_shield"), (target, "pass"), (declarer, "pass"), ("zoe", "seal_shield"), (target, "pass")]
    found = await asyncio.gather(
        *(outcome(house, "AnswerAnchor", answer_request(table_id, turn, said), who) for who, said in asked)
    )
    by_target = [reason for (who, _), reason in zip(asked, found, strict=True) if who == target]
    assert by_target.count(None) == 1
    assert set(by_target) <= {None, "STALE_TURN", "NO_RESPONSE_WINDOW"}
    assert found[2] in {"STALE_TURN", "NO_RESPONSE_WINDOW"}
    assert found[3] == "NOT_SEATED"
    hand = await house.call("GetHand", pb.GetHandRequest(hand_id=view.hand.hand_id))
    events = [decode(event.type_id, event.schema_version, event.body).event for event in hand.events]
    assert sum(isinstance(event, AnchorAnswered) for event in events) == 1


async def test_a_stake_of_a_pair_is_made_by_both_and_by_nobody_else(house):
    """CS-62: nobody accepts an own offer, another's, or another amount; nobody has a stake with itself or an empty seat."""
    table_id = await capsa_house.open_table(house, ("ann", "ben", "cid"), pause_ms=600_000)
    house_calls = [
        ("ann", {"other": 0, "propose_unit": 10}),
        ("ann", {"other": 3, "propose_unit": 10}),
        ("ann", {"other": 7, "propose_unit": 10}),
        ("zoe", {"other": 1, "propose_unit": 10}),
        ("ben", {"other": 0, "accept_unit": 10}),
    ]
    for player, stake in house_calls:
        assert await outcome(house, "SetPairStake", capsa_house.stake_request(table_id, **stake), player), stake
    assert not await outcome(
        house, "SetPairStake", capsa_house.stake_request(table_id, other=1, propose_unit=20), "ann"
    )
    for player, stake in (
        ("ann", {"other": 1, "accept_unit": 20}),
        ("cid", {"other": 0, "accept_unit": 20}),
        ("cid", {"other": 1, "accept_unit": 20}),
        ("ben", {"other": 0, "accept_unit": 21}),
        ("ben", {"other": 0, "accept_unit": 2**53}),
    ):
        assert await outcome(house, "SetPairStake", capsa_house.stake_request(table_id, **stake), player), stake
    assert not (await house.view(table_id)).capsa.pair_units
    accepting = capsa_house.stake_request(table_id, other=0, accept_unit=20)
    assert not await outcome(house, "SetPairStake", accepting, "ben")
    ((a, b, unit),) = [(each.a, each.b, each.unit) for each in (await house.view(table_id)).capsa.pair_units]
    assert (a, b, unit) == (0, 1, 20)


# ---- exclusions ------------------------------------------------------------------------------------------------------


async def test_a_pair_that_is_kept_apart_does_not_get_together_by_asking_at_once_or_in_line(house):
    """CL-7, in a race: many pairs, each at a table of its own, one of the two at most gets in."""
    async with client_of(house, "op", Role.OPERATOR) as op:
        for _ in range(6):
            ann, ben = someone("ann"), someone("ben")
            table_id = await house.create()
            await op.tables.set_exclusion(ann, apart_from=ben, reason="case 9")
            asked = [(player, rid()) for player in (ann, ben) * 3]
            await asyncio.gather(
                *(
                    outcome(house, "SitDown", pb.SitDownRequest(request_id=one, table_id=table_id, amount=100), player)
                    for player, one in asked
                )
            )
            seated = [seat.player for seat in (await house.view(table_id)).seats]
            assert len(seated) == 1
            (other,) = {ann, ben} - set(seated)
            line = waiting_pb2.WaitForSeatRequest(request_id=rid(), table_id=table_id)
            assert await outcome(house, "WaitForSeat", line, other) == "PLAYER_EXCLUDED"


# ---- notices, strings ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cursor", [0, 1, 31, 32, 33])
async def test_notices_are_told_from_the_first_cursors_on(house, cursor):
    """A cursor within an event that told nothing is one like any other."""
    async with client_of(house, "phones", Role.SERVICE) as client:
        table_id = await house.create()
        ann = someone("ann")
        await house.sit(table_id, ann)
        # From the beginning first: then there are that many cursors, also where no other test has played here before.
        for after in (0, cursor):
            async with client.tables.notices(players=(ann,), after_cursor=after, patience_seconds=0) as notices:
                async with asyncio.timeout(5):
                    assert (await anext(notices)).player == ann


NAMES = ("a\u202eb", "a\nb", "]: (", "a\x00b", "x" * 10_000, "\u2066", "\ud7ff\u0600", "   ")


@pytest.mark.parametrize("name", NAMES)
async def test_names_that_would_lie_in_a_page_or_log_are_refused_wherever_one_can_be_given(house, name):
    hal = someone("hal")
    async with clients(house, hal) as (host,):
        table_id = await opened(host)
        is_harmless = name == "]: ("
        invited = hosting_pb2.InvitePlayerRequest(request_id=rid(), table_id=table_id, player=name)
        assert (await outcome(house, "InvitePlayer", invited, hal) is None) == (is_harmless or name.isspace())
        named = table_pb2.TableConfig(name=name, is_private=True)
        created = pb.CreateTableRequest(request_id=rid(), config=named)
        assert (await outcome(house, "CreateTable", created, hal) is None) == is_harmless
        changed = hosting_pb2.ChangeSettingsRequest(request_id=rid(), table_id=table_id, config=settings(name=name))
        assert (await outcome(house, "ChangeSettings", changed, hal) is None) == is_harmless
        joining = hosting_pb2.JoinTableRequest(request_id=rid(), code=name)
        assert await outcome(house, "JoinTable", joining, someone("eve")) == "INVITATION_REQUIRED"
        with pytest.raises(DiwanError):
            async with client_of(house, "phones", Role.SERVICE) as client:
                await anext(client.tables.notices(players=(name + "\n",), patience_seconds=0))
