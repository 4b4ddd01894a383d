"""Looks at what tournaments say: only what is a tournament's stands in their streams."""

from __future__ import annotations

from collections.abc import Sequence

from diwan.chassis.database import Connection
from diwan.wire.events import is_tournament_event
from services.audit.findings import Finding
from services.audit.keeping import Read


class TournamentExaminer:
    """Examines the tournament feed."""

    async def examine(self, _connection: Connection, events: Sequence[Read]) -> list[Finding]:
        """Return what does not belong."""
        return [
            _found(one, "OUT_OF_PLACE", f"expected an event of a tournament, found {type(one.event).__name__}")
            for one in events
            if one.event is not None and not is_tournament_event(one.event)
        ]


def _found(one: Read, kind: str, detail: str) -> Finding:
    stored = one.kept.event
    return Finding(one.kept.feed_id, one.kept.global_seq, stored.stream_id, stored.version, kind, detail)
