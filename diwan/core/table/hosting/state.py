"""A table's host and guests as the fold of their events."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diwan.core.table.config import TableConfig

type InvitationStatus = Literal["pending", "accepted", "declined", "revoked", "removed"]
"""As recorded; a pending one whose time is over is expired."""


class Invitation(Struct, frozen=True):
    """A player's invitation, the newest one. ``expires_at_ms`` counts while it is pending."""

    player: str
    status: InvitationStatus
    expires_at_ms: int


class JoinCode(Struct, frozen=True):
    """The code that counts now."""

    code_hash: bytes
    expires_at_ms: int


class Hosting(Struct, frozen=True):
    """Host, guests and what the host has set. ``settings_next`` waits for the end of the running hand."""

    host: str = ""
    invitations: tuple[Invitation, ...] = ()  # one a player, the newest last
    join_code: JoinCode | None = None
    is_paused: bool = False
    paused_until_ms: int = 0  # 0 where only somebody's word ends it
    pause_left_ms: int | None = None  # of a match, for its host; None until it was first resumed: all of it
    settings_next: TableConfig | None = None
    settings_changed_at_ms: int = 0
    first_host: str = ""  # who opened it, whoever hosts by now

    def invitation_of(self, player: str) -> Invitation | None:
        """Return a player's invitation."""
        for invitation in self.invitations:
            if invitation.player == player:
                return invitation
        return None
