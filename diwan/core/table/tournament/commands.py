"""What a tournament may order of its table. Ids follow from the tournament's own stream; ``now_ms`` is the owner's clock."""

from __future__ import annotations

from msgspec import Struct

from diwan.core.hand.events import Chips, Seat
from diwan.core.table.tournament.events import OrderedRelease, TableStart


class SeatEntrant(Struct, frozen=True):
    """Give a player a seat with a stack; ``time_bank_ms`` None is a whole bank."""

    move_id: str
    seat: Seat
    player: str
    is_bot: bool
    stack: Chips
    now_ms: int
    destellos: int = 0
    time_bank_ms: int | None = None


class ReleaseEntrant(Struct, frozen=True):
    """Let a player go: to another table, or out of the tournament."""

    move_id: str
    player: str
    cause: OrderedRelease
    now_ms: int


class AddChips(Struct, frozen=True):
    """Bring a seated player more chips."""

    add_id: str
    player: str
    amount: Chips
    now_ms: int


class SetClock(Struct, frozen=True):
    """Let the ladder's clock run from a base, or stand since a time (a pause).

    Numbers strictly rise, so that a late copy of an older order changes nothing; 0 is an order without one.
    """

    order_id: str
    base_ms: int
    stopped_at_ms: int
    now_ms: int
    clock_no: int = 0


class SetStartMode(Struct, frozen=True):
    """Let hands start by themselves, or by grants; numbered as `SetClock` is."""

    order_id: str
    mode: TableStart
    now_ms: int
    start_no: int = 0


class GrantHand(Struct, frozen=True):
    """Let one hand start, and hold an all-in of it for ``hold_ms``; 0 for as long as `HoldRunouts` says."""

    order_id: str
    round_no: int
    now_ms: int
    hold_ms: int = 0


class HoldRunouts(Struct, frozen=True):
    """Hold all-ins of the coming hands for so long at most; 0 for not at all."""

    order_id: str
    hold_ms: int
    now_ms: int


type TournamentTableCommand = (
    SeatEntrant | ReleaseEntrant | AddChips | SetClock | SetStartMode | GrantHand | HoldRunouts
)
