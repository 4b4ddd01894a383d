"""A table as the fold of its events: seats, chips, the running hand, the seed exchange. No cards, positions only."""

from __future__ import annotations

from msgspec import Struct

from diwan.core.games.capsa.stakes import PairStakes
from diwan.core.hand.events import Chips, Seat
from diwan.core.table.button import Spots
from diwan.core.table.config import TableConfig
from diwan.core.table.events import CarriedShare, Entrant, MatchPlace, MatchResult, SeatCause, SeedCommitment
from diwan.core.table.hosting.state import Hosting
from diwan.core.table.playing import PlayedHand
from diwan.core.table.tournament.state import Directed, Release
from diwan.core.table.waiting.state import Line


class Pending(Struct, frozen=True):
    """Chips that were asked of the wallet and have not been answered for."""

    transfer_id: str
    amount: Chips
    is_top_up: bool


class SeatState(Struct, frozen=True):
    """A taken seat. ``stack`` is the sitting's escrow: it grows by funding and moves by payoffs when a hand ends.

    ``is_new`` until first dealt in; ``hands_missed`` counts the hands dealt since without this seat. ``destellos`` are
    Naiko's, and belong to the sitting (C1); so does the time bank.
    """

    seat: Seat
    player: str
    is_bot: bool
    sitting: str
    post_at_once: bool
    stack: Chips = 0
    is_funded: bool = False
    is_new: bool = True
    is_sitting_out: bool = False
    hands_missed: int = 0
    clock_decisions: int = 0  # running, made by the clock
    pending: Pending | None = None
    leaving: SeatCause | None = None
    destellos: int = 0
    time_bank_ms: int | None = None  # None until first dealt in: whole
    release: Release | None = None  # of a tournament's table: the order to leave


class SeedExchange(Struct, frozen=True):
    """The exchange for a hand that has not begun; ``commitments`` is None until they are closed (F2)."""

    hand_no: int
    secret_commitment: bytes
    opened_at_ms: int
    commitments: tuple[SeedCommitment, ...] | None = None


class Departure(Struct, frozen=True):
    """Who left with how much, for the rule on returning."""

    player: str
    amount: Chips
    at_ms: int


class Entry(Struct, frozen=True):
    """How a seat stood to being dealt in before a hand."""

    sitting: str
    is_new: bool
    hands_missed: int


class MatchState(Struct, frozen=True):
    """A match that has started. ``out`` are the seats that went out together, the latest first."""

    entrants: tuple[Entrant, ...]
    places: tuple[MatchPlace, ...] = ()  # when it is over
    out: tuple[tuple[Seat, ...], ...] = ()
    idle_deals: int = 0  # running, in which nobody decided anything themselves
    is_played: bool = False  # the running hand: somebody has decided something themselves
    result: MatchResult | None = None

    @property
    def is_ended(self) -> bool:
        """Whether it is over."""
        return self.result is not None


class TableState(Struct, frozen=True):
    """A table after the event of number ``version``."""

    table_id: str
    config: TableConfig
    version: int
    epoch: int = 0
    owner: str = ""
    seats: tuple[SeatState, ...] = ()  # taken ones, by number
    hand: PlayedHand | None = None  # the running hand, or the last one
    is_running: bool = False
    hand_no: int = 0
    hand_id: str = ""
    dealt: tuple[Seat, ...] = ()  # the seats of that hand
    spots: Spots | None = None  # of the last hand that was not void
    spots_before: Spots | None = None  # a void hand gives them back: the button stays (A6)
    entries_before: tuple[Entry, ...] = ()
    hand_ended_at_ms: int = 0
    left_at_ms: int = 0  # when it was opened, or a seat was last left
    exchange: SeedExchange | None = None
    departures: tuple[Departure, ...] = ()
    carried_from: tuple[CarriedShare, ...] = ()  # what void hands left in the middle for the next one, and whose it was
    is_closing: bool = False
    is_closed: bool = False
    line: Line = Line()  # who waits for a seat
    hosting: Hosting = Hosting()  # of a private table, and what an operator has set
    match: MatchState | None = None  # of a match's table, once it has started
    directed: Directed = Directed()  # of a tournament's table: clock, grants
    stakes: PairStakes = PairStakes()  # of Capsa: stakes that pairs agreed upon for themselves (CS-62)

    @property
    def carried(self) -> Chips:
        """Chips in the middle before the next hand (A6)."""
        return sum([share.amount for share in self.carried_from])

    @property
    def numbers(self) -> range:
        """The seats that may be taken: those that the table has now and still has from the next hand on."""
        coming = self.hosting.settings_next
        return range(self.config.seats if coming is None else min(self.config.seats, coming.seats))

    def seat(self, number: Seat) -> SeatState | None:
        """Return who sits on a seat."""
        for seat in self.seats:
            if seat.seat == number:
                return seat
        return None

    def seat_of(self, player: str) -> SeatState | None:
        """Return where a player sits."""
        for seat in self.seats:
            if seat.player == player:
                return seat
        return None

    def seat_waiting_for(self, transfer_id: str) -> SeatState | None:
        """Return the seat whose chips this transfer brings."""
        for seat in self.seats:
            if seat.pending is not None and seat.pending.transfer_id == transfer_id:
                return seat
        return None

    def is_in_hand(self, number: Seat) -> bool:
        """Say whether a seat was dealt into the hand that is running."""
        return self.is_running and number in self.dealt
