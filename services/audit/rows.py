"""Rows of kept events as whoever reads logs knows them."""

from __future__ import annotations

from typing import Any

from diwan.core.log import LoggedEvent


def logged_of(row: Any) -> LoggedEvent:
    """Return the event of a row of `kept_event`, with ids of 16 bytes."""
    return LoggedEvent(
        stream_id=row["stream_id"].bytes,
        version=row["version"],
        event_id=row["event_id"].bytes,
        command_id=row["command_id"].bytes,
        epoch=row["epoch"],
        type_id=row["type_id"],
        schema_v=row["schema_v"],
        recorded_at_ms=row["recorded_at_ms"],
        body=row["body"],
        prev_hash=row["prev_hash"],
        hash=row["hash"],
    )
