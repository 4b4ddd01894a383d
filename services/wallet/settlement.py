"""Follows the table feed: every hand is paid from its last event, every seat's chips go home, each once.

Everything that one batch of events asks for is posted in the transaction that moves the cursor, or nothing of it. What
does not add up raises, and the consumer sets that table aside: the others go on.
"""

from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

import msgspec

from diwan.chassis.database import Connection
from diwan.chassis.feed import FeedEvent
from diwan.core.ledger.requests import Float
from diwan.core.ledger.seats import RELEVANT, TableSeats, follow
from diwan.core.table.events import TableEvent
from diwan.wire.events import SCHEMAS, UnknownEvent, decode, type_id_of
from services.wallet import statements
from services.wallet.books import commit_in
from services.wallet.works import Work, split

_RELEVANT: Final = frozenset(map(type_id_of, RELEVANT))


class Settlement:
    """Applies events of the table feed to the ledger. ``apply`` is what the consumer calls."""

    def __init__(self, bots_float: Float | None = None, *, on_posted: Callable[[], None] = lambda: None) -> None:
        self._bots_float = bots_float
        self._on_posted = on_posted

    async def apply(self, connection: Connection, events: Sequence[FeedEvent]) -> None:
        """Post what the events ask for, inside the consumer's transaction.

        Raises `Disagreement` where a table's log is at odds with itself, `NotPosted` where it is with the ledger, and
        what the wire raises for an event that cannot be read.
        """
        before = await _load(connection, {event.event.stream_id for event in events})
        tables = dict(before)
        works: list[Work] = []
        for event in events:
            stored = event.event
            table, requests = follow(tables[stored.stream_id], _read(event), stored.version)
            tables[stored.stream_id] = table
            works += map(Work, requests)
        if works:
            for commit in split(works):
                await commit_in(connection, commit, bots_float=self._bots_float, must_post=True)
            # A little early, as the caller commits; whoever looks in vain looks again.
            self._on_posted()
        rows = [(key, t.version, msgspec.json.encode(t).decode()) for key, t in tables.items() if t != before[key]]
        if rows:
            await connection.executemany(statements.KEEP_TABLE_SEATS, sorted(rows))


async def _load(connection: Connection, table_ids: set[UUID]) -> dict[UUID, TableSeats]:
    rows = await connection.fetch(statements.TABLE_SEATS, list(table_ids))
    known = {row["table_id"]: msgspec.json.decode(row["state"], type=TableSeats) for row in rows}
    return {table_id: known.get(table_id) or TableSeats(str(table_id)) for table_id in table_ids}


def _read(event: FeedEvent) -> TableEvent | None:
    """Return an event that means something to the ledger; an unknown kind is never stepped over (H4)."""
    stored = event.event
    if stored.type_id not in SCHEMAS:
        raise UnknownEvent(f"no event has the type {stored.type_id}")
    if stored.type_id not in _RELEVANT:
        return None
    decoded = decode(stored.type_id, stored.schema_v, stored.body).event
    assert isinstance(decoded, RELEVANT), "type ids and classes are one to one"  # noqa: S101
    return decoded
