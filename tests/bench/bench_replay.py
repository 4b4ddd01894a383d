"""Replaying one hand out of a store of a million: through a spectator's eyes, and through a seat's with its look recorded.

Forty tables are played by chance through the core, a hundred hands each and one of them a thousand, with real chains, decks and
secrets. Around them lie generated rows: a million hands in the index, nine events each in the store. The service is a process of its
own; hands are asked for over gRPC, one after the other, in random order, each for the first time.

``REPLAY_HANDS`` says how many rows are generated.
"""

import asyncio
import json
import os
import random  # noqa: TID251  (tests may use chance)
import statistics
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID, uuid5

import asyncpg
import uvloop

from diwan.api.table.v1 import replay_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.embedded import EmbeddedPostgres
from diwan.chassis.keyfile import KeyFile, day_of
from diwan.chassis.vault import HandVault
from diwan.core.decider import Rejected
from diwan.core.fairness import Secret, secret_commitment
from diwan.core.hand.commands import Act
from diwan.core.hand.events import HandEnded, HandStarted
from diwan.core.table.commands import SitOut
from tests.bench.bench_table import cpu_seconds, running, service_environment
from tests.integration.table.house import PASSWORDS, House, a_wallet, keys_in, prepare
from tests.unit.verifier.logs import STREAM, PlayedTable

HANDS = int(os.environ.get("REPLAY_HANDS", "1000000"))
HANDS_A_TABLE, EVENTS_A_HAND = 100, 9
TABLES, LONG = 40, 1_000
ASKED = 600
BAR_MS = 50.0

_EVENTS = """
insert into event (stream_id, version, event_id, command_id, epoch, type_id, schema_v, recorded_at_ms, body, prev_hash, hash)
select ('10000000-0000-4000-8000-' || lpad(to_hex(t), 12, '0'))::uuid, v,
       ('20000000-0000-4000-8000-' || lpad(to_hex(t::bigint * $2 + v), 12, '0'))::uuid,
       ('30000000-0000-4000-8000-' || lpad(to_hex(t::bigint * $2 + v / 3), 12, '0'))::uuid,
       1, 9, 1, 1800000000000 + v, decode(repeat('ab', 96), 'hex'), $3, $3
from generate_series(1, $1::int) t, generate_series(1, $2::int) v
"""
_INDEX = """
insert into hand_index (hand_id, table_id, hand_no, first_version, last_version, result, started_at_ms, pot, game, players, payoffs)
select md5(t || '/' || h)::uuid, ('10000000-0000-4000-8000-' || lpad(to_hex(t), 12, '0'))::uuid, h, (h - 1) * 9 + 1, h * 9, 1,
       1800000000000 + h, 30, 'holdem', array['p' || t, 'q' || h], array[1, -1]
from generate_series(1, $1::int) t, generate_series(1, $2::int) h
"""


class Calm(PlayedTable):
    """Mostly checks and calls, so that hands come to their river."""

    def _decide_once(self):
        hand = self.state.hand
        seat, version = hand.deal.seats[hand.actor], self.state.version
        self.now_ms += self.rng.randint(10, 4000)
        roll = self.rng.random()
        total = hand.bets[hand.actor] + 2 * hand.deal.started.settings.big_blind
        wild = ["raise", "bet"] if roll < 0.1 else ["fold"] if roll > 0.93 else []
        for kind in [*wild, "check", "call", "fold"]:
            try:
                self.do(Act(seat, kind, total, hand.turn, version, self.now_ms))
            except Rejected:
                continue
            return


def played(number, hands):
    """Play a table; nobody goes on there afterwards."""
    table = Calm(random.Random(number), uuid5(STREAM, f"bench/{number}"))
    table.sit(4)
    for _ in range(hands):
        while table.able() < 2:
            if len(table.state.seats) == 6:
                return table
            table.sit(1)
        table.play_hand(odd_things=0)
    for seat in table.state.seats:
        if not seat.is_sitting_out:
            table.do(SitOut(seat.player, "player", table.now_ms))
    return table


async def stored(connection, table):
    """Write a played table where the service finds it."""
    stream = table.stream
    rows = [
        (
            stream,
            each.version,
            UUID(bytes=each.event_id),
            UUID(bytes=each.command_id),
            each.epoch,
            each.type_id,
            each.schema_v,
            each.recorded_at_ms,
            each.body,
            each.prev_hash,
            each.hash,
        )
        for each in table.events
    ]
    await connection.copy_records_to_table("event", records=rows)
    last = table.events[-1]
    await connection.execute(
        "insert into stream (stream_id, kind, version, epoch, head_hash, recorded_at_ms) values ($1, 1, $2, 1, $3, $4)",
        *(stream, last.version, last.hash, last.recorded_at_ms),
    )
    found = []
    for version, event in enumerate(table.core, 1):
        if isinstance(event, HandStarted):
            found.append([event, version, 0])
        elif isinstance(event, HandEnded):
            found[-1][2] = version
    await connection.executemany(
        "insert into hand_index (hand_id, table_id, hand_no, first_version, last_version, result, started_at_ms, pot, game,"
        " players) values ($1, $2, $3, $4, $5, 1, $6, 0, 'holdem', $7)",
        [
            (UUID(started.hand_id), stream, started.hand_no, first, ended, started.started_at_ms, _players(started))
            for started, first, ended in found
        ],
    )
    return [(started.hand_id, _players(started)) for started, _, _ in found]


def _players(started):
    return [seat.player for seat in started.seats]


@asynccontextmanager
async def _bare(connection, table):
    """Take a table's triggers and keys away while millions of rows go in: sorted once, an index is there in seconds."""
    keys = await connection.fetch(
        "select conname as name, pg_get_constraintdef(oid) as said from pg_constraint"
        " where conrelid = $1::text::regclass and contype in ('p', 'u')",
        table,
    )
    indexes = await connection.fetch(
        "select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as said from pg_index"
        " where indrelid = $1::text::regclass and not exists (select from pg_constraint where conindid = indexrelid)",
        table,
    )
    away = [f"alter table {table} drop constraint {key['name']}" for key in keys]
    back = [f"alter table {table} add constraint {key['name']} {key['said']}" for key in keys]
    away += [f"drop index {index['name']}" for index in indexes]
    back += [index["said"] for index in indexes]
    for statement in (f"alter table {table} disable trigger user", *away):
        await connection.execute(statement)
    yield
    for statement in (*back, f"alter table {table} enable trigger user"):
        await connection.execute(statement, timeout=3600)


async def fill(postgres, folder):
    """Generate the rows and store the played tables; returns the hands that may be asked for, and each table's last."""
    connection = await asyncpg.connect(postgres.url("postgres", postgres.password, "bench_replay"))
    await connection.execute("set synchronous_commit = off; set maintenance_work_mem = '512MB'")
    tables = HANDS // HANDS_A_TABLE
    async with _bare(connection, "event"):
        await connection.execute(_EVENTS, tables, HANDS_A_TABLE * EVENTS_A_HAND, bytes(32), timeout=3600)
    async with _bare(connection, "hand_index"):
        await connection.execute(_INDEX, tables, HANDS_A_TABLE, timeout=3600)
    now = int(time.time() * 1000)
    keyfile = KeyFile.open_or_create(folder / "master.key", oldest_day=day_of(now))
    url = postgres.url("hand_secret_rw", PASSWORDS["hand_secret_rw"], "bench_replay")
    vault = await HandVault.open(url, keyfile, lambda: now, pool_size=4)
    hands, lasts = [], []
    for number in range(TABLES):
        table = played(number, LONG if number == 0 else HANDS_A_TABLE)
        for hand_id, secret in table.secrets.items():
            await vault.put(hand_id, secret_commitment(hand_id, secret), Secret(secret), epoch=1)
        hands += await stored(connection, table)
        lasts.append(hands[-1])
    await vault.close()
    await connection.execute("vacuum (analyze) event", timeout=3600)
    await connection.execute("vacuum (analyze) hand_index", timeout=3600)
    rows = (
        await connection.fetchval("select count(*) from hand_index"),
        await connection.fetchval("select count(*) from event"),
    )
    await connection.close()
    return hands, lasts, rows


class Asked:
    """What asking came to; beside every replay a plain call was made, which tells how busy the machine is."""

    def __init__(self):
        self.took, self.plain, self.moments, self.cpu = [], [], [], 0.0


async def asked(house, hands, pid, *, as_seat):
    """Ask for hands one after the other."""
    told, plain = Asked(), pb.ListTablesRequest(page_size=1)
    for hand_id, players in hands:
        request = replay_pb2.GetReplayRequest(hand_id=hand_id, eyes=2 if as_seat else 1, page_size=200)
        if as_seat:
            request.on_behalf_of = players[0]
        who, role = ("phones", Role.BACKEND) if as_seat else ("clerk", Role.OPERATOR)
        began, cpu = time.perf_counter(), cpu_seconds(pid)
        answer = await house.call("GetReplay", request, who, role, seconds=20)
        told.cpu += cpu_seconds(pid) - cpu
        told.took.append((time.perf_counter() - began) * 1000)
        told.moments.append(len(answer.moments))
        assert answer.is_ended
        assert not answer.next_page_token
        assert bool(answer.moments[-1].private) == as_seat
        began = time.perf_counter()
        await house.call("ListTables", plain)
        told.plain.append((time.perf_counter() - began) * 1000)
    return told


async def measure(postgres, folder):
    await prepare(postgres, "bench_replay")
    key = keys_in(folder)
    hands, lasts, rows = await fill(postgres, folder)
    chosen = random.Random(7).sample(hands, min(2 * ASKED, len(hands)))
    async with a_wallet(folder) as wallet:
        environment = service_environment(postgres, "bench_replay", folder, wallet.address)
        ready = folder / "ready.json"
        with running(["-m", "services.table"], ready, environment) as service:
            house = House(json.loads(ready.read_text())["address"], key, wallet)
            house.metadata = _remembered(house.metadata)
            # In earnest the tables' owners have left copies of them on the way; here whoever reads back does.
            await asked(house, lasts, service.pid, as_seat=False)
            await asyncio.sleep(1)
            half = len(chosen) // 2
            told = {
                "spectator": await asked(house, chosen[:half], service.pid, as_seat=False),
                "own seat": await asked(house, chosen[half:], service.pid, as_seat=True),
            }
            await house.close()
    return rows, told


def _remembered(metadata):
    """Sign a token once a caller: that is the caller's time and not the service's."""
    known = {}

    def of(subject, role=Role.PLAYER):
        return known.setdefault((subject, role), metadata(subject, role))

    return of


def main():
    """Measure; fails over the bar."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with EmbeddedPostgres(folder / "postgres") as postgres:
            (hands, events), told = uvloop.run(measure(postgres, folder))
    print(f"one hand out of {hands:,} in {events:,} events, over gRPC, one after the other:")
    slow = False
    for who, each in told.items():
        shares, plain = statistics.quantiles(each.took, n=100), statistics.quantiles(each.plain, n=100)
        slow = slow or shares[98] > BAR_MS
        print(
            f"  {who}: p50 {shares[49]:.1f} ms, p99 {shares[98]:.1f} ms (bar {BAR_MS:g}), {each.cpu / len(each.took) * 1000:.1f} ms"
            f" processor time of the service a call, {statistics.mean(each.moments):.0f} moments a hand;"
            f" a plain call in between: p50 {plain[49]:.1f} ms, p99 {plain[98]:.1f} ms"
        )
    if slow:
        raise SystemExit("over the bar")


if __name__ == "__main__":
    main()
