"""Which table: one of the lobby that fits, or one opened for practice in a house of one's own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from diwan.client import DiwanClient
from diwan.client.messages import ChipSource, LobbyEntry, SeatStatus, TableConditions, TableFilter, Wish, game_of

PRACTICE: Final[Mapping[str, Mapping[str, Any]]] = {
    **{
        game: {"hand": {"game": game, "limit": limit, "small_blind": 5, "big_blind": 10}, "seats": 6, "bots_fill": 5}
        for game, limit in (("holdem", "no_limit"), ("omaha", "pot_limit"), ("naiko", "no_limit"))
    },
    # A match begins with its last seat: bots take all but one.
    "sarab": {"hand": {"game": "sarab"}, "seats": 4, "bots_fill": 3, "chips": "CHIP_SOURCE_MATCH", "match": {}},
    "capsa": {"capsa": {"unit": 10}, "seats": 4, "bots_fill": 3},
}
"""Tables to learn at: small stakes, bots, and time to think."""

_BOTS_COME_SECONDS: Final = 30.0
_SECONDS_TO_THINK: Final = {"holdem": 60, "omaha": 60, "naiko": 60, "sarab": 60}


async def kept_seat(client: DiwanClient, game: str) -> str | None:
    """Return the open table of a game where the player has a seat already, as after a lost terminal."""
    async for table in client.tables.open_tables():
        if game_of(table) == game and any(seat.player == client.subject for seat in table.seats):
            return table.table_id
    return None


async def find_table(client: DiwanClient, game: str, balance: int) -> LobbyEntry | None:
    """Return the newest open table of a game with bots and a free seat that the balance is enough for, if there is one."""
    wanted = TableFilter(games=[game], bots=Wish.WISH_YES, free_seats_min=1, private=Wish.WISH_NO)
    async for entry in client.tables.lobby(wanted):
        if not entry.is_closing and entry.bots and price_of(entry.conditions)[0] <= balance:
            return entry
    return None


async def bots_are_there(client: DiwanClient, table_id: str, terms: TableConditions) -> None:
    """Wait until bots have taken the seats of a match that they fill: they count whoever sits there before them."""
    if terms.chips != ChipSource.CHIP_SOURCE_MATCH:
        return
    async with asyncio.timeout(_BOTS_COME_SECONDS), client.tables.watch(table_id) as messages:
        async for message in messages:
            seats = message.update.view.seats
            if sum(seat.status != SeatStatus.SEAT_STATUS_RESERVED for seat in seats) >= terms.bots_fill:
                return


def practice_config(game: str, name: str) -> dict[str, Any]:
    """Return the settings of a table to learn a game at."""
    config = {"name": name, **PRACTICE[game]}
    if game in _SECONDS_TO_THINK:
        config["hand"] = {**config["hand"], "decision_seconds": _SECONDS_TO_THINK[game]}
    return config


def price_of(terms: TableConditions) -> tuple[int, int]:
    """Return the least and the most chips to sit down with; a match costs exactly its entry."""
    if terms.chips == ChipSource.CHIP_SOURCE_MATCH:
        return terms.entry_fee, terms.entry_fee
    return terms.buy_in_min, terms.buy_in_max


def chips_to_bring(terms: TableConditions, wanted: int, balance: int) -> int:
    """Return what to sit down with: what is wanted, else as much as the table takes and the wallet has."""
    least, most = price_of(terms)
    if terms.chips == ChipSource.CHIP_SOURCE_MATCH:
        return most
    return wanted or max(least, min(most, balance))
