"""The lines of a bundle. Field by field the same as ``docs/reference/bundle.md``, and in that order in the file."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

FORMAT: Final = "diwan-bundle/v1"
FAMILY: Final = "diwan-bundle/"

LINE_BYTES_MAX: Final = 1 << 20
"""A longer line is no line of a bundle. The longest honest one is an event of 64 KiB, a third more in base64."""

LINES_MAX: Final = 5_000_000
"""More lines than a day of the largest house; who reads a bundle of unknown origin reads so many and no more."""

PATH_HASHES_MAX: Final = 64
"""A tree of numbers that fit into 8 bytes is no higher."""

HANDS_MAX: Final = 100_000
CHECKPOINTS_MAX: Final = 64

type Number = Annotated[int, Meta(ge=0, le=2**63 - 1)]
type Count = Annotated[int, Meta(ge=1, le=2**63 - 1)]
type Small = Annotated[int, Meta(ge=0, le=2**31 - 1)]
type FeedId = Annotated[int, Meta(ge=1, le=255)]
type SeatNumber = Annotated[int, Meta(ge=0, le=8)]
type Id = Annotated[str, Meta(pattern=r"\A[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")]
type Hash = Annotated[bytes, Meta(min_length=32, max_length=32)]
type HashOrNone = Annotated[bytes, Meta(max_length=32)]
type Path = Annotated[tuple[Hash, ...], Meta(max_length=PATH_HASHES_MAX)]
type Name = Annotated[str, Meta(min_length=1, max_length=200)]


class HeaderRecord(Struct, frozen=True, tag_field="is", tag="bundle", forbid_unknown_fields=True):
    """The first line: what the file is, and through whose eyes its cards are shown.

    ``subject`` is the id of the hand, table or tournament, or the day (``2026-11-30``, UTC). ``seat`` is of the lens
    ``seat`` alone.
    """

    format: str
    house: Name
    about: Literal["hand", "table", "day", "tournament"]
    subject: Name
    lens: Literal["public", "seat", "auditor"]
    seat: SeatNumber | None


class CheckpointRecord(Struct, frozen=True, tag_field="is", tag="checkpoint", forbid_unknown_fields=True):
    """A signed checkpoint of one feed, as its signed note stands.

    The first of a feed is the one that all paths lead to; each further one comes with the proof that the first extends
    it (RFC 6962, 2.1.2), and is no larger.
    """

    feed_id: FeedId
    note: Annotated[str, Meta(max_length=65_536)]
    consistency: Annotated[tuple[Hash, ...], Meta(max_length=2 * PATH_HASHES_MAX)]


class RevealRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """A card that no event shows, with its proof against the deck's root."""

    position: Annotated[int, Meta(ge=0, le=51)]
    card: Annotated[int, Meta(ge=0, le=51)]
    salt: Hash
    path: Annotated[tuple[Hash, ...], Meta(max_length=6)]


class HandRecord(Struct, frozen=True, tag_field="is", tag="hand", forbid_unknown_fields=True):
    """A hand that the bundle tells: where its events stand, and what the lens adds to them.

    ``needs_version`` is where the hand's secret was committed to. ``reveals`` are a seat's own cards, ``secret`` (32
    bytes or none) is an auditor's: the whole deck follows from it.
    """

    stream_id: Id
    hand_id: Id
    needs_version: Count
    first_version: Count
    last_version: Count
    secret: HashOrNone
    reveals: Annotated[tuple[RevealRecord, ...], Meta(max_length=52)]


class StreamRecord(Struct, frozen=True, tag_field="is", tag="stream", forbid_unknown_fields=True):
    """The stream whose events follow."""

    feed_id: FeedId
    stream_id: Id


class EventRecord(Struct, frozen=True, tag_field="is", tag="event", forbid_unknown_fields=True):
    """One stored event with its place in the feed and the way from its leaf to the checkpoint's root.

    What no hash covers (an event's own id, its writer's epoch) is not here: a bundle holds nothing that is unproved. A withheld body is empty, and ``body_hash`` is its SHA-256; otherwise ``body_hash`` is empty.
    """

    version: Count
    global_seq: Count
    command_id: Id
    type_id: Small
    schema_v: Small
    recorded_at_ms: Number
    prev_hash: Hash
    hash: Hash
    body_hash: HashOrNone
    body: Annotated[bytes, Meta(max_length=262_144)]
    path: Path


class EndRecord(Struct, frozen=True, tag_field="is", tag="end", forbid_unknown_fields=True):
    """The last line: how many there are, this one included."""

    lines: Count


type Record = HeaderRecord | CheckpointRecord | HandRecord | StreamRecord | EventRecord | EndRecord
