"""Opens tables, lets the bots play, and counts what happens by watching like any client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from itertools import cycle
from typing import Any, Final

from msgspec import Struct

from diwan.client import DiwanClient
from diwan.core.games.capsa.events import Answered, CapsaStarted
from diwan.core.hand.events import Acted, HandEnded, HandStarted
from diwan.wire.events import decode
from diwan.wire.stored import FOR_ONE_SEAT

TABLE_NAMES: Final = ("Baghdad", "Cordoba", "Damascus", "Fez", "Granada", "Samarkand", "Tunis", "Zanzibar")
BOTS_A_TABLE: Final = 6

GAMES: Final[dict[str, dict[str, Any]]] = {
    "holdem": {"limit": "no_limit", "small_blind": 5, "big_blind": 10},
    "omaha": {"limit": "pot_limit", "small_blind": 5, "big_blind": 10},
    "naiko": {"limit": "no_limit", "small_blind": 5, "big_blind": 10},
    "sarab": {"big_blind": 10, "sarab": {"forced_bets": [10, 20], "deals_per_level": 20, "void_antes": "carry"}},
    "capsa": {"unit": 10, "set_seconds": 20, "declare_seconds": 10},
}
"""The demo's games, one a table in turn; Sarab with what makes its hands differ: a schedule, and carried pots."""

HANDS_A_GAME: Final = 60
"""Played of every game at least, where so many hands are wanted in all."""


class Count(Struct):
    """What has been played so far, and since when (seconds of the monotonic clock)."""

    hands: int = 0
    actions: int = 0
    by_game: dict[str, int] = {}
    began: float = 0.0
    ended: float = 0.0

    @property
    def seconds(self) -> float:
        """How long was played, from the first deal on."""
        return max(self.ended - self.began, 1e-9)


def table_settings(name: str, game: str = "holdem") -> dict[str, Any]:
    """Return the settings of a demo table: quick, without pauses, filled with bots."""
    if game == "capsa":
        return {"name": name, "capsa": GAMES[game], "seats": 4, "pause_ms": 1, "bots_fill": 4}
    hand = {"game": game, "decision_seconds": 10} | GAMES[game]
    return {"name": name, "hand": hand, "seats": 6, "pause_ms": 1, "bots_fill": BOTS_A_TABLE}


async def open_tables(client: DiwanClient, count: int) -> list[str]:
    """Open the demo's tables, the games in turn; returns their ids."""
    places = zip(range(count), cycle(TABLE_NAMES), cycle(GAMES))
    return [(await client.tables.create(table_settings(name, game))).table_id for _, name, game in places]


async def play_until(
    client: DiwanClient, table_ids: list[str], hands_wanted: int, progress: Callable[[Count], None]
) -> Count:
    """Watch the tables until they have played so many hands together, and of each game its part."""
    games = {table_id: _game((await client.tables.get(table_id)).config) for table_id in table_ids}
    count = Count(by_game=dict.fromkeys(games.values(), 0))
    of_each = min(HANDS_A_GAME, hands_wanted // len(count.by_game))
    enough = asyncio.Event()

    async def follow(table_id: str) -> None:
        async with client.tables.watch(table_id) as messages:
            async for message in messages:
                _count(count, message, games[table_id])
                progress(count)
                if count.hands >= hands_wanted and min(count.by_game.values()) >= of_each:
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


def _game(config: Any) -> str:
    return str(config.capsa.game if config.HasField("capsa") else config.hand.game)


def _count(count: Count, message: Any, game: str) -> None:
    for stored in message.update.events:
        if stored.body_hash:  # What a seat of Capsa arranged, or a look back: withheld from whomever it is not for.
            count.actions += stored.type_id in FOR_ONE_SEAT
            continue
        event = decode(stored.type_id, stored.schema_version, stored.body).event
        if isinstance(event, HandStarted | CapsaStarted) and not count.began:
            count.began = time.monotonic()
        count.hands += isinstance(event, HandEnded)
        count.by_game[game] += isinstance(event, HandEnded)
        count.actions += isinstance(event, Acted | Answered)
