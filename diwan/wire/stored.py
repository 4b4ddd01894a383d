"""Stored events as messages and back: nothing is interpreted, the body stays the bytes it is."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from diwan.api.event.v1.event_pb2 import StoredEvent as StoredMessage
from diwan.core.games.capsa.events import Arrangement, CapsaStarted, DraftSaved, SetLocked, SetsShown
from diwan.core.hand.events import HandStarted
from diwan.core.log import LoggedEvent
from diwan.core.table.events import HandOpened, SecretCommitted, SeedsCommitted
from diwan.wire.events import WireError, decode, type_id_of

FOR_ONE_SEAT: Final = frozenset({type_id_of(DraftSaved), type_id_of(SetLocked)})
"""Kinds of events whose bodies are for one seat alone (CS-22, CS-83); everybody else is told that they are there."""

FOR_AUDITORS: Final = frozenset({type_id_of(HandOpened)})
"""Kinds of events whose bodies are for auditors alone: who looked at which hand's hidden cards, and why.

That one stands in a table's log is told to everybody, for the chain must be whole. Players look back at their own hands by
the same kind, so a suspect learns nothing from it. Of these not even the bus has the bodies.
"""

COMMITTING: Final = frozenset(map(type_id_of, (SecretCommitted, SeedsCommitted, HandStarted, CapsaStarted)))
"""Kinds of events that commit to a hand's secret or seeds: what a proof needs of what came before the hand."""


_SETS_SHOWN: Final = type_id_of(SetsShown)


def stored_message(event: LoggedEvent) -> StoredMessage:
    """Return the message of a stored event."""
    return StoredMessage(
        stream_id=event.stream_id,
        version=event.version,
        event_id=event.event_id,
        command_id=event.command_id,
        epoch=event.epoch,
        type_id=event.type_id,
        schema_version=event.schema_v,
        recorded_at_ms=event.recorded_at_ms,
        body=event.body,
        prev_hash=event.prev_hash,
        hash=event.hash,
        body_hash=event.body_hash,
    )


def public_event(event: LoggedEvent) -> LoggedEvent:
    """Return an event as everybody may have it."""
    return withheld(event) if event.type_id in FOR_ONE_SEAT or event.type_id in FOR_AUDITORS else event


def audited_event(event: LoggedEvent) -> LoggedEvent:
    """Return an event as auditors may have it: who looked at what is told, what a seat arranged needs a look of their own."""
    return event if event.type_id in FOR_AUDITORS else public_event(event)


def unaddressed_event(event: LoggedEvent) -> LoggedEvent:
    """Return an event as it travels among the house's services, which need to know that a look happened and no more."""
    return withheld(event) if event.type_id in FOR_AUDITORS and not event.body_hash else event


def settled_events(events: Sequence[LoggedEvent], *, is_for_auditor: bool = False) -> list[LoggedEvent]:
    """Return a hand's events as everybody, or an auditor, may have them once it has ended.

    What a seat of Capsa arranged is told where the reveal has turned up just that set (CS-84), else withheld (CS-83).
    """
    told = audited_event if is_for_auditor else public_event
    shown: dict[int, Arrangement] = {}
    for event in events:
        said = _said(event) if event.type_id == _SETS_SHOWN else None
        if isinstance(said, SetsShown):
            shown |= {one.seat: one.arrangement for one in said.sets}
    return [event if _is_shown(event, shown) else told(event) for event in events]


def _is_shown(event: LoggedEvent, shown: Mapping[int, Arrangement]) -> bool:
    said = _said(event) if event.type_id in FOR_ONE_SEAT else None
    return isinstance(said, DraftSaved | SetLocked) and shown.get(said.seat) == said.arrangement


def _said(event: LoggedEvent) -> object:
    """Return what an event says; None where it cannot be read, which the verifier will say of it."""
    try:
        return decode(event.type_id, event.schema_v, event.body).event
    except WireError:
        return None


def prologue_event(event: LoggedEvent) -> LoggedEvent:
    """Return an event from before a hand as a proof of the hand needs it: what commits to its cards, else only the hash.

    A table's first event is told too, as it says what the table's chips are.
    """
    return event if event.version == 1 or event.type_id in COMMITTING else withheld(event)


def withheld(event: LoggedEvent) -> LoggedEvent:
    """Return an event without its body: the hash in its place keeps the chain whole and, with the nonce, says nothing."""
    return replace(event, body=b"", body_hash=sha256(event.body).digest())


def logged_event(message: StoredMessage) -> LoggedEvent:
    """Return the stored event of a message, unchecked: the verifier checks it."""
    return LoggedEvent(
        stream_id=message.stream_id,
        version=message.version,
        event_id=message.event_id,
        command_id=message.command_id,
        epoch=message.epoch,
        type_id=message.type_id,
        schema_v=message.schema_version,
        recorded_at_ms=message.recorded_at_ms,
        body=message.body,
        prev_hash=message.prev_hash,
        hash=message.hash,
        body_hash=message.body_hash,
    )
