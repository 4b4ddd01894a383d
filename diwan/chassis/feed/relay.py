"""Copies the feed to JetStream with the same numbers (RELIABILITY 3.2).

Every publish expects the last sequence before it, so the server itself refuses duplicates, gaps, reordering and
zombies. A refusal or a silence is answered by reading how things stand, never by counting on.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final
from uuid import uuid4

from diwan.chassis.bus import Bus, BusError, BusMessage, stream_name, subject_of
from diwan.chassis.feed.envelope import headers_of, plain_type_name, travelling_body
from diwan.chassis.feed.feed import Feed
from diwan.chassis.feed.records import FeedEvent

BATCH_EVENTS: Final = 100
PUBLISH_SECONDS: Final = 5.0


class Fork(Exception):  # noqa: N818
    """The bus has what the store has not, or something else: one of them was rolled back or rewritten."""


class Relay:
    """Publishes one service's feed. `step` may be called by rivals at once: they only refuse each other."""

    def __init__(
        self, bus: Bus, feed: Feed, service: str, *, type_name: Callable[[int], str] = plain_type_name
    ) -> None:
        self._bus = bus
        self._feed = feed
        self._service = service
        self._type_name = type_name
        self._last: int | None = None
        self._is_atomic = False

    @property
    def relayed_seq(self) -> int | None:
        """The last number known to be on the bus, None while that is not known."""
        return self._last

    def look_again(self) -> None:
        """Have the next step check how the bus stands before it publishes."""
        self._last = None

    async def step(self) -> int:
        """Publish the next batch; returns how many events that were, 0 if the copy is complete.

        Raises `Fork` (stop, and publish nothing), `BusUnavailable` or `BusError`: the next step first looks again.
        """
        if self._last is None:
            self._last = await self._look()
        events = await self._feed.read(self._last, BATCH_EVENTS)
        if not events:
            return 0
        last, self._last = self._last, None
        if events[0].global_seq != last + 1:
            raise Fork(f"the bus ends at {last} and the feed goes on at {events[0].global_seq}")
        if self._is_atomic and len(events) > 1:
            await self._publish_batch(last, events)
        else:
            await self._publish_window(last, events)
        self._last = last + len(events)
        return len(events)

    async def _look(self) -> int:
        """Return where the copy ends, having checked that it is a copy: the fork check."""
        state = await self._bus.stream_state(self._service)
        self._is_atomic = state.is_atomic
        last = state.last_seq
        # The feed is read after the bus: whatever was published until then is in it.
        head = await self._feed.head()
        if last > head:
            raise Fork(f"the bus ends at {last}, the feed at {head}")
        if state.messages:
            message = await self._bus.message(self._service, last)
            stored = await self._feed.read(last - 1, 1)
            if message is None or not stored or not is_copy(message, stored[0], self._service):
                raise Fork(f"message {last} is not the feed's event {last}")
        return last

    async def _publish_batch(self, last: int, events: Sequence[FeedEvent]) -> None:
        """Publish all or nothing: a refused batch leaves the stream as it was."""
        batch_id = uuid4().hex
        for number, event in enumerate(events, 1):
            headers = self._headers(event) | {"Nats-Batch-Id": batch_id, "Nats-Batch-Sequence": str(number)}
            if number == 1:
                headers["Nats-Expected-Last-Sequence"] = str(last)
            subject = subject_of(self._service, str(event.event.stream_id))
            if number < len(events):
                await self._bus.send(subject, travelling_body(event), headers)
                continue
            headers["Nats-Batch-Commit"] = "1"
            answer = await self._bus.request(subject, travelling_body(event), headers, seconds=PUBLISH_SECONDS)
            self._check(answer, event)

    async def _publish_window(self, last: int, events: Sequence[FeedEvent]) -> None:
        """Publish one by one without waiting in between: a hole makes the server refuse all that is behind it."""
        answers = await asyncio.gather(*(self._publish(event) for event in events), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer

    async def _publish(self, event: FeedEvent) -> None:
        headers = self._headers(event) | {"Nats-Expected-Last-Sequence": str(event.global_seq - 1)}
        subject = subject_of(self._service, str(event.event.stream_id))
        answer = await self._bus.request(subject, travelling_body(event), headers, seconds=PUBLISH_SECONDS)
        self._check(answer, event)

    def _headers(self, event: FeedEvent) -> dict[str, str]:
        return headers_of(event, self._service, self._type_name) | {"Nats-Expected-Stream": stream_name(self._service)}

    def _check(self, answer: dict[str, object], event: FeedEvent) -> None:
        if answer.get("duplicate") or answer.get("seq") != event.global_seq:
            raise BusError(0, f"event {event.global_seq} was answered with {answer}")


def is_copy(message: BusMessage, event: FeedEvent, service: str) -> bool:
    """Whether a message is the feed's event of that number, to the byte of what travels of it."""
    expected = headers_of(event, service)
    is_same = all(message.headers.get(name) == expected[name] for name in ("ce-id", "diwan-hash", "diwan-leaf"))
    subject = subject_of(service, str(event.event.stream_id))
    return is_same and message.body == travelling_body(event) and message.subject == subject
