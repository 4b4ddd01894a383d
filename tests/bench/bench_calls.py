"""What our own server adds to a unary call, beside the bare echo in the same run.

A call of `FeedService.Read` that answers a constant: token, access rule, deadline, codec, metrics and, once with and
once without it, a log line. The echo has no codec and the same size of message.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import grpc
import uvloop

from diwan.api.feed.v1 import feed_service_pb2
from diwan.chassis.access import Role
from diwan.chassis.keys import SigningKey, write_jwks
from diwan.chassis.logging import configure_logging
from diwan.chassis.server import Served
from diwan.chassis.service import Service, serve
from diwan.chassis.settings import ServiceSettings
from tests.bench.bench_echo import IN_FLIGHT, load, measure_echo

READ = "/diwan.api.feed.v1.FeedService/Read"
ROUNDS = 3
SECONDS = 2.0
BAR = 0.50


class _Feed:
    async def Read(self, request, call):  # noqa: N802
        return feed_service_pb2.ReadResponse(head=request.after)


@asynccontextmanager
async def _build(_settings):
    yield Service(served=[Served(feed_service_pb2.DESCRIPTOR.services_by_name["FeedService"], _Feed())])


def serve_here(folder: str, access_log: str) -> None:
    """Serve until standard input ends; the address goes to standard error, the log to standard output."""

    async def until_told():
        stop = asyncio.Event()
        settings = ServiceSettings(
            service="bench",
            jwks_file=Path(folder) / "jwks.json",
            access_log=access_log,
            metrics_listen=None,
            drain_seconds=1,
        )
        asyncio.get_running_loop().run_in_executor(None, sys.stdin.read).add_done_callback(lambda _: stop.set())
        await serve(
            settings, _build, stop=stop, on_running=lambda told: print(told.address, file=sys.stderr, flush=True)
        )

    configure_logging("bench")
    uvloop.run(until_told())


@contextmanager
def _server(folder: str, access_log: str) -> Iterator[str]:
    program = f"from tests.bench.bench_calls import serve_here; serve_here({folder!r}, {access_log!r})"
    command = [sys.executable, "-c", program]
    with (
        Path(folder, "log").open("wb") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.PIPE, text=True) as process,
    ):
        try:
            yield process.stderr.readline().strip()
        finally:
            process.stdin.close()
            process.wait(10)


async def _measure(access_log: str) -> float:
    key = SigningKey.generate()
    with tempfile.TemporaryDirectory() as folder:
        write_jwks(Path(folder) / "jwks.json", [key])
        token = key.mint("bench", Role.SERVICE, "bench")
        with _server(folder, access_log) as address:
            async with grpc.aio.insecure_channel(address) as channel:
                await channel.channel_ready()
                read = channel.unary_unary(READ)
                message = feed_service_pb2.ReadRequest(after=7).SerializeToString()
                message += b"\xfa\x01\xa0\x01" + b"x" * 160
                metadata = (("authorization", f"Bearer {token}"),)

                def call():
                    return read(message, timeout=5, metadata=metadata)

                await load(call, IN_FLIGHT, 0.5)
                return len(await load(call, IN_FLIGHT, SECONDS)) / SECONDS


async def _rounds() -> dict[str, float]:
    ratios = {"all": [], "failures": []}
    for _ in range(ROUNDS):
        echo = await measure_echo(seconds=SECONDS)
        for access_log, found in ratios.items():
            found.append(await _measure(access_log) / echo.calls_per_second)
    return {f"access log {name}": round(statistics.median(found), 3) for name, found in ratios.items()}


def main():
    """Print the medians of our rate divided by the echo's; exit 1 under the bar."""
    ratios = uvloop.run(_rounds())
    print(json.dumps({"our unary call / echo": ratios, "bar": BAR}))
    sys.exit(min(ratios.values()) < BAR)


if __name__ == "__main__":
    main()
