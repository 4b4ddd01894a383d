"""Durable actions fanned out to nine seats, beside a unary echo of the same message size in the same run.

The table service, PostgreSQL and the relay's sequencer only; a wallet that always says yes runs in the client's process.
One table's decisions follow each other, so the number of tables is the number of actions in flight. The echo is grpc.aio
and uvloop as they come, in two processes of its own. What binds is the processor time of server, client and PostgreSQL
together, so that is told too.
"""

import asyncio
import contextlib
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
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
PLAY = "/diwan.api.table.v1.TableService/Play"
CLIENT = {"GRPC_EXPERIMENTS": "-event_engine_client"}
"""For the players' process: grpc's former poller costs it a quarter less. It reads every frame all the same."""


@dataclass(frozen=True)
class Case:
    """So many tables, over a few connections as a back end has them, or with one a seat as phones do; and the bar."""

    tables: int
    bar: float
    has_own_connections: bool = False

    @property
    def connections(self) -> int:
        return self.tables * SEATS if self.has_own_connections else CONNECTIONS


CASES = (Case(8, 0.30), Case(64, 0.40), Case(64, 0.25, has_own_connections=True))


@dataclass(frozen=True)
class Round:
    """What the tables did in one round, and the echo right after it; processor time in us an action."""

    actions_per_second: float
    delays: list[float]
    """Seconds from a decision's being sent to the arrival of the update that tells of it at the ninth seat."""
    turns: list[float]
    """Seconds from a decision's being sent to the next decision's being asked for at the ninth seat: one in so many waits
    for a hand to end, a pause and the next hand's cards."""
    frames_per_action: float
    frame_bytes: float
    server_us: float
    client_us: float
    postgres_us: float
    echo: dict[str, float]

    @property
    def ratio(self) -> float:
        return self.actions_per_second / self.echo["calls_per_second"]


async def measure_echo(size, seconds):
    """Return what `bench_echo` measures with 64 in flight."""
    return await _echo(size, seconds, IN_FLIGHT)


async def measure_echo_alone(size, seconds=1.0):
    """Return what it measures with one in flight: one round trip after the other."""
    return await _echo(size, seconds, 1)


async def _echo(size, seconds, in_flight):
    program = Path(__file__).with_name("bench_echo.py")
    arguments = ["--bytes", str(size), "--in-flight", str(in_flight), "--seconds", str(seconds)]
    command = [sys.executable, str(program), *arguments]
    echo = await asyncio.to_thread(subprocess.run, command, stdout=subprocess.PIPE, env=plain_environment(), check=True)
    return json.loads(echo.stdout)


def plain_environment():
    return {name: value for name, value in os.environ.items() if name not in CLIENT}


# ---- tables -----------------------------------------------------------------------------------------------------------


class BenchTable:
    """Nine seats at one table; the ninth seat's stream is read in full and says whose turn it is."""

    def __init__(self):
        self.calls = {}
        self.is_playing = False
        self.actions = 0
        self.delays, self.turns = [], []
        self.bytes = self.frames = 0
        self._decision = None
        self._sent_at = None
        self._is_told = False

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
            arrived_at = time.perf_counter()
            message = pb.PlayResponse.FromString(raw)
            if message.WhichOneof("message") != "update":
                continue
            view = message.update.view
            if self._sent_at is not None and not self._is_told and view.version > self._decision.turn:
                # Nobody else acts meanwhile, so the first that is newer tells of it.
                self._is_told = True
                self.delays.append(arrived_at - self._sent_at)
            if not view.hand.HasField("decision"):
                continue
            decision = view.hand.decision
            if self._decision is not None and decision.turn <= self._decision.turn:
                continue
            if self._sent_at is not None:
                self.actions += 1
                self.turns.append(arrived_at - self._sent_at)
            self._decision, self._sent_at = decision, None
            if self.is_playing:
                await self.decide()

    async def decide(self):
        decision, self._sent_at, self._is_told = self._decision, time.perf_counter(), False
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


def cpu_seconds(*pids):
    """Return the processor time that processes have used."""
    used = 0
    for pid in pids:
        with contextlib.suppress(FileNotFoundError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            used += int(fields[11]) + int(fields[12])
    return used / os.sysconf("SC_CLK_TCK")


def children_of(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def used_by_all(server, postgres):
    mine = resource.getrusage(resource.RUSAGE_SELF)
    return cpu_seconds(server), mine.ru_utime + mine.ru_stime, cpu_seconds(postgres, *children_of(postgres))


async def played(tables, seconds, server, postgres):
    """Let the tables play for a while, then the echo."""
    for table in tables:
        table.actions = table.frames = table.bytes = 0
        table.delays.clear()
        table.turns.clear()
        await table.play()
    began, before = time.perf_counter(), used_by_all(server, postgres)
    await asyncio.sleep(seconds)
    took, after = time.perf_counter() - began, used_by_all(server, postgres)
    actions, frames = sum(table.actions for table in tables), sum(table.frames for table in tables)
    size = sum(table.bytes for table in tables) / max(1, frames)
    delays = [delay for table in tables for delay in table.delays]
    turns = [turn for table in tables for turn in table.turns]
    for table in tables:
        table.is_playing = False
    await asyncio.sleep(0.5)
    used = [(later - earlier) / max(1, actions) * 1e6 for earlier, later in zip(before, after, strict=True)]
    echo = await measure_echo(int(size), seconds / 2)
    return Round(actions / took, delays, turns, frames / max(1, actions), size, *used, echo)


async def measure_tables(house, case, first, server, postgres):
    """Play and echo in turns on the same machine, so that what else it does falls on both."""
    opened = await asyncio.gather(*(open_table(house, first + number) for number in range(case.tables)))
    options = (("grpc.use_local_subchannel_pool", 1),)
    channels = [grpc.aio.insecure_channel(house.address, options) for _ in range(case.connections)]
    tables = [BenchTable() for _ in range(case.tables)]
    for number, (table, table_id) in enumerate(zip(tables, opened, strict=True)):
        await table.attach(house, channels, table_id, first + number)
    tasks = [asyncio.create_task(table.conduct()) for table in tables]
    tasks += [asyncio.create_task(table.listen(seat)) for table in tables for seat in range(SEATS - 1)]
    await asyncio.sleep(2)
    await played(tables, 1, server, postgres)
    rounds = [await played(tables, SECONDS, server, postgres) for _ in range(ROUNDS)]
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
    return plain_environment() | {f"DIWAN_TABLE_{key.upper()}": str(value) for key, value in settings.items()}


@contextlib.contextmanager
def running(arguments, ready, environment, log=None):
    process = subprocess.Popen([sys.executable, *arguments], env=environment, stdout=log, stderr=log)
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
        ready = folder / "ready.json"
        with running(["-m", "services.table"], ready, environment) as service:
            house = House(json.loads(ready.read_text())["address"], key, wallet)
            first = 0
            for case in CASES:
                results.append((case, await measure_tables(house, case, first, service.pid, postgres.pid)))
                first += case.tables
            await house.close()
    return results


def median_of(rounds, name):
    return statistics.median(getattr(each, name) for each in rounds)


def told(case, rounds):
    """Return one line about so many tables."""
    waits = sorted(itertools.chain.from_iterable(each.delays for each in rounds))
    turns = sorted(itertools.chain.from_iterable(each.turns for each in rounds))
    echoes = statistics.median(each.echo["calls_per_second"] for each in rounds)
    trips = statistics.median(each.echo["p50_ms"] for each in rounds)
    return (
        f"{case.tables:3d} tables x {SEATS} seats over {case.connections} connections: {median_of(rounds, 'actions_per_second'):6.0f} durable actions/s"
        f" = {median_of(rounds, 'ratio'):.2f} x unary echo (bar {case.bar:.2f}); ninth seat"
        f" p50 {percentile(waits, 0.5):.1f} ms, p99 {percentile(waits, 0.99):.1f} ms, next decision p99 {percentile(turns, 0.99):.1f} ms;"
        f" {median_of(rounds, 'frames_per_action'):.1f} frames of {median_of(rounds, 'frame_bytes'):.0f} bytes an action;"
        f" CPU an action: server {median_of(rounds, 'server_us'):.0f}, client {median_of(rounds, 'client_us'):.0f},"
        f" PostgreSQL {median_of(rounds, 'postgres_us'):.0f} us; echo {echoes:.0f}/s, p50 {trips:.1f} ms"
    )


def main():
    """Measure 8 and 64 tables, and 64 with a connection a seat; fails below the bars."""
    os.environ.update(CLIENT)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with EmbeddedPostgres(folder / "postgres") as postgres:
            results = uvloop.run(measure(postgres, folder))
    for case, rounds in results:
        print(told(case, rounds))
    below = [case for case, rounds in results if median_of(rounds, "ratio") < case.bar]
    if below:
        raise SystemExit(f"below the bar: {', '.join(str(case) for case in below)}")


if __name__ == "__main__":
    main()
