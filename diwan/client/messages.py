"""The contract's messages that a program at a table reads and fills in, under one roof.

What each field means stands beside it in ``protos/diwan/api``. Enums are numbers; `name_of` gives their words.
"""

from typing import Any

from diwan.api.event.v1 import hand_pb2
from diwan.api.event.v1.capsa_pb2 import CapsaSettings, CapsaStatus
from diwan.api.event.v1.event_pb2 import Event, StoredEvent
from diwan.api.event.v1.hand_pb2 import ActionKind, DecidedBy, HandResult, PostKind, Reveal, Street, VoidReason
from diwan.api.event.v1.table_pb2 import ChipSource, MatchResult, SeatCause
from diwan.api.table.v1.capsa_pb2 import CapsaRows, CapsaSetView, CapsaView, PairStakeAction
from diwan.api.table.v1.lobby_pb2 import LobbyEntry, TableConditions, TableFilter, Wish
from diwan.api.table.v1.table_service_pb2 import PlayResponse, Update
from diwan.api.table.v1.view_pb2 import (
    Decision,
    HandView,
    NaikoView,
    PowerOffer,
    PrivateView,
    ResponseWindow,
    SarabView,
    SeatStatus,
    SeatView,
    TableView,
)

__all__ = [
    "ActionKind",
    "CapsaRows",
    "CapsaSetView",
    "CapsaSettings",
    "CapsaStatus",
    "CapsaView",
    "ChipSource",
    "DecidedBy",
    "Decision",
    "Event",
    "HandResult",
    "HandView",
    "LobbyEntry",
    "MatchResult",
    "NaikoView",
    "PairStakeAction",
    "PlayResponse",
    "PostKind",
    "PowerOffer",
    "PrivateView",
    "ResponseWindow",
    "Reveal",
    "SarabView",
    "SeatCause",
    "SeatStatus",
    "SeatView",
    "StoredEvent",
    "Street",
    "TableConditions",
    "TableFilter",
    "TableView",
    "Update",
    "VoidReason",
    "Wish",
    "event_of",
    "game_of",
    "is_running",
    "name_of",
]


def event_of(stored: StoredEvent) -> tuple[str, Any]:
    """Return an event's kind, such as "acted", and its message.

    The kind is empty, and the message None, where this client is older than the event, or where the body is withheld
    because it is for another seat alone, or for auditors.
    """
    if not stored.body:
        return "", None
    event = Event.FromString(stored.body)
    kind = event.WhichOneof("payload")
    return ("", None) if kind is None else (kind, getattr(event, kind))


def name_of(enum: Any, number: int) -> str:
    """Return an enum's value in small letters without the enum's name: 2 of Street is "flop"."""
    names = list(enum.DESCRIPTOR.values_by_number[number].name.split("_"))
    prefix = _words_in(enum.DESCRIPTOR.name)
    return "_".join(names[prefix:]).lower()


def _words_in(camel: str) -> int:
    return sum(letter.isupper() for letter in camel)


def game_of(table: TableView) -> str:
    """Return the game of a table, such as "naiko"."""
    return "capsa" if table.config.HasField("capsa") else table.config.hand.game


def is_running(table: TableView) -> bool:
    """Say whether a hand is being played."""
    hand = table.hand
    if not table.HasField("hand") or not hand.hand_id:
        return False
    if hand.HasField("capsa"):
        return hand.capsa.phase != "over"
    return hand.street not in {hand_pb2.STREET_UNSPECIFIED, hand_pb2.STREET_OVER}
