"""Messages to watchers as bytes: an update is serialised once for everybody who watches.

``PlayResponse`` and ``WatchResponse`` have the same field numbers on purpose, so the same bytes serve both.
"""

from collections.abc import Iterable
from typing import Final

from diwan.api.event.v1.event_pb2 import StoredEvent as StoredMessage
from diwan.api.table.v1.table_service_pb2 import Heartbeat, PlayResponse, Update, WatchResponse
from diwan.api.table.v1.view_pb2 import Presence as PresenceMessage
from diwan.api.table.v1.view_pb2 import PrivateView as PrivateMessage
from diwan.chassis.store import StoredEvent
from diwan.wire.stored import public_event, stored_message
from diwan.wire.views import varint


def _tag(message: type, field: str) -> bytes:
    number: int = message.DESCRIPTOR.fields_by_name[field].number  # type: ignore[attr-defined]
    return bytes([number << 3 | 2])


_EVENTS: Final = _tag(Update, "events")
_VIEW: Final = _tag(Update, "view")
_ITS_RESULT: Final = _tag(Update, "result")
_PRESENCE: Final = _tag(PlayResponse, "presence")
_IS_SNAPSHOT: Final = Update(is_snapshot=True).SerializeToString()
_UPDATE: Final = _tag(PlayResponse, "update")
_PRIVATE: Final = _tag(PlayResponse, "private")
_HEARTBEAT: Final = _tag(PlayResponse, "heartbeat")
_RESULT: Final = _tag(PlayResponse, "result")

assert all(  # noqa: S101  (the contract holds it, and everything here depends on it)
    _tag(PlayResponse, field) == _tag(WatchResponse, field) for field in ("update", "private", "heartbeat", "presence")
)


def stored_event_bytes(event: StoredEvent) -> bytes:
    """Return a stored event as its message's bytes."""
    return stored_event_message(event).SerializeToString()


def stored_event_message(event: StoredEvent) -> StoredMessage:
    """Return a stored event as its message, as everybody may have it."""
    return stored_message(public_event(event.logged()))


class UpdateFrame:
    """An update of serialised events and a serialised view: the same bytes for everybody but who asked for it."""

    __slots__ = ("_message", "frame")

    def __init__(self, events: Iterable[bytes], view: bytes | None, *, is_snapshot: bool = False) -> None:
        parts: list[bytes] = []
        for event in events:
            parts += (_EVENTS, varint(len(event)), event)
        if view is not None:
            parts += (_VIEW, varint(len(view)), view)
        if is_snapshot:
            parts.append(_IS_SNAPSHOT)
        self._message = b"".join(parts)
        self.frame = _framed(_UPDATE, self._message)

    def answering(self, result: bytes) -> bytes:
        """Return the update as the stream gets it that asked for it; ``result`` is a serialised CommandResult."""
        return _framed(_UPDATE, self._message + _framed(_ITS_RESULT, result))


def private_frame(message: PrivateMessage) -> bytes:
    """Return what goes to the streams of one seat alone."""
    return _framed(_PRIVATE, message.SerializeToString())


def heartbeat_frame(now_ms: int, version: int) -> bytes:
    """Return a sign of life."""
    return _framed(_HEARTBEAT, Heartbeat(server_time_ms=now_ms, version=version).SerializeToString())


def presence_frame(message: PresenceMessage) -> bytes:
    """Return who is there, for everybody."""
    return _framed(_PRESENCE, message.SerializeToString())


def result_frame(result: bytes) -> bytes:
    """Return the answer to a request of a Play stream; ``result`` is a serialised CommandResult."""
    return _framed(_RESULT, result)


def _framed(tag: bytes, message: bytes) -> bytes:
    return tag + varint(len(message)) + message
