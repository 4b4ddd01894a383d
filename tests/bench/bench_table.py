"""Durable actions fanned out to nine seats, beside a unary echo of the same message size in the same run.

The table service, PostgreSQL and the relay's sequencer only; a wallet that always says yes runs in the client's process.
One table's decisions follow each other, so the number of tables is the number of actions in flight.
"""

import asyncio
import contextlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from uuid import uuid4

import grpc
import uvloop

from diwan.api.event.v1 import hand_pb2, table_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.embedded import EmbeddedPostgres
from tests.integration.table.house import PASSWORDS, House, a_wallet, keys_in, prepare

SEATS = 9
CONNECTIONS = 4
IN_FLIGHT = 64
SECONDS = 2.0
ROUNDS = 5
TABLES = (8, 64)
PLAY = "/diwan.api.table.v1.TableService/Play"
ECHO = "/bench.Echo/Echo"
BARS = {8: 0.30, 64: 0.40}


# ---- the echo ---------------------------------------------------------------------------------------------------------


async def serve_echo(ready):
    async def echo(raw, _context):
        return raw

    server = grpc.aio.server()
    handler = grpc.unary_unary_rpc_method_handler(echo)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("bench.Echo", {"Echo": handler})])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    Path(ready).write_text(str(port))  # noqa: ASYNC240  (once, before anything is measured)
    await server.wait_for_termination()


async def measure_echo(address, size, seconds):
    """Return echoes a second with 64 in flight, and the median round trip in ms."""
    async with grpc.aio.insecure_channel(address) as channel:
        call, message = channel.unary_unary(ECHO), bytes(size)
        times, end = [], time.perf_counter() + seconds

        async def one():
            while (began := time.perf_counter()) < end:
                await call(message)
                times.append(time.perf_counter() - began)

        await call(message)
        began = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(IN_FLIGHT)))
        return len(times) / (time.perf_counter() - began), statistics.median(times) * 1000


# ---- tables -----------------------------------------------------------------------------------------------------------


class BenchTable:
    """Nine seats at one table; the ninth seat's stream is read in full and says whose turn it is."""

    def __init__(self):
        self.calls = {}
        self.is_playing = False
        self.actions = 0
        self.delays = []
        self.bytes = self.frames = 0
        self._decision = None
        self._sent_at = None

    async def attach(self, house, channels, table_id, number):
        for seat in range(SEATS):
            channel = channels[(number * SEATS + seat) % len(channels)]
            method = channel.stream_stream(PLAY, request_serializer=pb.PlayRequest.SerializeToString)
            call = method(metadata=house.metadata(f"t{number}p{seat}", seconds=290))
            await call.write(pb.PlayRequest(attach=pb.Attach(table_id=table_id)))
            self.calls[seat] = call

    async def listen(self, seat):
        """Read as a client does that looks at every frame's bytes."""
        call = self.calls[seat]
        while (raw := await call.read()) is not grpc.aio.EOF:
            self.frames += 1
            self.bytes += len(raw)

    async def conduct(self):
        """Read the ninth seat's stream, and let whoever is to act check or call."""
        call = self.calls[SEATS - 1]
        while (raw := await call.read()) is not grpc.aio.EOF:
            self.frames += 1
            self.bytes += len(raw)
            message = pb.PlayResponse.FromString(raw)
            if message.WhichOneof("message") != "update" or not message.update.view.hand.HasField("decision"):
                continue
            decision = message.update.view.hand.decision
            if self._decision is not None and decision.turn <= self._decision.turn:
                continue
            if self._sent_at is not None:
                self.actions += 1
                self.delays.append(time.perf_counter() - self._sent_at)
            self._decision, self._sent_at = decision, None
            if self.is_playing:
                await self.decide()

    async def decide(self):
        decision, self._sent_at = self._decision, time.perf_counter()
        kind = hand_pb2.ACTION_KIND_CHECK if decision.can_check else hand_pb2.ACTION_KIND_CALL
        action = pb.Action(turn=decision.turn, kind=kind)
        await self.calls[decision.seat].write(pb.PlayRequest(request_id=str(uuid4()), action=action))

    async def play(self):
        self.is_playing = True
        if self._sent_at is None and self._decision is not None:
            await self.decide()


async def open_table(house, number):
    config = table_pb2.TableConfig(
        name=f"bench {number}", pause_ms=1, hand=hand_pb2.HandSettings(big_blind=2, decision_seconds=600)
    )
    created = await house.call("CreateTable", pb.CreateTableRequest(request_id=str(uuid4()), config=config))
    table_id = created.table.table_id
    for seat in range(SEATS):
        await house.sit(table_id, f"t{number}p{seat}", amount=200, seat=seat)
    return table_id


def cpu_seconds(pid):
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def played(tables, seconds, pid):
    """Let the tables play for a while; returns actions/s, delays (s), frames/s, frame size, server CPU us an action."""
    for table in tables:
        table.actions = table.frames = table.bytes = 0
        table.delays.clear()
        await table.play()
    began, cpu = time.perf_counter(), cpu_seconds(pid)
    await asyncio.sleep(seconds)
    took, cpu = time.perf_counter() - began, cpu_seconds(pid) - cpu
    actions, frames = sum(table.actions for table in tables), sum(table.frames for table in tables)
    size = sum(table.bytes for table in tables) / max(1, frames)
    delays = [delay for table in tables for delay in table.delays]
    for table in tables:
        table.is_playing = False
    await asyncio.sleep(0.5)
    return actions / took, delays, frames / took, size, cpu / max(1, actions) * 1e6


async def measure_tables(house, count, first, pid, echo_address):
    """Play and echo in turns on the same machine, so that what else it does falls on both."""
    opened = await asyncio.gather(*(open_table(house, first + number) for number in range(count)))
    options = (("grpc.use_local_subchannel_pool", 1),)
    channels = [grpc.aio.insecure_channel(house.address, options) for _ in range(CONNECTIONS)]
    tables = [BenchTable() for _ in range(count)]
    for number, (table, table_id) in enumerate(zip(tables, opened, strict=True)):
        await table.attach(house, channels, table_id, first + number)
    tasks = [asyncio.create_task(table.conduct()) for table in tables]
    tasks += [asyncio.create_task(table.listen(seat)) for table in tables for seat in range(SEATS - 1)]
    await asyncio.sleep(2)
    await played(tables, 1, pid)
    rounds = []
    for _ in range(ROUNDS):
        play = await played(tables, SECONDS, pid)
        echo = await measure_echo(echo_address, int(play[3]), SECONDS / 2)
        rounds.append((*play, *echo))
    for task in tasks:
        task.cancel()
    for channel in channels:
        await channel.close()
    for table_id in opened:
        await house.call("CloseTable", pb.CloseTableRequest(request_id=str(uuid4()), table_id=table_id))
    return rounds


# ---- the run ----------------------------------------------------------------------------------------------------------


def service_environment(postgres, name, folder, wallet_address):
    def url(role):
        return postgres.url(role, PASSWORDS[role], name)

    settings = {
        "database_url": url("table_rw"),
        "sequencer_database_url": url("table_seq"),
        "hand_secret_database_url": url("hand_secret_rw"),
        "master_key_file": folder / "master.key",
        "jwks_file": folder / "jwks.json",
        "service_key_file": folder / "key.pem",
        "ready_file": folder / "ready.json",
        "wallet_address": wallet_address,
        "access_log": "failures",
        "log_level": "warning",
        "metrics_listen": "127.0.0.1:0",
    }
    return os.environ | {f"DIWAN_TABLE_{key.upper()}": str(value) for key, value in settings.items()}


@contextlib.contextmanager
def running(arguments, ready, environment=None):
    process = subprocess.Popen([sys.executable, *arguments], env=environment or dict(os.environ))
    try:
        deadline = time.monotonic() + 30
        while not (ready.exists() and ready.read_text()):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{arguments} did not start")
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.wait(20)


def percentile(values, share):
    return values[min(len(values) - 1, int(share * len(values)))] * 1000 if values else float("nan")


async def measure(postgres, folder):
    results = []
    await prepare(postgres, "bench_table")
    key = keys_in(folder)
    async with a_wallet(folder) as wallet:
        environment = service_environment(postgres, "bench_table", folder, wallet.address)
        echo_ready = folder / "echo.port"
        program = (
            "import asyncio, uvloop; from tests.bench.bench_table import serve_echo;"
            f" uvloop.run(serve_echo({str(echo_ready)!r}))"
        )
        ready = folder / "ready.json"
        with running(["-c", program], echo_ready), running(["-m", "services.table"], ready, environment) as service:
            house = House(json.loads(ready.read_text())["address"], key, wallet)
            first = 0
            for count in TABLES:
                echo = f"127.0.0.1:{echo_ready.read_text()}"
                results.append((count, await measure_tables(house, count, first, service.pid, echo)))
                first += count
            await house.close()
    return results


def main():
    """Measure 8 and 64 tables; fails below the bars."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with EmbeddedPostgres(folder / "postgres") as postgres:
            results = uvloop.run(measure(postgres, folder))
    below = []
    for count, rounds in results:
        rates, delays, deliveries, sizes, cpu, echoes, trips = zip(*rounds, strict=True)
        ratio = statistics.median(rate / echo for rate, echo in zip(rates, echoes, strict=True))
        waits = sorted(itertools.chain.from_iterable(delays))
        print(
            f"{count:3d} tables x {SEATS} seats: {statistics.median(rates):6.0f} durable actions/s"
            f" = {ratio:.2f} x unary echo (bar {BARS[count]:.2f}); ninth seat p50 {percentile(waits, 0.5):.1f} ms,"
            f" p99 {percentile(waits, 0.99):.1f} ms; {statistics.median(deliveries):.0f} deliveries/s of"
            f" {statistics.median(sizes):.0f} bytes; server CPU {statistics.median(cpu):.0f} us an action;"
            f" echo {statistics.median(echoes):.0f}/s, p50 {statistics.median(trips):.1f} ms"
        )
        if ratio < BARS[count]:
            below.append(count)
    if below:
        raise SystemExit(f"below the bar at {below} tables")


if __name__ == "__main__":
    main()
