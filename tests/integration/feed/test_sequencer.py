"""A gap-free order after the commit (D1, D2)."""

import asyncio
import random  # noqa: TID251  (attacks need chance)
from uuid import uuid4

import asyncpg

from diwan.chassis.feed.sequencer import sequence
from diwan.chassis.feed.task import FeedTask, sequence_all
from diwan.core.hashing import feed_leaf
from tests.integration.feed.conftest import FEED_ID, Fed, append_slowly, head_reaches, wait_until


async def check_feed(fed: Fed) -> None:
    """Every committed event once, without a gap, each stream in its order, each leaf as the core computes it."""
    events = await fed.all()
    assert [e.global_seq for e in events] == list(range(1, len(events) + 1))
    for stream_id, (version, _) in fed.heads.items():
        versions = [e.event.version for e in events if e.event.stream_id == stream_id]
        assert versions == list(range(1, version + 1))
    for e in events:
        stored = e.event
        assert e.leaf_hash == feed_leaf(FEED_ID, e.global_seq, stored.stream_id.bytes, stored.version, stored.hash)


async def test_committed_events_get_numbers_from_one_in_the_order_of_their_commits(fed: Fed):
    first, second = uuid4(), uuid4()
    await fed.append(first, events=2)
    await fed.append(second)
    await fed.append(first)
    connection = await fed.sequencer()

    assert await sequence(connection, FEED_ID) == 4
    assert await sequence(connection, FEED_ID) == 0

    order = [(e.event.stream_id, e.event.version) for e in await fed.all()]
    assert order == [(first, 1), (first, 2), (second, 1), (first, 3)]
    await check_feed(fed)
    await connection.close()


async def test_pages_of_the_feed_go_on_where_the_last_one_ended(fed: Fed):
    await fed.append(uuid4(), events=7)
    connection = await fed.sequencer()
    await sequence_all(connection, FEED_ID)
    await connection.close()

    pages = [[e.global_seq for e in await fed.feed.read(after, 3)] for after in (0, 3, 6, 7, 100)]

    assert pages == [[1, 2, 3], [4, 5, 6], [7], [], []]
    assert await fed.feed.head() == 7


async def test_d2_a_streams_order_is_kept_even_if_its_rows_were_queued_the_other_way_round(fed: Fed, superuser_of):
    stream_id, other = uuid4(), uuid4()
    await fed.append(stream_id, events=3)
    await fed.append(other)
    superuser = await superuser_of(fed)
    await superuser.execute("update outbox set n = 1000 - n where stream_id = $1", stream_id)
    connection = await fed.sequencer()

    await sequence_all(connection, FEED_ID)

    await check_feed(fed)
    await connection.close()


async def test_d2_an_event_waits_for_its_predecessor(fed: Fed, superuser_of):
    stream_id = uuid4()
    await fed.append(stream_id, events=3)
    superuser = await superuser_of(fed)
    await superuser.execute("delete from outbox where version = 2")
    connection = await fed.sequencer()
    assert await sequence_all(connection, FEED_ID) == 1

    await superuser.execute("insert into outbox (stream_id, version) values ($1, 2)", stream_id)
    assert await sequence_all(connection, FEED_ID) == 2

    await check_feed(fed)
    await connection.close()


async def test_events_that_wait_for_a_predecessor_hold_up_no_other_stream(fed: Fed, superuser_of):
    stuck, other = uuid4(), uuid4()
    await fed.append(stuck, events=40)
    await fed.append(other, events=3)
    superuser = await superuser_of(fed)
    await superuser.execute("delete from outbox where stream_id = $1 and version = 1", stuck)
    connection = await fed.sequencer()

    assert await sequence(connection, FEED_ID, limit=5) == 1
    assert await sequence_all(connection, FEED_ID) == 2

    assert {e.event.stream_id for e in await fed.all()} == {other}
    await connection.close()


async def test_d1_a_transaction_that_commits_late_is_numbered_late_and_holds_up_nobody(fed: Fed):
    late = uuid4()
    slow = await asyncpg.connect(fed.database.url("table_rw"))
    transaction = slow.transaction()
    await transaction.start()
    await append_slowly(slow, late)
    await fed.append_many(20)
    connection = await fed.sequencer()

    assert await sequence_all(connection, FEED_ID) == 20
    await transaction.commit()
    assert await sequence_all(connection, FEED_ID) == 1

    assert (await fed.all())[-1].event.stream_id == late
    await check_feed(fed)
    await connection.close()
    await slow.close()


async def test_d1_three_rivals_with_backends_killed_number_every_event_once(fed: Fed, superuser_of):
    """Rivals without the advisory lock, so that only the primary key is between them."""
    superuser = await superuser_of(fed)
    is_over = False
    collisions = kills = 0

    async def rival() -> None:
        nonlocal collisions
        while not is_over:
            connection = None
            try:
                connection = await fed.sequencer()
                while not is_over:
                    await sequence(connection, FEED_ID, limit=random.randint(1, 20))
                    await asyncio.sleep(random.random() / 500)
            except asyncpg.UniqueViolationError:
                collisions += 1
            except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, asyncpg.InternalClientError):
                continue
            finally:
                if connection is not None:
                    connection.terminate()

    async def kill() -> None:
        nonlocal kills
        while not is_over:
            await asyncio.sleep(0.1)
            kills += await superuser.fetchval(
                "select count(pg_terminate_backend(pid)) from (select pid from pg_stat_activity"
                " where datname = current_database() and usename in ('table_seq', 'table_rw')"
                " and application_name not in ('store', 'reader') order by random() limit 1)"
            )

    # Of a role without our time limits, which would end it in the middle of the run.
    open_one = await superuser_of(fed)
    transaction = open_one.transaction()
    await transaction.start()
    await append_slowly(open_one, late := uuid4())
    tasks = [asyncio.create_task(work) for work in (rival(), rival(), rival(), kill())]
    streams, events = [uuid4() for _ in range(8)], 0
    while events < 300 or kills < 5 or collisions < 5:
        await fed.append_many(100, streams)
        events += 100
    await head_reaches(fed, events)
    await transaction.commit()
    await head_reaches(fed, events + 1)
    is_over = True
    await asyncio.gather(*tasks)

    assert (await fed.all())[-1].event.stream_id == late
    await check_feed(fed)


async def test_the_task_numbers_what_is_committed_and_hands_over_when_its_process_ends(fed: Fed):
    first = FeedTask(fed.database.url("table_seq"), FEED_ID, "table", None)
    second = FeedTask(fed.database.url("table_seq"), FEED_ID, "table", None)
    first.start()
    await wait_until(lambda: first.is_active)
    second.start()
    await fed.append_many(30)
    first.wake()
    await head_reaches(fed, 30)
    assert not second.is_active

    await first.close()
    await fed.append_many(30)
    await head_reaches(fed, 60)

    assert second.is_active
    await second.close()
    await check_feed(fed)


async def test_the_horizon_is_the_first_number_young_enough(fed: Fed):
    await fed.append_many(5)
    connection = await fed.sequencer()
    await sequence_all(connection, FEED_ID)
    await connection.close()

    assert await fed.feed.horizon(0) == 1
    assert await fed.feed.horizon(1_000) == 1
    assert await fed.feed.horizon(1_001) == 6
