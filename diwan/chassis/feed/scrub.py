"""Reads the whole bus copy back and compares it with the store (D14)."""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from diwan.chassis.bus import Bus
from diwan.chassis.feed.feed import Feed
from diwan.chassis.feed.relay import is_copy

IN_FLIGHT: Final = 64


class ScrubReport(msgspec.Struct, frozen=True):
    """What the copy holds: from ``first_seq`` (its retention horizon) to ``last_seq``, where ``head`` is the feed's end.

    ``missing`` numbers are not on the bus, ``different`` ones are not what the store has, ``messages`` is what the
    server itself counts.
    """

    first_seq: int
    last_seq: int
    head: int
    messages: int
    missing: tuple[int, ...]
    different: tuple[int, ...]

    @property
    def is_equal(self) -> bool:
        """Whether the copy holds exactly the feed's events from its first to the feed's end."""
        is_whole = self.messages == self.last_seq - self.first_seq + 1
        return is_whole and not self.missing and not self.different and self.last_seq == self.head


async def scrub(bus: Bus, feed: Feed, service: str, *, progress: Callable[[int], None] = lambda _: None) -> ScrubReport:
    """Compare every message of a service's copy with the store; ``progress`` hears each number that was reached.

    Done on a living feed it judges what was on the bus when it began; a feed that ran ahead shows as its own ``head``.
    """
    head = await feed.head()
    state = await bus.stream_state(service)
    first = max(state.first_seq, 1)
    missing: list[int] = []
    different: list[int] = []
    for start in range(first, state.last_seq + 1, IN_FLIGHT):
        numbers = range(start, min(start + IN_FLIGHT, state.last_seq + 1))
        messages = await asyncio.gather(*(bus.message(service, number) for number in numbers))
        stored = {event.global_seq: event for event in await feed.read(start - 1, len(numbers))}
        for number, message in zip(numbers, messages, strict=True):
            if message is None:
                missing.append(number)
            elif number not in stored or not is_copy(message, stored[number], service):
                different.append(number)
        progress(numbers[-1])
    return ScrubReport(first, state.last_seq, head, state.messages, tuple(missing), tuple(different))
