"""Appends as the columns that the append statement takes."""

from collections.abc import Iterable
from typing import Any

from diwan.chassis.store.records import Append
from diwan.core.hashing import event_hash


def chain_of(append: Append) -> list[bytes]:
    """Return the hashes of an append's events, each over the bytes that will be stored (H2)."""
    previous, hashes = append.prev_hash, []
    stream_id, command_id = append.stream_id.bytes, append.command_id.bytes
    version = append.expected_version
    for event in append.events:
        version += 1
        previous = event_hash(
            previous, stream_id, version, event.type_id, event.schema_v, append.recorded_at_ms, command_id, event.body
        )
        hashes.append(previous)
    return hashes


def append_arguments(batch: Iterable[tuple[Append, list[bytes]]]) -> tuple[list[Any], ...]:
    """Return the columns of `statements.APPEND`: eleven of appends, then eight of their events."""
    appends: list[tuple[Any, ...]] = []
    events: list[tuple[Any, ...]] = []
    for number, (append, hashes) in enumerate(batch, 1):
        version, previous = append.expected_version, append.prev_hash
        for event, digest in zip(append.events, hashes, strict=True):
            version += 1
            events.append((
                number, version, event.event_id, event.type_id, event.schema_v, event.body, previous, digest,
            ))  # fmt: skip
            previous = digest
        appends.append((
            append.stream_id, append.expected_version, append.epoch, append.prev_hash, version, previous,
            append.recorded_at_ms, append.command_id, append.caller, append.request_hash, append.reply,
        ))  # fmt: skip
    return (*map(list, zip(*appends, strict=True)), *map(list, zip(*events, strict=True)))
