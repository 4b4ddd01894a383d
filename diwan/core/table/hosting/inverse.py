"""Back from an act to the command that made it, so that a log can be decided again (DESIGN 3)."""

from __future__ import annotations

from diwan.core.table.hosting.commands import (
    AnswerInvitation,
    ChangeSettings,
    ExpirePause,
    HandOver,
    HostingCommand,
    Invite,
    IssueJoinCode,
    JoinByCode,
    RemoveGuest,
    RevokeInvitation,
    RevokeJoinCode,
    SetPaused,
)
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


def hosting_command_of(event: HostingEvent) -> HostingCommand:
    """Return the command of which an event is the act."""
    match event:
        case InvitationSent():
            return Invite(event.player, event.invited_by, event.is_operator, event.expires_at_ms, event.sent_at_ms)
        case InvitationAnswered():
            return AnswerInvitation(event.player, event.is_accepted, event.answered_at_ms)
        case InvitationRevoked():
            return RevokeInvitation(event.player, event.revoked_by, event.is_operator, event.revoked_at_ms)
        case JoinCodeIssued():
            return IssueJoinCode(
                event.code_hash, event.issued_by, event.is_operator, event.expires_at_ms, event.issued_at_ms
            )
        case JoinCodeRevoked():
            return RevokeJoinCode(event.revoked_by, event.is_operator, event.revoked_at_ms)
        case GuestJoined():
            return JoinByCode(event.player, event.code_hash, event.joined_at_ms)
        case GuestRemoved():
            return RemoveGuest(event.player, event.removed_by, event.is_operator, event.removed_at_ms)
        case HostChanged():
            return HandOver(event.host, event.changed_by, event.is_operator, event.changed_at_ms)
        case TablePaused():
            return SetPaused(True, event.paused_by, event.is_operator, event.paused_at_ms)  # noqa: FBT003
        case TableResumed(is_by_clock=True):
            return ExpirePause(event.resumed_at_ms)
        case TableResumed():
            return SetPaused(False, event.resumed_by, event.is_operator, event.resumed_at_ms)  # noqa: FBT003
        case SettingsChanged():
            return ChangeSettings(event.config, event.changed_by, event.is_operator, event.changed_at_ms)
