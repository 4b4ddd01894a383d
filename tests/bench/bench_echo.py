"""The peer of every gRPC figure: a unary echo on grpc.aio and uvloop that does nothing but echo.

    python tests/bench/bench_echo.py [--bytes 171] [--in-flight 64] [--seconds 3]

prints one JSON line. Other benchmarks call `measure_echo` in the same run as their own measurement, since only
ratios inside one run mean anything. The server runs in a process of its own; the client in the caller's loop, which
must be uvloop's.
"""

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import grpc
import uvloop

METHOD = "/bench.Echo/Echo"
MESSAGE_BYTES = 171
IN_FLIGHT = 64
WARM_UP_SECONDS = 0.5


@dataclass(frozen=True)
class EchoResult:
    """What the echo reached: calls a second, times of a call, and the server's processor time for one call."""

    calls_per_second: float
    p50_ms: float
    p99_ms: float
    server_cpu_us_per_call: float
    message_bytes: int
    in_flight: int


class _Echo(grpc.GenericRpcHandler):
    """Bytes in, the same bytes out: no codec, no check, no log."""

    def service(self, handler_call_details):
        if handler_call_details.method == METHOD:
            return grpc.unary_unary_rpc_method_handler(_echo)
        return grpc.unary_unary_rpc_method_handler(_cpu_seconds)


async def _echo(message, _context):
    return message


async def _cpu_seconds(_message, _context):
    used = resource.getrusage(resource.RUSAGE_SELF)
    return repr(used.ru_utime + used.ru_stime).encode()


async def _serve():
    server = grpc.aio.server()
    server.add_generic_rpc_handlers([_Echo()])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"127.0.0.1:{port}", flush=True)
    # The end of standard input is the end of whoever started us.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await server.stop(0)


@contextmanager
def echo_server() -> Iterator[str]:
    """Run the echo in a process of its own; yields its address."""
    command = [sys.executable, str(Path(__file__).resolve()), "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
            process.wait(10)


async def measure_echo(
    *, message_bytes: int = MESSAGE_BYTES, in_flight: int = IN_FLIGHT, seconds: float = 3.0
) -> EchoResult:
    """Measure the echo over one connection with so many calls in flight."""
    if not isinstance(asyncio.get_running_loop(), uvloop.Loop):
        raise TypeError("the echo is measured with uvloop on both ends")
    with echo_server() as address:
        async with grpc.aio.insecure_channel(address) as channel:
            await channel.channel_ready()
            echo, message = channel.unary_unary(METHOD), b"\x2a" * message_bytes

            def call():
                return echo(message, timeout=5)

            await load(call, in_flight, WARM_UP_SECONDS)
            before = await _server_cpu_seconds(channel)
            began = time.perf_counter()
            times = await load(call, in_flight, seconds)
            elapsed = time.perf_counter() - began
            used = await _server_cpu_seconds(channel) - before
    cuts = statistics.quantiles(times, n=100)
    return EchoResult(
        calls_per_second=round(len(times) / elapsed, 1),
        p50_ms=round(cuts[49] * 1000, 3),
        p99_ms=round(cuts[98] * 1000, 3),
        server_cpu_us_per_call=round(used / len(times) * 1e6, 1),
        message_bytes=message_bytes,
        in_flight=in_flight,
    )


async def load(call, in_flight, seconds):
    """Keep so many calls in flight for so long; returns the time that each took, in seconds."""
    until = time.perf_counter() + seconds
    times: list[float] = []

    async def caller():
        now = time.perf_counter()
        while now < until:
            await call()
            after = time.perf_counter()
            times.append(after - now)
            now = after

    await asyncio.gather(*(caller() for _ in range(in_flight)))
    return times


async def _server_cpu_seconds(channel):
    return float(await channel.unary_unary("/bench.Echo/Cpu")(b"", timeout=5))


def main():
    """Serve, or measure once and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["measure", "serve"], default="measure")
    parser.add_argument("--bytes", type=int, default=MESSAGE_BYTES)
    parser.add_argument("--in-flight", type=int, default=IN_FLIGHT)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    if options.what == "serve":
        uvloop.run(_serve())
        return
    result = uvloop.run(measure_echo(message_bytes=options.bytes, in_flight=options.in_flight, seconds=options.seconds))
    print(json.dumps(asdict(result)))


if __name__ == "__main__":
    main()
