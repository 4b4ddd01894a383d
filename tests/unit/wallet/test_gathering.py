"""When a commit begins: at once in an idle loop, and in a busy one when it has let others come along, but not for long."""

import asyncio

import pytest

from services.wallet import gathering
from services.wallet.gathering import GATHER_SECONDS, IDLE_TURN_SECONDS, IDLE_TURNS, gathered

WORK_SECONDS = 10 * IDLE_TURN_SECONDS


class Clock:
    """A time that passes only where somebody works."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(gathering, "time", made)
    return made


async def work(clock, turns, done):
    """Take so many turns of the loop, each with some work."""
    for turn in range(turns):
        clock.seconds += WORK_SECONDS
        done.append(turn)
        await asyncio.sleep(0)


def never() -> bool:
    return False


async def test_an_idle_loop_keeps_nobody_waiting(clock):
    await gathered(never)

    assert clock.seconds == 0


async def test_while_the_loop_has_work_the_commit_waits_for_it(clock):
    done = []
    working = asyncio.create_task(work(clock, 5, done))

    await gathered(never)

    assert len(done) == 5
    await working


async def test_a_short_rest_between_two_pieces_of_work_is_no_end(clock):
    done = []

    async def with_rests():
        for _ in range(3):
            await work(clock, 1, done)
            for _ in range(IDLE_TURNS - 2):
                await asyncio.sleep(0)

    working = asyncio.create_task(with_rests())

    await gathered(never)

    assert len(done) == 3
    await working


async def test_no_commit_waits_longer_than_it_may_however_busy_the_loop_is(clock):
    working = asyncio.create_task(work(clock, 10_000, []))

    await gathered(never)

    assert GATHER_SECONDS <= clock.seconds <= GATHER_SECONDS + 2 * WORK_SECONDS
    working.cancel()


async def test_a_commit_that_is_full_enough_begins_although_there_is_work(clock):
    done = []
    working = asyncio.create_task(work(clock, 10_000, done))

    await gathered(lambda: len(done) >= 3)

    assert len(done) == 3
    working.cancel()
