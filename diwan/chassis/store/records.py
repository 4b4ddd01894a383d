"""What goes into the event store and what comes out of it."""

from enum import IntEnum
from uuid import UUID

import msgspec

from diwan.core.log import LoggedEvent


class NewEvent(msgspec.Struct, frozen=True):
    """One event to append: its wire type, the schema version of its body and the body's exact bytes."""

    type_id: int
    schema_v: int
    body: bytes
    event_id: UUID


class Append(msgspec.Struct, frozen=True):
    """One command's events for one stream, applied whole if (epoch, version) still hold, else not at all.

    ``expected_version`` 0 with ``epoch`` 0 also creates the stream; ``prev_hash`` is the hash of the stream's head.
    ``command_id`` is already scoped to its caller; ``request_hash`` and ``reply`` are kept beside it (H6).
    """

    stream_id: UUID
    kind: int
    expected_version: int
    epoch: int
    prev_hash: bytes
    command_id: UUID
    caller: str
    request_hash: bytes
    reply: bytes
    recorded_at_ms: int
    events: tuple[NewEvent, ...]


class Appended(msgspec.Struct, frozen=True):
    """Where an append came to stand: versions from first to last, and the hash of the last."""

    first_version: int
    last_version: int
    head_hash: bytes


class StoredEvent(msgspec.Struct, frozen=True):
    """One event as stored; ``hash`` covers ``body`` and everything but ``event_id`` and ``epoch``.

    ``body_hash`` stands for the body (empty then) where a feed withholds it; in a store it is never set.
    """

    stream_id: UUID
    version: int
    event_id: UUID
    command_id: UUID
    epoch: int
    type_id: int
    schema_v: int
    recorded_at_ms: int
    body: bytes
    prev_hash: bytes
    hash: bytes
    body_hash: bytes = b""

    def logged(self) -> LoggedEvent:
        """Return it as whoever reads logs knows it: with ids of 16 bytes."""
        return LoggedEvent(
            stream_id=self.stream_id.bytes,
            version=self.version,
            event_id=self.event_id.bytes,
            command_id=self.command_id.bytes,
            epoch=self.epoch,
            type_id=self.type_id,
            schema_v=self.schema_v,
            recorded_at_ms=self.recorded_at_ms,
            body=self.body,
            prev_hash=self.prev_hash,
            hash=self.hash,
            body_hash=self.body_hash,
        )


class StreamHead(msgspec.Struct, frozen=True):
    """A stream's row: ``owner`` and ``is_leased`` are hints by the database's clock, (epoch, version) are the law."""

    stream_id: UUID
    kind: int
    version: int
    epoch: int
    head_hash: bytes
    recorded_at_ms: int
    owner: str | None
    is_leased: bool


class Claim(msgspec.Struct, frozen=True):
    """An owner's new epoch, with the head that it goes on from, after its first event if it wrote one.

    ``recorded_at_ms`` is the stream's last time, ``database_now_ms`` the database's clock at the claim.
    """

    stream_id: UUID
    epoch: int
    version: int
    head_hash: bytes
    recorded_at_ms: int
    database_now_ms: int


class OutcomeKind(IntEnum):
    """What a command came to, as stored."""

    APPLIED = 1
    REFUSED = 2


class Outcome(msgspec.Struct, frozen=True):
    """What a command came to, for ever: versions where it was applied, the reply or the reason of its refusal."""

    stream_id: UUID
    command_id: UUID
    kind: OutcomeKind
    caller: str
    request_hash: bytes
    first_version: int | None
    last_version: int | None
    reply: bytes

    @property
    def is_refused(self) -> bool:
        """Whether the command was refused for ever; ``reply`` then holds the reason."""
        return self.kind is OutcomeKind.REFUSED
