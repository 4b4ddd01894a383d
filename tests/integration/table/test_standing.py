"""How tables stood between hands, kept now and then: disposable, and never believed where it does not fit (H5)."""

import asyncio
import itertools
from contextlib import asynccontextmanager
from uuid import UUID

import asyncpg
import pytest

from diwan.chassis.access import Role
from diwan.chassis.alarms import ALARMS
from diwan.chassis.database import Database
from diwan.chassis.store import EventStore
from services.table import standing
from services.table.standing import Standing
from tests.integration.table.house import PASSWORDS
from tests.integration.table.recorders import raw
from tests.integration.table.test_looking_back import eventually, fold_hands, two
from tests.integration.table.test_my_hands import unique
from tests.integration.table.test_replay import replay

HANDS = 6


def alarms():
    return ALARMS.labels("standing")._value.get()


@asynccontextmanager
async def superuser(postgres, database):
    connection = await asyncpg.connect(postgres.url("postgres", postgres.password, database))
    try:
        yield connection
    finally:
        await connection.close()


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """Copies after every ten events, where it is five hundred in earnest."""
    monkeypatch.setattr(standing, "EVENTS_BETWEEN", 10)
    monkeypatch.setattr(standing, "EVENTS_A_READ", 7)


async def story(house, hands=HANDS):
    """A table with some hands behind it; returns its id, the hands' ids and a player."""
    players = unique("ann", "ben")
    table_id = await two(house, players)
    return table_id, await fold_hands(house, table_id, hands), players[0]


async def told(house, hands):
    answers = [await replay(house, hand_id, "clerk", Role.OPERATOR) for hand_id in hands]
    return [raw(moment) for answer in answers for moment in answer.moments]


async def copies(postgres, database, table_id):
    async with superuser(postgres, database) as connection:
        rows = await connection.fetch(
            "select version from table_standing where table_id = $1 order by version", UUID(table_id)
        )
    return [row["version"] for row in rows]


async def test_the_owner_keeps_copies_and_replays_are_the_same_without_any_of_them(house, postgres, database):
    table_id, hands, _ = await story(house)
    kept = await eventually(lambda: copies(postgres, database, table_id), lambda kept: len(kept) >= HANDS - 2)
    assert all(later - earlier >= 10 for earlier, later in itertools.pairwise(kept))
    with_copies = await told(house, hands)
    async with superuser(postgres, database) as connection:
        await connection.execute("delete from table_standing")
    assert await told(house, hands) == with_copies
    # Who reads back leaves copies for the next one.
    assert await eventually(lambda: copies(postgres, database, table_id), bool)


@pytest.mark.parametrize(
    ("damage", "is_told"),
    [
        ("body = set_byte(body, 40, get_byte(body, 40) # 1)", True),
        ("body = 'nonsense'", True),
        ("digest = sha256('other')", True),
        ("stream_hash = sha256('other')", True),
        ("layout = 'older'", False),
    ],
)
async def test_a_copy_that_was_tampered_with_is_left_aside_and_told_of(house, postgres, database, damage, is_told):
    """The log is folded instead, and says the same."""
    table_id, hands, _ = await story(house)
    await eventually(lambda: copies(postgres, database, table_id), lambda kept: len(kept) >= HANDS - 2)
    before, right = alarms(), await told(house, hands)
    async with superuser(postgres, database) as connection:
        await connection.execute(f"update table_standing set {damage} where table_id = $1", UUID(table_id))
    assert await told(house, hands) == right
    assert (alarms() > before) == is_told


async def test_a_whole_copy_of_another_place_or_table_is_not_taken_for_this_one(house, postgres, database):
    table_id, hands, _ = await story(house)
    other_id, *_ = await story(house)
    for each in (table_id, other_id):
        await eventually(lambda each=each: copies(postgres, database, each), lambda kept: len(kept) >= HANDS - 2)
    before, right = alarms(), await told(house, hands)
    async with superuser(postgres, database) as connection:
        await connection.execute("delete from table_standing where table_id = $1", UUID(table_id))
        await connection.execute(
            "update table_standing set table_id = $1 where table_id = $2", UUID(table_id), UUID(other_id)
        )
    assert await told(house, hands) == right
    assert alarms() > before


@pytest.fixture
async def store(postgres, database):
    url = postgres.url("table_rw", PASSWORDS["table_rw"], database)
    store = await EventStore.open(url)
    pool = await Database.open(url)
    yield store, pool
    await pool.close()
    await store.close()


async def test_a_copy_with_the_right_digest_that_belongs_to_another_stream_is_left_aside(
    house, store, postgres, database
):
    """Its place in the stream is held against the next event's own word."""
    table_id, hands, _ = await story(house)
    await eventually(lambda: copies(postgres, database, table_id), lambda kept: len(kept) >= HANDS - 2)
    async with superuser(postgres, database) as connection:
        await connection.execute("delete from table_standing where table_id = $1", UUID(table_id))
    right = await told(house, hands)
    reader = Standing(store[1], store[0])
    first = (await replay(house, hands[-1], "stranger")).moments[0].events[0].event.version
    state = await reader.before(UUID(table_id), first)
    body = standing.written(state)
    wrong = bytes(32)
    row = UUID(table_id), state.version, standing.LAYOUT, wrong, body
    async with superuser(postgres, database) as connection:
        await connection.execute("delete from table_standing where table_id = $1", UUID(table_id))
        await connection.execute(standing._KEEP, *row, standing._digest(UUID(table_id), state.version, wrong, body))
    before = alarms()
    assert await told(house, hands) == right
    assert alarms() == before + 1


async def test_what_is_read_back_is_the_fold_of_the_whole_log(house, store):
    """H3, H5: with copies and without, before every hand."""
    table_id, hands, _ = await story(house)
    reader = Standing(store[1], store[0])
    for hand_id in hands:
        first = (await replay(house, hand_id, "stranger")).moments[0].events[0].event.version
        assert await reader.before(UUID(table_id), first) == await reader._folded(UUID(table_id), None, None, first)


async def test_who_asks_for_long_ways_back_at_once_is_served_one_after_the_other(
    house, store, postgres, database, monkeypatch
):
    """P12: without copies, as after an upgrade, no number of callers keeps live tables from their turn."""
    monkeypatch.setattr(standing, "EVENTS_AT_ONCE", 5)
    table_id, hands, _ = await story(house)
    reader = Standing(store[1], store[0])
    first = (await replay(house, hands[-1], "stranger")).moments[0].events[0].event.version
    under_way, most, read = 0, 0, store[0].read

    async def counted(*asked):
        nonlocal under_way, most
        under_way, most = under_way + 1, max(most, under_way + 1)
        try:
            return await read(*asked)
        finally:
            under_way -= 1

    async with superuser(postgres, database) as connection:
        await connection.execute("delete from table_standing where table_id = $1", UUID(table_id))
    monkeypatch.setattr(store[0], "read", counted)
    found = await asyncio.gather(*(reader.before(UUID(table_id), first) for _ in range(5)))
    assert most == 1
    assert all(state == found[0] for state in found)
