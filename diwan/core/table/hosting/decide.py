"""What a table makes of its host's and guests' requests (TB-3, RULES.md D2)."""

from __future__ import annotations

from typing import Final

from diwan.core.decider import Rejected
from diwan.core.hashing import HASH_BYTES
from diwan.core.reasons import Reason
from diwan.core.table.checking import checked
from diwan.core.table.config import TableConfig
from diwan.core.table.events import SeatCause, StandUpRequested, TableEvent
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
    InvitationAnswered,
    InvitationRevoked,
    InvitationSent,
    JoinCodeIssued,
    JoinCodeRevoked,
    SettingsChanged,
    TablePaused,
    TableResumed,
)
from diwan.core.table.hosting.state import Invitation
from diwan.core.table.pairs import fits
from diwan.core.table.state import SeatState, TableState

INVITATIONS_MAX: Final = 500
"""Players that a table has an invitation of: friends, not a public."""

INVITATION_MS_MAX: Final = 30 * 24 * 3_600_000
"""An invitation or code for more than 30 days is a mistyped number."""

MATCH_PAUSE_MS_MAX: Final = 10 * 60_000
"""All pauses of a match by its host together: nobody can leave one with the entry, so nobody may be made to wait for ever."""


def decide_hosting(state: TableState, command: HostingCommand) -> tuple[TableEvent, ...]:
    """Return the events of a request, the act first; raises `Rejected`."""
    match command:
        case Invite():
            return (_invite(state, command),)
        case AnswerInvitation():
            return (_answer(state, command),)
        case RevokeInvitation():
            return (_revoke(state, command),)
        case IssueJoinCode():
            return (_issue(state, command),)
        case RevokeJoinCode():
            return (_revoke_code(state, command),)
        case JoinByCode():
            return (_join(state, command),)
        case RemoveGuest():
            return _remove(state, command)
        case HandOver():
            return (_hand_over(state, command),)
        case SetPaused():
            return (_pause(state, command),)
        case ExpirePause():
            return (_go_on(state, command),)
        case ChangeSettings():
            return _change(state, command)


def accepted_by_sitting(state: TableState, player: str, now_ms: int) -> tuple[InvitationAnswered, ...]:
    """Return that a player who sits down accepts the invitation, where one waits for an answer."""
    invitation = state.hosting.invitation_of(player)
    if not state.config.is_private or invitation is None or invitation.status != "pending":
        return ()
    return (InvitationAnswered(player, is_accepted=True, answered_at_ms=now_ms),)


def host_after(state: TableState, leaving: SeatState, now_ms: int) -> tuple[HostChanged, ...]:
    """Return who hosts when a seat is left: the next person clockwise of a host who leaves.

    Where nobody else sits the host stays the host, or a table of friends would be nobody's.
    """
    if leaving.player != state.hosting.host or not state.config.is_private or state.is_closing:
        return ()
    staying = [seat for seat in state.seats if not seat.is_bot and seat.leaving is None and seat.is_funded]
    clockwise = sorted(staying, key=lambda seat: (seat.seat - leaving.seat) % (state.config.seats or 1))
    following = [seat for seat in clockwise if seat.seat != leaving.seat]
    if not following:
        return ()
    return (HostChanged(following[0].player, "left", leaving.player, is_operator=False, changed_at_ms=now_ms),)


type _HostOnly = (
    Invite | RevokeInvitation | IssueJoinCode | RevokeJoinCode | RemoveGuest | HandOver | SetPaused | ChangeSettings
)


def _check_host(state: TableState, command: _HostOnly) -> None:
    """Only the host, or an operator in the host's place; a public table has no host."""
    if not command.is_operator and (not state.hosting.host or command.by != state.hosting.host):
        raise Rejected(Reason.NOT_HOST)
    if state.is_closing:
        raise Rejected(Reason.TABLE_CLOSED, table_id=state.table_id)


def _check_private(state: TableState) -> None:
    if not state.config.is_private:
        raise Rejected(Reason.TABLE_NOT_PRIVATE, table_id=state.table_id)


def _check_until(expires_at_ms: int, now_ms: int) -> None:
    if not now_ms < expires_at_ms <= now_ms + INVITATION_MS_MAX:
        raise Rejected("FIELD_INVALID", field="valid_seconds", why="1 second to 30 days")


def _invite(state: TableState, command: Invite) -> InvitationSent:
    _check_host(state, command)
    _check_private(state)
    _check_until(command.expires_at_ms, command.now_ms)
    standing = state.hosting.invitation_of(command.player)
    if command.player == state.hosting.host or (standing is not None and standing.status == "accepted"):
        raise Rejected(Reason.GUEST_ALREADY)
    if standing is None and len(state.hosting.invitations) >= INVITATIONS_MAX:
        raise Rejected(Reason.TOO_MANY_INVITATIONS, max=INVITATIONS_MAX)
    return InvitationSent(command.player, command.by, command.is_operator, command.expires_at_ms, command.now_ms)


def _answer(state: TableState, command: AnswerInvitation) -> InvitationAnswered:
    invitation = state.hosting.invitation_of(command.player)
    if invitation is None or invitation.status in {"revoked", "removed"}:
        raise Rejected(Reason.INVITATION_REQUIRED)
    if state.is_closing:
        raise Rejected(Reason.TABLE_CLOSED, table_id=state.table_id)
    if invitation.status != "pending":
        # What was accepted may still be given back, by who does not sit here.
        is_given_back = invitation.status == "accepted" and not command.is_accepted
        if not is_given_back or state.seat_of(command.player) is not None:
            raise Rejected(Reason.INVITATION_ANSWERED)
    elif invitation.expires_at_ms <= command.now_ms:
        raise Rejected(Reason.INVITATION_EXPIRED, expired_at_ms=invitation.expires_at_ms)
    return InvitationAnswered(command.player, command.is_accepted, command.now_ms)


def _revoke(state: TableState, command: RevokeInvitation) -> InvitationRevoked:
    _check_host(state, command)
    _open_invitation(state, command.player)
    return InvitationRevoked(command.player, command.by, command.is_operator, command.now_ms)


def _open_invitation(state: TableState, player: str) -> Invitation:
    invitation = state.hosting.invitation_of(player)
    if invitation is None or invitation.status not in {"pending", "accepted"}:
        raise Rejected(Reason.INVITATION_NOT_FOUND, player=player)
    return invitation


def _issue(state: TableState, command: IssueJoinCode) -> JoinCodeIssued:
    _check_host(state, command)
    _check_private(state)
    _check_until(command.expires_at_ms, command.now_ms)
    if len(command.code_hash) != HASH_BYTES:
        raise Rejected("FIELD_INVALID", field="code_hash", why="a hash is 32 bytes")
    return JoinCodeIssued(command.code_hash, command.by, command.is_operator, command.expires_at_ms, command.now_ms)


def _revoke_code(state: TableState, command: RevokeJoinCode) -> JoinCodeRevoked:
    _check_host(state, command)
    if state.hosting.join_code is None:
        raise Rejected(Reason.JOIN_CODE_NOT_FOUND)
    return JoinCodeRevoked(command.by, command.is_operator, command.now_ms)


def _join(state: TableState, command: JoinByCode) -> GuestJoined:
    """Whatever is wrong with a code, it is answered alike: a guess learns nothing."""
    code, invitation = state.hosting.join_code, state.hosting.invitation_of(command.player)
    if (
        code is None
        or code.code_hash != command.code_hash
        or code.expires_at_ms <= command.now_ms
        or state.is_closing
        or (invitation is not None and invitation.status == "removed")
        or (invitation is None and len(state.hosting.invitations) >= INVITATIONS_MAX)
    ):
        raise Rejected(Reason.INVITATION_REQUIRED)
    if command.player == state.hosting.host or (invitation is not None and invitation.status == "accepted"):
        raise Rejected(Reason.GUEST_ALREADY)
    return GuestJoined(command.player, command.code_hash, command.now_ms)


def _remove(state: TableState, command: RemoveGuest) -> tuple[TableEvent, ...]:
    _check_host(state, command)
    _check_private(state)
    seat = state.seat_of(command.player)
    if command.player == state.hosting.host:
        raise Rejected("FIELD_INVALID", field="player", why="the host leaves, or hands over first")
    if seat is None:
        _open_invitation(state, command.player)
    elif state.match is not None:  # Nobody is taken out of a match: its prizes are settled.
        raise Rejected(Reason.MATCH_STARTED, table_id=state.table_id)
    removed = GuestRemoved(command.player, command.by, command.is_operator, command.now_ms)
    if seat is None or seat.leaving is not None:
        return (removed,)
    cause: SeatCause = "operator" if command.is_operator else "host"
    return removed, StandUpRequested(seat.seat, cause, command.now_ms, command.by)


def _hand_over(state: TableState, command: HandOver) -> HostChanged:
    _check_host(state, command)
    _check_private(state)
    seat = state.seat_of(command.player)
    invitation = state.hosting.invitation_of(command.player)
    # Who is only invited has agreed to nothing, and would have one table less to open.
    is_guest = seat is not None or (invitation is not None and invitation.status == "accepted")
    is_staying = seat is None or not (seat.is_bot or seat.leaving is not None)
    if not is_guest or not is_staying or command.player == state.hosting.host:
        raise Rejected("FIELD_INVALID", field="player", why="another guest of this table")
    return HostChanged(command.player, "handed_over", command.by, command.is_operator, command.now_ms)


def _pause(state: TableState, command: SetPaused) -> TablePaused | TableResumed:
    _check_host(state, command)
    if command.is_paused == state.hosting.is_paused:
        raise Rejected(Reason.PAUSED_ALREADY if command.is_paused else Reason.NOT_PAUSED)
    if not command.is_paused:
        left_ms = _pause_left_ms(state, command.now_ms)
        return TableResumed(command.by, command.is_operator, command.now_ms, is_by_clock=False, left_ms=left_ms)
    until_ms = 0
    if state.config.match is not None and not command.is_operator:
        left_ms = _pause_left_ms(state, command.now_ms)
        if left_ms == 0:
            raise Rejected(Reason.PAUSE_USED_UP, max_ms=MATCH_PAUSE_MS_MAX)
        until_ms = command.now_ms + left_ms
    return TablePaused(command.by, command.is_operator, command.now_ms, until_ms)


def _pause_left_ms(state: TableState, now_ms: int) -> int:
    """Return for how long the host may still pause the table, counted to now; 0 where nothing is counted."""
    if state.config.match is None:
        return 0
    hosting = state.hosting
    if hosting.paused_until_ms:
        return max(0, hosting.paused_until_ms - now_ms)
    return MATCH_PAUSE_MS_MAX if hosting.pause_left_ms is None else hosting.pause_left_ms


def _go_on(state: TableState, command: ExpirePause) -> TableResumed:
    until_ms = state.hosting.paused_until_ms
    if not until_ms or command.now_ms < until_ms:
        raise Rejected("UNEXPECTED", why="no pause is over")
    return TableResumed("", is_operator=False, resumed_at_ms=command.now_ms, is_by_clock=True, left_ms=0)


def _change(state: TableState, command: ChangeSettings) -> tuple[TableEvent, ...]:
    """Change settings from the next hand on; bots go after the hand where none are wanted any more."""
    _check_host(state, command)
    config = checked(command.config)
    for setting, is_right, why in _what_stays(state, config):
        if not is_right:
            raise Rejected(Reason.SETTING_INVALID, setting=setting, why=why)
    changed = SettingsChanged(config, command.by, command.is_operator, command.now_ms)
    if config.bots_fill or not state.config.bots_fill:
        return (changed,)
    going = [seat for seat in state.seats if seat.is_bot and seat.leaving is None]
    return changed, *(StandUpRequested(seat.seat, "host", command.now_ms, command.by) for seat in going)


def _what_stays(state: TableState, config: TableConfig) -> tuple[tuple[str, bool, str], ...]:
    before = state.hosting.settings_next or state.config
    last = max([*[seat.seat for seat in state.seats], *state.line.held], default=-1)
    naiko, naiko_before = config.hand.naiko, before.hand.naiko
    keeps_destellos = naiko is None or naiko_before is None or naiko.max_destellos >= naiko_before.max_destellos
    has_stakes = config.capsa is None or fits(config.capsa, state.stakes)
    return (
        ("capsa.pair_units", has_stakes, "a stake that a pair has agreed upon stays"),
        ("hand.game", config.game == before.game, "the game stays"),
        ("chips", config.chips == before.chips == "wallet", "the terms of a match stay"),
        ("start", config.start == before.start, "how hands start stays"),
        ("is_private", config.is_private == before.is_private, "a table stays private, or public"),
        ("seats", config.seats > last, "a seat that is taken stays"),
        ("hand.naiko.max_destellos", keeps_destellos, "nobody loses destellos"),
        ("name", config != before, "something must change"),
    )
