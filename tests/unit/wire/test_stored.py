"""Stored events as messages and back."""

from diwan.api.event.v1.event_pb2 import StoredEvent as StoredMessage
from diwan.core.log import LoggedEvent
from diwan.wire.stored import logged_event, stored_message


def test_a_stored_event_comes_back_bit_by_bit():
    """H2: the body is bytes here, whatever they hold."""
    event = LoggedEvent(
        stream_id=bytes(range(16)),
        version=7,
        event_id=bytes(range(16, 32)),
        command_id=bytes(range(32, 48)),
        epoch=3,
        type_id=14,
        schema_v=1,
        recorded_at_ms=1_800_000_000_123,
        body=b"\xff no protobuf \x00",
        prev_hash=bytes(32),
        hash=bytes(range(32)),
    )
    message = StoredMessage.FromString(stored_message(event).SerializeToString())
    assert logged_event(message) == event
    assert {name for name, _ in ((f.name, f) for f in message.DESCRIPTOR.fields)} == {
        "schema_version" if name == "schema_v" else name for name in LoggedEvent.__struct_fields__
    }
