"""What an event about a table's host and guests says, in plain words."""

from __future__ import annotations

from typing import assert_never

from diwan.core.table.hosting.events import (
    GuestJoined,
    GuestRemoved,
    HostChanged,
    HostingEvent,
    InvitationAnswered,
    InvitationRevoked,
    InvitationSent,
    JoinCodeIssued,
    JoinCodeRevoked,
    SettingsChanged,
    TablePaused,
    TableResumed,
)


def describe_hosting(event: HostingEvent) -> str:
    """Return what happened, as a clause whose subject is the room."""
    match event:
        case InvitationSent(player=player, invited_by=by):
            return f"invites {player}, by {by}"
        case InvitationAnswered(player=player, is_accepted=is_accepted):
            return f"notes that {player} {'accepted' if is_accepted else 'declined'} the invitation"
        case InvitationRevoked(player=player, revoked_by=by):
            return f"takes back the invitation of {player}, by {by}"
        case JoinCodeIssued(issued_by=by):
            return f"lets a new join code count, by {by}"
        case JoinCodeRevoked(revoked_by=by):
            return f"lets the join code count no more, by {by}"
        case GuestJoined(player=player):
            return f"lets {player} in by the join code"
        case GuestRemoved(player=player, removed_by=by):
            return f"sends {player} away, by {by}"
        case HostChanged(host=host, cause=cause, changed_by=by):
            return f"has {host} as its host, {'after' if cause == 'left' else 'by'} {by}"
        case TablePaused(paused_by=by):
            return f"pauses, by {by}"
        case TableResumed(is_by_clock=True):
            return "goes on: the time of the pause is over"
        case TableResumed(resumed_by=by):
            return f"goes on, by {by}"
        case SettingsChanged(changed_by=by):
            return f"changes its settings from the next hand on, by {by}"
        case _:
            assert_never(event)
