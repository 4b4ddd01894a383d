"""What may be asked of a table. Ids, times and commitments come from the shell; ``now_ms`` is the owner's clock."""

from __future__ import annotations

from msgspec import Struct

from diwan.core.games.capsa.commands import CapsaCommand
from diwan.core.games.capsa.stakes import StakeCommand
from diwan.core.hand.commands import HandCommand
from diwan.core.hand.events import Chips, OpenedSeed, Power, Seat
from diwan.core.table.config import TableConfig
from diwan.core.table.events import RefusalCount, SeatCause, SeedCommitment
from diwan.core.table.hosting.commands import HostingCommand
from diwan.core.table.tournament.commands import TournamentTableCommand
from diwan.core.table.waiting.commands import WaitingCommand


class CreateTable(Struct, frozen=True):
    """Open a table; buy-in bounds of 0 take their defaults."""

    table_id: str
    config: TableConfig
    created_by: str
    now_ms: int
    host: str = ""  # of a private table


class ClaimTable(Struct, frozen=True):
    """Record that a process owns the table from this epoch on (O3)."""

    epoch: int
    owner: str
    now_ms: int


class RequestSeat(Struct, frozen=True):
    """Reserve a seat while the wallet is asked; ``seat`` None takes the first free one."""

    player: str
    is_bot: bool
    seat: Seat | None
    amount: Chips
    transfer_id: str
    post_at_once: bool
    now_ms: int


class RequestTopUp(Struct, frozen=True):
    """Reserve more chips for a player while the wallet is asked."""

    player: str
    amount: Chips
    transfer_id: str
    now_ms: int


class FundSeat(Struct, frozen=True):
    """The wallet has moved the chips."""

    transfer_id: str
    now_ms: int


class RefuseBuyIn(Struct, frozen=True):
    """The wallet has refused for ever."""

    transfer_id: str
    reason: str
    now_ms: int


class SitOut(Struct, frozen=True):
    """Not be dealt in any more, the running hand apart."""

    player: str
    cause: SeatCause
    now_ms: int


class SitIn(Struct, frozen=True):
    """Be dealt in again."""

    player: str
    post_at_once: bool
    now_ms: int


class StandUp(Struct, frozen=True):
    """Leave with the chips, after the hand where the player is in it."""

    player: str
    cause: SeatCause
    now_ms: int
    requested_by: str = ""  # who removes the player


class CommitSecret(Struct, frozen=True):
    """Commit to the next hand's secret where no hand before did, or where that secret is lost."""

    commitment: bytes
    now_ms: int


class CommitSeeds(Struct, frozen=True):
    """Close the commitments of the open exchange (F2); seats strictly rising."""

    hand_no: int
    commitments: tuple[SeedCommitment, ...]
    now_ms: int


class StartNextHand(Struct, frozen=True):
    """Deal the next hand to everybody who can be dealt in. ``seeds`` are those opened by dealt seats, seats rising.

    ``button`` and ``carousel`` were drawn from the hand's secret, where the table's plan leaves them open.
    """

    hand_id: str
    deck_root: bytes
    seeds: tuple[OpenedSeed, ...]
    next_commitment: bytes
    now_ms: int
    button: Seat | None = None
    carousel: tuple[Power, ...] = ()


class RecordRefusals(Struct, frozen=True):
    """Keep the count of what was refused during the last hand."""

    hand_no: int
    counts: tuple[RefusalCount, ...]
    now_ms: int


class RecordOpening(Struct, frozen=True):
    """Record that somebody is about to see cards which no event shows."""

    hand_id: str
    opened_by: str
    role: str
    lens: str
    reason: str
    case_id: str
    now_ms: int


class CloseTable(Struct, frozen=True):
    """Start no new hand and send everybody home."""

    closed_by: str
    now_ms: int


type TableOnlyCommand = (
    StartNextHand
    | CommitSeeds
    | CommitSecret
    | RecordRefusals
    | RequestSeat
    | FundSeat
    | RefuseBuyIn
    | RequestTopUp
    | SitOut
    | SitIn
    | StandUp
    | RecordOpening
    | ClaimTable
    | CreateTable
    | CloseTable
    | HostingCommand
    | WaitingCommand
    | TournamentTableCommand
)
type TableCommand = HandCommand | CapsaCommand | StakeCommand | TableOnlyCommand
