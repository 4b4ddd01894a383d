"""What happened to a table's guests and its host. Field by field the same as ``diwan/api/event/v1/hosting.proto``.

``is_operator`` says that operations staff did it in the host's place.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diwan.core.table.config import TableConfig

type HostCause = Literal["handed_over", "left"]


class InvitationSent(Struct, frozen=True, tag=True):
    """A player was invited; an invitation that the player had before is void."""

    player: str
    invited_by: str
    is_operator: bool
    expires_at_ms: int
    sent_at_ms: int


class InvitationAnswered(Struct, frozen=True, tag=True):
    """An invited player accepted, also by sitting down, or declined."""

    player: str
    is_accepted: bool
    answered_at_ms: int


class InvitationRevoked(Struct, frozen=True, tag=True):
    """An invitation counts no more, accepted or not."""

    player: str
    revoked_by: str
    is_operator: bool
    revoked_at_ms: int


class JoinCodeIssued(Struct, frozen=True, tag=True):
    """Whoever knows the code of this hash may become a guest; a code before it counts no more."""

    code_hash: bytes
    issued_by: str
    is_operator: bool
    expires_at_ms: int
    issued_at_ms: int


class JoinCodeRevoked(Struct, frozen=True, tag=True):
    """The table has no code any more."""

    revoked_by: str
    is_operator: bool
    revoked_at_ms: int


class GuestJoined(Struct, frozen=True, tag=True):
    """A player became a guest by naming the code."""

    player: str
    code_hash: bytes
    joined_at_ms: int


class GuestRemoved(Struct, frozen=True, tag=True):
    """A player is no guest any more, leaves after the hand, and comes back by no code."""

    player: str
    removed_by: str
    is_operator: bool
    removed_at_ms: int


class HostChanged(Struct, frozen=True, tag=True):
    """Somebody else is the host; the one before is a guest."""

    host: str
    cause: HostCause
    changed_by: str
    is_operator: bool
    changed_at_ms: int


class TablePaused(Struct, frozen=True, tag=True):
    """No new hand starts until the table is resumed; the running one is played on.

    It ends by itself at ``until_ms``, or by somebody's word where that is 0.
    """

    paused_by: str
    is_operator: bool
    paused_at_ms: int
    until_ms: int = 0


class TableResumed(Struct, frozen=True, tag=True):
    """Hands start again: by whose word, or by the clock. ``left_ms`` is for how long a match's host may still pause it."""

    resumed_by: str
    is_operator: bool
    resumed_at_ms: int
    is_by_clock: bool = False
    left_ms: int = 0


class SettingsChanged(Struct, frozen=True, tag=True):
    """The table has other settings from the next hand on; a running hand keeps those that it began with."""

    config: TableConfig
    changed_by: str
    is_operator: bool
    changed_at_ms: int


type HostingEvent = (
    InvitationSent
    | InvitationAnswered
    | InvitationRevoked
    | JoinCodeIssued
    | JoinCodeRevoked
    | GuestJoined
    | GuestRemoved
    | HostChanged
    | TablePaused
    | TableResumed
    | SettingsChanged
)
