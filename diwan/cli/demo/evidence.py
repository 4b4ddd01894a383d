"""What the demo's checks look at, as it was read back from the running house."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from diwan.chassis.feed.scrub import ScrubReport
from diwan.core.hashing import uuid_text
from diwan.core.log import LoggedEvent


class FeedLine(Struct, frozen=True):
    """One event of a feed, as the service that owns it serves it."""

    global_seq: int
    event: LoggedEvent


class WalletTotals(Struct, frozen=True):
    """The wallet's own sums, all of one moment: when it had applied the table feed up to ``table_feed_cursor``."""

    table_feed_cursor: int
    sum: int
    balances: dict[str, int]  # chips by sitting
    quarantined: tuple[str, ...]


class AuditStatus(Struct, frozen=True):
    """What the independent audit found by itself."""

    hands_verified: int
    hands_not_verified: int
    hands_cannot_say: int
    findings: tuple[str, ...]


class Evidence(Struct, frozen=True):
    """Everything that the checks need; none of it is believed without a check."""

    table_feed: tuple[FeedLine, ...]
    totals: tuple[WalletTotals, ...]  # in mid-play and at the end
    copies: dict[str, ScrubReport]  # by service
    audit: AuditStatus
    reconciled: tuple[tuple[str, str], ...]  # what the wallet finds in its own books: where and what

    def streams(self) -> Iterator[tuple[bytes, list[LoggedEvent]]]:
        """Yield each table's stream in the order of its versions as the feed has them."""
        streams: dict[bytes, list[LoggedEvent]] = {}
        for line in self.table_feed:
            streams.setdefault(line.event.stream_id, []).append(line.event)
        yield from streams.items()


def table_name(stream_id: bytes) -> str:
    """Return a table's id as people write it."""
    return uuid_text(stream_id)
