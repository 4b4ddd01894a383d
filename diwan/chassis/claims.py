"""How a process keeps the streams that it owns: under a name of this life alone, renewed in time (RELIABILITY 3.3).

Leases are hints, which say when others may try; the compare-and-set on a stream's row is the law.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Final
from uuid import UUID

import structlog

from diwan.chassis.store import EventStore, StreamHead

RENEW_SECONDS: Final = 1.5
LOOK_SECONDS: Final = 3.0
"""How often streams without a living owner are looked for."""

QUARANTINE_SECONDS: Final = 300.0
"""What cannot be loaded, or stopped by a fault of ours, is left alone for so long; the others go on."""

_LIFE: Final = "#"

_log = structlog.get_logger(__name__)


class Claims:
    """The name that a process owns streams by, and what it does to keep them."""

    def __init__(self, store: EventStore, instance: str) -> None:
        self._store = store
        self._instance = instance
        # Two processes of one name, by mistake or while one is replaced, must not take each other for themselves.
        self.owner = f"{instance}{_LIFE}{secrets.token_hex(4)}"

    def is_of_former_life(self, head: StreamHead) -> bool:
        """Tell whether a stream is leased to a process that had our name and is gone."""
        owner = head.owner or ""
        return head.is_leased and owner != self.owner and owner.rpartition(_LIFE)[0] == self._instance

    async def lost(self, epochs: Mapping[UUID, int]) -> set[UUID]:
        """Renew leases, by stream and epoch; returns those that others own by now."""
        return epochs.keys() - await self._store.renew_leases(self.owner, epochs) if epochs else set()

    async def release(self, epochs: Mapping[UUID, int]) -> None:
        """Let others claim streams at once, given by stream and epoch; where that fails, the leases run out by themselves."""
        try:
            await self._store.release_leases(self.owner, epochs)
        except Exception as error:
            _log.warning("leases_not_released", streams=len(epochs), error=repr(error))

    async def keep(self, renew: Callable[[], Awaitable[None]], take_over: Callable[[], Awaitable[None]]) -> None:
        """Renew again and again, and take over now and then, for ever, whatever becomes of the database meanwhile."""
        loop = asyncio.get_running_loop()
        look_at = loop.time() + LOOK_SECONDS
        while True:
            try:
                await renew()
                if loop.time() >= look_at:
                    await take_over()
                    look_at = loop.time() + LOOK_SECONDS
            except Exception as error:
                _log.warning("claims_interrupted", error=repr(error))
            await asyncio.sleep(RENEW_SECONDS)


class Quarantine:
    """Streams that are left alone for a while: every attempt to load one leaves traces, so they must be rare."""

    def __init__(self) -> None:
        self._until: dict[UUID, float] = {}

    def __contains__(self, stream_id: UUID) -> bool:
        return self._until.get(stream_id, 0) > asyncio.get_running_loop().time()

    def add(self, stream_id: UUID) -> None:
        """Leave a stream alone from now on."""
        self._until[stream_id] = asyncio.get_running_loop().time() + QUARANTINE_SECONDS
