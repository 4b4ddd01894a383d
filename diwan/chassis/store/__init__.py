"""The event store."""

from diwan.chassis.store.errors import BrokenChain, Conflict, ConflictKind, Overloaded, UnknownOutcome
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
    "NewEvent",
    "Outcome",
    "OutcomeKind",
    "Overloaded",
    "StoredEvent",
    "StreamHead",
    "UnknownOutcome",
    "append_in",
    "create_stream_in",
    "outcome_in",
    "record_refusal_in",
]
