"""What happened at a table between and around its hands. Field by field the same as ``diwan/api/event/v1/table.proto``."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diwan.core.games.capsa.events import CapsaOnlyEvent
from diwan.core.games.capsa.stakes import StakeEvent
from diwan.core.hand.events import Chips, HandEvent, Seat
from diwan.core.table.config import TableConfig
from diwan.core.table.hosting.events import HostingEvent
from diwan.core.table.tournament.events import TournamentTableEvent
from diwan.core.table.waiting.events import WaitingEvent

type MatchResult = Literal["won", "abandoned", "cancelled"]
type SeatCause = Literal["player", "clock", "busted", "disconnected", "operator", "table_closed", "yielded", "host"]


class TableCreated(Struct, frozen=True, tag=True):
    """The table was opened."""

    table_id: str
    config: TableConfig
    created_by: str
    created_at_ms: int
    host: str = ""  # of a private table


class OwnerChanged(Struct, frozen=True, tag=True):
    """A process took the table over; epochs in a log strictly increase (O3)."""

    epoch: int
    owner: str
    changed_at_ms: int


class BuyInRequested(Struct, frozen=True, tag=True):
    """A player takes a seat and asks the wallet for chips. The transfer's id is the id of this sitting."""

    seat: Seat
    player: str
    is_bot: bool
    amount: Chips
    transfer_id: str
    requested_at_ms: int
    post_at_once: bool


class TopUpRequested(Struct, frozen=True, tag=True):
    """A seated player asks for more chips; they play from the next hand."""

    seat: Seat
    amount: Chips
    transfer_id: str
    requested_at_ms: int


class SeatFunded(Struct, frozen=True, tag=True):
    """The chips are in the sitting's escrow: they stand at the seat."""

    seat: Seat
    amount: Chips
    transfer_id: str
    funded_at_ms: int


class BuyInRefused(Struct, frozen=True, tag=True):
    """The wallet refused a buy-in (the seat is free again) or a top-up."""

    seat: Seat
    transfer_id: str
    reason: str
    refused_at_ms: int


class SatOut(Struct, frozen=True, tag=True):
    """A player is not dealt in until coming back."""

    seat: Seat
    cause: SeatCause
    sat_out_at_ms: int


class SatIn(Struct, frozen=True, tag=True):
    """A player comes back, and posts what was missed at once or waits for the big blind."""

    seat: Seat
    post_at_once: bool
    sat_in_at_ms: int


class StandUpRequested(Struct, frozen=True, tag=True):
    """A player leaves after the hand; until then the room decides as RULES.md A11 says.

    ``requested_by`` is who else asked for it: the operator or host who removes the player, or empty.
    """

    seat: Seat
    cause: SeatCause
    requested_at_ms: int
    requested_by: str = ""


class SeatReleased(Struct, frozen=True, tag=True):
    """The seat is free; its chips go home, after every hand before this event."""

    seat: Seat
    player: str
    sitting: str
    amount: Chips
    cause: SeatCause
    released_at_ms: int


class SecretCommitted(Struct, frozen=True, tag=True):
    """A hand's secret was committed to, which opens its seed exchange (F1). Later hands carry it in ``HandStarted``."""

    hand_no: int
    commitment: bytes
    committed_at_ms: int


class SeedCommitment(Struct, frozen=True):
    """One seat's commitment to its seed."""

    seat: Seat
    commitment: bytes


class SeedsCommitted(Struct, frozen=True, tag=True):
    """Commitments are closed; only now may seeds be opened (F2)."""

    hand_no: int
    commitments: tuple[SeedCommitment, ...]
    committed_at_ms: int


class RefusalCount(Struct, frozen=True):
    """How often a reason was given to a seat."""

    seat: Seat
    reason: str
    count: int


class RefusalsRecorded(Struct, frozen=True, tag=True):
    """Requests that were refused during a hand, counted (DESIGN 3)."""

    hand_no: int
    counts: tuple[RefusalCount, ...]
    recorded_at_ms: int


class HandOpened(Struct, frozen=True, tag=True):
    """Somebody looked at cards that no event shows (DESIGN 6)."""

    hand_id: str
    opened_by: str
    role: str
    lens: str
    reason: str
    case_id: str
    opened_at_ms: int


class TableClosing(Struct, frozen=True, tag=True):
    """No new hand starts."""

    closed_by: str
    closing_at_ms: int


class Entrant(Struct, frozen=True):
    """Who plays a match, and the sitting that paid the entry."""

    seat: Seat
    player: str
    is_bot: bool
    sitting: str


class MatchStarted(Struct, frozen=True, tag=True):
    """Every seat of a match is paid for: ``coins`` stand in front of each, the entries are gathered from the wallet's side."""

    entrants: tuple[Entrant, ...]
    coins: Chips
    entry_fee: Chips
    started_at_ms: int


class MatchPlace(Struct, frozen=True):
    """Who came where, from 1; equals share a place, and it is 0 where the match was cancelled. ``prize`` is chips."""

    place: int
    seat: Seat
    player: str
    is_bot: bool
    prize: Chips


class MatchEnded(Struct, frozen=True, tag=True):
    """The match is over; the prizes sum to the entries. Cancelled, everybody's entry goes back."""

    result: MatchResult
    places: tuple[MatchPlace, ...]
    ended_at_ms: int


class CarriedShare(Struct, frozen=True):
    """Chips of a player that void hands carry over to the next one (A6)."""

    player: str
    is_bot: bool
    amount: Chips


class CarriedPotReturned(Struct, frozen=True, tag=True):
    """What void hands had carried over goes back to whoever put it in: no hand follows that could win it."""

    shares: tuple[CarriedShare, ...]
    returned_at_ms: int


class TableClosed(Struct, frozen=True, tag=True):
    """Nobody sits here any more."""

    closed_at_ms: int


type TableOnlyEvent = (
    SeedsCommitted
    | RefusalsRecorded
    | BuyInRequested
    | SeatFunded
    | TopUpRequested
    | BuyInRefused
    | SatOut
    | SatIn
    | StandUpRequested
    | SeatReleased
    | SecretCommitted
    | HandOpened
    | OwnerChanged
    | TableCreated
    | TableClosing
    | TableClosed
    | CarriedPotReturned
    | MatchStarted
    | MatchEnded
)
type TableEvent = (
    HandEvent | CapsaOnlyEvent | StakeEvent | HostingEvent | WaitingEvent | TournamentTableEvent | TableOnlyEvent
)
