"""My hands: a player's own hands through the seat's eyes, and nobody else's (P10, S4)."""

import asyncio
from uuid import UUID, uuid4

import asyncpg
import grpc
import pytest

from diwan.api.event.v1 import event_pb2, hand_pb2
from diwan.api.table.v1 import history_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.cli.hands import as_builtins, told
from diwan.client import DiwanError, connect
from diwan.client.tables import Tables
from diwan.core.fairness import verify_reveal
from diwan.wire.mapping import read_reveals
from tests.integration.table.house import error_of, has_decision, player_of
from tests.integration.table.test_looking_back import eventually, fold_hands, two


def unique(*names):
    return tuple(f"{name}-{uuid4()}" for name in names)


async def to_showdown(house, players):
    """Two play one hand to its showdown; returns the table's and the hand's id."""
    table_id = await two(house, players, pause_ms=600_000)
    view = await house.until(table_id, has_decision)
    while has_decision(view):
        decision = view.hand.decision
        await house.act(
            table_id, player_of(view, decision.seat), decision.turn, "check" if decision.can_check else "call"
        )
        view = await house.view(table_id)
    return table_id, view.hand.hand_id


async def mine(house, hand_id, player, role=Role.PLAYER, **query):
    return await house.call("GetMyHand", history_pb2.GetMyHandRequest(hand_id=hand_id, **query), player, role)


async def refused(house, hand_id, player, role=Role.PLAYER, **query):
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await mine(house, hand_id, player, role, **query)
    return error_of(error.value)[0]


async def test_an_own_hand_is_told_with_own_cards_from_the_deal_and_the_others_only_once_they_are_shown(house):
    """P10, S1: exactly what the seat could see, at every step."""
    ann, ben = unique("ann", "ben")
    _, hand_id = await to_showdown(house, (ann, ben))
    hand = await mine(house, hand_id, ann)
    assert hand.is_ended
    seen = False
    for step in hand.steps:
        body = event_pb2.Event.FromString(step.event.body)
        seen = seen or body.WhichOneof("payload") == "cards_shown"
        for line in step.seats:
            is_dealt = bool(line.cards or line.hidden_cards)
            if line.player == ann and is_dealt:
                assert (len(line.cards), line.hidden_cards) == (2, 0)
            if line.player == ben and not seen:
                assert not line.cards
    assert seen
    assert len(hand.steps[-1].seats[1].cards) == 2, "after the showdown both hands lie open"
    started = event_pb2.Event.FromString(hand.steps[0].event.body).hand_started
    assert len(hand.reveals) == 2
    assert all(verify_reveal(hand_id, started.deck_root, reveal) for reveal in read_reveals(hand.reveals))


async def test_a_folded_hand_shows_own_cards_and_never_the_others(house):
    ann, ben = unique("ann", "ben")
    table_id = await two(house, (ann, ben), pause_ms=600_000)
    (hand_id,) = await fold_hands(house, table_id, 1)
    told_to_ann, told_to_ben = await mine(house, hand_id, ann), await mine(house, hand_id, ben)
    positions = [{reveal.position for reveal in answer.reveals} for answer in (told_to_ann, told_to_ben)]
    assert len(positions[0]) == len(positions[1]) == 2
    assert not positions[0] & positions[1]
    for answer, other in ((told_to_ann, ben), (told_to_ben, ann)):
        assert all(not line.cards for step in answer.steps for line in step.seats if line.player == other)
        raw = answer.SerializeToString()
        hidden = told_to_ben.reveals if answer is told_to_ann else told_to_ann.reveals
        assert not any(reveal.salt in raw for reveal in hidden)


async def test_who_was_not_in_the_hand_is_told_nothing_of_it_and_nobody_of_the_house_looks_in_by_a_players_name(house):
    """S4, P10."""
    ann, ben = unique("ann", "ben")
    _, hand_id = await to_showdown(house, (ann, ben))
    assert await refused(house, hand_id, "stranger") == "NOT_IN_HAND"
    assert await refused(house, hand_id, ben, on_behalf_of=ann) == "ON_BEHALF_OF_NOT_ALLOWED"
    for role in (Role.OPERATOR, Role.AUDITOR, Role.SERVICE):
        assert await refused(house, hand_id, "staff", role, on_behalf_of=ann) == "PERMISSION_DENIED"
    assert await refused(house, hand_id, "backend", Role.BACKEND) == "ON_BEHALF_OF_REQUIRED"
    assert await refused(house, str(uuid4()), ann) == "HAND_NOT_FOUND"


async def test_a_back_end_looks_back_for_its_players_alone(house):
    ann, ben = unique("ours.ann", "theirs.ben")
    _, hand_id = await to_showdown(house, (ann, ben))
    metadata = house.metadata("phones", Role.BACKEND, players="ours.")
    request = history_pb2.GetMyHandRequest(hand_id=hand_id, on_behalf_of=ann)
    answer = await house.stub.GetMyHand(request, timeout=5, metadata=metadata)
    assert len(answer.reveals) == 2
    for method, asked in (
        ("GetMyHand", history_pb2.GetMyHandRequest(hand_id=hand_id, on_behalf_of=ben)),
        ("ListMyHands", history_pb2.ListMyHandsRequest(on_behalf_of=ben)),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await getattr(house.stub, method)(asked, timeout=5, metadata=metadata)
        assert error_of(error.value)[0] == "ON_BEHALF_OF_NOT_ALLOWED"


async def test_the_pages_of_a_hand_are_the_hand(house):
    ann, ben = unique("ann", "ben")
    _, hand_id = await to_showdown(house, (ann, ben))
    whole = await mine(house, hand_id, ann, page_size=200)
    assert not whole.has_more
    steps, after = [], 0
    while True:
        page = await mine(house, hand_id, ann, page_size=3, after_version=after)
        assert len(page.steps) <= 3
        steps += page.steps
        if not page.has_more:
            break
        after = page.steps[-1].event.version
    assert steps == list(whole.steps)
    assert await refused(house, hand_id, ann, page_size=201) == "PAGE_SIZE_INVALID"


async def test_a_running_hand_is_told_as_far_as_it_has_come_and_leaves_no_record(house, postgres, database):
    ann, ben = unique("ann", "ben")
    table_id = await two(house, (ann, ben))
    view = await house.until(table_id, has_decision)
    hand = await mine(house, view.hand.hand_id, ann)
    assert not hand.is_ended
    assert len(hand.reveals) == 2
    assert hand.steps[-1].event.version == view.version
    assert await looks(postgres, database, table_id) == 0


async def looks(postgres, database, table_id):
    connection = await asyncpg.connect(postgres.url("postgres", postgres.password, database))
    count = await connection.fetchval(
        "select count(*) from event where stream_id = $1 and type_id = 53", UUID(table_id)
    )
    await connection.close()
    return count


async def test_looking_back_is_recorded_once_a_hand_however_often_it_is_asked(house, postgres, database):
    """DESIGN 6: cards that are in no event are opened by an event."""
    ann, ben = unique("ann", "ben")
    table_id, hand_id = await to_showdown(house, (ann, ben))
    for _ in range(3):
        await mine(house, hand_id, ann, page_size=2)
    await house.call("OpenHand", pb.OpenHandRequest(hand_id=hand_id), ann)
    assert await looks(postgres, database, table_id) == 1


async def test_own_hands_are_listed_newest_first_with_what_was_won_page_by_page(house):
    ann, ben = unique("ann", "ben")
    table_id = await two(house, (ann, ben))
    ids = await fold_hands(house, table_id, 4)

    async def listed(player, **query):
        return await house.call("ListMyHands", history_pb2.ListMyHandsRequest(**query), player)

    await eventually(lambda: listed(ann), lambda page: sum(hand.is_ended for hand in page.hands) == 4)
    found, token = [], ""
    while True:
        page = await listed(ann, page_size=2, page_token=token, table_id=table_id)
        found += [hand for hand in page.hands if hand.is_ended]
        token = page.next_page_token
        if not token:
            break
    assert [hand.hand_id for hand in found] == ids[::-1]
    assert [hand.game for hand in found] == ["holdem"] * 4
    assert all(hand.net in {1, -1} for hand in found), "the small blind is folded or won"
    theirs = {hand.hand_id: hand.net for hand in (await listed(ben)).hands}
    assert all(theirs[hand.hand_id] == -hand.net for hand in found)
    assert not (await listed(f"nobody-{uuid4()}")).hands
    assert not (await listed(ann, table_id=str(uuid4()))).hands


async def test_the_command_tells_an_own_hand_once_chain_and_cards_hold(house):
    ann, ben = unique("ann", "ben")
    _, hand_id = await to_showdown(house, (ann, ben))
    token = house.key.mint(ann, Role.PLAYER, "table")
    async with connect({"table": house.address}, token) as client:
        story = await told(client.tables, hand_id)
        own = [line.cards for line in story.steps[-1].seats if line.player == ann]
        assert None not in own[0]
        assert story.is_ended
        lines = []
        async with asyncio.timeout(5):
            while not lines:
                lines = [as_builtins(hand) async for hand in client.tables.my_hands()]
        assert lines[0]["hand"] == hand_id
        assert set(lines[0]["players"]) == {ann, ben}
        with pytest.raises(DiwanError, match="HAND_NOT_FOUND"):
            await Tables(client.connection("table")).my_hand(str(uuid4()))


async def test_the_step_of_a_decision_says_who_decided_and_what_was_left_on_the_clock(house):
    ann, ben = unique("ann", "ben")
    _, hand_id = await to_showdown(house, (ann, ben))
    decisions = [step for step in (await mine(house, hand_id, ann)).steps if step.HasField("time_left_ms")]
    assert decisions
    assert all(step.decided_by == hand_pb2.DECIDED_BY_PLAYER and step.time_left_ms > 0 for step in decisions)
    assert {step.what for step in decisions} >= {"checks"}
