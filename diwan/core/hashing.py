"""Every hash input of the project; the layouts and test vectors stand in ``docs/reference/hashing.md``.

Fields are length-prefixed, a label with its version comes first: no two different inputs can give the same bytes.
"""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from hashlib import sha256
from struct import Struct
from struct import error as StructError  # noqa: N812  (named as the exception it is)
from typing import Final

import msgspec

type Field = bytes | int | str

HASH_BYTES: Final = 32
UUID_BYTES: Final = 16
INTEGER_MAX: Final = 2**64 - 1

_OUT_OF_RANGE: Final = "an integer in a hash is 0..2^64-1"
_WRONG_SIZE: Final = "a hash is 32 bytes, an id 16"

_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch
_LENGTH: Final = Struct(">I")
_INTEGER: Final = Struct(">IQ")

# Every field of an event's hash input has a fixed size, so one pack lays it all out: the chain is on the hot path.
_EVENT: Final = Struct(">I5s I32s I16s IQ IQ IQ IQ I16s I32s".replace(" ", ""))
_ENTRY: Final = Struct(">I7s IQ IQ I16s IQ I32s".replace(" ", ""))


def prefixed(label: str, *fields: Field) -> bytes:
    """Return label and fields, each behind its length in 4 bytes (big-endian).

    Integers are 0..2^64-1 in 8 bytes, texts UTF-8, bytes as they are.
    """
    parts: list[bytes] = []
    for field in (label, *fields):
        if isinstance(field, int):
            if not 0 <= field <= INTEGER_MAX:
                raise ValueError(_OUT_OF_RANGE)
            parts.append(_INTEGER.pack(8, field))
            continue
        raw = field.encode() if isinstance(field, str) else field
        parts.append(_LENGTH.pack(len(raw)))
        parts.append(raw)
    return b"".join(parts)


def hashed(label: str, *fields: Field) -> bytes:
    """Return SHA-256 of the length-prefixed label and fields."""
    return sha256(prefixed(label, *fields)).digest()


def uuid_bytes(text: str) -> bytes:
    """Return the 16 bytes of a UUID in its canonical lower-case text; other spellings are refused.

    One id has one spelling: two spellings of one id in a log would be two ids to whoever compares texts.
    """
    if not _UUID(text):
        raise ValueError("an id is a UUID in canonical lower-case text")
    return bytes.fromhex(text.replace("-", ""))


def uuid_text(raw: bytes) -> str:
    """Return the canonical text of a UUID's 16 bytes."""
    digits = raw.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def request_hash(method: str, request: bytes) -> bytes:
    """Return what a request id is bound to: the full gRPC method name and the request's deterministic bytes."""
    return hashed("request/v1", method, request)


def first_prev_hash(stream_id: bytes, kind: int) -> bytes:
    """Return what stands for the hash before a stream's first event."""
    return hashed("stream/v1", stream_id, kind)


def event_hash(
    prev_hash: bytes,
    stream_id: bytes,
    version: int,
    type_id: int,
    schema_v: int,
    recorded_at_ms: int,
    command_id: bytes,
    body: bytes,
    body_hash: bytes = b"",
) -> bytes:
    """Return the hash of one event in its stream's chain, over the stored bytes of its body (H2).

    ``prev_hash`` is the 32 bytes of the event before, or `first_prev_hash`; ids are 16 raw bytes. ``body_hash`` stands
    for a body that is withheld, which is empty then.
    """
    # Struct pads or cuts what has the wrong size, and a cut id would hash as another id.
    if len(prev_hash) != HASH_BYTES or len(stream_id) != UUID_BYTES or len(command_id) != UUID_BYTES:
        raise ValueError(_WRONG_SIZE)
    if body_hash and (body or len(body_hash) != HASH_BYTES):
        raise ValueError(_WRONG_SIZE)
    try:
        packed = _EVENT.pack(
            *(5, b"ev/v1", 32, prev_hash, 16, stream_id, 8, version, 8, type_id, 8, schema_v),
            *(8, recorded_at_ms, 16, command_id, 32, body_hash or sha256(body).digest()),
        )
    except StructError:
        raise ValueError(_OUT_OF_RANGE) from None
    return sha256(packed).digest()


def feed_entry(feed_id: int, global_seq: int, stream_id: bytes, version: int, digest: bytes) -> bytes:
    """Return the feed's entry for one event: hashes and numbers only, so a log of entries may be public."""
    if len(digest) != HASH_BYTES or len(stream_id) != UUID_BYTES:
        raise ValueError(_WRONG_SIZE)
    try:
        return _ENTRY.pack(7, b"feed/v1", 8, feed_id, 8, global_seq, 16, stream_id, 8, version, 32, digest)
    except StructError:
        raise ValueError(_OUT_OF_RANGE) from None


def feed_leaf(feed_id: int, global_seq: int, stream_id: bytes, version: int, digest: bytes) -> bytes:
    """Return the Merkle leaf of one event in a feed; its index in the tree is ``global_seq - 1``."""
    return sha256(b"\x00" + feed_entry(feed_id, global_seq, stream_id, version, digest)).digest()


class StoredEvent(msgspec.Struct, frozen=True):
    """One stored event with exactly what its hash covers, and the hashes that the store holds.

    ``body_hash`` stands for a body that is withheld (empty then) from those whom it is not for.
    """

    version: int
    type_id: int
    schema_v: int
    recorded_at_ms: int
    command_id: bytes
    body: bytes
    prev_hash: bytes
    hash: bytes
    body_hash: bytes = b""


class ChainFault(StrEnum):
    """Why an event does not continue its stream."""

    VERSION_GAP = "VERSION_GAP"
    PREV_HASH_DIFFERS = "PREV_HASH_DIFFERS"
    HASH_DIFFERS = "HASH_DIFFERS"
    TIME_RUNS_BACKWARDS = "TIME_RUNS_BACKWARDS"
    MALFORMED = "MALFORMED"


class ChainHead(msgspec.Struct, frozen=True):
    """How far a chain holds: the last good event's version, hash and time, and the fault behind it, if any."""

    version: int
    hash: bytes
    recorded_at_ms: int = 0
    fault: ChainFault | None = None

    @property
    def fault_version(self) -> int | None:
        """The version that should have followed and did not hold."""
        return None if self.fault is None else self.version + 1


def chain_start(stream_id: bytes, kind: int) -> ChainHead:
    """Return the head of a stream without events."""
    return ChainHead(0, first_prev_hash(stream_id, kind))


def verify_chain(stream_id: bytes, start: ChainHead, events: Iterable[StoredEvent]) -> ChainHead:
    """Follow stored events from a trusted head; the result holds the first fault (H1, H2, H8)."""
    head = start
    for event in events:
        fault = _chain_fault(stream_id, head, event)
        if fault is not None:
            return ChainHead(head.version, head.hash, head.recorded_at_ms, fault)
        head = ChainHead(event.version, event.hash, event.recorded_at_ms)
    return head


def _chain_fault(stream_id: bytes, head: ChainHead, event: StoredEvent) -> ChainFault | None:
    if event.version != head.version + 1:
        return ChainFault.VERSION_GAP
    if event.prev_hash != head.hash:
        return ChainFault.PREV_HASH_DIFFERS
    if event.recorded_at_ms < head.recorded_at_ms:
        return ChainFault.TIME_RUNS_BACKWARDS
    try:
        recomputed = event_hash(
            head.hash,
            stream_id,
            event.version,
            event.type_id,
            event.schema_v,
            event.recorded_at_ms,
            event.command_id,
            event.body,
            event.body_hash,
        )
    except ValueError:
        return ChainFault.MALFORMED
    return None if recomputed == event.hash else ChainFault.HASH_DIFFERS


def chain_hashes(
    head_hash: bytes,
    stream_id: bytes,
    first_version: int,
    recorded_at_ms: int,
    command_id: bytes,
    bodies: Sequence[tuple[int, int, bytes]],
) -> list[bytes]:
    """Return the hashes of one command's batch of (type_id, schema_v, body), appended behind ``head_hash``."""
    hashes: list[bytes] = []
    for version, (type_id, schema_v, body) in enumerate(bodies, first_version):
        head_hash = event_hash(head_hash, stream_id, version, type_id, schema_v, recorded_at_ms, command_id, body)
        hashes.append(head_hash)
    return hashes
