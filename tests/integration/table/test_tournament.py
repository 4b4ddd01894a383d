"""Tables of tournaments at the real service: orders over the contract, play by clients, kill -9 (TR, B5, RP-8)."""

import asyncio
import time
from contextlib import AsyncExitStack
from uuid import uuid4

import grpc
import pytest

from diwan.api.event.v1 import table_pb2
from diwan.api.table.v1 import lobby_pb2, notices_pb2
from diwan.api.table.v1 import table_service_pb2 as table_pb
from diwan.api.table.v1 import tournament_pb2 as pb
from diwan.chassis.access import Role
from diwan.client import DiwanError
from diwan.core.hand.events import HandStarted
from diwan.core.table.tournament.events import EntrantReleased
from tests.integration.table.director import REMOVED, Director, levels
from tests.integration.table.gamers import Gamer, client_of, verified
from tests.integration.table.house import Seat, error_of, has_decision, player_of
from tests.integration.table.recorders import replayed

PLAYERS = ("ann", "ben", "cid")


class Bold(Gamer):
    """Plays until it has no seat any more, and often for everything."""

    async def play(self, _hands=0):
        try:
            async for _ in self.seat:
                if self.seat.table is not None:
                    await self._answer()
        except DiwanError as refusal:
            # A decision that is under way while the seat goes may end with the stream; the log, which is proved, knows.
            if refusal.reason not in {"MOVED_TO_ANOTHER_TABLE", "UNKNOWN_OUTCOME"}:
                raise

    def _choice(self, decision):
        if self.chance.random() < 0.4 and (decision.can_raise or decision.can_bet):
            return ("raise" if decision.can_raise else "bet"), decision.max_to
        return super()._choice(decision)


@pytest.mark.parametrize("game", ["holdem", "omaha", "naiko"])
async def test_a_table_is_played_by_clients_to_its_last_player_and_every_hand_is_proved(house, game):
    director = Director(house)
    table_id = await director.open(game=game, start=table_pb2.START_MODE_ON_GRANT)
    for number, player in enumerate(PLAYERS):
        await director.seat(table_id, player, number)
    await director.start(table_id)
    async with AsyncExitStack() as stack:
        gamers = []
        for number, player in enumerate(PLAYERS):
            client = await stack.enter_async_context(client_of(house, player))
            seat = await stack.enter_async_context(client.tables.play(table_id))
            gamers.append(asyncio.create_task(Bold(seat, number).play()))
        async with asyncio.timeout(60):
            view = await house.until(table_id, lambda view: len(view.seats) == 1, seconds=60)
            await director.close(table_id)
            await asyncio.gather(*gamers)
    events = await verified(house, table_id)
    released = [event for event in events if isinstance(event, EntrantReleased)]
    assert [event.cause for event in released] == ["busted", "busted", "table_closed"]
    assert (released[-1].player, released[-1].stack) == (view.seats[0].player, 3_000)
    assert all(sum(seat.stack for seat in hand.seats) == 3_000 for hand in events if isinstance(hand, HandStarted))
    assert not house.wallet.transfers


async def a_table(house, *, players=PLAYERS, **changes):
    """A table with players that waits for grants; returns its director too."""
    director = Director(house)
    table_id = await director.open(**{"start": table_pb2.START_MODE_ON_GRANT} | changes)
    for number, player in enumerate(players):
        await director.seat(table_id, player, number)
    return director, table_id


async def test_the_stream_of_a_moved_player_tells_how_the_hand_ended_and_then_that_it_is_moved(house):
    director, table_id = await a_table(house, players=("ann", "ben"))
    async with Seat(house, table_id, "ann") as seat, Seat(house, table_id, "ben") as other:
        await director.order(table_id, grant_hand=pb.GrantHandOrder(round_no=1))
        await seat.until(lambda each: each.view is not None and has_decision(each.view))
        await director.release(table_id, "ann")
        actor = player_of(seat.view, seat.view.hand.decision.seat)
        await house.act(table_id, actor, seat.view.hand.decision.turn, "fold")
        with pytest.raises(grpc.aio.AioRpcError) as ended:
            await seat.until(lambda _: False)
        await other.until(lambda each: each.view is not None and len(each.view.seats) == 1)
    reason, facts = error_of(ended.value)
    assert reason == "MOVED_TO_ANOTHER_TABLE"
    assert facts["tournament_id"] == director.tournament_id
    assert [each.player for each in seat.view.seats] == ["ben"], "the update that let it go came first"
    assert int(facts["stack"]) in {960, 1_040}, "the small blind of the last level went"


async def test_everybody_sees_level_break_and_hand_for_hand(house):
    now = int(time.time() * 1000)
    ladder = levels(20, 40, duration_ms=600_000, break_after_ms=300_000)
    director, table_id = await a_table(house, clock_base_ms=now - 1_000, ladder=ladder, table_no=7)
    response = await house.call("GetTable", table_pb.GetTableRequest(table_id=table_id))
    shown = response.table.tournament
    assert (shown.tournament_id, shown.table_no, shown.level.level) == (director.tournament_id, 7, 1)
    assert (shown.level.big_blind, shown.level.ends_at_ms) == (20, now - 1_000 + 600_000)
    assert [(step.level, step.begins_at_ms) for step in shown.coming] == [(2, now - 1_000 + 900_000)]
    assert shown.is_clock_running
    assert shown.is_waiting
    assert not response.table.config.tournament.levels, "the whole ladder stands in the conditions"
    assert [level.big_blind for level in response.conditions.tournament.levels] == [20, 40]
    await director.order(table_id, set_clock=pb.SetClockOrder(base_ms=now, stopped_at_ms=now + 1))
    paused = (await house.view(table_id)).tournament
    assert (paused.is_clock_running, paused.level.ends_at_ms) == (False, 0)


async def test_no_hand_begins_in_a_break_and_the_next_one_begins_by_itself_when_it_is_over(house):
    """DESIGN 8: with nobody but the table to see to it."""
    now = int(time.time() * 1000)
    ladder = levels(20, 40, duration_ms=1_000, break_after_ms=1_500)
    director, table_id = await a_table(house, clock_base_ms=now - 1_000, ladder=ladder, players=("ann", "ben"))
    await director.start(table_id)
    view = await house.until(table_id, has_decision)
    assert int(time.time() * 1000) >= now + 1_500
    assert (view.tournament.level.level, view.tournament.level.big_blind) == (2, 40)


async def test_players_and_staff_are_told_that_the_tournament_alone_seats_here(house):
    _, table_id = await a_table(house)
    ask = str(uuid4())
    for method, request, subject in (
        ("SitDown", table_pb.SitDownRequest(request_id=ask, table_id=table_id, amount=100), "dan"),
        ("TopUp", table_pb.TopUpRequest(request_id=ask, table_id=table_id, amount=100), "ann"),
        ("SetSittingOut", table_pb.SetSittingOutRequest(request_id=ask, table_id=table_id, is_sitting_out=True), "ann"),
        ("StandUp", table_pb.StandUpRequest(request_id=ask, table_id=table_id), "ann"),
        ("StandUp", table_pb.StandUpRequest(request_id=ask, table_id=table_id, on_behalf_of="ann"), "host"),
        ("CloseTable", table_pb.CloseTableRequest(request_id=ask, table_id=table_id), "host"),
    ):
        assert (await house.refused(method, request, subject))[0] == "TOURNAMENT_TABLE", method
    config = table_pb2.TableConfig(name="A", chips=table_pb2.CHIP_SOURCE_TOURNAMENT)
    reason, facts = await house.refused("CreateTable", table_pb.CreateTableRequest(request_id=ask, config=config))
    assert (reason, facts["setting"]) == ("SETTING_INVALID", "chips")
    assert not house.wallet.calls


async def test_the_lobby_shows_tables_of_tournaments_only_to_who_looks_for_them(house):
    _, table_id = await a_table(house)
    cash = await house.create()
    async with asyncio.timeout(5):
        listed = []
        while cash not in listed:
            response = await house.call("ListTables", table_pb.ListTablesRequest())
            listed = [entry.table_id for entry in response.entries]
    assert table_id not in listed
    wanted = lobby_pb2.TableFilter(chips=table_pb2.CHIP_SOURCE_TOURNAMENT)
    response = await house.call("ListTables", table_pb.ListTablesRequest(filter=wanted))
    people = {entry.table_id: entry.people for entry in response.entries}
    assert people[table_id] == 3
    assert cash not in people


async def test_orders_are_given_by_services_once_each_and_opening_too(house):
    """H6."""
    director, table_id = await a_table(house, players=())
    order_id = str(uuid4())
    given = pb.GiveOrderRequest(
        order_id=order_id, table_id=table_id, seat_entrant=pb.SeatEntrantOrder(player="ann", stack=50)
    )
    for role in (Role.PLAYER, Role.BACKEND, Role.OPERATOR):
        assert (await director.refused(director.call("GiveOrder", given, role)))[0] == "PERMISSION_DENIED"
    first = await director.call("GiveOrder", given)
    again = await director.call("GiveOrder", given)
    assert (again.first_version, again.is_replayed) == (first.first_version, True)
    given.seat_entrant.stack = 60
    assert (await director.refused(director.call("GiveOrder", given)))[0] == "REQUEST_ID_CONFLICT"
    empty = pb.GiveOrderRequest(order_id=str(uuid4()), table_id=table_id)
    assert (await director.refused(director.call("GiveOrder", empty)))[0] == "FIELD_REQUIRED"
    opened = await director.open(table_id, start=table_pb2.START_MODE_ON_GRANT)
    assert opened == table_id
    other = director.open(table_id, start=table_pb2.START_MODE_ON_GRANT, table_no=2)
    assert (await director.refused(other))[0] == "REQUEST_ID_CONFLICT"
    cash = await house.create()
    seating = director.seat(cash, "ann", 0)
    assert (await director.refused(seating))[0] == "NOT_A_TOURNAMENT_TABLE"


async def test_a_back_end_is_told_of_the_seat_and_of_the_end(house):
    director, table_id = await a_table(house, players=("ann", "ben"))
    await director.release(table_id, "ben", REMOVED)
    async with client_of(house, "back-end", Role.BACKEND) as client, asyncio.timeout(5):
        told = []
        async for notice in client.tables.notices(after_cursor=0):
            if notice.table_id != table_id:
                continue
            told.append((notice.player, notice.kind, notice.seat, notice.amount))
            if len(told) == 3:
                break
    assert told == [
        ("ann", notices_pb2.NOTICE_KIND_TOURNAMENT_SEAT, 0, 1_000),
        ("ben", notices_pb2.NOTICE_KIND_TOURNAMENT_SEAT, 1, 1_000),
        ("ben", notices_pb2.NOTICE_KIND_REMOVED, 1, 1_000),
    ]


async def test_a_hand_whose_board_was_held_is_replayed_as_it_was_seen(house):
    """RP-8, P10: word for word, hold and release among them, with the tournament in every view."""
    players = (f"ann-{uuid4()}", f"ben-{uuid4()}")
    director, table_id = await a_table(house, players=players)
    await director.order(table_id, grant_hand=pb.GrantHandOrder(round_no=1, hold_ms=600_000))
    for _ in range(2):
        view = await house.until(table_id, has_decision)
        decision = view.hand.decision
        await house.act(table_id, player_of(view, decision.seat), decision.turn, is_all_in=True)
    view = await house.until(table_id, lambda view: view.tournament.held_until_ms)
    await director.order(table_id, release_runout=pb.ReleaseRunoutOrder(hand_no=1))
    await house.until(table_id, lambda view: view.tournament.is_waiting)
    replay = await replayed(house, view.hand.hand_id, players[0])
    told = [event for moment in replay.moments for event in moment.events]
    texts = " / ".join(event.what for event in told)
    assert "keeps the rest of the board down for 600.0 s at most" in texts
    assert "goes on with the board" in texts
    shown = [moment.view.tournament.held_until_ms for moment in replay.moments if moment.HasField("view")]
    assert view.tournament.held_until_ms in shown
    assert shown[-1] == 0
