"""Notices told from a feed (the board that table and tournament services share)."""

import asyncio
from types import SimpleNamespace
from uuid import UUID

from diwan.chassis.access import Role
from diwan.chassis.notices import Board

TOLD_BY = 7


class Told(SimpleNamespace):
    """A notice for one player."""


class Feed:
    """Holds what a test has put there by now."""

    def __init__(self):
        self.held, self.reads = [], 0

    async def read(self, after, limit):
        self.reads += 1
        return [each for each in self.held if each.global_seq > after][:limit]


class Wall(Board):
    async def _told(self, events):
        return [(each, [Told(player="amal")]) for each in events]

    def _message(self, placed):
        return placed.cursor

    def _heartbeat(self, cursor, now_ms):
        return None


def an_event(global_seq):
    return SimpleNamespace(
        global_seq=global_seq, event=SimpleNamespace(type_id=TOLD_BY, stream_id=UUID(int=1), recorded_at_ms=0)
    )


async def test_what_a_feed_lacked_at_first_is_read_when_it_has_come():
    """A database that is being put back holds less than the projections know: nobody waits for ever for the rest."""
    feed = Feed()
    wall = Wall(feed, lambda: 2, lambda: 0, told_by=frozenset({TOLD_BY}), index_bits=1)
    feed.held = [an_event(1)]
    follower = wall.follow(["amal"], 0, SimpleNamespace(caller=SimpleNamespace(role=Role.SERVICE)))
    async with asyncio.timeout(5):
        assert await anext(follower) == 2
        waiting = asyncio.create_task(anext(follower))
        while feed.reads < 2:  # noqa: ASYNC110  (the reading tells nobody)
            await asyncio.sleep(0.01)
        feed.held.append(an_event(2))
        assert await waiting == 4
    await follower.aclose()
