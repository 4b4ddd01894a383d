"""An insider who edits a log and makes every hash after it anew."""

from __future__ import annotations

from msgspec.structs import replace

from diwan.core.fairness import Reveal
from diwan.core.hand.events import HandEnded
from diwan.core.hashing import chain_start
from diwan.core.log import LoggedEvent
from diwan.wire.events import decode, encode
from tests.unit.verifier.logs import STREAM, TABLE_KIND, PlayedTable, chained


def stored_fields(event: LoggedEvent) -> dict:
    return {name: getattr(event, name) for name in LoggedEvent.__struct_fields__}


def rechained(events: list[LoggedEvent]) -> list[LoggedEvent]:
    return chained(events, chain_start(STREAM.bytes, TABLE_KIND))


class Insider:
    """Holds a copy of a table's log; every edit leaves a chain without a seam."""

    def __init__(self, table: PlayedTable, hand: int = -1) -> None:
        self.table = table
        self.hand_id = table.hand_ids[hand]
        self.events = list(table.events)

    def find(self, kind: type, where=lambda _event: True) -> int:
        """The index of the hand's last event of a kind; LookupError where there is none."""
        for index in range(self.end(), self.start() - 1, -1):
            event = self.table.core[index]
            if isinstance(event, kind) and where(event):
                return index
        raise LookupError(kind.__name__)

    def find_anywhere(self, kind: type) -> int:
        """The index of the table's first event of a kind."""
        for index, event in enumerate(self.table.core):
            if isinstance(event, kind):
                return index
        raise LookupError(kind.__name__)

    def find_before(self, kind: type, index: int) -> int:
        """The index of the last event of a kind before another."""
        for before in range(index - 1, -1, -1):
            if isinstance(self.table.core[before], kind):
                return before
        raise LookupError(kind.__name__)

    def first(self, kind: type) -> int:
        """The index of the hand's first event of a kind."""
        for index in range(self.start(), self.end() + 1):
            if isinstance(self.table.core[index], kind):
                return index
        raise LookupError(kind.__name__)

    def start(self) -> int:
        """The index of the hand's first event."""
        return next(i for i, event in enumerate(self.table.core) if getattr(event, "hand_id", "") == self.hand_id)

    def end(self) -> int:
        """The index of the hand's last event."""
        following = range(self.start(), len(self.table.core))
        return next(i for i in following if isinstance(self.table.core[i], HandEnded))

    def put(
        self, index: int, event: object, reveals: tuple[Reveal, ...] | None = None, nonce: bytes | None = None
    ) -> None:
        """Write another event in the place of one; its reveals stay unless given."""
        old = self.events[index]
        known = decode(old.type_id, old.schema_v, old.body)
        shown = iter(known.reveals if reveals is None else reveals)
        one = encode(event, nonce=known.nonce if nonce is None else nonce, reveal=lambda _position: next(shown))
        fields = {"type_id": one.type_id, "schema_v": one.schema_v, "body": one.body}
        self.events[index] = LoggedEvent(**{**stored_fields(old), **fields})

    def change(self, index: int, **fields: object) -> None:
        """Change fields of an event."""
        self.put(index, replace(self.table.core[index], **fields))

    def change_stored(self, index: int, **fields: object) -> None:
        """Change what stands around a body."""
        self.events[index] = LoggedEvent(**{**stored_fields(self.events[index]), **fields})

    def reveals(self, index: int) -> tuple[Reveal, ...]:
        old = self.events[index]
        return decode(old.type_id, old.schema_v, old.body).reveals

    def insert(self, index: int, event: object, like: int | None = None) -> None:
        """Slip an event in, with the ids and times of another."""
        model = self.events[index if like is None else like]
        one = encode(event, nonce=bytes(16))
        fields = {"type_id": one.type_id, "schema_v": one.schema_v, "body": one.body}
        self.events.insert(index, LoggedEvent(**{**stored_fields(model), **fields}))

    def rehash(self) -> list[LoggedEvent]:
        """The log with a chain that holds."""
        return rechained(self.events)
