"""A table service's feed as a test tells it."""

from __future__ import annotations

from uuid import UUID, uuid4

from diwan.chassis.feed import FeedEvent
from diwan.chassis.store import StoredEvent
from diwan.core.hand.settings import HandSettings
from diwan.core.table.config import TableConfig
from diwan.core.table.events import BuyInRequested, SeatFunded, TableCreated, TableEvent
from diwan.wire.events import encode


class FakeFeed:
    """A table service's feed."""

    def __init__(self) -> None:
        self.events: list[FeedEvent] = []
        self._versions: dict[UUID, int] = {}

    def tell(self, table_id: UUID, *events: TableEvent) -> None:
        for event in events:
            encoded = encode(event, nonce=bytes(16))
            self._versions[table_id] = version = self._versions.get(table_id, 0) + 1
            stored = StoredEvent(
                stream_id=table_id,
                version=version,
                event_id=uuid4(),
                command_id=uuid4(),
                epoch=1,
                type_id=encoded.type_id,
                schema_v=encoded.schema_v,
                recorded_at_ms=1,
                body=encoded.body,
                prev_hash=bytes(32),
                hash=bytes(32),
            )
            self.events.append(FeedEvent(1, len(self.events) + 1, bytes(32), stored))

    async def read(self, after: int, limit: int) -> list[FeedEvent]:
        return self.events[after : after + limit]


def created(table_id: UUID, *, bots_fill: int = 4, seats: int = 6) -> TableCreated:
    hand = HandSettings(small_blind=1, big_blind=2)
    config = TableConfig(name="t", hand=hand, seats=seats, buy_in_min=40, buy_in_max=400, bots_fill=bots_fill)
    return TableCreated(str(table_id), config, "ops", 1)


def seated(seat: int, player: str, *, sitting: str | None = None) -> tuple[TableEvent, TableEvent]:
    sitting = sitting or str(uuid4())
    return (
        BuyInRequested(seat, player, player.startswith("bot:"), 200, sitting, 1, post_at_once=True),
        SeatFunded(seat, 200, sitting, 1),
    )
