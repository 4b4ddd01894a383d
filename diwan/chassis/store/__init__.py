"""The event store."""

from diwan.chassis.store.errors import BrokenChain, Conflict, ConflictKind, Overloaded, UnknownOutcome
from diwan.chassis.store.owned import Lost, OwnedStream, begin_once, encoded, first_append
from diwan.chassis.store.records import (
    Append,
    Appended,
    Claim,
    NewEvent,
    Outcome,
    OutcomeKind,
    StoredEvent,
    StreamHead,
)
from diwan.chassis.store.store import (
    READ_EVENTS_MAX,
    EventStore,
    append_in,
    create_stream_in,
    outcome_in,
    record_refusal_in,
)

__all__ = [
    "READ_EVENTS_MAX",
    "Append",
    "Appended",
    "BrokenChain",
    "Claim",
    "Conflict",
    "ConflictKind",
    "EventStore",
    "Lost",
    "NewEvent",
    "Outcome",
    "OutcomeKind",
    "Overloaded",
    "OwnedStream",
    "StoredEvent",
    "StreamHead",
    "UnknownOutcome",
    "append_in",
    "begin_once",
    "create_stream_in",
    "encoded",
    "first_append",
    "outcome_in",
    "record_refusal_in",
]
