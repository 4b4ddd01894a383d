"""Lists of tables and hands, and a hand's events: right at once after its end."""

import asyncio
from uuid import uuid4

import asyncpg

from diwan.api.event.v1 import event_pb2, hand_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from tests.integration.table.house import a_house, has_decision, named, player_of


async def fold_hands(house, table_id, count):
    """Fold so many hands heads-up; returns the id of each."""
    ids = []
    for number in range(1, count + 1):
        view = await house.until(table_id, lambda view, n=number: view.hand.hand_no == n and has_decision(view))
        ids.append(view.hand.hand_id)
        await house.act(table_id, player_of(view, view.hand.decision.seat), view.hand.decision.turn)
    return ids


async def two(house, players=("ann", "ben"), **config):
    table_id = await house.create(**config)
    for player in players:
        await house.sit(table_id, player)
    return table_id


async def eventually(question, condition, seconds=5.0):
    async with asyncio.timeout(seconds):
        while True:
            answer = await question()
            if condition(answer):
                return answer
            await asyncio.sleep(0.05)


async def test_a_hand_is_complete_the_moment_it_has_ended(house):
    table_id = await two(house, pause_ms=600_000)
    (hand_id,) = await fold_hands(house, table_id, 1)
    hand = await house.call("GetHand", pb.GetHandRequest(hand_id=hand_id))
    assert hand.is_ended
    bodies = [event_pb2.Event.FromString(event.body) for event in hand.events]
    assert bodies[0].WhichOneof("payload") == "hand_started"
    assert bodies[-1].WhichOneof("payload") == "hand_ended"
    versions = [event.version for event in hand.events]
    assert versions == list(range(versions[0], versions[0] + len(versions)))
    assert hand.table_id == table_id


async def test_a_running_hand_is_given_as_far_as_it_has_come(house):
    table_id = await two(house)
    view = await house.until(table_id, has_decision)
    hand = await house.call("GetHand", pb.GetHandRequest(hand_id=view.hand.hand_id))
    assert not hand.is_ended
    assert hand.events[-1].version == view.version


async def test_an_old_hand_is_found_after_a_restart(postgres, database, folder):
    async with a_house(postgres, database, folder) as house:
        table_id = await two(house)
        ids = await fold_hands(house, table_id, 3)
    async with a_house(postgres, database, folder) as house:
        hand = await house.call("GetHand", pb.GetHandRequest(hand_id=ids[0]))
        assert hand.is_ended


async def test_hands_are_listed_newest_first_page_by_page(house):
    players = (f"a-{uuid4()}", f"b-{uuid4()}")
    table_id = await two(house, players)
    ids = await fold_hands(house, table_id, 5)

    async def listed(**query):
        return await house.call("ListHands", pb.ListHandsRequest(table_id=table_id, **query))

    # The list follows the feed; it may be some tenths of a second late.
    await eventually(listed, lambda answer: len([hand for hand in answer.hands if hand.last_version]) == 5)
    found, token = [], ""
    while True:
        page = await listed(page_size=2, page_token=token)
        found += [hand for hand in page.hands if hand.last_version]
        token = page.next_page_token
        if not token:
            break
    assert [hand.hand_id for hand in found] == ids[::-1]
    assert {hand.result for hand in found} == {hand_pb2.HAND_RESULT_UNCONTESTED}
    assert {hand.pot for hand in found} == {2}, "the unmatched part of the big blind went back"
    mine = await house.call("ListHands", pb.ListHandsRequest(), players[0])
    assert {hand.table_id for hand in mine.hands} == {table_id}
    strangers = await house.call("ListHands", pb.ListHandsRequest(), "nobody")
    assert not strangers.hands


async def test_open_tables_are_listed_page_by_page_and_closed_ones_are_not(house):
    made = [await house.create(name=f"list {number}") for number in range(3)]
    await house.call("CloseTable", pb.CloseTableRequest(request_id=str(uuid4()), table_id=made[1]))

    async def listed():
        found, token = [], ""
        while True:
            page = await house.call("ListTables", pb.ListTablesRequest(page_size=2, page_token=token))
            found += [table.table_id for table in page.tables]
            token = page.next_page_token
            if not token:
                return found

    found = await eventually(listed, lambda found: {made[0], made[2]} <= set(found) and made[1] not in found)
    assert len(found) == len(set(found))
    assert found.index(made[2]) < found.index(made[0])
    closed = await house.view(made[1])
    assert closed.is_closed


async def test_names_come_from_the_directory_and_are_in_no_event(house, postgres, database):
    """DESIGN 4: events hold opaque ids."""
    player = f"p-{uuid4()}"
    connection = await asyncpg.connect(postgres.url("postgres", postgres.password, database))
    await connection.execute("insert into directory values ($1, 'Ann of the Ducks')", player)
    table_id = await house.create()
    await house.sit(table_id, player)
    async with asyncio.timeout(5):
        while (await house.view(table_id)).seats[0].display_name != "Ann of the Ducks":
            await asyncio.sleep(0.05)
            await house.call(
                "SetSittingOut",
                pb.SetSittingOutRequest(request_id=str(uuid4()), table_id=table_id, is_sitting_out=True),
                player,
            )
            await house.call(
                "SetSittingOut", pb.SetSittingOutRequest(request_id=str(uuid4()), table_id=table_id), player
            )
    bodies = await connection.fetch("select body from event where stream_id = $1::text::uuid", table_id)
    await connection.close()
    assert bodies
    assert not any(b"Ducks" in row["body"] for row in bodies)


async def test_anybody_with_a_role_may_look_at_a_hand_and_its_events_hold_no_card_that_was_not_shown(house):
    table_id = await two(house, pause_ms=600_000)
    (hand_id,) = await fold_hands(house, table_id, 1)
    for role in Role:
        hand = await house.call("GetHand", pb.GetHandRequest(hand_id=hand_id), named("x", role), role)
        for event in hand.events:
            body = event_pb2.Event.FromString(event.body)
            assert not body.board_dealt.reveals
            assert not body.cards_shown.reveals
