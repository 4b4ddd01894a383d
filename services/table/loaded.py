"""What a claim gives a table's owner to go on from."""

import msgspec

from diwan.chassis.store import StoredEvent
from diwan.core.table.state import TableState
from services.table.clock import TableClock
from services.table.stream import TableStream


class Loaded(msgspec.Struct):
    """A table as its log tells it.

    ``recent`` are the newest events as stored, ``silent_since_ms`` is when the last of them before the claim was.
    """

    stream: TableStream
    state: TableState
    recent: list[StoredEvent]
    clock: TableClock
    silent_since_ms: int
