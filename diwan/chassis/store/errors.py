"""How an append may fail, from "certainly not stored" to "ask again by id"."""

from enum import StrEnum
from uuid import UUID


class ConflictKind(StrEnum):
    """Why an append was not applied."""

    STALE = "stale"
    FENCED = "fenced"
    DUPLICATE_COMMAND = "duplicate_command"


class Conflict(Exception):  # noqa: N818  (an expected answer, not a fault)
    """Nothing of this append was stored: another version, another epoch, or the command was recorded before."""

    def __init__(self, kind: ConflictKind, stream_id: UUID, *, version: int, epoch: int) -> None:
        super().__init__(f"{kind}: stream {stream_id} stands at version {version}, epoch {epoch}")
        self.kind = kind
        self.stream_id = stream_id
        self.version = version
        self.epoch = epoch


class UnknownOutcome(Exception):  # noqa: N818  (not an error: the answer is not known yet)
    """The append may or may not be stored: only ``outcome(stream_id, command_id)`` tells (D9)."""


class BrokenChain(Exception):  # noqa: N818
    """Nothing was stored: the append's version fits, but its ``prev_hash`` or time does not continue the stream."""


class Overloaded(Exception):  # noqa: N818
    """Nothing was stored: too many appends are waiting already, or somebody holds the stream's row for too long."""
