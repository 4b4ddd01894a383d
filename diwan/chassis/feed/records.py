"""An event with its place in its service's gap-free order, and where such events can be read."""

from typing import Protocol

import msgspec

from diwan.chassis.store.records import StoredEvent


class FeedEvent(msgspec.Struct, frozen=True):
    """One event of a feed: ``global_seq`` is gap-free from 1, ``leaf_hash`` its Merkle leaf in the register."""

    feed_id: int
    global_seq: int
    leaf_hash: bytes
    event: StoredEvent


class FeedSource(Protocol):
    """Where the feed itself can be asked, over gRPC or a pool of its own database."""

    async def read(self, after: int, limit: int) -> list[FeedEvent]:
        """Return the events with greater numbers, in order and without a gap, at most ``limit``."""
        ...
