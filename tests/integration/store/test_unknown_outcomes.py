"""What a caller was told equals what is stored, whatever is cut, killed or cancelled (D9)."""

import asyncio
import random  # noqa: TID251  (a storm needs chance)
from uuid import uuid4

import asyncpg
import pytest

from diwan.chassis.database import Database
from diwan.chassis.store import Appended, Conflict, EventStore, Overloaded, UnknownOutcome
from diwan.chassis.store import group as group_module
from diwan.chassis.store.group import GroupCommit
from tests.integration.store.conftest import Prepared, new_append


async def test_d9_cancelled_callers_find_by_id_what_became_of_their_appends(store: EventStore):
    async def impatient(seconds: float) -> tuple:
        append = new_append(uuid4())
        await asyncio.sleep(random.random() / 2)
        task = asyncio.create_task(store.append(append))
        await asyncio.sleep(seconds)
        task.cancel()
        answer = (await asyncio.gather(task, return_exceptions=True))[0]
        return append, answer

    results = await asyncio.gather(
        *(impatient(random.random() * 0.005 if number % 4 else 2.0) for number in range(400))
    )
    await store.append(new_append(uuid4()))

    told = [isinstance(answer, Appended) for _, answer in results]
    stored = [await store.outcome(append.stream_id, append.command_id) is not None for append, _ in results]
    events = [len(await store.read(append.stream_id)) for append, _ in results]
    assert all(is_stored for was_told, is_stored in zip(told, stored, strict=True) if was_told)
    assert events == [int(is_stored) for is_stored in stored]
    assert {(True, True), (False, True)} <= set(zip(told, stored, strict=True)), "the storm hits some, misses some"


async def test_d9_killed_backends_neither_lose_nor_double_what_was_appended(store: EventStore, superuser):
    kills = 0

    async def kill():
        nonlocal kills
        while kills < 8:
            kills += await superuser.fetchval(
                "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'store-writer'"
            )
            await asyncio.sleep(random.uniform(0.005, 0.05))

    async def play() -> tuple:
        stream_id, head, version = uuid4(), None, 0
        while kills < 8 or version < 10:
            appended = await store.append(new_append(stream_id, version, head))
            assert appended.last_version == version + 1
            head, version = appended.head_hash, version + 1
        return stream_id, head, version

    killer = asyncio.create_task(kill())
    played = await asyncio.gather(*(play() for _ in range(8)))
    await killer

    for stream_id, head, version in played:
        events = await store.read(stream_id)
        assert [e.version for e in events] == list(range(1, version + 1))
        assert events[-1].hash == head


async def test_d9_an_append_whose_commit_was_not_heard_is_not_stored_twice(prepared: Prepared):
    """The connection dies just after the statement was sent, so that only the database knows."""

    class Deaf(asyncpg.Connection):
        cuts = 0

        async def fetch(self, query, *arguments, **options):
            rows = await super().fetch(query, *arguments, **options)
            if "insert into outbox" in query and Deaf.cuts < 3:
                Deaf.cuts += 1
                self.terminate()
                raise asyncpg.ConnectionDoesNotExistError("the line was cut")
            return rows

    database = await Database.open(prepared.url("table_rw"))
    group = GroupCommit(lambda: asyncpg.connect(prepared.url("table_rw"), connection_class=Deaf))
    group.start()
    store = EventStore(database, group)
    stream_id, head = uuid4(), None
    for version in range(4):
        appended = await store.append(new_append(stream_id, version, head, epoch=0, events=2 if version == 0 else 1))
        head = appended.head_hash
        if version == 0:
            break
    others = await asyncio.gather(*(store.append(new_append(uuid4())) for _ in range(10)))

    assert Deaf.cuts == 3
    assert [e.hash for e in await store.read(stream_id)][-1] == head
    assert len(await store.read(stream_id)) == 2
    assert len(others) == 10
    await store.close()


async def test_d9_without_a_database_the_answer_is_unknown_within_its_limit():
    async def nobody_there() -> asyncpg.Connection:
        raise ConnectionRefusedError("nobody there")

    group = GroupCommit(nobody_there, answer_seconds=0.3)
    group.start()
    started = asyncio.get_running_loop().time()

    answers = await asyncio.gather(*(group.append(new_append(uuid4())) for _ in range(5)), return_exceptions=True)

    assert {type(answer) for answer in answers} == {UnknownOutcome}
    assert asyncio.get_running_loop().time() - started < 3.0
    await group.close()


async def test_p12_beyond_the_limit_of_waiting_appends_a_caller_is_refused_at_once(monkeypatch):
    monkeypatch.setattr(group_module, "PENDING_APPENDS_MAX", 3)

    async def never() -> asyncpg.Connection:
        raise ConnectionRefusedError("nobody there")

    group = GroupCommit(never, answer_seconds=0.2)
    waiting = [asyncio.create_task(group.append(new_append(uuid4()))) for _ in range(3)]
    await asyncio.sleep(0)

    with pytest.raises(Overloaded):
        await group.append(new_append(uuid4()))
    await group.close()
    assert {type(a) for a in await asyncio.gather(*waiting, return_exceptions=True)} == {UnknownOutcome}
    with pytest.raises(Overloaded):
        await group.append(new_append(uuid4()))


@pytest.fixture
async def impatient(prepared: Prepared):
    """A store that gives its statements 0.3 s, and an append whose row is not locked within 1 s up."""
    database = await Database.open(prepared.url("table_rw"))
    group = GroupCommit(lambda: asyncpg.connect(prepared.url("table_rw")), statement_seconds=0.3, answer_seconds=1.0)
    group.start()
    opened = EventStore(database, group)
    yield opened
    await opened.close()


async def test_d9_a_statement_that_hangs_is_cut_and_its_append_resolved_by_id(impatient: EventStore, superuser):
    stream_id = uuid4()
    head = (await impatient.append(new_append(stream_id))).head_hash
    transaction = superuser.transaction()
    await transaction.start()
    await superuser.execute("lock table outbox in access exclusive mode")

    writing = asyncio.create_task(impatient.append(new_append(stream_id, 1, head)))
    await asyncio.sleep(0.6)
    assert not writing.done()
    await transaction.rollback()

    assert (await writing).last_version == 2
    assert [e.version for e in await impatient.read(stream_id)] == [1, 2]


async def test_an_append_whose_row_is_held_waits_and_holds_up_no_other(impatient: EventStore, superuser):
    stuck, given_up = new_append(uuid4()), new_append(uuid4())
    heads = [(await impatient.append(append)).head_hash for append in (stuck, given_up)]
    transaction = superuser.transaction()
    await transaction.start()
    await superuser.execute("select 1 from stream where stream_id = $1 for update", stuck.stream_id)

    writing = asyncio.create_task(impatient.append(new_append(stuck.stream_id, 1, heads[0])))
    others = await asyncio.gather(*(impatient.append(new_append(uuid4())) for _ in range(10)))

    assert len(others) == 10
    assert not writing.done()
    await transaction.rollback()
    assert (await writing).last_version == 2

    transaction = superuser.transaction()
    await transaction.start()
    await superuser.execute("select 1 from stream where stream_id = $1 for update", given_up.stream_id)
    with pytest.raises(Overloaded):
        await impatient.append(new_append(given_up.stream_id, 1, heads[1]))
    await transaction.rollback()
    assert len(await impatient.read(given_up.stream_id)) == 1


async def test_p2_retries_of_every_append_change_nothing(store: EventStore):
    appends = [new_append(uuid4()) for _ in range(50)]
    retries = [append for append in appends for _ in range(5)]
    random.shuffle(retries)

    answers = await asyncio.gather(*map(store.append, retries), return_exceptions=True)

    assert sum(isinstance(answer, Appended) for answer in answers) == len(appends)
    assert sum(isinstance(answer, Conflict) for answer in answers) == 4 * len(appends)
    assert {len(await store.read(append.stream_id)) for append in appends} == {1}


async def test_appends_that_wait_share_commits(store: EventStore, superuser):
    heads = {a.stream_id: (await store.append(a)).head_hash for a in (new_append(uuid4()) for _ in range(100))}

    await asyncio.gather(*(store.append(new_append(stream_id, 1, head)) for stream_id, head in heads.items()))

    transactions = await superuser.fetch(
        "select version, count(distinct xmin::text) from event where stream_id = any($1) group by 1 order by 1",
        list(heads),
    )
    assert transactions[0]["count"] == 100
    assert transactions[1]["count"] <= 10
