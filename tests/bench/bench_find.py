"""Finding hands among a great many (DIWAN_BENCH_HANDS, a million by default), and what reading one for the index costs.

The rows are made by the database itself, with busy and quiet players, rare and common flags; nobody played them. Every
question is asked a hundred times and more with parameters by chance, first pages and pages further on; each answer is held
against its question. Beside them an empty unit of work is timed: no page is faster, and its p99 is what else the machine does.
"""

import hashlib
import json
import os
import random  # noqa: TID251  (which questions)
import statistics
import tempfile
import time
from pathlib import Path
from uuid import UUID

import asyncpg
import uvloop

from diwan.chassis.database import OWNER, Database, ensure_roles
from diwan.chassis.embedded import EmbeddedPostgres
from diwan.chassis.migrate import migrate
from diwan.core.log import StreamKind
from services.audit.app import MIGRATIONS
from services.audit.keeping import Keeper
from services.audit.search.facts import Flag
from services.audit.search.indexer import HandIndexer
from services.audit.search.questions import READ_IN_ORDER, Sought, find_in, page_statement
from tests.integration.audit.conftest import TABLE_FEED, ListFeed
from tests.integration.audit.hand_rows import BEGAN_MS, STEP_MS, make_hands
from tests.unit.verifier.logs import PlayedTable

HANDS = int(os.environ.get("DIWAN_BENCH_HANDS", "1000000"))
CHUNK = 250_000
LOOKS = 150
PAGE_MS_MAX = 50.0
QUIET_MS = 5.0
"""A machine on which an empty unit takes longer at p99 says nothing of a page's time."""

BLOCKS_MAX = 6_000
PLAYED_TABLES, PLAYED_HANDS = 100, 6


def questions(rng):
    """Questions by name, with parameters by chance."""
    player, other = (f"player-{1 + int(rng.random() ** 3 * 20_000)}" for _ in range(2))
    began = BEGAN_MS + rng.randrange(HANDS) * STEP_MS
    rare = rng.choice([Flag.OPERATOR, Flag.LOOKED_AT, Flag.INTERRUPTED, Flag.REFUSALS, Flag.VOID])
    table = UUID(bytes=_md5(f"table/{rng.randrange(1, 2_000)}"))
    return {
        "newest": Sought(),
        "from a time on": Sought(from_ms=began, to_ms=began + 3_600_000),
        "a player": Sought(players=(player,)),
        "the busiest player": Sought(players=("player-1",)),
        "a player's voids": Sought(players=(player,), results=(3,)),
        "a pair": Sought(players=(player, other)),
        "a table": Sought(table_id=table),
        "a table's all-ins over 5,000": Sought(table_id=table, flags=Flag.ALL_IN, pot_min=5_000),
        "a tournament": Sought(tournament_id=f"tournament-{rng.randrange(100)}"),
        "a game": Sought(games=(rng.choice(["naiko", "sarab", "capsa"]),)),
        "pots of 500,000": Sought(pot_min=500_000, to_ms=began),
        "a rare flag": Sought(flags=rare, to_ms=began),
        "a common flag": Sought(flags=rng.choice([Flag.CLOCK, Flag.ALL_IN, Flag.BOTS_ONLY]), to_ms=began),
        "nothing that is there": Sought(pot_max=1),
    }


def _md5(text):
    return hashlib.md5(text.encode(), usedforsecurity=False).digest()


def fits(one, sought):
    return (
        set(sought.players) <= set(one.players)
        and sought.table_id in {None, one.table_id}
        and sought.tournament_id in {"", one.tournament_id}
        and (not sought.games or one.game in sought.games)
        and sought.from_ms <= one.started_at_ms < (sought.to_ms or 2**62)
        and sought.pot_min <= one.pot <= (sought.pot_max or 2**62)
        and (not sought.results or one.result in sought.results)
        and one.flags & sought.flags == sought.flags
    )


async def timed(work):
    began = time.perf_counter()
    result = await work
    return result, (time.perf_counter() - began) * 1000


async def look(database):
    """Ask every question; returns the times (ms) of its pages by name, and of empty units beside them."""
    rng, times, empties = random.Random(4), {}, []
    for _ in range(LOOKS):
        for name, sought in questions(rng).items():
            empties.append((await timed(database.run(lambda c: c.fetchval("select 1"))))[1])
            token = ""
            for _ in range(2):
                page, ms = await timed(database.run(lambda c, s=sought, t=token: find_in(c, s, 50, t)))
                times.setdefault(name, []).append(ms)
                moments = [(one.started_at_ms, one.hand_id) for one in page.hands]
                if moments != sorted(moments, reverse=True) or not all(fits(one, sought) for one in page.hands):
                    raise AssertionError(f"{name}: {sought} is answered wrongly")
                if not (token := page.next_token):
                    break
    return times, empties


def told(name, times, more=""):
    cuts = statistics.quantiles(times, n=100)
    print(
        f"  {name:<30} {len(times):>5} pages, p50 {cuts[49]:7.2f} ms, p99 {cuts[98]:7.2f} ms, longest {max(times):7.2f} ms{more}"
    )
    return cuts[98]


async def touched(database):
    """What a page costs the server whatever else the machine does: blocks of 8 KB that it touches, by question."""
    rng, blocks = random.Random(6), {}

    async def work(connection, sought):
        await connection.execute(READ_IN_ORDER)
        statement = page_statement(sought, (sought.to_ms or 2**62, UUID(int=0)), 51)
        told = await connection.fetchval(
            f"explain (analyze, buffers, format json) {statement.text}", *statement.arguments
        )
        plan = json.loads(told)[0]["Plan"]
        return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]

    for _ in range(20):
        for name, sought in questions(rng).items():
            blocks.setdefault(name, []).append(await database.run(lambda c, s=sought: work(c, s)))
    return {name: max(counts) for name, counts in blocks.items()}


async def fill(url):
    """Make the rows without their indexes, which are built when all are there."""
    connection = await asyncpg.connect(url)
    await connection.execute("set maintenance_work_mem = '1GB'; set work_mem = '256MB'")
    indexes = await connection.fetch(
        "select indexname, indexdef from pg_indexes where tablename = 'hand_index' and indexname <> 'hand_index_pkey'"
    )
    await connection.execute("alter table hand_index set unlogged; alter table hand_player set unlogged")
    for row in indexes:
        await connection.execute(f"drop index {row['indexname']}")
    await connection.execute("alter table hand_index drop constraint hand_index_pkey")
    await connection.execute("alter table hand_player drop constraint hand_player_pkey")
    for first in range(1, HANDS + 1, CHUNK):
        await make_hands(connection, first, min(first + CHUNK - 1, HANDS))
    await connection.execute("alter table hand_index add primary key (hand_id)")
    await connection.execute("alter table hand_player add primary key (player, started_at_ms, hand_id)")
    for row in indexes:
        await connection.execute(row["indexdef"])
    sizes = await connection.fetchrow(
        "select pg_total_relation_size('hand_index') / 1e9, pg_total_relation_size('hand_player') / 1e9"
    )
    await connection.close()
    return sizes


async def reading(database):
    """What a played hand costs until it can be found, beside keeping its events."""
    logs = []
    for number in range(PLAYED_TABLES):
        table = PlayedTable(random.Random(number), UUID(int=number + 1))
        table.sit(4)
        for _ in range(PLAYED_HANDS):
            if table.able() < 2:
                table.sit(1)
            table.play_hand(odd_things=0.02)
        logs += table.events
    feed = ListFeed(TABLE_FEED, logs)

    class Unexamined:
        async def examine(self, connection, events):
            return []

    keeper = Keeper(TABLE_FEED, StreamKind.TABLE, Unexamined())
    for start in range(0, len(feed.events), 256):
        await database.run(lambda c, s=start: keeper.apply(c, feed.events[s : s + 256]))
    indexer = HandIndexer(database)
    await indexer.begin()
    began, cpu = time.perf_counter(), time.process_time()
    hands = 0
    while done := await indexer.index_due():
        hands += done
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(
        f"reading for the index: {hands} hands of {len(feed.events) / hands:.0f} events, {took / hands * 1000:.2f} ms a hand,"
        f" of it {cpu / hands * 1000:.2f} ms of this process"
    )


async def measure(server):
    passwords = await ensure_roles(server.superuser_url, "audit")
    await migrate(server.url(OWNER, passwords[OWNER], "diwan_audit"), [MIGRATIONS])
    database = await Database.open(server.url("audit_rw", passwords["audit_rw"], "diwan_audit"))
    await reading(database)
    began = time.perf_counter()
    sizes = await fill(server.url("postgres", server.password, "diwan_audit"))
    print(
        f"{HANDS:,} hands in {time.perf_counter() - began:.0f} s: {sizes[0]:.1f} GB, and {sizes[1]:.1f} GB of players"
    )
    missed = []
    for state in ("before analyze", "after analyze"):
        if state == "after analyze":
            await analyze(server)
        print(state)
        blocks = await touched(database)
        times, empties = await look(database)
        empty = told("empty unit", empties)
        for name, pages in times.items():
            p99 = told(name, pages, f", at most {blocks[name]:,} blocks")
            if p99 > PAGE_MS_MAX and empty < QUIET_MS:
                missed.append(f"{state}: {name} takes {p99:.0f} ms, more than {PAGE_MS_MAX}")
            if blocks[name] > BLOCKS_MAX:
                missed.append(f"{state}: {name} touches {blocks[name]} blocks, more than {BLOCKS_MAX}")
    await database.close()
    return missed


async def analyze(server):
    connection = await asyncpg.connect(server.url("postgres", server.password, "diwan_audit"))
    await connection.execute("analyze")
    await connection.close()


def main():
    """Measure; fails where an answer is wrong, or a page takes too long."""
    with tempfile.TemporaryDirectory() as name, EmbeddedPostgres(Path(name)) as server:
        missed = uvloop.run(measure(server))
    if missed:
        raise SystemExit("; ".join(missed))


if __name__ == "__main__":
    main()
