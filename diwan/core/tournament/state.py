"""A tournament as the fold of its events. Players, tables, entries, moves and payments are records on shelves of their own.

What is pending, with tables and with the wallet, is not kept beside this: `orders` derives it from here.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from diwan.core.hand.events import Chips, Seat
from diwan.core.tournament.events import (
    CancelCause,
    EntryKind,
    ExtraKind,
    MovePurpose,
    OutPlayer,
    Payment,
    StartMode,
    TablePurpose,
)
from diwan.core.tournament.settings import TournamentConfig
from diwan.core.tournament.shelf import Shelf

NO_SEAT: Final = -1

type Phase = Literal[
    "announced",  # registration is not open: before its time, or the house has not reserved its part
    "registering",
    "seating",  # entries are full or the time has come: tables are made and players seated
    "playing",
    "paying",  # one player is left, or it was cancelled: payments are confirmed and tables closed
    "finished",
]
type EntryStatus = Literal["requested", "accepted", "playing", "out", "ended"]
type Standing = Literal["requested", "registered", "playing", "busted", "out", "none"]
type MovePhase = Literal["choosing", "releasing", "placing", "seating"]
type TableStatus = Literal["ordered", "open", "breaking", "closing", "gone"]


class EntryState(Struct, frozen=True):
    """One entry. ``out_first`` to ``out_last`` is where it stands in the order of going out, shared with its equals."""

    entry_no: int
    player: str
    is_bot: bool
    kind: EntryKind
    entry: Chips
    fee: Chips
    status: EntryStatus = "requested"
    out_first: int = 0
    out_last: int = 0
    requested_at_ms: int = 0
    seed_commitment: bytes = b""
    seed: bytes = b""  # once opened
    is_late: bool = False  # it counts since the list of the first draw was settled


class Entrant(Struct, frozen=True):
    """A player as they stand. ``table_no`` and ``seat`` while they sit; ``move_no`` while they are to sit elsewhere.

    ``busted``: out of chips, and the hand-for-hand round that ranks them is not over. ``moves`` counts how often the
    floor moved them once play had begun. ``removal`` is the operator's reason for removing them.
    """

    player: str
    is_bot: bool
    entry_no: int
    standing: Standing = "requested"
    table_no: int = 0
    seat: Seat = NO_SEAT
    move_no: int = 0
    moves: int = 0
    balanced: int = 0  # of those, alone, to even out tables
    entries: int = 0  # accepted ones
    rebuys: int = 0
    has_add_on: bool = False
    extra_no: int = 0  # asked for and not yet in front of the player
    removal: str = ""


class Sitter(Struct, frozen=True):
    """Who sits on a seat, with the stack after the last reported hand."""

    seat: Seat
    player: str
    entry_no: int
    stack: Chips


class TableState(Struct, frozen=True):
    """A table as it last reported. Places of the last hand are `NO_SEAT` before the first one.

    ``mode``, ``start_no`` and ``clock_no`` are what it has confirmed; ``running_hand_no`` is known where it waits for
    grants. ``round_no`` is the last round granted to it and ``round_done`` the last one that it has reported.
    """

    table_no: int
    table_id: str
    purpose: TablePurpose
    first_button: Seat
    status: TableStatus = "ordered"
    version: int = 0
    sitters: tuple[Sitter, ...] = ()  # by seat
    arriving: tuple[int, ...] = ()  # numbers of moves to here
    leaving: tuple[int, ...] = ()  # and from here
    button: Seat = NO_SEAT
    small_blind: Seat = NO_SEAT
    big_blind: Seat = NO_SEAT
    hand_no: int = 0
    mode: StartMode = "on_grant"
    start_no: int = 0
    running_hand_no: int = 0
    clock_no: int = 0
    round_no: int = 0
    round_done: int = 0
    held_hand_no: int = 0  # an all-in waits in it
    is_run_out: bool = False  # and may be run out
    is_halted: bool = False

    @property
    def size(self) -> int:
        """How many will sit here once every move is made."""
        return max(len(self.sitters) + len(self.arriving) - len(self.leaving), 0)

    @property
    def is_idle(self) -> bool:
        """Whether it stands still: it waits for a grant and plays no hand."""
        return self.mode == "on_grant" and not self.running_hand_no and self.round_done == self.round_no

    def sitter(self, player: str) -> Sitter | None:
        """Return the seat of a player."""
        for sitter in self.sitters:
            if sitter.player == player:
                return sitter
        return None


class Move(Struct, frozen=True):
    """A player on the way to a seat. ``stack`` is known once the old table has let the player go.

    Phases: ``choosing`` (the old table is to stand still, then the player is chosen), ``releasing``, ``placing`` (the
    new table is to stand still, then the seat is chosen), ``seating``.
    """

    move_no: int
    move_id: str
    purpose: MovePurpose
    from_table: int
    to_table: int
    phase: MovePhase
    rule: str
    player: str = ""
    seat: Seat = NO_SEAT
    stack: Chips = 0
    destellos: int = 0
    time_bank_ms: int | None = None  # None: whole
    start_no: int = 0  # of the table that is to stand still for the next choice, before it was asked to

    def is_confirmed_by(self, table: TableState) -> bool:
        """Whether a table has stood still since it was wanted to: what was ordered before may be on its way to it."""
        return table.is_idle and table.start_no > self.start_no


class Pending(Struct, frozen=True):
    """A payment without a definite answer."""

    payment: Payment
    due_at_ms: int
    attempt_no: int = 0  # refusals of what is owed: each attempt is a new question to the wallet
    is_alarmed: bool = False


class Extra(Struct, frozen=True):
    """Extra chips under way."""

    extra_no: int
    add_id: str
    player: str
    kind: ExtraKind
    price: Chips
    chips: Chips
    is_paid: bool = False


class Clock(Struct, frozen=True):
    """The level clock: levels have run since ``base_ms``, which is moved on by every pause."""

    clock_no: int = 0
    base_ms: int = 0
    paused_at_ms: int = 0

    def elapsed_ms(self, now_ms: int) -> int:
        """Return how long levels have run."""
        return (self.paused_at_ms or now_ms) - self.base_ms


class Bust(Struct, frozen=True):
    """Who went out and is not ranked yet: in a round of hand-for-hand, when it is complete; else (round 0) by the hand.

    ``hand`` is the tournament's version at which the hand was reported: it tells hands apart and says which came first.
    """

    round_no: int
    hand: int
    player: OutPlayer


class HandForHand(Struct, frozen=True):
    """Hand-for-hand is on. ``tables`` still owe the hand of round ``round_no``, 0 before the first.

    ``late`` ones owe the hand of an earlier round: nobody waits for them any more. ``elapsed_ms`` is how long levels
    had run when the round was granted.
    """

    elapsed_ms: int = 0
    round_no: int = 0
    is_playing: bool = False  # the round is not ended
    tables: tuple[int, ...] = ()
    late: tuple[int, ...] = ()
    held: tuple[int, ...] = ()  # of tables: those that hold an all-in
    limit_at_ms: int = 0


class Redraw(Struct, frozen=True):
    """Everybody is on the way to new tables; ``is_drawn`` once the seats are known."""

    purpose: MovePurpose
    tables: int
    rule: str
    is_drawn: bool = False


class TournamentState(Struct, frozen=True, kw_only=True):
    """A tournament after the event of number ``version``.

    ``in_play`` lists the tables that are open or ordered and not being broken; ``sizes`` counts them by `TableState.size`
    (index 0 to 9). ``left`` counts who can still win.
    """

    tournament_id: str
    config: TournamentConfig
    version: int
    phase: Phase = "announced"
    created_at_ms: int = 0
    draw_no: int = 1  # of the draw committed to
    commitment: bytes = b""
    entries: Shelf[int, EntryState] = Shelf()
    entrants: Shelf[str, Entrant] = Shelf()
    tables: Shelf[int, TableState] = Shelf()
    table_numbers: Shelf[str, int] = Shelf()
    moves: Shelf[int, Move] = Shelf()
    payments: Shelf[str, Pending] = Shelf()
    extras: Shelf[int, Extra] = Shelf()
    entry_count: int = 0  # numbers given
    open_entries: int = 0  # asked for, not answered
    accepted: int = 0  # entries that count
    move_count: int = 0
    table_count: int = 0
    extra_count: int = 0
    left: int = 0
    out_count: int = 0
    chips_in_play: Chips = 0
    pool: Chips = 0  # what is in it of entries, rebuys and add-ons
    fees: Chips = 0
    reserved: Chips = 0  # by the house
    first_entry_at_ms: int = 0
    bots_wanted: int = 0
    bots: int = 0  # entries of bots, asked for or accepted
    bots_asked: int = 0  # how often so many were wanted
    bots_refused: int = 0  # by the wallet since then: none comes in their place until they are wanted anew
    bot_refused_at_ms: int = 0
    seeds_committed: int = 0  # to entries that count
    seeds_missing: int = 0  # of those, once they are asked for: not opened yet
    seeds_until_ms: int = 0  # how long the first draw waits for them; 0: it does not
    is_open: bool = False  # entries are taken
    is_closed: bool = False  # and will not be again
    breaking_order: tuple[int, ...] = ()
    line: int = NO_SEAT  # of the Spin's table
    prizes: tuple[Chips, ...] | None = None  # None until the list is final
    in_play: tuple[int, ...] = ()
    sizes: tuple[int, ...] = (0,) * 10
    clock: Clock = Clock()
    level_no: int = 0
    is_break: bool = False
    level_ends_ms: int = 0  # in running time; 0: never
    is_paused: bool = False
    hand_for_hand: HandForHand | None = None
    round_no: int = 0
    busts: tuple[Bust, ...] = ()  # not ranked yet
    removals: tuple[str, ...] = ()  # players whom an operator removes
    halted: tuple[int, ...] = ()  # tables that wait for players
    breaking: tuple[int, ...] = ()  # tables to be broken whose seats are not drawn yet
    redraw: Redraw | None = None
    redrawn_at: tuple[int, ...] = ()  # numbers of tables at which everybody has drawn anew
    has_final_table: bool = False
    winner: str = ""
    cancelled: CancelCause | None = None
    began_at_ms: int = 0

    @property
    def is_over(self) -> bool:
        """Whether nothing follows."""
        return self.phase == "finished"

    @property
    def is_field_known(self) -> bool:
        """Whether nobody can enter any more: entries are closed and all of them answered for."""
        return self.is_closed and not self.open_entries

    @property
    def more_bots(self) -> int:
        """How many bots may still ask for an entry."""
        return max(self.bots_wanted - self.bots - self.bots_refused, 0)

    def table_no(self, table_id: str) -> int | None:
        """Return the number of a table of this tournament."""
        return self.table_numbers.get(table_id)
