"""A service's own feed over gRPC: what the bus lost is read here (DESIGN 5)."""

from typing import Final

from diwan.api.feed.v1 import feed_service_pb2 as pb
from diwan.api.feed.v1.feed_service_pb2 import DESCRIPTOR
from diwan.chassis.access import Role
from diwan.chassis.calls import Call
from diwan.chassis.feed.feed import READ_EVENTS_MAX, Feed
from diwan.chassis.feed.records import FeedEvent
from diwan.chassis.server import Served
from diwan.core.decider import Rejected
from diwan.wire.stored import stored_message, unaddressed_event

PAGE_EVENTS: Final = 500
PAGE_BYTES_MAX: Final = 2 * 1024 * 1024
"""A page ends behind the event that crosses this: every gRPC client takes messages of 4 MiB."""

AUDIT: Final = "audit"
"""The one service that is told who looked at hidden cards: what the bus withholds it reads here."""


class FeedServicer:
    """Answers for ``FeedService``."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    async def Read(self, request: pb.ReadRequest, call: Call) -> pb.ReadResponse:  # noqa: N802  (the contract's name)
        """Return events after a number, in order, without gap."""
        if request.after < 0:
            raise Rejected("FIELD_INVALID", field="after", why="a number of the feed, or 0")
        if not 0 <= request.limit <= READ_EVENTS_MAX:
            raise Rejected("FIELD_INVALID", field="limit", why=f"0 to {READ_EVENTS_MAX}")
        # The head is read first: whatever the page holds beyond it is newer, and no event of it can be missing.
        head = await self._feed.head()
        is_audit = call.caller.role is Role.SERVICE and call.caller.subject == AUDIT
        response = pb.ReadResponse(feed_id=self._feed.feed_id)
        size = 0
        for event in await self._feed.read(request.after, request.limit or PAGE_EVENTS):
            size += len(event.event.body) + 256
            response.events.append(_message(event, is_whole=is_audit))
            if size >= PAGE_BYTES_MAX:
                break
        response.head = max(head, response.events[-1].global_seq if response.events else 0)
        return response


def served_feed(feed: Feed) -> Served:
    """Return the feed as a service's server serves it."""
    return Served(DESCRIPTOR.services_by_name["FeedService"], FeedServicer(feed))


def _message(event: FeedEvent, *, is_whole: bool) -> pb.FeedEvent:
    logged = event.event.logged()
    told = logged if is_whole else unaddressed_event(logged)
    return pb.FeedEvent(global_seq=event.global_seq, event=stored_message(told), leaf_hash=event.leaf_hash)
