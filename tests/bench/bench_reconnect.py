"""Coming back: a seat over a new connection, a room full of seats at once, and what tables and watchers cost in memory.

The table service, PostgreSQL and a wallet that always says yes. A unary call of the same service, one in flight over an open
connection, is what everything is held against; it is measured between the others, on the same machine.
"""

import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path

import grpc
import uvloop

from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.api.table.v1.table_service_pb2_grpc import TableServiceStub
from diwan.chassis.access import Role
from diwan.chassis.embedded import EmbeddedPostgres
from tests.bench.bench_table import (
    SEATS,
    Case,
    measure_echo_alone,
    open_table,
    percentile,
    running,
    service_environment,
)
from tests.bench.bench_table import measure_tables as measure_ninth_seat
from tests.integration.table.house import House, a_wallet, has_decision, keys_in, player_of, prepare

BEHIND = 26
RESUMES = 60
ROOM_TABLES = 64
IDLE_TABLES = 1_500
WATCHERS = 500
BARS = {"resume": 10.0, "room": 2.0, 1: 10.0, 8: 25.0}
OWN_CHANNEL = (("grpc.use_local_subchannel_pool", 1),)


def resident_kib(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise RuntimeError("no such process")


async def unary_seconds(house, table_id, calls=40):
    """Return the median of a unary call with one in flight."""
    taken = []
    for _ in range(calls):
        began = time.perf_counter()
        await house.call("GetTable", pb.GetTableRequest(table_id=table_id))
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


async def resumed(house, table_id, player, after_version):
    """Connect anew, attach, and read up to the view; returns the seconds it took."""
    metadata = house.metadata(player, seconds=290)
    began = time.perf_counter()
    async with grpc.aio.insecure_channel(house.address, OWN_CHANNEL) as channel:
        call = TableServiceStub(channel).Play(metadata=metadata)
        await call.write(pb.PlayRequest(attach=pb.Attach(table_id=table_id, after_version=after_version)))
        while not (message := await call.read()).update.HasField("view"):
            pass
        took = time.perf_counter() - began
        assert message.update.events
        call.cancel()
    return took


async def measure_resume(house):
    """Return the seconds of resumes that missed some events, and of unary calls in between."""
    table_id = await open_table(house, 0)
    view = await house.until(table_id, has_decision)
    while view.version < 4 * BEHIND:
        decision = view.hand.decision
        await house.act(
            table_id, player_of(view, decision.seat), decision.turn, "check" if decision.can_check else "call"
        )
        view = await house.until(table_id, lambda seen, known=view: seen.version > known.version and has_decision(seen))
    resumes, calls = [], []
    for number in range(RESUMES):
        if number % 10 == 0:
            calls.append(await unary_seconds(house, table_id))
        resumes.append(await resumed(house, table_id, "t0p1", view.version - BEHIND))
    return sorted(resumes), statistics.median(calls)


async def measure_room(house):
    """Return how long it took until every seat of a room was back, all over new connections at once."""
    tables = await asyncio.gather(*(open_table(house, 1 + number) for number in range(ROOM_TABLES)))
    versions = [(await house.until(table_id, has_decision)).version for table_id in tables]
    took = []
    for _ in range(3):
        began = time.perf_counter()
        await asyncio.gather(
            *(
                resumed(house, table_id, f"t{1 + number}p{seat}", max(1, version - BEHIND))
                for number, (table_id, version) in enumerate(zip(tables, versions, strict=True))
                for seat in range(SEATS)
            )
        )
        took.append(time.perf_counter() - began)
    return min(took)


async def measure_memory(house, pid):
    """Return the KiB that an idle table and a watcher take in the service."""
    for number in range(IDLE_TABLES // 3):
        table_id = await house.create(name=f"warm {number}")
    before = resident_kib(pid)
    for number in range(IDLE_TABLES):
        await house.create(name=f"idle {number}")
    idle = (resident_kib(pid) - before) / IDLE_TABLES
    before, calls = resident_kib(pid), []
    channels = [grpc.aio.insecure_channel(house.address, OWN_CHANNEL) for _ in range(5)]
    for number in range(WATCHERS):
        stub = TableServiceStub(channels[number % 5])
        call = stub.Watch(pb.WatchRequest(table_id=table_id), metadata=house.metadata("w", Role.SERVICE))
        await call.read()
        calls.append(call)
    watcher = (resident_kib(pid) - before) / WATCHERS
    for call in calls:
        call.cancel()
    for channel in channels:
        await channel.close()
    return idle, watcher


async def measure(postgres, folder):
    await prepare(postgres, "bench_reconnect")
    key = keys_in(folder)
    async with a_wallet(folder) as wallet:
        environment = service_environment(postgres, "bench_reconnect", folder, wallet.address)
        environment |= {"DIWAN_TABLE_TABLES_PER_PLAYER_MAX": "10000"}
        ready = folder / "ready.json"
        with running(["-m", "services.table"], ready, environment) as service:
            house = House(json.loads(ready.read_text())["address"], key, wallet)
            # First of all, while nothing that others needed lies about to be used again.
            found = {"memory": await measure_memory(house, service.pid)}
            found["resume"] = await measure_resume(house)
            found["room"] = await measure_room(house)
            for count in (1, 8):
                rounds = await measure_ninth_seat(house, Case(count, 0), 1000 * count, service.pid, postgres.pid)
                delays = sorted(delay for each in rounds for delay in each.delays)
                turns = sorted(turn for each in rounds for turn in each.turns)
                trip = statistics.median([(await measure_echo_alone(600))["p50_ms"] for _ in range(3)])
                found[count] = (percentile(delays, 0.5), percentile(delays, 0.99), percentile(turns, 0.99), trip)
            await house.close()
    return found


def main():
    """Measure; fails over the bars."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with EmbeddedPostgres(folder / "postgres") as postgres:
            found = uvloop.run(measure(postgres, folder))
    resumes, unary = found["resume"]
    ratios = {"resume": statistics.median(resumes) / unary, "room": found["room"]}
    print(
        f"a seat back over a new connection, {BEHIND} events behind: p50 {statistics.median(resumes) * 1000:.1f} ms, p99"
        f" {percentile(resumes, 0.99):.1f} ms = {ratios['resume']:.1f} x a unary call's p50 of {unary * 1000:.1f} ms"
        f" (bar 10, aim 5)"
    )
    print(f"{ROOM_TABLES * SEATS} seats back at once: {ratios['room']:.2f} s (bar 2, aim 0.8)")
    print(f"memory: {found['memory'][0]:.0f} KiB an idle table, {found['memory'][1]:.0f} KiB a watcher")
    for count in (1, 8):
        usual, late, next_one, trip = found[count]
        ratios[count] = late / trip
        print(
            f"{count} tables: ninth seat's p50 {usual:.1f}, p99 {late:.1f} ms = {usual / trip:.1f} and {ratios[count]:.1f} x"
            f" a unary echo alone of {trip:.2f} ms (bar {BARS[count]:g}); next decision, over hands' ends, p99 {next_one:.1f} ms"
        )
    over = [name for name, bar in BARS.items() if ratios[name] > bar]
    if over:
        raise SystemExit(f"over the bar: {over}")


if __name__ == "__main__":
    main()
