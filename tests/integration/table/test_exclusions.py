"""Exclusions: refused seats with a reason, pairs never together, a history that is only added to (CL-7)."""

import asyncio
from uuid import uuid4

import asyncpg
import grpc
import pytest

from diwan.api.table.v1 import exclusions_pb2
from diwan.chassis.access import Role
from diwan.client import connect
from tests.integration.table.house import PASSWORDS, error_of
from tests.integration.table.test_looking_back import eventually
from tests.integration.table.test_private import client_of, clients, opened, reason_of, someone


def staff(house):
    return client_of(house, "op", Role.OPERATOR)


async def refusal_of(house, table_id, player):
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await house.sit(table_id, player)
    return error_of(refused.value)


async def test_a_suspended_player_is_refused_every_seat_with_what_it_is_told_until_lifted(house):
    ann = someone("ann")
    table_id = await house.create()
    async with staff(house) as op:
        made = await op.tables.set_exclusion(ann, reason="case 7: two accounts", note="Write to support.")
        reason, facts = await refusal_of(house, table_id, ann)
        assert reason == "PLAYER_EXCLUDED"
        assert facts == {"kind": "suspended", "note": "Write to support.", "until_ms": "0"}
        assert "case 7" not in str(facts), "the house's own reason is not told"
        lifted = await op.tables.lift_exclusion(made.exclusion_id, reason="cleared")
        assert (lifted.lifted_by, lifted.lift_reason) == ("op", "cleared")
        again = await op.tables.lift_exclusion(made.exclusion_id, reason="once more")
        assert again == lifted, "lifted once"
    assert (await house.sit(table_id, ann)).seat == 0


async def test_a_suspension_ends_by_itself(house):
    ann = someone("ann")
    table_id = await house.create()
    async with staff(house) as op:
        made = await op.tables.set_exclusion(ann, reason="cooling down", valid_seconds=1)
        assert made.until_ms == made.set_at_ms + 1000
        assert (await refusal_of(house, table_id, ann))[1]["until_ms"] == str(made.until_ms)

        async def in_force():
            return [each async for each in op.tables.exclusions(player=ann)]

        await eventually(in_force, lambda found: not found)
        assert len([each async for each in op.tables.exclusions(player=ann, includes_past=True)]) == 1
    await house.sit(table_id, ann)


@pytest.mark.parametrize("first", [0, 1])
async def test_a_pair_that_is_kept_apart_is_never_seated_together_from_either_side(house, first):
    pair = (someone("ann"), someone("ben"))
    async with staff(house) as op:
        await op.tables.set_exclusion(pair[0], apart_from=pair[1], reason="collusion", note="not told")
    one, other = await house.create(), await house.create()
    await house.sit(one, pair[first])
    reason, facts = await refusal_of(house, one, pair[1 - first])
    assert (reason, facts) == ("PLAYER_EXCLUDED", {"kind": "kept_apart"})
    assert pair[first] not in str(facts), "who else is meant is not told"
    await house.sit(one, someone("cid"))
    await house.sit(other, pair[1 - first])


async def test_both_of_a_pair_who_ask_at_once_do_not_both_get_in(house):
    ann, ben = someone("ann"), someone("ben")
    async with staff(house) as op:
        await op.tables.set_exclusion(ann, apart_from=ben, reason="collusion")
    for _ in range(5):
        table_id = await house.create()
        asked = await asyncio.gather(house.sit(table_id, ann), house.sit(table_id, ben), return_exceptions=True)
        assert sum(isinstance(answer, grpc.aio.AioRpcError) for answer in asked) == 1


async def test_who_is_not_invited_does_not_learn_who_sits_at_a_private_table(house):
    hal, eve = someone("hal"), someone("eve")
    async with staff(house) as op, clients(house, hal, eve) as (host, stranger):
        table_id = await opened(host)
        await host.sit_down(table_id, 100)
        await op.tables.set_exclusion(eve, apart_from=hal, reason="collusion")
        assert await reason_of(stranger.sit_down(table_id, 100)) == "INVITATION_REQUIRED"
        await host.private.invite(table_id, eve)
        assert await reason_of(stranger.sit_down(table_id, 100)) == "PLAYER_EXCLUDED"


async def test_who_sits_already_stays_until_an_operator_says_otherwise(house):
    ann = someone("ann")
    table_id = await house.create()
    await house.sit(table_id, ann)
    async with staff(house) as op:
        await op.tables.set_exclusion(ann, reason="case 8")
        assert [seat.player for seat in (await house.view(table_id)).seats] == [ann]
        await op.tables.stand_up(table_id, player=ann)
    assert (await refusal_of(house, table_id, ann))[0] == "PLAYER_EXCLUDED"


async def test_exclusions_are_listed_for_operators_and_auditors_alone(house):
    ann, ben = someone("ann"), someone("ben")
    async with staff(house) as op:
        for number in range(3):
            await op.tables.set_exclusion(ann, apart_from=f"{ben}{number}", reason=f"case {number}")
        listed = [each async for each in op.tables.exclusions(player=ann, page_size=1)]
        assert [each.reason for each in listed] == ["case 2", "case 1", "case 0"]
        assert [each.player async for each in op.tables.exclusions(player=f"{ben}1")] == [ann], "from either side"
    for role, is_allowed in ((Role.AUDITOR, True), (Role.PLAYER, False), (Role.BACKEND, False), (Role.SERVICE, False)):
        async with client_of(house, "x", role) as client:
            asking = anext(client.tables.exclusions(player=ann))
            if is_allowed:
                assert (await asking).player == ann
            else:
                assert await reason_of(asking) == "PERMISSION_DENIED"
            assert await reason_of(client.tables.set_exclusion(ann, reason="mine")) == "PERMISSION_DENIED"


async def test_asking_twice_sets_one_and_another_content_is_a_conflict(house):
    ann, request_id = someone("ann"), str(uuid4())
    async with staff(house) as op:
        first = await op.tables.set_exclusion(ann, reason="once", request_id=request_id)
        assert await op.tables.set_exclusion(ann, reason="once", request_id=request_id) == first
        again = op.tables.set_exclusion(ann, reason="twice", request_id=request_id)
        assert await reason_of(again) == "REQUEST_ID_CONFLICT"
        assert len([each async for each in op.tables.exclusions(player=ann)]) == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"player": ""}, "FIELD_REQUIRED"),
        ({"reason": " "}, "REASON_REQUIRED"),
        ({"apart_from": "ann"}, "FIELD_INVALID"),
        ({"valid_seconds": -1}, "FIELD_INVALID"),
        ({"valid_seconds": 2**40}, "FIELD_INVALID"),
        ({"note": "x" * 201}, "FIELD_INVALID"),
        ({"player": "x" * 129}, "FIELD_INVALID"),
        ({"request_id": "no"}, "REQUEST_ID_INVALID"),
    ],
)
async def test_an_exclusion_that_makes_no_sense_is_refused(house, changes, reason):
    fields = {"request_id": str(uuid4()), "player": "ann", "reason": "case"} | changes
    assert (await house.refused("SetExclusion", exclusions_pb2.SetExclusionRequest(**fields)))[0] == reason
    lifting = exclusions_pb2.LiftExclusionRequest(request_id=str(uuid4()), exclusion_id=str(uuid4()), reason="no such")
    assert (await house.refused("LiftExclusion", lifting))[0] == "EXCLUSION_NOT_FOUND"


async def test_the_service_may_add_to_the_history_and_not_change_it(house, postgres, database):
    async with staff(house) as op:
        await op.tables.set_exclusion(someone("ann"), reason="kept")
    connection = await asyncpg.connect(postgres.url("table_rw", PASSWORDS["table_rw"], database))
    for statement in (
        "update exclusion set reason = ''",
        "delete from exclusion",
        "truncate exclusion_lift, exclusion",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
    await connection.close()


async def test_a_player_who_asks_at_many_tables_at_once_gets_no_more_seats_than_allowed(postgres, database, folder):
    """Table defaults: 4 tables a player, also in a race."""
    from tests.integration.table.house import a_house

    async with a_house(postgres, database, folder, tables_per_player_max=4) as house:
        ids = [await house.create() for _ in range(9)]
        ann = someone("ann")
        asked = await asyncio.gather(*(house.sit(each, ann) for each in ids), return_exceptions=True)
        refused = [error_of(answer) for answer in asked if isinstance(answer, grpc.aio.AioRpcError)]
        assert refused == [("TOO_MANY_TABLES", {"max": "4"})] * 5
        seated = [each for each in ids if (await house.view(each)).seats]
        assert len(seated) == 4
        async with connect(house.address, house.key.mint(ann, Role.PLAYER, "table")) as client:
            await client.tables.stand_up(seated[0])
        free = next(each for each in ids if each not in seated)
        await house.sit(free, ann)
