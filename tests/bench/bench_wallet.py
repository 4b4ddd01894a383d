"""Transfers beside pgbench's TPC-B and beside a unary echo, all in one run on one server.

In process: so many callers who each wait for their own transfer, between random accounts, then all of them with one
hot account. By gRPC: the whole service in a process of its own, 64 unary calls in flight. Ids are made beforehand, as
callers bring them. Every rate is measured in turn with its peer, in every round. pgbench has as many processes as
clients, the ledger two: where others want the processors too, the scheduler gives pgbench more of them, and only the
processor time of a transfer can be compared.
"""

import asyncio
import contextlib
import itertools
import json
import os
import random  # noqa: TID251  (which accounts)
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from uuid import uuid4

import asyncpg
import grpc
import uvloop

from diwan.api.wallet.v1 import wallet_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.database import OWNER, ensure_roles
from diwan.chassis.embedded import EmbeddedPostgres
from diwan.chassis.keys import SigningKey, write_jwks
from diwan.chassis.migrate import migrate
from diwan.core.ledger.accounts import OPERATOR, player_account
from diwan.core.ledger.books import Transfer
from diwan.core.ledger.posting import LinkedSet
from services.wallet import app
from services.wallet.ledger import Ledger
from tests.bench.bench_echo import load, measure_echo
from tests.bench.pgbench import PgBench, cpu_seconds, server_cpu_seconds

ACCOUNTS = 10_000
CALLERS = (1, 16, 64, 256)
IN_FLIGHT = 64
SECONDS = 2.0
ROUNDS = 3
IDS = 400_000
TRANSFER = "/diwan.api.wallet.v1.WalletService/Transfer"
POOLS = 64
BARS = {"spread": (4.0, 6.0), "hot": (2.0, 4.0), "unary": (0.50, 0.75)}
P99_MS_MAX = 50.0

CHECKS = {
    "all balances sum to zero": "select coalesce(sum(balance), 0) = 0 from account",
    "every balance is the sum of its entries": """
        select not exists (select from account a left join (
            select account_id, sum(amount) as total, count(*) as n, max(version) as last from entry group by account_id
        ) e using (account_id)
        where (a.balance, a.version, a.version) is distinct from (coalesce(total, 0), coalesce(n, 0), coalesce(last, 0)))""",
}


class Wallet:
    """A migrated database with rich players on an embedded server."""

    def __init__(self, server, passwords):
        self.server = server
        self.passwords = passwords
        self.players = [player_account(f"player-{number}") for number in range(ACCOUNTS)]
        self.ids = []

    def url(self, role):
        return self.server.url(role, self.passwords[role], "diwan_wallet")

    @classmethod
    async def make(cls, server):
        passwords = await ensure_roles(server.superuser_url, "wallet")
        await migrate(server.url(OWNER, passwords[OWNER], "diwan_wallet"), [app.MIGRATIONS])
        return cls(server, passwords)

    def bring_ids(self):
        self.ids.extend(str(uuid4()) for _ in range(IDS - len(self.ids)))

    @contextlib.asynccontextmanager
    async def ledger(self):
        ledger = Ledger(app._connector(self.url("wallet_rw"), "bench", **app.LEDGER_SETTINGS))
        await ledger.prepare()
        task = asyncio.create_task(ledger.run())
        try:
            yield ledger
        finally:
            await ledger.close()
            await task

    async def open(self, ledger):
        """Give every player chips."""
        for batch in itertools.batched(self.players, 2_000):
            await asyncio.gather(*(ledger.ask(self._opening(player)) for player in batch))

    def _opening(self, player):
        grant = Transfer(str(uuid4()), OPERATOR.account_id, player.account_id, 10**9, "issue", "bench")
        return LinkedSet((grant,), opens=(player,))

    async def checked(self):
        connection = await asyncpg.connect(self.server.url("postgres", self.server.password, "diwan_wallet"))
        try:
            return [name for name, query in CHECKS.items() if not await connection.fetchval(query)]
        finally:
            await connection.close()


async def in_process(wallet, ledger, callers, *, is_hot):
    """Return transfers/s, times (s) and the processor time of one transfer (us): ours with the callers, PostgreSQL's."""
    wallet.bring_ids()
    rng, ids, players = random.Random(callers), wallet.ids, wallet.players
    pairs = [rng.sample(players, 2) for _ in range(20_000)]
    if is_hot:
        house = players[0]
        others = [rng.choice(players[1:]) for _ in pairs]
        pairs = [(house, other) if i % 2 else (other, house) for i, other in enumerate(others)]
    turns = itertools.cycle(pairs)

    async def transfer():
        debit, credit = next(turns)
        move = Transfer(ids.pop(), debit.account_id, credit.account_id, 5, "buy_in", "table/bench")
        done = await ledger.ask(LinkedSet((move,)))
        if not done.outcome.is_done:
            raise RuntimeError(done.outcome)

    own, servers, began = time.process_time(), server_cpu_seconds(wallet.server), time.perf_counter()
    times = await load(transfer, callers, SECONDS)
    took = time.perf_counter() - began
    own, servers = time.process_time() - own, server_cpu_seconds(wallet.server) - servers
    return len(times) / took, times, own / len(times) * 1e6, servers / len(times) * 1e6


def percentiles(times):
    cuts = statistics.quantiles(times, n=100)
    return cuts[49] * 1000, cuts[98] * 1000


async def measure_in_process(wallet, peer):
    """Return ratios by kind of load and the times of a transfer with all callers."""
    ratios = {"spread": [], "hot": []}
    waits = {"spread": [], "hot": []}
    async with wallet.ledger() as ledger:
        await wallet.open(ledger)
        for callers in CALLERS:
            for name in ratios:
                rate, times, own, servers = await in_process(wallet, ledger, callers, is_hot=name == "hot")
                p50, p99 = percentiles(times)
                print(
                    f"{callers:4d} callers, {name:6}: {rate:7,.0f} transfers/s, p50 {p50:.1f} ms, p99 {p99:.1f} ms;"
                    f" CPU a transfer: Python {own:.0f} us (callers too), PostgreSQL {servers:.0f} us"
                )
        for number in range(ROUNDS):
            plain, peer_us = await asyncio.to_thread(peer.measured, SECONDS)
            prepared, _ = await asyncio.to_thread(peer.measured, SECONDS, mode="prepared")
            told = [f"pgbench {plain:,.0f}/s, CPU {peer_us:.0f} us; prepared {prepared:,.0f}/s"]
            for name, reached in ratios.items():
                rate, times, own, servers = await in_process(wallet, ledger, CALLERS[-1], is_hot=name == "hot")
                reached.append(rate / plain)
                waits[name] += times
                told.append(
                    f"{name} {rate:,.0f}/s = {rate / plain:.1f} x ({rate / prepared:.1f} x prepared), CPU {own:.0f} +"
                    f" {servers:.0f} us: {peer_us / (own + servers):.1f} x as many for the same processor time"
                )
            print(f"round {number + 1}: " + "; ".join(told))
    return ratios, waits


# ---- by gRPC ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def service(wallet, folder):
    """Run the wallet in a process of its own; yields its address and its process."""
    settings = {
        "database_url": wallet.url("wallet_rw"),
        "sequencer_database_url": wallet.url("wallet_seq"),
        "jwks_file": folder / "jwks.json",
        "service_key_file": folder / "key.pem",
        "ready_file": folder / "ready.json",
        "table_address": "127.0.0.1:9",
        "access_log": "failures",
        "log_level": "error",
        "metrics_listen": "127.0.0.1:0",
    }
    environment = os.environ | {f"DIWAN_WALLET_{key.upper()}": str(value) for key, value in settings.items()}
    process = subprocess.Popen([sys.executable, "-m", "services.wallet"], env=environment)
    try:
        deadline = time.monotonic() + 30
        while not (folder / "ready.json").exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the wallet did not start")
            time.sleep(0.05)
        yield json.loads((folder / "ready.json").read_text())["address"], process
    finally:
        process.terminate()
        process.wait(20)


async def measure_unary(wallet, folder):
    """Return the ratios to the echo and the times of a call."""
    key = SigningKey.generate()
    key.save(folder / "key.pem")
    write_jwks(folder / "jwks.json", [key])
    ratios, waits = [], []
    with service(wallet, folder) as (address, process):
        async with grpc.aio.insecure_channel(address) as channel:
            method = channel.unary_unary(TRANSFER, request_serializer=pb.TransferRequest.SerializeToString)
            token = key.mint("tournament", Role.SERVICE, "wallet", seconds=290)
            metadata = (("authorization", f"Bearer {token}"),)
            players = itertools.cycle(wallet.players)
            pools = itertools.cycle([str(uuid4()) for _ in range(POOLS)])

            def request():
                return pb.TransferRequest(
                    movement=pb.Movement(
                        transfer_id=wallet.ids.pop(),
                        debit=pb.AccountName(kind="player", owner=next(players).owner),
                        credit=pb.AccountName(kind="pool", owner=next(pools)),
                        amount=1, code="entry", cause="bench",
                    )
                )  # fmt: skip

            def call():
                return method(request(), timeout=5, metadata=metadata)

            await load(call, IN_FLIGHT, 1.0)
            size = request().ByteSize()
            for number in range(ROUNDS):
                wallet.bring_ids()
                cpu, servers, own = cpu_seconds(process.pid), server_cpu_seconds(wallet.server), time.process_time()
                began = time.perf_counter()
                times = await load(call, IN_FLIGHT, SECONDS)
                rate = len(times) / (time.perf_counter() - began)
                own = (time.process_time() - own) / len(times) * 1e6
                cpu = (cpu_seconds(process.pid) - cpu) / len(times) * 1e6
                servers = (server_cpu_seconds(wallet.server) - servers) / len(times) * 1e6
                echo = await measure_echo(message_bytes=size, in_flight=IN_FLIGHT, seconds=SECONDS)
                ratios.append(rate / echo.calls_per_second)
                waits += times
                print(
                    f"round {number + 1}: unary {rate:,.0f}/s, echo of {size} bytes {echo.calls_per_second:,.0f}/s, ratio"
                    f" {ratios[-1]:.2f}; CPU a call: service {cpu:.0f} us, PostgreSQL {servers:.0f} us, client {own:.0f} us;"
                    f" the echo's server {echo.server_cpu_us_per_call:.0f} us"
                )
    return ratios, waits


# ---- the run ----------------------------------------------------------------------------------------------------------


async def measure(server, folder):
    peer = PgBench(server)
    rates = peer.prepare(SECONDS)
    print("pgbench TPC-B, clients: " + ", ".join(f"{clients}: {rate:,.0f}/s" for clients, rate in rates.items()))
    wallet = await Wallet.make(server)
    ratios, waits = await measure_in_process(wallet, peer)
    ratios["unary"], waits["unary"] = await measure_unary(wallet, folder)
    missed = [f"not so: {name}" for name in await wallet.checked()]
    for name, (bar, aim) in BARS.items():
        ratio = statistics.median(ratios[name])
        p50, p99 = percentiles(waits[name])
        unit = "x the echo" if name == "unary" else "x pgbench"
        print(
            f"{name:6}: {ratio:.2f} {unit} ({min(ratios[name]):.2f}-{max(ratios[name]):.2f}), bar {bar}, aim {aim};"
            f" p50 {p50:.1f} ms, p99 {p99:.1f} ms"
        )
        if ratio < bar:
            missed.append(f"{name} {ratio:.2f} is below {bar}")
        if p99 > P99_MS_MAX:
            missed.append(f"{name}: p99 {p99:.0f} ms is above {P99_MS_MAX:.0f}")
    return missed


def main():
    """Measure; fails below the bars, or where the books do not add up afterwards."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with EmbeddedPostgres(folder / "postgres") as server:
            missed = uvloop.run(measure(server, folder))
    if missed:
        raise SystemExit("; ".join(missed))


if __name__ == "__main__":
    main()
