"""One event as it lies in a log: exact bytes, ids, and its place in the chain."""

from enum import IntEnum
from typing import Final

from diwan.core.hashing import StoredEvent


class StreamKind(IntEnum):
    """What a stream is of. The number goes into the hash before a stream's first event, so it never changes."""

    TABLE = 1
    LEDGER = 2
    TOURNAMENT = 3
    IMPORTED = 4  # one hand that was played elsewhere, in a file of its own


TABLE_FEED: Final = 1
WALLET_FEED: Final = 2
TOURNAMENT_FEED: Final = 3
"""The feeds of the services. The number goes into the leaves of the register, so it never changes."""


class LoggedEvent(StoredEvent, frozen=True, kw_only=True):
    """A stored event of a named stream; ids are 16 raw bytes. ``hash`` covers all but ``event_id`` and ``epoch``."""

    stream_id: bytes
    event_id: bytes
    epoch: int
