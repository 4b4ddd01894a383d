"""Who may see a table and sit at it (TB-3): at a private one its host, its guests, who is invited, and who sits there."""

from __future__ import annotations

from diwan.core.decider import Rejected
from diwan.core.reasons import Reason
from diwan.core.table.state import TableState


def check_entry(state: TableState, player: str, now_ms: int, *, is_bot: bool = False) -> None:
    """Let in who may see the table and, if there is room, sit down.

    Raises INVITATION_EXPIRED where an invitation came to its end unanswered, else INVITATION_REQUIRED.
    """
    if not state.config.is_private or player == state.hosting.host or state.seat_of(player) is not None:
        return
    invitation = state.hosting.invitation_of(player)
    status = None if invitation is None else invitation.status
    if status == "accepted" or (is_bot and state.config.bots_fill and status != "removed"):
        return
    if invitation is None or status != "pending":
        raise Rejected(Reason.INVITATION_REQUIRED)
    if invitation.expires_at_ms <= now_ms:
        raise Rejected(Reason.INVITATION_EXPIRED, expired_at_ms=invitation.expires_at_ms)


def may_see(state: TableState, player: str, now_ms: int, *, is_bot: bool = False) -> bool:
    """Say whether a player may see the table: the answer of `check_entry`."""
    try:
        check_entry(state, player, now_ms, is_bot=is_bot)
    except Rejected:
        return False
    return True
