"""A table's newest events in memory, for watchers who come back; serialised once, and only when somebody asks."""

from collections import deque
from collections.abc import Sequence
from itertools import chain
from typing import Final

from diwan.chassis.store import StoredEvent
from services.table.frames import stored_event_bytes

RECENT_EVENTS: Final = 512
"""Events kept for watchers who come back; whoever missed more gets a snapshot, which is shorter."""


class Recent:
    """Events without a hole, the newest last."""

    def __init__(self) -> None:
        # What was read from the log: a process that takes over a thousand tables has watchers at few of them.
        self._read: list[StoredEvent] = []
        self._known: deque[tuple[int, bytes]] = deque(maxlen=RECENT_EVENTS)

    def reset(self, read: Sequence[StoredEvent]) -> None:
        """Begin with events from the log."""
        self._known.clear()
        self._read = list(read[-RECENT_EVENTS:])

    def add(self, stored: Sequence[StoredEvent], serialised: Sequence[bytes]) -> None:
        """Add the newest events, with their bytes; the oldest give way."""
        over = len(self._read) + len(self._known) + len(stored) - RECENT_EVENTS
        if over > 0:
            del self._read[:over]
        self._known.extend((event.version, raw) for event, raw in zip(stored, serialised, strict=True))

    def has(self, version: int) -> bool:
        """Say whether everything from a version on is here."""
        oldest = self._read[0].version if self._read else self._known[0][0] if self._known else version + 1
        return oldest <= version

    def between(self, after: int, until: int) -> list[bytes]:
        """Return the bytes of the events behind a version, up to another."""
        if self._read:
            read = ((event.version, stored_event_bytes(event)) for event in self._read)
            self._known = deque(chain(read, self._known), maxlen=RECENT_EVENTS)
            self._read = []
        return [raw for version, raw in self._known if after < version <= until]
