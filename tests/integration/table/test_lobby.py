"""The lobby: tables by filter and page, each with its conditions (TB-3, AIP-158)."""

from uuid import uuid4

import pytest

from diwan.api.event.v1 import hand_pb2, table_pb2
from diwan.api.table.v1 import lobby_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.client import connect
from tests.integration.table.test_looking_back import eventually


async def open_one(house, **config):
    hand = hand_pb2.HandSettings(**config.pop("hand", {}))
    wanted = table_pb2.TableConfig(**{"name": f"lobby {uuid4()}", "pause_ms": 1} | config, hand=hand)
    request = pb.CreateTableRequest(request_id=str(uuid4()), config=wanted)
    return (await house.call("CreateTable", request)).table.table_id


async def found(house, ids, *, page_size=100, **wanted):
    """Return which of these tables the lobby lists, newest first."""
    listed, token = [], ""
    while True:
        request = pb.ListTablesRequest(
            page_size=page_size,
            page_token=token,
            filter=lobby_pb2.TableFilter(**wanted),
            detail=lobby_pb2.TABLE_DETAIL_ENTRIES,
        )
        page = await house.call("ListTables", request, "ann")
        assert not page.tables, "only entries were asked for"
        listed += [entry.table_id for entry in page.entries if entry.table_id in ids]
        token = page.next_page_token
        if not token:
            return listed


async def all_listed(house, ids):
    await eventually(lambda: found(house, ids), lambda listed: len(listed) == len(ids))


async def entry(house, table_id):
    page = await house.call("ListTables", pb.ListTablesRequest(page_size=100))
    return next((each for each in page.entries if each.table_id == table_id), None)


async def test_tables_are_found_by_game_limit_stakes_and_bots(house):
    low = await open_one(house, hand={"small_blind": 1, "big_blind": 2})
    high = await open_one(house, hand={"small_blind": 50, "big_blind": 100}, bots_fill=3)
    omaha = await open_one(house, hand={"game": "omaha", "small_blind": 5, "big_blind": 10})
    ids = [low, high, omaha]
    await all_listed(house, ids)
    assert await found(house, ids) == [omaha, high, low], "newest first"
    assert await found(house, ids, games=["omaha"]) == [omaha]
    assert await found(house, ids, games=["omaha", "holdem"]) == [omaha, high, low]
    assert await found(house, ids, games=["naiko"]) == []
    assert await found(house, ids, limit="pot_limit") == [omaha]
    assert await found(house, ids, stake_min=10) == [omaha, high]
    assert await found(house, ids, stake_min=3, stake_max=10) == [omaha]
    assert await found(house, ids, bots=lobby_pb2.WISH_YES) == [high]
    assert await found(house, ids, bots=lobby_pb2.WISH_NO) == [omaha, low]
    assert await found(house, ids, chips=table_pb2.CHIP_SOURCE_WALLET) == [omaha, high, low]
    assert await found(house, ids, chips=table_pb2.CHIP_SOURCE_MATCH) == []


async def test_tables_are_found_by_free_seats_and_say_who_is_there(house):
    table_id = await open_one(house, seats=2, bots_fill=1)
    await house.sit(table_id, "ann")
    await house.sit(table_id, "bot:1", role=Role.BOT)

    async def seated():
        return await entry(house, table_id)

    line = await eventually(seated, lambda line: line is not None and line.people + line.bots == 2)
    assert (line.people, line.bots, line.free_seats) == (1, 1, 0)
    assert await found(house, [table_id], free_seats_min=1) == []
    await house.call("StandUp", pb.StandUpRequest(request_id=str(uuid4()), table_id=table_id), "ann")
    await eventually(lambda: found(house, [table_id], free_seats_min=1), lambda listed: listed == [table_id])


async def test_a_page_follows_the_page_before_whatever_is_opened_meanwhile(house):
    """AIP-158: nothing twice, nothing left out."""
    ids = [await open_one(house) for _ in range(5)]
    await all_listed(house, ids)
    first = await house.call("ListTables", pb.ListTablesRequest(page_size=2))
    await open_one(house)
    listed, token = [each.table_id for each in first.entries], first.next_page_token
    while token:
        page = await house.call("ListTables", pb.ListTablesRequest(page_size=2, page_token=token))
        listed += [each.table_id for each in page.entries]
        token = page.next_page_token
    assert len(listed) == len(set(listed))
    assert [table_id for table_id in listed if table_id in ids] == ids[::-1]


async def test_the_token_of_one_question_is_no_answer_to_another(house):
    ids = [await open_one(house) for _ in range(2)]
    await all_listed(house, ids)
    token = (await house.call("ListTables", pb.ListTablesRequest(page_size=1))).next_page_token
    other = pb.ListTablesRequest(page_token=token, filter=lobby_pb2.TableFilter(limit="no_limit"))
    assert (await house.refused("ListTables", other))[0] == "PAGE_TOKEN_INVALID"


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"stake_min": -1}, "filter.stake_max"),
        ({"stake_min": 9, "stake_max": 3}, "filter.stake_max"),
        ({"games": ["holdem"] * 11}, "filter.games"),
        ({"games": ["x" * 30]}, "filter.games"),
        ({"bots": 9}, "filter.bots"),
        ({"chips": 9}, "filter.chips"),
    ],
)
async def test_a_filter_that_makes_no_sense_is_refused(house, wanted, field):
    request = pb.ListTablesRequest(filter=lobby_pb2.TableFilter(**wanted))
    reason, facts = await house.refused("ListTables", request)
    assert (reason, facts["field"]) == ("FIELD_INVALID", field)


async def test_the_conditions_are_the_same_in_the_lobby_when_opened_and_before_sitting(house):
    """TB-3: mode, blinds and whether bots are enabled are shown to check."""
    wanted = table_pb2.TableConfig(
        name=f"same {uuid4()}", hand=hand_pb2.HandSettings(game="omaha", small_blind=5, big_blind=10), bots_fill=2
    )
    created = await house.call("CreateTable", pb.CreateTableRequest(request_id=str(uuid4()), config=wanted))
    table_id = created.table.table_id
    line = await eventually(lambda: entry(house, table_id), lambda line: line is not None)
    before = await house.call("GetTable", pb.GetTableRequest(table_id=table_id))
    assert line.conditions == created.conditions == before.conditions
    assert (line.conditions.game, line.conditions.limit) == ("omaha", "pot_limit")
    assert line.conditions.has_bots
    assert line.conditions.clocks.decision_seconds == 20
    assert (line.conditions.buy_in_min, line.conditions.buy_in_max) == (200, 1000)


async def test_the_client_library_walks_the_lobby(house):
    table_id = await open_one(house, hand={"game": "omaha"})
    await all_listed(house, [table_id])
    async with connect(house.address, house.key.mint("ann", Role.PLAYER, "table")) as client:
        wanted = lobby_pb2.TableFilter(games=["omaha"])
        assert table_id in [line.table_id async for line in client.tables.lobby(wanted, page_size=1)]
        assert (await client.tables.conditions(table_id)).game == "omaha"
