"""What every event means for host and guests: a record without rules. Settings of a running hand are the table's."""

from __future__ import annotations

from msgspec.structs import replace

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
from diwan.core.table.hosting.state import Hosting, Invitation, InvitationStatus, JoinCode


def evolve(hosting: Hosting, event: HostingEvent) -> Hosting:
    """Return host and guests after one more event."""
    match event:
        case InvitationSent():
            return _with(hosting, event.player, "pending", event.expires_at_ms)
        case InvitationAnswered():
            return _with(hosting, event.player, "accepted" if event.is_accepted else "declined")
        case InvitationRevoked():
            return _with(hosting, event.player, "revoked")
        case GuestJoined():
            return _with(hosting, event.player, "accepted")
        case GuestRemoved():
            return _with(hosting, event.player, "removed")
        case JoinCodeIssued():
            return replace(hosting, join_code=JoinCode(event.code_hash, event.expires_at_ms))
        case JoinCodeRevoked():
            return replace(hosting, join_code=None)
        case HostChanged():
            # Whoever was the host needs no invitation to come back.
            before = _with(hosting, hosting.host, "accepted") if hosting.host else hosting
            return replace(before, host=event.host)
        case TablePaused():
            return replace(hosting, is_paused=True, paused_until_ms=event.until_ms)
        case TableResumed():
            return replace(hosting, is_paused=False, paused_until_ms=0, pause_left_ms=event.left_ms)
        case SettingsChanged():
            return replace(hosting, settings_next=event.config, settings_changed_at_ms=event.changed_at_ms)


def _with(hosting: Hosting, player: str, status: InvitationStatus, expires_at_ms: int = 0) -> Hosting:
    others = tuple(each for each in hosting.invitations if each.player != player)
    return replace(hosting, invitations=(*others, Invitation(player, status, expires_at_ms)))
