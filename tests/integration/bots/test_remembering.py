"""What the bots remember on a real PostgreSQL: tables and seats from the feed, assignments of their own (D6, CL-6)."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import asyncpg

from diwan.chassis.database import Database
from diwan.chassis.feed import Consumer
from diwan.core.table.events import (
    BuyInRefused,
    BuyInRequested,
    SeatReleased,
    TableClosed,
    TableClosing,
)
from services.bots.leader import lead
from services.bots.projections import TableProjection
from services.bots.roster import Known, Roster
from services.bots.seating import Occupancy
from tests.integration.bots.told import FakeFeed, created, seated


async def followed(database: Database, feed: FakeFeed) -> Known:
    """Follow the feed to its end with a consumer of its own; returns what is remembered then."""
    consumer = Consumer("bots", 1, database, feed, TableProjection().apply, silence_seconds=0.01)
    consumer.start()
    async with asyncio.timeout(20):
        while consumer.last_seq < len(feed.events):  # noqa: ASYNC110  (its cursor is all that a consumer shows)
            await asyncio.sleep(0.01)
    await consumer.close()
    assert not await consumer.quarantined()
    return await Roster(database).known()


async def test_only_tables_that_ask_for_bots_are_remembered(bots_database):
    wanting, plain = uuid4(), uuid4()
    feed = FakeFeed()
    feed.tell(plain, created(plain, bots_fill=0), *seated(0, "ann"))
    feed.tell(wanting, created(wanting), *seated(2, "ann"))

    known = await followed(bots_database, feed)

    assert [table.table_id for table in known.tables] == [str(wanting)]
    assert known.tables[0].buy_in == 200, "100 big blinds, inside the table's bounds"
    assert known.tables[0].occupancy == Occupancy(seats=6, bots_fill=4, others=1, staying=0, leaving=0)


async def test_our_own_bots_are_counted_once(bots_database):
    """Given an assignment whose bot the feed shows in a seat, then it is no stranger."""
    table = uuid4()
    feed = FakeFeed()
    feed.tell(table, created(table))
    roster = Roster(bots_database)
    known = await followed(bots_database, feed)

    await roster.assign(known.tables[0], ["bot:amal-01", "bot:amal-02"])
    feed.tell(table, *seated(0, "bot:amal-01"), *seated(1, "bot:stranger"))
    await roster.mark_leaving("bot:amal-02")
    known = await followed(bots_database, feed)

    assert known.tables[0].occupancy == Occupancy(seats=6, bots_fill=4, others=1, staying=1, leaving=1)
    assert {each.player: each.is_leaving for each in known.assignments} == {"bot:amal-01": False, "bot:amal-02": True}


async def test_a_released_seat_frees_its_bot_and_only_that_stay(bots_database):
    """Given a bot that came back to its seat, when the end of its first stay is told, then the second stands."""
    table, first, second = uuid4(), str(uuid4()), str(uuid4())
    feed = FakeFeed()
    feed.tell(table, created(table), *seated(0, "bot:amal-01", sitting=first))
    roster = Roster(bots_database)
    await roster.assign((await followed(bots_database, feed)).tables[0], ["bot:amal-01"])
    feed.tell(table, SeatReleased(0, "bot:amal-01", first, 180, "player", 1))
    known = await followed(bots_database, feed)
    assert known.assignments == ()

    await roster.assign(known.tables[0], ["bot:amal-01"])
    feed.tell(table, *seated(0, "bot:amal-01", sitting=second))
    feed.tell(table, SeatReleased(0, "bot:amal-01", first, 180, "player", 1))
    known = await followed(bots_database, feed)

    assert [each.player for each in known.assignments] == ["bot:amal-01"]


async def test_a_refused_buy_in_frees_the_seat_and_a_refused_top_up_does_not(bots_database):
    table, sitting = uuid4(), str(uuid4())
    feed = FakeFeed()
    feed.tell(table, created(table), *seated(0, "ann"))
    feed.tell(table, BuyInRequested(1, "bo", False, 200, sitting, 1, post_at_once=False))  # noqa: FBT003
    feed.tell(table, BuyInRefused(1, sitting, "EXCEEDS_BALANCE", 1), BuyInRefused(0, str(uuid4()), "top-up", 1))

    known = await followed(bots_database, feed)

    assert known.tables[0].occupancy.others == 1


async def test_a_closed_table_is_forgotten_with_its_bots(bots_database):
    table = uuid4()
    feed = FakeFeed()
    feed.tell(table, created(table))
    roster = Roster(bots_database)
    await roster.assign((await followed(bots_database, feed)).tables[0], ["bot:amal-01"])
    feed.tell(table, TableClosing("ops", 1))
    assert (await followed(bots_database, feed)).tables[0].occupancy.is_closing

    feed.tell(table, TableClosed(1))

    assert await followed(bots_database, feed) == Known((), ())


async def test_a_bot_is_at_one_table_at_a_time(bots_database):
    tables = [uuid4(), uuid4()]
    feed = FakeFeed()
    for table in tables:
        feed.tell(table, created(table))
    roster = Roster(bots_database)
    known = await followed(bots_database, feed)

    for table in known.tables:
        await roster.assign(table, ["bot:amal-01"])

    assigned = (await roster.known()).assignments
    assert [each.table_id for each in assigned] == [known.tables[0].table_id]


async def test_an_assignment_to_a_table_that_just_closed_is_not_made(bots_database):
    table = uuid4()
    feed = FakeFeed()
    feed.tell(table, created(table))
    roster = Roster(bots_database)
    remembered = (await followed(bots_database, feed)).tables[0]
    feed.tell(table, TableClosed(1))
    await followed(bots_database, feed)

    await roster.assign(remembered, ["bot:amal-01"])

    assert (await roster.known()).assignments == ()


async def test_one_of_two_processes_leads_and_the_other_takes_over_when_it_is_cut_off(bots_dsn, postgres):
    """Given two processes, when the leader's connection is cut, then its work is cancelled and one leads again."""
    leading: list[str] = []
    changed = asyncio.Event()

    async def work(name: str) -> None:
        leading.append(name)
        changed.set()
        try:
            await asyncio.Event().wait()
        finally:
            leading.remove(name)

    async with asyncio.timeout(30):
        tasks = [asyncio.create_task(lead(bots_dsn, lambda name=name: work(name))) for name in "ab"]
        await changed.wait()
        await asyncio.sleep(0.8)
        assert len(leading) == 1
        changed.clear()

        superuser = await asyncpg.connect(postgres.superuser_url)
        await superuser.execute(
            "select pg_terminate_backend(pid) from pg_locks join pg_database on oid = database"
            " where locktype = 'advisory' and datname = $1",
            bots_dsn.rpartition("/")[2],
        )
        await superuser.close()
        await changed.wait()

        assert len(leading) == 1
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    assert leading == []
