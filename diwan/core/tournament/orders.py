"""What a tournament asks of tables and of the wallet, derived from its state: again and again until it is confirmed.

An order goes away by a report (`commands`) that confirms it, or because it is wanted no longer. All of them are
idempotent by what stands under "once by": the shell may send any of them at any time, in any order, and more than once.

=================  =======================  ============================================
order              once by                  confirmed by
=================  =======================  ============================================
OpenTable          ``table_id``             ReportTableReady
SeatEntrant        ``move_id``              ReportSeated
ReleaseEntrant     ``move_id``              ReportReleased, or ReportHand where the player went out
SetStartMode       ``start_no`` (rising)    ReportStartMode
SetClock           ``clock_no`` (rising)    ReportClock
GrantHand          ``round_no`` (rising)    ReportHand
ReleaseRunout      ``hand_no``              ReportHand
AddChips           ``add_id``               ReportChipsAdded
CloseTable         ``table_id``             ReportTableGone
Pay                ``key``, ``attempt_no``  ReportPayment
=================  =======================  ============================================

Of rising numbers a table takes only one above the last one it took: older ones are late copies and change nothing.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diwan.core.hand.events import Chips, Seat
from diwan.core.tournament.events import Payment, StartMode
from diwan.core.tournament.state import Clock


class OpenTable(Struct, frozen=True):
    """Open a table for the tournament's config, with ``seats`` places, waiting for grants, on this level clock.

    The clock's number 0 stands still before play: a table deals its first hand only after a `SetClock`. ``button`` is
    that of its first hand. ``stack`` and ``level_ms`` differ from the config's only in a Spin (0: the config's).
    """

    table_no: int
    table_id: str
    seats: int
    button: Seat
    clock: Clock
    level_ms: int


class SeatEntrant(Struct, frozen=True):
    """Seat a player between hands; dealt in from the next one, posting nothing, unless between button and big blind."""

    table_no: int
    table_id: str
    move_id: str
    seat: Seat
    player: str
    is_bot: bool
    stack: Chips


class ReleaseEntrant(Struct, frozen=True):
    """Let a player go, between hands, else after the running one. Where the player is out by then, nothing happens."""

    table_no: int
    table_id: str
    move_id: str
    player: str
    cause: Literal["moved", "removed"]


class SetStartMode(Struct, frozen=True):
    """Deal by itself, or only what is granted; a running hand is played to its end."""

    table_no: int
    table_id: str
    start_no: int
    mode: StartMode


class GrantHand(Struct, frozen=True):
    """Play exactly one hand, and hold an all-in face down for ``runout_ms`` at most where ``holds_runouts`` (RP-8)."""

    table_no: int
    table_id: str
    round_no: int
    holds_runouts: bool
    runout_ms: int


class ReleaseRunout(Struct, frozen=True):
    """Run out the all-in that the table holds in this hand."""

    table_no: int
    table_id: str
    hand_no: int


class SetClock(Struct, frozen=True):
    """Set the level clock: levels have run since ``base_ms``; while ``paused_at_ms`` is not 0 no hand starts."""

    table_no: int
    table_id: str
    clock: Clock


class AddChips(Struct, frozen=True):
    """Put extra chips in front of a player, between hands."""

    table_no: int
    table_id: str
    add_id: str
    player: str
    amount: Chips


class CloseTable(Struct, frozen=True):
    """Close a table at which nobody sits any more (of a cancelled tournament: after its hand, with whoever sits there)."""

    table_no: int
    table_id: str


class Pay(Struct, frozen=True):
    """Move chips in the wallet: the transfer's id is ``uuid5(tournament id, name)``.

    ``name`` is the payment's key, and for later attempts at what is owed and was refused ``<key>#<attempt no>``: a
    refused id stays refused (L5).
    """

    payment: Payment
    attempt_no: int

    @property
    def name(self) -> str:
        """The name of the transfer in its tournament."""
        return self.payment.key if not self.attempt_no else f"{self.payment.key}#{self.attempt_no}"


type TableOrder = (
    OpenTable
    | SeatEntrant
    | ReleaseEntrant
    | SetStartMode
    | GrantHand
    | ReleaseRunout
    | SetClock
    | AddChips
    | CloseTable
)
type Order = TableOrder | Pay
