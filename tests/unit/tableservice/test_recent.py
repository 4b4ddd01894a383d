"""The newest events in memory: without a hole, however many were read or came since (H10)."""

from uuid import UUID

import pytest

from diwan.chassis.store import StoredEvent
from services.table.frames import stored_event_bytes
from services.table.recent import RECENT_EVENTS, Recent


def stored(version):
    nothing = UUID(int=version)
    return StoredEvent(nothing, version, nothing, nothing, 1, 13, 1, 9, b"", b"", b"")


def added(recent, first, last):
    events = [stored(version) for version in range(first, last + 1)]
    recent.add(events, [stored_event_bytes(event) for event in events])


@pytest.mark.parametrize("read", [0, 1, 300, RECENT_EVENTS, RECENT_EVENTS + 40])
@pytest.mark.parametrize("come", [0, 1, 300, RECENT_EVENTS, RECENT_EVENTS + 40])
def test_what_is_there_is_there_without_a_hole(read, come):
    recent = Recent()
    recent.reset([stored(version) for version in range(1, read + 1)])
    for version in range(read + 1, read + come + 1, 7):
        added(recent, version, min(version + 6, read + come))
    newest = read + come
    kept = min(newest, RECENT_EVENTS)
    if kept:
        assert recent.has(newest - kept + 1)
        assert not recent.has(newest - kept)
    expected = [stored_event_bytes(stored(version)) for version in range(newest - kept + 1, newest + 1)]
    assert recent.between(newest - kept, newest) == expected
    assert recent.between(newest - kept, newest - 1) == expected[:-1]
    assert recent.between(newest, newest) == []
