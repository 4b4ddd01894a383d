"""What a host, a guest or an operator may ask of a table. ``by`` asks; ``is_operator`` in the host's place."""

from __future__ import annotations

from msgspec import Struct

from diwan.core.table.config import TableConfig


class Invite(Struct, frozen=True):
    """Invite a player until a time; inviting again begins anew."""

    player: str
    by: str
    is_operator: bool
    expires_at_ms: int
    now_ms: int


class AnswerInvitation(Struct, frozen=True):
    """Accept or decline one's own invitation."""

    player: str
    is_accepted: bool
    now_ms: int


class RevokeInvitation(Struct, frozen=True):
    """Take an invitation back; whoever sits already stays."""

    player: str
    by: str
    is_operator: bool
    now_ms: int


class IssueJoinCode(Struct, frozen=True):
    """Let a code count from now on; only its hash is known here."""

    code_hash: bytes
    by: str
    is_operator: bool
    expires_at_ms: int
    now_ms: int


class RevokeJoinCode(Struct, frozen=True):
    """Let the code count no more."""

    by: str
    is_operator: bool
    now_ms: int


class JoinByCode(Struct, frozen=True):
    """Become a guest by naming the code of this hash."""

    player: str
    code_hash: bytes
    now_ms: int


class RemoveGuest(Struct, frozen=True):
    """Send a guest away, after the hand where one is played."""

    player: str
    by: str
    is_operator: bool
    now_ms: int


class HandOver(Struct, frozen=True):
    """Make a guest the host."""

    player: str
    by: str
    is_operator: bool
    now_ms: int


class SetPaused(Struct, frozen=True):
    """Start no new hand, or go on."""

    is_paused: bool
    by: str
    is_operator: bool
    now_ms: int


class ExpirePause(Struct, frozen=True):
    """Go on: the time of a pause is over."""

    now_ms: int


class ChangeSettings(Struct, frozen=True):
    """Play by other settings from the next hand on."""

    config: TableConfig
    by: str
    is_operator: bool
    now_ms: int


type HostingCommand = (
    Invite
    | AnswerInvitation
    | RevokeInvitation
    | IssueJoinCode
    | RevokeJoinCode
    | JoinByCode
    | RemoveGuest
    | HandOver
    | SetPaused
    | ExpirePause
    | ChangeSettings
)
