"""What happened at a tournament's table. Field by field the same as ``diwan/api/event/v1/tournament_table.proto``.

Ids are the tournament's: each names the order that it gave. What the table does by itself has none.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diwan.core.hand.events import Chips, Seat

type TableStart = Literal["automatic", "on_grant"]
type OrderedRelease = Literal["moved", "removed"]
type ReleaseCause = Literal["moved", "removed", "busted", "table_closed"]


class EntrantSeated(Struct, frozen=True, tag=True):
    """A player of the tournament has a seat with a stack. ``move_id`` is also the id of this stay.

    Dealt in from the next hand, unless the seat lies between the button and the big blind: then when that is past.
    """

    move_id: str
    seat: Seat
    player: str
    is_bot: bool
    stack: Chips
    destellos: int
    time_bank_ms: int | None  # None: whole
    seated_at_ms: int


class EntrantReleaseOrdered(Struct, frozen=True, tag=True):
    """A player is to leave the table: now, or after the hand that it is in."""

    move_id: str
    seat: Seat
    cause: OrderedRelease
    ordered_at_ms: int


class EntrantReleased(Struct, frozen=True, tag=True):
    """The seat is free. ``stack`` left with the player; ``move_id`` is empty where nobody ordered it.

    Who lost the last chip is released with the cause ``busted`` right after that hand, whatever was ordered.
    """

    move_id: str
    seat: Seat
    player: str
    stack: Chips
    cause: ReleaseCause
    destellos: int
    time_bank_ms: int | None  # None: never used
    released_at_ms: int


class ChipsAdded(Struct, frozen=True, tag=True):
    """A rebuy or add-on; the chips play from the next hand, and are not lost with a running one."""

    add_id: str
    seat: Seat
    player: str
    amount: Chips
    added_at_ms: int


class ClockSet(Struct, frozen=True, tag=True):
    """The ladder's clock: it stood at nothing at ``base_ms``, and stands since ``stopped_at_ms`` (0: it runs)."""

    order_id: str
    clock_no: int
    base_ms: int
    stopped_at_ms: int
    set_at_ms: int


class StartModeSet(Struct, frozen=True, tag=True):
    """Hands start by themselves, or each by a grant. Grants that were not used are forgotten."""

    order_id: str
    start_no: int
    mode: TableStart
    set_at_ms: int


class HandGranted(Struct, frozen=True, tag=True):
    """One hand may start; rounds strictly rise. It holds an all-in for ``hold_ms``, 0 for as long as is set otherwise."""

    order_id: str
    round_no: int
    hold_ms: int
    granted_at_ms: int


class RunoutHoldSet(Struct, frozen=True, tag=True):
    """From the next hand on an all-in waits so long for the other tables before the rest of its board (RP-8); 0: not."""

    order_id: str
    hold_ms: int
    set_at_ms: int


type TournamentTableEvent = (
    EntrantSeated
    | EntrantReleaseOrdered
    | EntrantReleased
    | ChipsAdded
    | ClockSet
    | StartModeSet
    | HandGranted
    | RunoutHoldSet
)
