"""A feed's event as a message: CloudEvents 1.0 attributes in binary mode, the body as stored (ECOSYSTEM 3).

Bodies that are for auditors alone do not travel: such a message is empty and names the body's hash, so that all the rest
of it can be checked. The audit reads the body from the feed itself.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final
from uuid import UUID

from diwan.chassis.feed.records import FeedEvent
from diwan.chassis.store.records import StoredEvent
from diwan.core.hashing import event_hash
from diwan.wire.stored import FOR_AUDITORS

MESSAGE_ID: Final = "Nats-Msg-Id"
BODY_HASH: Final = "diwan-body-hash"


def plain_type_name(type_id: int) -> str:
    """Return the CloudEvents type of an event whose name is not known to this process."""
    return f"diwan.event.v1.{type_id}"


def headers_of(event: FeedEvent, service: str, type_name: Callable[[int], str] = plain_type_name) -> dict[str, str]:
    """Return an event's headers; the message id is the event's hash, so it never names two contents."""
    stored = event.event
    recorded = datetime.fromtimestamp(stored.recorded_at_ms / 1_000, tz=UTC)
    headers = {
        "Content-Type": "application/protobuf",
        "ce-specversion": "1.0",
        "ce-id": str(stored.event_id),
        "ce-source": f"/diwan/{service}",
        "ce-type": type_name(stored.type_id),
        "ce-subject": str(stored.stream_id),
        "ce-time": recorded.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "diwan-seq": str(event.global_seq),
        "diwan-version": str(stored.version),
        "diwan-epoch": str(stored.epoch),
        "diwan-type-id": str(stored.type_id),
        "diwan-schema": str(stored.schema_v),
        "diwan-recorded-at-ms": str(stored.recorded_at_ms),
        "diwan-command-id": str(stored.command_id),
        "diwan-prev-hash": stored.prev_hash.hex(),
        "diwan-hash": stored.hash.hex(),
        "diwan-leaf": event.leaf_hash.hex(),
        MESSAGE_ID: stored.hash.hex(),
    }
    if stored.type_id in FOR_AUDITORS:
        headers[BODY_HASH] = (stored.body_hash or sha256(stored.body).digest()).hex()
    return headers


def travelling_body(event: FeedEvent) -> bytes:
    """Return what an event's message carries: its body, or nothing where that is for auditors alone."""
    return b"" if event.event.type_id in FOR_AUDITORS else event.event.body


def event_of(feed_id: int, seq: int, headers: Mapping[str, str], body: bytes) -> FeedEvent | None:
    """Return the event of a message, or None if it is damaged: then it is a hole, to be read from the feed."""
    try:
        stored = StoredEvent(
            stream_id=UUID(headers["ce-subject"]),
            version=int(headers["diwan-version"]),
            event_id=UUID(headers["ce-id"]),
            command_id=UUID(headers["diwan-command-id"]),
            epoch=int(headers["diwan-epoch"]),
            type_id=int(headers["diwan-type-id"]),
            schema_v=int(headers["diwan-schema"]),
            recorded_at_ms=int(headers["diwan-recorded-at-ms"]),
            body=body,
            prev_hash=bytes.fromhex(headers["diwan-prev-hash"]),
            hash=bytes.fromhex(headers["diwan-hash"]),
            body_hash=bytes.fromhex(headers.get(BODY_HASH, "")),
        )
        leaf_hash = bytes.fromhex(headers["diwan-leaf"])
        is_whole = int(headers["diwan-seq"]) == seq and stored.hash == _hash_of(stored)
    except (KeyError, ValueError):
        return None
    return FeedEvent(feed_id, seq, leaf_hash, stored) if is_whole else None


def _hash_of(stored: StoredEvent) -> bytes:
    return event_hash(
        stored.prev_hash,
        stored.stream_id.bytes,
        stored.version,
        stored.type_id,
        stored.schema_v,
        stored.recorded_at_ms,
        stored.command_id.bytes,
        stored.body,
        stored.body_hash,
    )
