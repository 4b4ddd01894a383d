"""Writing a bundle: the same records are the same bytes, whoever writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from diwan.core.hashing import uuid_bytes, uuid_text
from diwan.core.log import LoggedEvent
from diwan.history.bundle.paths import PathWriter
from diwan.history.bundle.records import (
    CheckpointRecord,
    EndRecord,
    EventRecord,
    HandRecord,
    HeaderRecord,
    Record,
    StreamRecord,
)

_encoder: Final = msgspec.json.Encoder()
_NO_ID: Final = bytes(16)


class Source(msgspec.Struct, frozen=True):
    """An event for a bundle, with its feed, its number there, and its whole path to the checkpoint's root (RFC 6962)."""

    feed_id: int
    global_seq: int
    event: LoggedEvent
    path: tuple[bytes, ...]


def bundle_lines(
    header: HeaderRecord,
    checkpoints: Iterable[CheckpointRecord],
    sizes: Mapping[int, int],
    hands: Iterable[HandRecord],
    sources: Iterable[Source],
) -> Iterator[bytes]:
    """Yield the lines of a bundle; hands and sources may come in any order, and sources more than once.

    ``sizes`` are those of each feed's first checkpoint, which the paths lead to.
    """
    events: dict[tuple[int, bytes, int], Source] = {}
    for one in sources:
        # What one hand needs with its body, another may need for the chain alone.
        if not one.event.body_hash:
            events[one.feed_id, one.event.stream_id, one.event.version] = one
        else:
            events.setdefault((one.feed_id, one.event.stream_id, one.event.version), one)
    return lines_of(_records(header, checkpoints, sizes, hands, events))


def _records(
    header: HeaderRecord,
    checkpoints: Iterable[CheckpointRecord],
    sizes: Mapping[int, int],
    hands: Iterable[HandRecord],
    events: Mapping[tuple[int, bytes, int], Source],
) -> Iterator[Record]:
    yield header
    yield from checkpoints
    yield from sorted(hands, key=lambda hand: (hand.stream_id, hand.first_version))
    writers = {feed_id: PathWriter(size) for feed_id, size in sizes.items()}
    stream: tuple[int, bytes] | None = None
    for (feed_id, stream_id, _), source in sorted(events.items()):
        if stream != (feed_id, stream_id):
            stream = (feed_id, stream_id)
            yield StreamRecord(feed_id, uuid_text(stream_id))
        path = writers[feed_id].cut(source.global_seq - 1, source.path)
        yield event_record(source.event, source.global_seq, path)


def lines_of(records: Iterable[Record]) -> Iterator[bytes]:
    """Yield the lines of a bundle, its end included; the records come in the order of `read_bundle`."""
    count = 0
    for record in records:
        yield _encoder.encode(record) + b"\n"
        count += 1
    yield _encoder.encode(EndRecord(count + 1)) + b"\n"


def event_record(event: LoggedEvent, global_seq: int, path: Iterable[bytes]) -> EventRecord:
    """Return the line of a stored event; ``path`` as `PathWriter` cuts it."""
    return EventRecord(
        version=event.version,
        global_seq=global_seq,
        command_id=uuid_text(event.command_id),
        type_id=event.type_id,
        schema_v=event.schema_v,
        recorded_at_ms=event.recorded_at_ms,
        prev_hash=event.prev_hash,
        hash=event.hash,
        body_hash=event.body_hash,
        body=event.body,
        path=tuple(path),
    )


def logged_event(record: EventRecord, stream_id: str) -> LoggedEvent:
    """Return the stored event of a line, unchecked: the verifier checks it. Its own id and its epoch are not in a bundle."""
    return LoggedEvent(
        stream_id=uuid_bytes(stream_id),
        version=record.version,
        event_id=_NO_ID,
        command_id=uuid_bytes(record.command_id),
        epoch=0,
        type_id=record.type_id,
        schema_v=record.schema_v,
        recorded_at_ms=record.recorded_at_ms,
        body=record.body,
        prev_hash=record.prev_hash,
        hash=record.hash,
        body_hash=record.body_hash,
    )
