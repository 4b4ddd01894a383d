"""Bots come, go and come back as tables want them: the manager on a real database, against a scripted table service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

import grpc
import pytest

from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.api.table.v1 import view_pb2
from diwan.chassis.database import Database
from diwan.chassis.feed import Consumer
from diwan.client import DiwanError
from diwan.core.table.events import SeatReleased, TableClosed
from services.bots.manager import FeedPlace, Manager, ThinkTime
from services.bots.projections import TableProjection
from services.bots.roster import Roster
from tests.integration.bots.told import FakeFeed, created, seated


class House:
    """Tables without hands: seats are taken and left, and the feed tells it."""

    def __init__(self) -> None:
        self.feed = FakeFeed()
        self.sittings: dict[str, dict[str, tuple[int, str]]] = {}  # by table, by player
        self.answered: dict[str, int] = {}  # seats by request id
        self.asked: list[tuple[str, str]] = []  # player, request id
        self.streams = 0
        self.fails = 0
        self.refuses = ""
        self.changed = asyncio.Event()

    def open_table(self, *, seats: int = 6, bots_fill: int = 4) -> str:
        table_id = uuid4()
        self.feed.tell(table_id, created(table_id, seats=seats, bots_fill=bots_fill))
        self.sittings[str(table_id)] = {}
        return str(table_id)

    def seat(self, table_id: str, player: str) -> int:
        taken = {seat for seat, _ in self.sittings[table_id].values()}
        seat, sitting = min(set(range(9)) - taken), str(uuid4())
        self.sittings[table_id][player] = (seat, sitting)
        self.feed.tell(UUID(table_id), *seated(seat, player, sitting=sitting))
        self._tell()
        return seat

    def release(self, table_id: str, player: str) -> None:
        seat, sitting = self.sittings[table_id].pop(player)
        self.feed.tell(UUID(table_id), SeatReleased(seat, player, sitting, 200, "player", 1))
        self._tell()

    def close(self, table_id: str) -> None:
        for player in list(self.sittings[table_id]):
            self.release(table_id, player)
        self.feed.tell(UUID(table_id), TableClosed(1))

    def _tell(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    def bots_at(self, table_id: str) -> set[str]:
        return {player for player in self.sittings[table_id] if player.startswith("bot:")}


class Tables:
    """The table service under one bot's token."""

    def __init__(self, house: House, player: str) -> None:
        self._house = house
        self._player = player

    async def sit_down(self, table_id: str, amount: int, *, post_at_once: bool, request_id: str) -> pb.SitDownResponse:
        house = self._house
        house.asked.append((self._player, request_id))
        if house.refuses:
            raise DiwanError(house.refuses, code=grpc.StatusCode.FAILED_PRECONDITION)
        if request_id not in house.answered:
            house.answered[request_id] = house.seat(table_id, self._player)
        return pb.SitDownResponse(seat=house.answered[request_id])

    async def stand_up(self, table_id: str, *, is_yielding: bool) -> pb.CommandResult:
        self._house.release(table_id, self._player)
        return pb.CommandResult()

    @asynccontextmanager
    async def play(self, table_id: str) -> AsyncIterator[Stream]:
        self._house.streams += 1
        try:
            yield Stream(self._house, table_id)
        finally:
            self._house.streams -= 1


class Stream:
    """A seat's stream of a table that plays no hand."""

    private = None
    decision = None

    def __init__(self, house: House, table_id: str) -> None:
        self._house = house
        self._table_id = table_id

    @property
    def table(self) -> view_pb2.TableView:
        view = view_pb2.TableView(table_id=self._table_id)
        for player, (seat, _) in self._house.sittings[self._table_id].items():
            view.seats.add(seat=seat, player=player, stack=200, status=view_pb2.SEAT_STATUS_PLAYING)
        return view

    async def __aiter__(self) -> AsyncIterator[None]:
        while True:
            if self._house.fails:
                self._house.fails -= 1
                raise DiwanError("INTERNAL", code=grpc.StatusCode.INTERNAL)
            yield
            try:
                await asyncio.wait_for(self._house.changed.wait(), 0.1)
            except TimeoutError:
                continue


class Running:
    """A bots service without its gRPC."""

    def __init__(self, house: House, database: Database, *, bots_max: int = 50) -> None:
        projection = TableProjection()
        self.consumer = Consumer("bots", 1, database, house.feed, projection.apply, silence_seconds=0.02)
        self.manager = Manager(
            Roster(database),
            lambda player: Tables(house, player),  # type: ignore[arg-type,return-value]
            FeedPlace(lambda: self.consumer.last_seq, lambda: projection.touched_seq),
            bots_max=bots_max,
            think_time=ThinkTime(0, 0),
        )

    async def __aenter__(self) -> Running:  # noqa: PYI034
        self.consumer.start()
        self._task = asyncio.create_task(self.manager.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.wait({self._task})
        await self.consumer.close()


async def until(holds: Callable[[], bool], seconds: float = 15.0) -> None:
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110  (many places may bring it about)
            await asyncio.sleep(0.02)


async def test_tables_are_filled_as_far_as_they_ask(bots_database):
    house = House()
    four, two, none = house.open_table(bots_fill=4), house.open_table(bots_fill=2), house.open_table(bots_fill=0)
    house.seat(two, "ann")

    async with Running(house, bots_database) as running:
        await until(lambda: (len(house.bots_at(four)), len(house.bots_at(two))) == (4, 1))
        await until(lambda: len(running.manager.players) == 5)

        assert not house.bots_at(none)
        assert len(house.bots_at(four) | house.bots_at(two)) == 5, "nobody is at two tables"
    assert house.streams == 0


async def test_people_get_the_bots_seats_one_by_one(bots_database):
    """CL-6: whoever comes to a full table finds a seat as soon as a bot could leave."""
    house = House()
    table = house.open_table(seats=4, bots_fill=3)

    async with Running(house, bots_database):
        await until(lambda: len(house.bots_at(table)) == 3)
        for name in ("ann", "bo", "cy", "di"):
            await until(lambda: len(house.sittings[table]) < 4)
            house.seat(table, name)

        await until(lambda: not house.bots_at(table))
        assert len(house.sittings[table]) == 4


async def test_a_person_who_leaves_is_replaced_by_a_bot(bots_database):
    house = House()
    table = house.open_table(bots_fill=2)
    house.seat(table, "ann")
    house.seat(table, "bo")

    async with Running(house, bots_database) as running:
        await until(lambda: running.consumer.last_seq == len(house.feed.events))
        assert not house.bots_at(table)
        house.release(table, "bo")

        await until(lambda: len(house.bots_at(table)) == 1)


async def test_a_restart_takes_the_same_bots_up_under_the_same_ids(bots_database):
    """H6: given a service that ended in the middle, when it runs again, then no seat is asked for twice."""
    house = House()
    table = house.open_table(bots_fill=3)
    async with Running(house, bots_database):
        await until(lambda: len(house.bots_at(table)) == 3)
    before, asked = house.bots_at(table), list(house.asked)

    async with Running(house, bots_database) as running:
        await until(lambda: house.streams == 3)
        assert {player.assignment.player for player in running.manager.players} == before

    assert house.bots_at(table) == before
    assert sorted(house.asked) == sorted(asked * 2)


async def test_a_bot_that_fails_is_started_again_in_its_seat(bots_database):
    house = House()
    table = house.open_table(bots_fill=1)

    async with Running(house, bots_database):
        await until(lambda: house.streams == 1)
        house.fails = 1
        await until(lambda: house.streams == 0)

        await until(lambda: house.streams == 1)
        assert len(house.bots_at(table)) == 1
        assert len({request_id for _, request_id in house.asked}) == 1


async def test_a_table_that_refuses_is_not_hammered(bots_database):
    """Given a table that refuses every bot, then it is left alone for a while."""
    house = House()
    house.open_table(bots_fill=3)
    house.refuses = "BUY_IN_REFUSED"

    async with Running(house, bots_database) as running:
        await until(lambda: len(house.asked) == 3)
        await asyncio.sleep(1.2)

        assert len(house.asked) == 3
        assert not running.manager.players


@pytest.mark.parametrize("bots_max", [0, 3])
async def test_a_process_never_plays_more_bots_than_it_may(bots_database, bots_max):
    house = House()
    tables = [house.open_table(bots_fill=4) for _ in range(2)]

    async with Running(house, bots_database, bots_max=bots_max) as running:
        await until(lambda: running.consumer.last_seq == len(house.feed.events) > 0)
        await until(lambda: sum(len(house.bots_at(table)) for table in tables) == bots_max)
        await asyncio.sleep(0.5)

        assert len(running.manager.players) == bots_max
        assert len(house.asked) == bots_max


async def test_bots_of_a_closed_table_are_free_for_others(bots_database):
    house = House()
    first = house.open_table(bots_fill=3)

    async with Running(house, bots_database, bots_max=3) as running:
        await until(lambda: len(house.bots_at(first)) == 3)
        second = house.open_table(bots_fill=3)
        house.close(first)

        await until(lambda: len(house.bots_at(second)) == 3)
        await until(lambda: len(running.manager.players) == 3)
