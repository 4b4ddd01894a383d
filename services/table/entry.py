"""Who looks at a table, and whether it is let in: at a private one only who is invited (TB-3, S4)."""

import msgspec

from diwan.chassis.access import Role
from diwan.chassis.calls import Call
from diwan.core.decider import Rejected
from diwan.core.table.hosting.entry import check_entry
from services.table.actor import Actor

STAFF = frozenset({Role.OPERATOR, Role.AUDITOR, Role.SERVICE})
"""The house itself sees every table, as everybody at it does: no hidden card is in that view."""


class Viewer(msgspec.Struct, frozen=True):
    """Who looks. ``player`` None is the house, or a back end for no one of its players; ``players`` its prefix."""

    player: str | None
    is_bot: bool = False
    is_staff: bool = False
    players: str = ""


def viewer_of(call: Call, on_behalf_of: str) -> Viewer:
    """Return who looks; raises `Rejected` for a player that the caller cannot act for."""
    caller = call.caller
    if caller.role in STAFF:
        if on_behalf_of:
            raise Rejected("ON_BEHALF_OF_NOT_ALLOWED")
        return Viewer(None, is_staff=True)
    if caller.role is Role.BACKEND and not on_behalf_of:
        return Viewer(None, players=caller.players)
    return Viewer(caller.acting_player(on_behalf_of), is_bot=caller.role is Role.BOT)


def let_in(actor: Actor, viewer: Viewer) -> None:
    """Raise INVITATION_REQUIRED or INVITATION_EXPIRED unless the viewer may see the table.

    A back end that names no player sees the private tables that its own players host.
    """
    state = actor.state
    if viewer.is_staff or not state.config.is_private:
        return
    if viewer.player is None:
        if not state.hosting.host.startswith(viewer.players):
            raise Rejected("INVITATION_REQUIRED")
        return
    check_entry(state, viewer.player, actor.clock.now_ms(), is_bot=viewer.is_bot)


def show_out(actor: Actor) -> None:
    """End the streams of players who may not see the table any more (TB-3)."""
    state, now = actor.state, actor.clock.now_ms()
    if not state.config.is_private:
        return
    for player, is_bot in actor.hub.viewers():
        try:
            check_entry(state, player, now, is_bot=is_bot)
        except Rejected as refusal:
            actor.hub.end_player(player, refusal)
