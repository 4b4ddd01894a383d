"""One tournament's stream in the event store, and how it begins."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from diwan.chassis.store import Append, Claim, EventStore, OwnedStream, first_append
from diwan.core.log import StreamKind
from diwan.core.tournament.events import TournamentCreated, TournamentEvent


def creation(
    tournament_id: UUID, command_id: UUID, caller: str, request_hash: bytes, events: Sequence[TournamentEvent]
) -> Append:
    """Return the append that begins a tournament's stream."""
    created = events[0]
    assert isinstance(created, TournamentCreated), "a tournament begins with its creation"  # noqa: S101
    return first_append(
        tournament_id,
        StreamKind.TOURNAMENT,
        events,
        command_id=command_id,
        caller=caller,
        request_hash=request_hash,
        now_ms=created.at_ms,
    )


class TournamentStream(OwnedStream):
    """The head of a claimed tournament's stream."""

    def __init__(self, store: EventStore, claim: Claim) -> None:
        super().__init__(store, claim, StreamKind.TOURNAMENT)

    @property
    def tournament_id(self) -> UUID:
        """The tournament's id."""
        return self.stream_id
