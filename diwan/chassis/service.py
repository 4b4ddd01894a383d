"""The life of a service process: settings, parts, background work, serving, draining, end.

A service's composition root is an async context manager that builds the parts and yields them as a `Service`:

    @asynccontextmanager
    async def build(settings: TableSettings) -> AsyncIterator[Service]:
        database = await Database.open(needed(settings.database_url, "database_url"))
        try:
            tables = Tables(database)
            yield Service(
                served=[Served(DESCRIPTOR.services_by_name["TableService"], TableServicer(tables))],
                background={"relay": relay.run},
                on_drain=tables.hand_over,
            )
        finally:
            await database.close()

and its ``__main__`` is ``sys.exit(run_service(TableSettings, build))``.
"""

import asyncio
import contextlib
import gc
import json
import os
import resource
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import prometheus_client
import structlog
import uvloop
from pydantic import ValidationError

from diwan.chassis.auth import authenticator_of
from diwan.chassis.logging import configure_logging
from diwan.chassis.server import GrpcServer, Served
from diwan.chassis.settings import ServiceSettings, split_address

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
EXIT_SETTINGS: Final = 2

GARBAGE_THRESHOLDS: Final = (20_000, 20, 50)
"""Ten times the default: almost nothing of ours is in cycles, and looking for them took a twentieth of a table's time."""

_log = structlog.get_logger(__name__)


class Service(msgspec.Struct, frozen=True):
    """The parts of a running service.

    ``background`` tasks run for as long as the service does: one that ends by itself, or fails, ends the process, so
    that whoever watches over it starts it anew. ``on_drain`` runs before streams are ended and calls are refused.
    """

    served: Sequence[Served]
    background: Mapping[str, Callable[[], Coroutine[Any, Any, None]]] = {}
    on_drain: Callable[[], Awaitable[None]] | None = None


class Running(msgspec.Struct, frozen=True):
    """A service that serves, as told to whoever started it."""

    address: str
    metrics_port: int | None
    pid: int


def run_service[S: ServiceSettings](
    settings_class: type[S], build: Callable[[S], AbstractAsyncContextManager[Service]]
) -> int:
    """Run a service until SIGTERM or SIGINT; returns the process's exit code.

    0 after an orderly end, 1 when something failed, 2 when the settings are wrong.
    """
    try:
        settings = settings_class()
    except ValidationError as error:
        sys.stderr.write(f"the settings are wrong: {error}\n")
        return EXIT_SETTINGS
    # A dump of this process would hold decks and keys.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    configure_logging(settings.service, log_format=settings.log_format, level=settings.log_level)
    _log.info("settings", settings=settings.effective())
    try:
        return uvloop.run(serve(settings, build))
    except Exception:
        _log.exception("service_failed")
        return EXIT_FAILED


async def serve[S: ServiceSettings](
    settings: S,
    build: Callable[[S], AbstractAsyncContextManager[Service]],
    *,
    stop: asyncio.Event | None = None,
    on_running: Callable[[Running], None] | None = None,
) -> int:
    """Serve until a signal, until ``stop`` is set or until a background task ends; returns the exit code.

    ``on_running`` is called once calls are answered. Raises what building or listening raises.
    """
    stopping = _Stopping(stop or asyncio.Event())
    with stopping.on_signals():
        try:
            return await _served(settings, build, stopping, on_running)
        except asyncio.CancelledError:
            if not stopping.is_impatient:
                raise
            stopping.task.uncancel()
            _log.warning("ended_at_once")
            return EXIT_FAILED if stopping.is_serving else EXIT_OK


async def _served[S: ServiceSettings](
    settings: S,
    build: Callable[[S], AbstractAsyncContextManager[Service]],
    stopping: "_Stopping",
    on_running: Callable[[Running], None] | None,
) -> int:
    authenticator = authenticator_of(settings)
    async with build(settings) as service:
        server = GrpcServer(settings, authenticator, service.served)
        background = {**service.background, "token_keys": authenticator.keep_fresh}
        async with _background(background, stopping.event) as failed:
            with _metrics(settings.metrics_listen) as metrics_port:
                address = await server.start()
                running = Running(address, metrics_port, os.getpid())
                with _ready_file(settings.ready_file, running):
                    stopping.is_serving = True
                    # What was loaded to serve lives as long as we do: the collector need not look at it again.
                    gc.freeze()
                    gc.set_threshold(*GARBAGE_THRESHOLDS)
                    _log.info("serving", address=address, metrics_port=metrics_port)
                    if on_running is not None:
                        on_running(running)
                    await stopping.event.wait()
                await _drained(server, service, settings.drain_seconds)
    _log.info("ended", failed=sorted(failed))
    return EXIT_FAILED if failed else EXIT_OK


async def _drained(server: GrpcServer, service: Service, seconds: float) -> None:
    _log.info("draining", calls=server.gate.in_flight)
    await server.set_not_serving()
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    try:
        if service.on_drain is not None:
            async with asyncio.timeout_at(until):
                await service.on_drain()
    except Exception:
        # Whatever could not be handed over is in the log of events, and is taken up from there.
        _log.exception("drain_failed")
    await server.stop(max(until - loop.time(), 0))


class _Stopping:
    """The wish to stop: a signal ends the service in order; one before it serves, or a second Ctrl-C, at once.

    A second SIGTERM changes nothing: whoever stops a group of processes may well send it after a Ctrl-C.
    """

    def __init__(self, event: asyncio.Event) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a service is served by a task")
        self.event = event
        self.task = task
        self.is_serving = False
        self.is_impatient = False
        self._is_told = False

    def _told(self, number: signal.Signals) -> None:
        if not self.is_serving or (self._is_told and number is signal.SIGINT):
            self.is_impatient = True
            self.task.cancel()
        self._is_told = True
        self.event.set()

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        added = []
        for number in (signal.SIGTERM, signal.SIGINT):
            # Only the main thread takes signals; a service inside a test is stopped by its event.
            with contextlib.suppress(RuntimeError, ValueError):
                loop.add_signal_handler(number, self._told, number)
                added.append(number)
        try:
            yield
        finally:
            for number in added:
                loop.remove_signal_handler(number)


@asynccontextmanager
async def _background(
    work: Mapping[str, Callable[[], Coroutine[Any, Any, None]]], stopping: asyncio.Event
) -> AsyncIterator[set[str]]:
    """Run the background tasks; yields the names of those that ended before they were told to."""
    failed: set[str] = set()

    def ended(task: asyncio.Task[None]) -> None:
        if task.cancelled() and stopping.is_set():
            return
        failed.add(task.get_name())
        error = None if task.cancelled() else task.exception()
        _log.critical("background_task_ended", task=task.get_name(), exc_info=error)
        stopping.set()

    tasks = [asyncio.create_task(begin(), name=name) for name, begin in work.items()]
    for task in tasks:
        task.add_done_callback(ended)
    try:
        yield failed
    finally:
        stopping.set()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def _metrics(listen: str | None) -> Iterator[int | None]:
    if listen is None:
        yield None
        return
    host, port = split_address(listen)
    server, thread = prometheus_client.start_http_server(port, addr=host)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def _ready_file(path: Path | None, running: Running) -> Iterator[None]:
    if path is None:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{running.pid}")
    beside.write_text(json.dumps(msgspec.to_builtins(running)))
    beside.replace(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
