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

from collections.abc import Iterable, Iterator
from typing import Final, Literal

from msgspec import Struct

from diwan.core.hand.events import Chips, Seat
from diwan.core.ledger.accounts import named_id
from diwan.core.tournament.events import (
    ClockSet,
    HandForHandBegan,
    HandForHandEnded,
    Payment,
    PlayBegan,
    RedrawDone,
    RedrawOrdered,
    StartMode,
    TournamentCancelled,
    TournamentEvent,
    TournamentWon,
)
from diwan.core.tournament.seating import level_ms_of, seats_of
from diwan.core.tournament.state import Clock, Move, TableState, TournamentState


class OpenTable(Struct, frozen=True):
    """Open a table for the tournament's config, with ``seats`` places, waiting for grants.

    A table deals its first hand only after a `SetClock`, which is an order of its own; ``clock`` is what the clock says
    now, with the number 0 before play. ``button`` is
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
    destellos: int
    time_bank_ms: int | None


class ReleaseEntrant(Struct, frozen=True):
    """Let a player go, between hands, else after the running one. Where the player is out by then, nothing happens."""

    table_no: int
    table_id: str
    move_id: str
    player: str
    cause: Literal["moved", "removed"]


class SetStartMode(Struct, frozen=True):
    """Deal by itself, or only what is granted; a running hand is played to its end.

    A table that deals by itself holds no all-in face down.
    """

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
    """Set the level clock: levels have run since ``base_ms``; while ``paused_at_ms`` is not 0 no hand starts.

    Nor does one before ``base_ms``, which at the beginning is a little ahead.
    """

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


_OF_ALL_TABLES: Final = (
    ClockSet,
    HandForHandBegan,
    HandForHandEnded,
    PlayBegan,
    RedrawDone,
    RedrawOrdered,
    TournamentCancelled,
    TournamentWon,
)


def pending_orders(state: TournamentState) -> Iterator[Order]:
    """Yield everything that is not confirmed yet: what a shell sends again and again."""
    yield from payment_orders(state)
    for table in state.tables.values():
        yield from table_orders(state, table)


def payment_orders(state: TournamentState) -> Iterator[Pay]:
    """Yield what the wallet is asked for."""
    for pending in state.payments.values():
        yield Pay(pending.payment, pending.attempt_no)


def touched_tables(state: TournamentState, events: Iterable[TournamentEvent]) -> frozenset[int]:
    """Return the tables whose orders a batch may have changed; ``state`` is the one after it."""
    numbers: set[int] = set()
    for event in events:
        if isinstance(event, _OF_ALL_TABLES):
            return frozenset(state.tables.keys())
        for name in ("table_no", "from_table", "to_table"):
            numbers.add(getattr(event, name, 0))
        named = getattr(event, "tables", ())
        numbers.update(named if isinstance(named, tuple) else ())
        for given in getattr(event, "seats", ()):
            numbers.add(getattr(given, "from_table", 0))
        move = state.moves.get(getattr(event, "move_no", 0))
        if move is not None:
            numbers.update((move.from_table, move.to_table))
        numbers.update(_of_player(state, getattr(event, "player", "")))
    return frozenset([number for number in numbers if number in state.tables])


def _of_player(state: TournamentState, player: str) -> Iterator[int]:
    entrant = state.entrants.get(player) if player else None
    if entrant is not None:
        yield entrant.table_no
        move = state.moves.get(entrant.move_no)
        if move is not None:
            yield from (move.from_table, move.to_table)


def table_orders(state: TournamentState, table: TableState) -> Iterator[TableOrder]:
    """Yield what one table is asked for."""
    if table.status == "gone":
        return
    number, table_id = table.table_no, table.table_id
    if not table.version:
        clock = state.clock
        yield OpenTable(number, table_id, seats_of(state, table), table.first_button, clock, level_ms_of(state))
        return
    if state.phase == "paying":
        yield CloseTable(number, table_id)
        return
    yield from _mode_orders(state, table)
    for move_no in table.leaving:
        move = state.moves[move_no]
        if move.phase == "releasing":
            yield ReleaseEntrant(number, table_id, move.move_id, move.player, "moved")
    for move_no in table.arriving:
        move = state.moves[move_no]
        if move.phase == "seating":
            is_bot = state.entrants[move.player].is_bot
            yield SeatEntrant(
                number,
                table_id,
                move.move_id,
                move.seat,
                move.player,
                is_bot,
                move.stack,
                move.destellos,
                move.time_bank_ms,
            )
    if state.removals or len(state.extras):
        yield from _sitter_orders(state, table)
    if table.status == "closing" and not table.sitters and not table.arriving:
        yield CloseTable(number, table_id)


def _mode_orders(state: TournamentState, table: TableState) -> Iterator[TableOrder]:
    number, table_id = table.table_no, table.table_id
    if state.clock.clock_no > table.clock_no:
        yield SetClock(number, table_id, state.clock)
    mode = wanted_mode(state, table)
    if mode != table.mode or (mode == "on_grant" and _is_to_confirm(state, table)):
        yield SetStartMode(number, table_id, table.start_no + 1, mode)
    if table.round_done < table.round_no:
        if table.clock_no == state.clock.clock_no and not table.held_hand_no:
            floor = state.config.floor
            yield GrantHand(number, table_id, table.round_no, holds_runouts=True, runout_ms=floor.runout_ms)
        if table.held_hand_no and table.is_run_out:
            yield ReleaseRunout(number, table_id, table.held_hand_no)


def _sitter_orders(state: TournamentState, table: TableState) -> Iterator[TableOrder]:
    for sitter in table.sitters:
        entrant = state.entrants[sitter.player]
        if entrant.move_no:
            continue
        if entrant.removal:
            move_id = removal_id(state, entrant.entry_no)
            yield ReleaseEntrant(table.table_no, table.table_id, move_id, sitter.player, "removed")
        extra = state.extras.get(entrant.extra_no)
        if extra is not None and extra.is_paid and not entrant.removal:
            yield AddChips(table.table_no, table.table_id, extra.add_id, sitter.player, extra.chips)


def removal_id(state: TournamentState, entry_no: int) -> str:
    """Return the id under which a removed player is let go."""
    return named_id(state.tournament_id, f"removal/{entry_no}")


def wanted_mode(state: TournamentState, table: TableState) -> StartMode:
    """Return the start mode that a table should be in: it waits for grants as long as anything keeps it from dealing."""
    if state.phase != "playing" or state.hand_for_hand is not None or state.redraw is not None:
        return "on_grant"
    if table.status != "open" or table.is_halted:
        return "on_grant"
    if any(state.moves[number].phase in {"choosing", "releasing"} for number in table.leaving):
        return "on_grant"
    if any(_holds_target(state.moves[number]) for number in table.arriving):
        return "on_grant"
    return "automatic"


def _is_to_confirm(state: TournamentState, table: TableState) -> bool:
    """Say whether a choice waits for a table that stands still as far as is known: it may just be told to deal."""
    leaving = [state.moves[number] for number in table.leaving]
    arriving = [state.moves[number] for number in table.arriving]
    waiting = [move for move in leaving if move.phase == "choosing"]
    waiting += [move for move in arriving if move.phase == "placing"]
    return table.is_idle and any(not move.is_confirmed_by(table) for move in waiting)


def _holds_target(move: Move) -> bool:
    """Say whether a table waits for this player: one whose seat was chosen there by who has which blind next."""
    return move.purpose == "balance" and move.phase in {"placing", "seating"}
