"""What may be asked of a tournament or reported to it. Times come from the shell: ``now_ms`` is its owner's clock.

Reports of a table are made from its feed, in the order of its versions; repeated ones (a version not above the last one
reported) are taken for what they are and give no events. The wallet's answers may be reported any number of times.
"""

from __future__ import annotations

from msgspec import Struct

from diwan.core.hand.events import Chips, Seat
from diwan.core.tournament.events import ExtraKind, SeatResult, StartMode
from diwan.core.tournament.settings import TournamentConfig


class Chance(Struct, frozen=True):
    """The secret that the tournament is committed to for its next draw, and the commitment to the one after.

    The shell hands it to every `decide`, and keeps the next secret (in its vault) before it appends a batch in which a
    ``Drawn`` event used this one. Where the batch holds none, secret and commitment stay as they are. It prints as nothing.
    """

    secret: bytes
    next_commitment: bytes

    def __repr__(self) -> str:
        return "Chance(withheld)"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return []


class CreateTournament(Struct, frozen=True):
    """Announce a tournament; the config is checked. ``commitment`` is `secret_commitment` of the id and secret 1."""

    tournament_id: str
    config: TournamentConfig
    commitment: bytes
    created_by: str
    now_ms: int


class Tick(Struct, frozen=True):
    """Time has passed. Due when ``state.next_due_ms`` is reached; at any other time it gives no events."""

    now_ms: int


class Enter(Struct, frozen=True):
    """A player enters, or enters again after going out. Refused with a reason, see `registration`.

    ``seed_commitment`` is `seeds.entry_seed_commitment` of a seed for the first draw, or empty.
    """

    player: str
    is_bot: bool
    now_ms: int
    seed_commitment: bytes = b""


class OpenSeed(Struct, frozen=True):
    """A player opens the seed that the entry committed to, while the first draw waits for it."""

    player: str
    seed: bytes
    now_ms: int


class Withdraw(Struct, frozen=True):
    """A player unregisters before play; the payment comes back whole."""

    player: str
    now_ms: int


class BuyExtra(Struct, frozen=True):
    """A seated player asks for a rebuy or an add-on."""

    player: str
    kind: ExtraKind
    now_ms: int


class ReportPayment(Struct, frozen=True):
    """The wallet's definite answer to an attempt at a payment; unknown outcomes are not reported but asked for again.

    An answer to another attempt than the pending one says nothing new: a late copy never leads to paying twice.
    """

    key: str
    attempt_no: int
    is_refused: bool
    reason: str
    now_ms: int


class ReportTableReady(Struct, frozen=True):
    """A table that was ordered exists."""

    table_no: int
    table_version: int
    now_ms: int


class ReportSeated(Struct, frozen=True):
    """A table has seated an entrant (its ``EntrantSeated``)."""

    table_no: int
    table_version: int
    move_id: str
    player: str
    seat: Seat
    now_ms: int


class ReportReleased(Struct, frozen=True):
    """A table has let an entrant go (its ``EntrantReleased`` with cause moved or removed; busted ones go by the hand)."""

    table_no: int
    table_version: int
    move_id: str
    player: str
    stack: Chips
    destellos: int
    time_bank_ms: int | None
    now_ms: int


class ReportStartMode(Struct, frozen=True):
    """A table is in a start mode (its ``StartModeSet``). ``running_hand_no`` is 0 between hands."""

    table_no: int
    table_version: int
    start_no: int
    mode: StartMode
    running_hand_no: int
    now_ms: int


class ReportClock(Struct, frozen=True):
    """A table's level clock is set (its ``ClockSet``)."""

    table_no: int
    table_version: int
    clock_no: int
    now_ms: int


class ReportHand(Struct, frozen=True):
    """A hand is over. Hands of a table come in the order of their numbers, void ones too (their stacks stand).

    ``button``, ``small_blind`` and ``big_blind`` are places, dead or not; in Sarab, which has no blinds, both are the button.
    """

    table_no: int
    table_version: int
    hand_no: int
    is_void: bool
    button: Seat
    small_blind: Seat
    big_blind: Seat
    seats: tuple[SeatResult, ...]
    started_at_ms: int
    ended_at_ms: int
    now_ms: int


class ReportRunoutHeld(Struct, frozen=True):
    """A table holds an all-in until it is told to run it out, at the latest until ``until_ms``."""

    table_no: int
    table_version: int
    hand_no: int
    until_ms: int
    now_ms: int


class ReportChipsAdded(Struct, frozen=True):
    """A table has added extra chips."""

    table_no: int
    table_version: int
    add_id: str
    player: str
    amount: Chips
    now_ms: int


class ReportTableGone(Struct, frozen=True):
    """A table is closed for good."""

    table_no: int
    table_version: int
    now_ms: int


class Pause(Struct, frozen=True):
    """An operator stops the tournament."""

    by: str
    reason: str
    now_ms: int


class Resume(Struct, frozen=True):
    """An operator lets it go on."""

    by: str
    reason: str
    now_ms: int


class Remove(Struct, frozen=True):
    """An operator removes a player."""

    player: str
    by: str
    reason: str
    now_ms: int


class Cancel(Struct, frozen=True):
    """An operator calls the tournament off."""

    by: str
    reason: str
    now_ms: int


type TableReport = (
    ReportTableReady
    | ReportSeated
    | ReportReleased
    | ReportStartMode
    | ReportClock
    | ReportHand
    | ReportRunoutHeld
    | ReportChipsAdded
    | ReportTableGone
)
type TournamentCommand = (
    CreateTournament
    | Tick
    | Enter
    | OpenSeed
    | Withdraw
    | BuyExtra
    | ReportPayment
    | TableReport
    | Pause
    | Resume
    | Remove
    | Cancel
)
