"""Opens tables, lets the bots play, and counts what happens by watching like any client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from diwan.client import DiwanClient
from diwan.core.hand.events import Acted, HandEnded, HandStarted
from diwan.wire.events import decode

TABLE_NAMES: Final = ("Baghdad", "Cordoba", "Damascus", "Fez", "Granada", "Samarkand", "Tunis", "Zanzibar")
BOTS_A_TABLE: Final = 6


class Count(Struct):
    """What has been played so far, and since when (seconds of the monotonic clock)."""

    hands: int = 0
    actions: int = 0
    began: float = 0.0
    ended: float = 0.0

    @property
    def seconds(self) -> float:
        """How long was played, from the first deal on."""
        return max(self.ended - self.began, 1e-9)


def table_settings(name: str) -> dict[str, Any]:
    """Return the settings of a demo table: quick, without pauses, filled with bots."""
    hand = {"game": "holdem", "limit": "no_limit", "small_blind": 5, "big_blind": 10, "decision_seconds": 10}
    return {"name": name, "hand": hand, "seats": 6, "pause_ms": 1, "bots_fill": BOTS_A_TABLE}


async def open_tables(client: DiwanClient, count: int) -> list[str]:
    """Open the demo's tables; returns their ids."""
    names = [TABLE_NAMES[index % len(TABLE_NAMES)] for index in range(count)]
    return [(await client.tables.create(table_settings(name))).table_id for name in names]


async def play_until(
    client: DiwanClient, table_ids: list[str], hands_wanted: int, progress: Callable[[Count], None]
) -> Count:
    """Watch the tables until they have played so many hands together."""
    count = Count()
    enough = asyncio.Event()

    async def follow(table_id: str) -> None:
        async with client.tables.watch(table_id) as messages:
            async for message in messages:
                _count(count, message)
                progress(count)
                if count.hands >= hands_wanted:
                    enough.set()

    followers = [asyncio.create_task(follow(table_id)) for table_id in table_ids]
    waiting = asyncio.create_task(enough.wait())
    try:
        # A follower that fails must end the demo, not leave it waiting.
        await asyncio.wait([*followers, waiting], return_when=asyncio.FIRST_COMPLETED)
        for follower in followers:
            if follower.done():
                follower.result()
        count.ended = time.monotonic()
    finally:
        for task in (*followers, waiting):
            task.cancel()
        await asyncio.gather(*followers, waiting, return_exceptions=True)
    return count


def _count(count: Count, message: Any) -> None:
    for stored in message.update.events:
        event = decode(stored.type_id, stored.schema_version, stored.body).event
        if isinstance(event, HandStarted) and not count.began:
            count.began = time.monotonic()
        count.hands += isinstance(event, HandEnded)
        count.actions += isinstance(event, Acted)
