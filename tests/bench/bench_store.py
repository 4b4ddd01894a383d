"""Appends by group commit beside single-insert commits, in the same run (PERFORMANCE.md 4: bar 3.5, aim 5)."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import uvloop

from diwan.chassis.database import OWNER, ensure_roles
from diwan.chassis.embedded import EmbeddedPostgres
from diwan.chassis.migrate import migrate
from diwan.chassis.store import Append, EventStore, NewEvent
from diwan.chassis.store.batch import append_arguments, chain_of
from diwan.chassis.store.statements import APPEND_WAITING, CREATE_STREAMS
from diwan.core.hashing import first_prev_hash

CALLERS = 256
CONNECTIONS = 64
SECONDS = 2.0
ROUNDS = 3
BODY = bytes(range(130))

INSERT = "insert into single (stream_id, version, event_id, recorded_at_ms, body, hash) values ($1, $2, $3, $4, $5, $6)"
SINGLE_TABLE = """
create table single (
    stream_id uuid not null, version bigint not null, event_id uuid not null, recorded_at_ms bigint not null,
    body bytea not null, hash bytea not null, primary key (stream_id, version));
grant insert on single to table_rw;
"""


# Callers bring their ids with them: made beforehand, for both sides alike.
_ids: list[UUID] = []


def prepare_ids(count: int = 400_000) -> None:
    _ids.extend(uuid4() for _ in range(count - len(_ids)))


def new_append(stream_id: UUID, version: int, head: bytes) -> Append:
    events = (NewEvent(14, 1, BODY, _ids.pop()),)
    return Append(stream_id, 1, version, 0, head, _ids.pop(), "player-1", head, b"reply", 1_000, events)


async def rate(callers: int, act: Callable[[int], Awaitable[None]]) -> float:
    """Acts per second of so many callers who each act again and again for `SECONDS`."""
    done = 0
    end = time.perf_counter() + SECONDS

    async def caller(number: int) -> None:
        nonlocal done
        while time.perf_counter() < end:
            await act(number)
            done += 1

    started = time.perf_counter()
    await asyncio.gather(*map(caller, range(callers)))
    return done / (time.perf_counter() - started)


async def grouped(url: str, callers: int) -> float:
    store = await EventStore.open(url)
    heads: dict[int, tuple[UUID, int, bytes]] = {}
    for number in range(callers):
        stream_id = uuid4()
        heads[number] = (stream_id, 0, first_prev_hash(stream_id.bytes, 1))

    async def act(number: int) -> None:
        stream_id, version, head = heads[number]
        appended = await store.append(new_append(stream_id, version, head))
        heads[number] = (stream_id, appended.last_version, appended.head_hash)

    try:
        return await rate(callers, act)
    finally:
        await store.close()


async def single(url: str) -> float:
    """One INSERT of the same event a commit, into a table with one index and nothing else to keep."""
    pool = await asyncpg.create_pool(url, min_size=CONNECTIONS, max_size=CONNECTIONS)
    streams = [uuid4() for _ in range(CALLERS)]
    versions = [0] * CALLERS

    async def act(number: int) -> None:
        versions[number] += 1
        async with pool.acquire() as connection:
            await connection.execute(INSERT, streams[number], versions[number], _ids.pop(), 1_000, BODY, bytes(32))

    try:
        return await rate(CALLERS, act)
    finally:
        await pool.close()


async def one_by_one(url: str) -> float:
    """Our own append with all that it keeps, but a commit each: what sharing commits is worth by itself."""
    pool = await asyncpg.create_pool(url, min_size=CONNECTIONS, max_size=CONNECTIONS)
    heads: dict[int, tuple[UUID, int, bytes]] = {}
    for number in range(CALLERS):
        stream_id = uuid4()
        heads[number] = (stream_id, 0, first_prev_hash(stream_id.bytes, 1))
    await pool.execute(CREATE_STREAMS, *map(list, zip(*((s, 1, h) for s, _, h in heads.values()), strict=True)))

    async def act(number: int) -> None:
        stream_id, version, head = heads[number]
        append = new_append(stream_id, version, head)
        hashes = chain_of(append)
        async with pool.acquire() as connection:
            await connection.fetch(APPEND_WAITING, *append_arguments([(append, hashes)]))
        heads[number] = (stream_id, version + 1, hashes[-1])

    try:
        return await rate(CALLERS, act)
    finally:
        await pool.close()


async def measure(server: EmbeddedPostgres) -> float:
    passwords = await ensure_roles(server.superuser_url, "table")
    await migrate(server.url(OWNER, passwords[OWNER], "diwan_table"))
    server.execute(SINGLE_TABLE, database="diwan_table")
    url = server.url("table_rw", passwords["table_rw"], "diwan_table")
    rounds: list[tuple[float, float, float, float]] = []
    for number in range(ROUNDS):
        prepare_ids()
        many, plain = await grouped(url, CALLERS), await single(url)
        few, own = await grouped(url, 8), await one_by_one(url)
        rounds.append((many, plain, few, own))
        print(
            f"round {number + 1}: group commit {many:,.0f}/s ({CALLERS} callers), {few:,.0f}/s (8 callers); "
            f"single inserts {plain:,.0f}/s, our append a commit each {own:,.0f}/s ({CONNECTIONS} connections); "
            f"ratio {many / plain:.2f}"
        )
    ratios = sorted(many / plain for many, plain, _, _ in rounds)
    many, plain, few, own = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(
        f"median: group commit {many:,.0f}/s, 8 callers {few:,.0f}/s, single inserts {plain:,.0f}/s, "
        f"our append a commit each {own:,.0f}/s (group commit is {many / own:.1f} times that); "
        f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f}), bar 3.5, aim 5"
    )
    return statistics.median(ratios)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory, EmbeddedPostgres(Path(directory)) as server:
        uvloop.run(measure(server))


if __name__ == "__main__":
    main()
