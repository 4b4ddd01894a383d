"""Names to show, from the directory: they are no events, may change, and can be removed (DESIGN 4)."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

import structlog

from diwan.chassis.database import Database

KEPT_MAX: Final = 10_000

_log = structlog.get_logger(__name__)


class Names(dict[str, str]):
    """Player ids to names, as far as somebody asked for them and the directory knows them."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database
        self._wanted: asyncio.Queue[str] = asyncio.Queue(KEPT_MAX)

    def want(self, player: str) -> None:
        """Look a player up soon; views show the id until then."""
        if not self._wanted.full():
            self._wanted.put_nowait(player)

    async def of(self, players: Iterable[str]) -> Mapping[str, str]:
        """Return the names that the directory has for players now; raises what reading it raises."""
        await self._look_up(sorted(set(players)))
        return {player: self[player] for player in players if player in self}

    async def keep_looking_up(self) -> None:
        """Look up who was asked for."""
        while True:
            players = {await self._wanted.get()}
            while not self._wanted.empty():
                players.add(self._wanted.get_nowait())
            try:
                await self._look_up(sorted(players))
            except Exception as error:
                # Names are a courtesy: nobody waits for them.
                _log.warning("directory_unreadable", error=repr(error))

    async def _look_up(self, players: list[str]) -> None:
        rows = await self._database.run(
            lambda c: c.fetch("select player, display_name from directory where player = any($1::text[])", players)
        )
        if len(self) > KEPT_MAX:
            self.clear()
        self.update({row["player"]: row["display_name"] for row in rows})
