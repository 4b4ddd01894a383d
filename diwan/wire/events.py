"""Core events as the bytes that are stored and hashed, and back (H2, H4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeGuard

from google.protobuf.message import DecodeError
from msgspec import Struct

from diwan.api.event.v1.event_pb2 import Event as Envelope
from diwan.core.fairness import Reveal
from diwan.core.ledger.events import LedgerCommitted
from diwan.core.table.events import TableEvent
from diwan.core.tournament.events import TournamentEvent
from diwan.wire.capsa import CAPSA_ROWS
from diwan.wire.hand import HAND_ROWS
from diwan.wire.hosting import HOSTING_ROWS
from diwan.wire.ledger import LEDGER_ROWS
from diwan.wire.mapping import MalformedEvent, Row, UnknownEvent, WireError, read_reveals, write_reveals
from diwan.wire.table import TABLE_ROWS
from diwan.wire.tournament import TOURNAMENT_ROWS
from diwan.wire.tournament_table import TOURNAMENT_TABLE_ROWS
from diwan.wire.waiting import WAITING_ROWS

__all__ = [
    "NONCE_BYTES",
    "Decoded",
    "Encoded",
    "MalformedEvent",
    "UnknownEvent",
    "WireError",
    "decode",
    "encode",
    "is_table_event",
    "is_tournament_event",
    "kind_name",
    "type_id_of",
]

type Event = TableEvent | LedgerCommitted | TournamentEvent
type Revealer = Callable[[int], Reveal]
type Upcaster = Callable[[Envelope], None]

NONCE_BYTES: Final = 16

_ROWS: Final[tuple[Row, ...]] = (
    *HAND_ROWS,
    *CAPSA_ROWS,
    *TABLE_ROWS,
    *HOSTING_ROWS,
    *WAITING_ROWS,
    *TOURNAMENT_TABLE_ROWS,
    *LEDGER_ROWS,
    *TOURNAMENT_ROWS,
)
_PAYLOADS: Final[Any] = Envelope.DESCRIPTOR.oneofs_by_name["payload"].fields
_FIELDS: Final = {field.message_type.name: field for field in _PAYLOADS}

SCHEMAS: Final[Mapping[int, int]] = MappingProxyType({_FIELDS[row.name].number: 1 for row in _ROWS})
"""The schema version that `encode` writes, by type_id. Raise it with every field that is added, and add an upcaster."""

UPCASTERS: Final[Mapping[tuple[int, int], Upcaster]] = MappingProxyType({})
"""By (type_id, schema_v): turns a parsed envelope of that version into one of the next, in place. They only add."""

_WRITERS: Final = {row.kind: (_FIELDS[row.name].number, _FIELDS[row.name].name, row.write, row.shows) for row in _ROWS}
_READERS: Final = {_FIELDS[row.name].number: (_FIELDS[row.name].name, row.read, row.shows) for row in _ROWS}


_KIND_NAMES: Final = {_FIELDS[row.name].number: row.name for row in _ROWS}


_NO_TABLE_S: Final[frozenset[type]] = frozenset([row.kind for row in (*LEDGER_ROWS, *TOURNAMENT_ROWS)])
_A_TOURNAMENT_S: Final[frozenset[type]] = frozenset([row.kind for row in TOURNAMENT_ROWS])


def is_table_event(event: Event) -> TypeGuard[TableEvent]:
    """Say whether an event belongs into a table's stream."""
    return type(event) not in _NO_TABLE_S


def is_tournament_event(event: Event) -> TypeGuard[TournamentEvent]:
    """Say whether an event belongs into a tournament's stream."""
    return type(event) in _A_TOURNAMENT_S


def type_id_of(kind: type) -> int:
    """Return the number that a kind of event has in the store and in its hash."""
    return int(_WRITERS[kind][0])


def types_named(*names: str) -> frozenset[int]:
    """Return the numbers of kinds of events, each named as in event/v1: ``hand_started``."""
    return frozenset(Envelope.DESCRIPTOR.fields_by_name[name].number for name in names)


def kind_name(type_id: int) -> str:
    """Return the name of a kind of event; raises `UnknownEvent`."""
    if type_id not in _KIND_NAMES:
        raise UnknownEvent(f"no event has the type {type_id}")
    return _KIND_NAMES[type_id]


class Encoded(Struct, frozen=True):
    """An event as it goes into the store; ``type_id`` is the payload's field number in the envelope."""

    type_id: int
    schema_v: int
    body: bytes


class Decoded(Struct, frozen=True):
    """An event with what its body carries beside it; ``reveals`` has one a position, unverified."""

    event: Event
    reveals: tuple[Reveal, ...]
    nonce: bytes


def encode(event: Event, *, nonce: bytes, reveal: Revealer | None = None) -> Encoded:
    """Return an event's bytes: the envelope's deterministic serialisation, made once and kept for ever.

    ``nonce`` is 16 random bytes, fresh for every event. ``reveal`` gives the proof of a position's card; an event that
    turns cards up cannot be written without it. Numbers that the contract cannot hold raise ValueError.
    """
    if len(nonce) != NONCE_BYTES:
        raise ValueError("a nonce is 16 bytes")
    type_id, field, write, shows = _WRITERS[type(event)]
    envelope = Envelope(nonce=nonce)
    # Assigning in place costs two thirds of building the payload apart and copying it in.
    message = getattr(envelope, field)
    message.SetInParent()
    write(message, event)
    if shows:
        if reveal is None:
            raise ValueError(f"{type(event).__name__} turns cards up and needs their reveals")
        write_reveals(message.reveals, map(reveal, event.positions))  # type: ignore[union-attr]
    return Encoded(type_id, SCHEMAS[type_id], envelope.SerializeToString(deterministic=True))


def decode(
    type_id: int,
    schema_v: int,
    body: bytes,
    *,
    schemas: Mapping[int, int] = SCHEMAS,
    upcasters: Mapping[tuple[int, int], Upcaster] = UPCASTERS,
) -> Decoded:
    """Return the event of a stored body, raised to the newest schema.

    Raises `UnknownEvent` for a type or schema of newer code, `MalformedEvent` for bytes that are not what they are said
    to be. A body with content that this code would drop counts as unknown too: nothing is skipped.
    """
    newest, reader = schemas.get(type_id), _READERS.get(type_id)
    if newest is None or reader is None:
        raise UnknownEvent(f"no event has the type {type_id}")
    if not 1 <= schema_v <= newest:
        raise UnknownEvent(f"schema {schema_v} of the type {type_id} is not known; the newest is {newest}")
    field, read, shows = reader
    envelope = _parse(body)
    if envelope.WhichOneof("payload") != field:
        raise MalformedEvent(f"the body of the type {type_id} holds no {field}")
    for version in range(schema_v, newest):
        upcasters[type_id, version](envelope)
    message = getattr(envelope, field)
    return Decoded(read(message), read_reveals(message.reveals) if shows else (), envelope.nonce)


def _parse(body: bytes) -> Any:
    try:
        envelope = Envelope.FromString(body)
    except DecodeError as error:
        raise MalformedEvent("the body is no envelope") from error
    envelope.DiscardUnknownFields()
    if envelope.ByteSize() != len(body):
        raise UnknownEvent("the body holds more than this code reads")
    return envelope
