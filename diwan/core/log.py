"""One event as it lies in a log: exact bytes, ids, and its place in the chain."""

from diwan.core.hashing import StoredEvent


class LoggedEvent(StoredEvent, frozen=True, kw_only=True):
    """A stored event of a named stream; ids are 16 raw bytes. ``hash`` covers all but ``event_id`` and ``epoch``."""

    stream_id: bytes
    event_id: bytes
    epoch: int
