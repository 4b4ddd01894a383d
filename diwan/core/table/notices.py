"""What back ends may push to phones, read from a table's events: a pure function, so that nothing is missed or doubled.

Never a card: a notice says that something waits for a player, what it is and until when.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

from diwan.core.games.capsa.events import AnswerAsked, SettingBegan
from diwan.core.hand.events import Chips, Seat, TurnBegan, WindowOpened
from diwan.core.table.events import BuyInRefused, SatOut, SeatFunded, SeatReleased, TableEvent
from diwan.core.table.hosting.events import (
    GuestRemoved,
    HostChanged,
    InvitationRevoked,
    InvitationSent,
)
from diwan.core.table.tournament.events import EntrantReleased, EntrantSeated
from diwan.core.table.waiting.events import SeatHeld, WaitEnded

type NoticeKind = Literal[
    "your_turn",
    "anchored",
    "set_cards",
    "answer_asked",
    "invited",
    "invitation_revoked",
    "became_host",
    "removed",
    "seat_given_up",
    "table_closed",
    "seat_funded",
    "seat_refused",
    "sat_out",
    "seat_ready",
    "wait_ended",
    "tournament_seat",
    "busted",
]

NOTICES_AN_EVENT_MAX: Final = 9
"""One for every seat at most."""

_LEFT: Final[dict[str, NoticeKind]] = {
    "operator": "removed",
    "host": "removed",
    "disconnected": "seat_given_up",
    "table_closed": "table_closed",
}
_OUT: Final[dict[str, NoticeKind]] = {"busted": "busted", "removed": "removed"}
"""Who is moved is told of the seat at the other table."""


class Sitter(Struct, frozen=True):
    """Who has a seat."""

    player: str
    is_bot: bool


class Notice(Struct, frozen=True, kw_only=True):
    """Something for one player. What does not belong to its kind is 0, empty or None.

    ``turn`` names the decision as an action does, ``deadline_ms`` is until when something can be done about it, ``cause``
    a word: why somebody sits out, or the wallet's reason.
    """

    player: str
    kind: NoticeKind
    seat: Seat | None = None
    turn: int = 0
    deadline_ms: int = 0
    amount: Chips = 0
    cause: str = ""


def notices_of(event: TableEvent, sitters: Mapping[Seat, Sitter]) -> tuple[Notice, ...]:
    """Return what an event tells players, in the order of seats. ``sitters`` have the seats when it happens; bots need none."""
    match event:
        case TurnBegan():
            return _asked(sitters, event.seat, "your_turn", event.turn, event.deadline_ms)
        case WindowOpened():
            return _asked(sitters, event.seat, "anchored", event.turn, event.deadline_ms)
        case AnswerAsked():
            return _asked(sitters, event.seat, "answer_asked", event.turn, event.deadline_ms)
        case SettingBegan():
            asked = [_asked(sitters, seat, "set_cards", event.turn, event.deadline_ms) for seat in sorted(event.seats)]
            return tuple(notice for each in asked for notice in each)
        case SeatFunded():
            return _at(sitters, event.seat, "seat_funded", amount=event.amount)
        case BuyInRefused():
            return _at(sitters, event.seat, "seat_refused", cause=event.reason)
        case SatOut() if event.cause != "player":
            return _at(sitters, event.seat, "sat_out", cause=event.cause)
        case SeatHeld():
            held = Notice(player=event.player, kind="seat_ready", seat=event.seat, deadline_ms=event.until_ms)
            return (held,)
        case WaitEnded() if event.cause not in {"seated", "left"}:
            return (Notice(player=event.player, kind="wait_ended", cause=event.cause),)
        case EntrantSeated() if not event.is_bot:
            seated = Notice(player=event.player, kind="tournament_seat", seat=event.seat, amount=event.stack)
            return (seated,)
        case EntrantReleased() if event.cause in _OUT:
            return _at(sitters, event.seat, _OUT[event.cause], amount=event.stack)
        case SeatReleased() if event.cause in _LEFT:
            return _at(sitters, event.seat, _LEFT[event.cause], amount=event.amount)
        case _:
            return _of_guests(event, sitters)


def _of_guests(event: TableEvent, sitters: Mapping[Seat, Sitter]) -> tuple[Notice, ...]:
    match event:
        case InvitationSent():
            return (Notice(player=event.player, kind="invited", deadline_ms=event.expires_at_ms),)
        case InvitationRevoked():
            return (Notice(player=event.player, kind="invitation_revoked"),)
        case GuestRemoved() if all(sitter.player != event.player for sitter in sitters.values()):
            # Who sits is told when the seat is left.
            return (Notice(player=event.player, kind="removed"),)
        case HostChanged():
            return (Notice(player=event.host, kind="became_host"),)
        case _:
            return ()


def _asked(
    sitters: Mapping[Seat, Sitter], seat: Seat, kind: NoticeKind, turn: int, deadline_ms: int
) -> tuple[Notice, ...]:
    return _at(sitters, seat, kind, turn=turn, deadline_ms=deadline_ms)


def _at(
    sitters: Mapping[Seat, Sitter],
    seat: Seat,
    kind: NoticeKind,
    *,
    turn: int = 0,
    deadline_ms: int = 0,
    amount: Chips = 0,
    cause: str = "",
) -> tuple[Notice, ...]:
    sitter = sitters.get(seat)
    if sitter is None or sitter.is_bot:
        return ()
    told = Notice(
        player=sitter.player, kind=kind, seat=seat, turn=turn, deadline_ms=deadline_ms, amount=amount, cause=cause
    )
    return (told,)
