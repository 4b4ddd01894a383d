"""How long a hand that has ended waits for its proof: by its end's time in the log, on one machine's clock (P7)."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from diwan.client import DiwanClient, DiwanError
from diwan.core.hand.events import HandEnded
from diwan.wire.events import type_id_of

LOOK_SECONDS = 0.05
TABLE_FEED = 1


@dataclass
class Waited:
    """Seconds from each hand's end to a checkpoint with enough cosignatures over it, and how much was played meanwhile."""

    seconds: list[float] = field(default_factory=list)
    events: int = 0
    began: float = 0.0
    ended: float = 0.0

    def quantile(self, part: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * part))]

    @property
    def events_per_second(self) -> float:
        return self.events / (self.ended - self.began)


async def proofs_of(client: DiwanClient, hands: int, *, seconds: float) -> Waited:
    """Watch until so many hands were proved; raises TimeoutError."""
    waited, waiting = Waited(began=time.monotonic()), {}
    hand_ended = type_id_of(HandEnded)
    feed = client.feed("table")
    after = (await feed.read(0, limit=1)).head
    async with asyncio.timeout(seconds):
        while len(waited.seconds) < hands:
            page = (await feed.read(after)).events
            for one in page:
                after = one.global_seq
                if one.event.type_id == hand_ended:
                    waiting[one.global_seq] = one.event.recorded_at_ms / 1_000
            waited.events += len(page)
            proved, now = await _proved_size(client), time.time()
            for seq in [seq for seq in waiting if seq <= proved]:
                waited.seconds.append(now - waiting.pop(seq))
            await asyncio.sleep(LOOK_SECONDS)
    waited.ended = time.monotonic()
    return waited


async def _proved_size(client: DiwanClient) -> int:
    try:
        return (await client.audit.checkpoint(TABLE_FEED)).size
    except DiwanError as error:
        # An audit that was killed answers again when it is back.
        if error.is_from_server and error.reason != "CHECKPOINT_NOT_FOUND":
            raise
        return 0
