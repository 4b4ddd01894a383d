"""When a commit begins: not while the loop still has requests in its hands that could share it."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

GATHER_SECONDS: Final = 0.005
"""Longest that a commit waits for others to share it: a busy service has callers waiting longer than that for its one
thread, and an idle one never waits."""

IDLE_TURN_SECONDS: Final = 50e-6
IDLE_TURNS: Final = 3
"""A turn of an event loop that has nothing else to do takes microseconds; a request takes several turns to arrive."""


async def gathered(is_enough: Callable[[], bool], seconds: float = GATHER_SECONDS) -> None:
    """Let the loop do what it has to do until ``is_enough``, until it has nothing to do, or for so long at most.

    A commit costs its process and the database about as much as ten requests, however many share it. A thread that is
    busy all the time would begin each one with the first request that comes by, while the others are on their way.
    """
    turn = time.monotonic()
    until, idle = turn + seconds, 0
    while not is_enough():
        await asyncio.sleep(0)
        now = time.monotonic()
        idle = idle + 1 if now - turn < IDLE_TURN_SECONDS else 0
        if idle == IDLE_TURNS or now >= until:
            return
        turn = now
