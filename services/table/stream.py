"""One table's stream in the event store: how it begins, and how an owner takes it over."""

from uuid import UUID

from diwan.chassis.store import Append, Claim, EventStore, OwnedStream, encoded, first_append
from diwan.core.log import StreamKind
from diwan.core.table.events import OwnerChanged, TableCreated
from services.table.ids import claim_id_of


def creation(table_id: UUID, command_id: UUID, caller: str, request_hash: bytes, event: TableCreated) -> Append:
    """Return the append that begins a table's stream."""
    return first_append(
        table_id,
        StreamKind.TABLE,
        [event],
        command_id=command_id,
        caller=caller,
        request_hash=request_hash,
        now_ms=event.created_at_ms,
    )


def takeover(claim: Claim, owner: str) -> Append:
    """Return a new owner's first append (O3)."""
    now_ms = max(claim.database_now_ms, claim.recorded_at_ms)
    return Append(
        stream_id=claim.stream_id,
        kind=StreamKind.TABLE,
        expected_version=claim.version,
        epoch=claim.epoch,
        prev_hash=claim.head_hash,
        command_id=claim_id_of(claim.stream_id, claim.epoch),
        caller=owner,
        request_hash=b"",
        reply=b"",
        recorded_at_ms=now_ms,
        events=encoded([OwnerChanged(claim.epoch, owner, now_ms)]),
    )


class TableStream(OwnedStream):
    """The head of a claimed table's stream."""

    def __init__(self, store: EventStore, claim: Claim) -> None:
        super().__init__(store, claim, StreamKind.TABLE)

    @property
    def table_id(self) -> UUID:
        """The table's id."""
        return self.stream_id
