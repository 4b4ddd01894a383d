"""The command line of a service that follows the tables' feed: serve, or look after what was set aside.

    quarantined        list the tables whose events are set aside, and why
    release TABLE      apply what waits of a table, now that the cause is mended

A service's ``__main__`` says in its own help what these mean there, and gives what builds its consumer at rest.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final
from uuid import UUID

from diwan.chassis.feed import Consumer
from diwan.chassis.service import EXIT_FAILED, EXIT_OK, Service, run_service
from diwan.chassis.settings import ServiceSettings

EXIT_USAGE: Final = 2


def run_following[S: ServiceSettings](
    arguments: Sequence[str],
    settings_class: type[S],
    build: Callable[[S], AbstractAsyncContextManager[Service]],
    consumer_of: Callable[[S], AbstractAsyncContextManager[Consumer]],
    *,
    usage: str,
    applied: str,
) -> int:
    """Serve without arguments, else do what they say and end; returns the process's exit code.

    ``applied`` is the word for what a released table's events were: "applied", "reported".
    """
    match arguments:
        case []:
            return run_service(settings_class, build)
        case ["quarantined"]:
            return _operated(settings_class, lambda settings: _quarantined(consumer_of(settings)))
        case ["release", table]:
            return _operated(settings_class, lambda settings: _release(consumer_of(settings), UUID(table), applied))
        case _:
            sys.stderr.write(usage)
            return EXIT_USAGE


def _operated[S: ServiceSettings](settings_class: type[S], work: Callable[[S], Coroutine[Any, Any, int]]) -> int:
    try:
        return asyncio.run(work(settings_class()))
    except ValueError as error:
        prefix = settings_class.model_config.get("env_prefix", "")
        sys.stderr.write(f"{error}; settings are those of the service, {prefix}<NAME>\n")
        return EXIT_USAGE


async def _quarantined(building: AbstractAsyncContextManager[Consumer]) -> int:
    """Print a line for every table that is set aside."""
    async with building as consumer:
        for one in await consumer.quarantined():
            sys.stdout.write(f"{one.stream_id} {one.events} events from {one.first_seq}: {one.error}\n")
    return EXIT_OK


async def _release(building: AbstractAsyncContextManager[Consumer], table_id: UUID, applied: str) -> int:
    """Apply what was set aside of a table, in order; what still fails stays set aside."""
    async with building as consumer:
        try:
            events = await consumer.release(table_id)
        except Exception as error:
            sys.stderr.write(f"table {table_id} stays set aside: {error!r}\n")
            return EXIT_FAILED
    sys.stdout.write(f"table {table_id}: {events} events {applied}\n")
    return EXIT_OK
