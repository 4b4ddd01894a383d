"""What happened in a tournament. Every decision of the floor stands here with its rule, what it was chosen from, result.

The first event of a batch is the *act*: what somebody asked for or reported. A batch that begins with any other event
was decided by the clock (`Tick`). Every event says when in ``at_ms``. Tables are numbered from 1 in a tournament, entries
from 1 in the order in which they were asked for, moves from 1; ``rule`` is the id of a rule of
``docs/reference/tournaments.md``, such as ``TDA R11-A``.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diwan.core.hand.events import Chips, Seat
from diwan.core.tournament.settings import TournamentConfig

type EntryKind = Literal["entry", "re_entry"]
type ExtraKind = Literal["rebuy", "add_on"]
type PaymentCode = Literal["entry", "re_entry", "rebuy", "add_on", "prize", "refund", "fee", "guarantee"]
type Party = Literal["player", "bots", "pool", "house"]
type StartMode = Literal["automatic", "on_grant"]
type MovePurpose = Literal["start", "late", "balance", "break", "redraw", "final", "gone"]
type TablePurpose = Literal["start", "late", "redraw", "final"]
type CloseCause = Literal["full", "time", "money", "start"]
type CancelCause = Literal["too_few", "house_short", "operator"]
type OutCause = Literal["busted", "removed"]
type EntryEndCause = Literal["refused", "withdrawn", "cancelled", "closed"]


class Payment(Struct, frozen=True):
    """One movement of chips that the wallet is asked for until it answers. ``key`` names it in its tournament for ever.

    Keys: ``entry/<entry no>``, ``refund/<entry no>``, ``extra/<extra no>``, ``extra_refund/<extra no>``,
    ``prize/<place>/<player>``, ``share/<player>`` (of a cancelled tournament), ``fee``, ``guarantee/reserved``,
    ``guarantee/returned``. ``player`` is who pays or is paid, empty between pool and house.
    """

    key: str
    code: PaymentCode
    giver: Party
    taker: Party
    amount: Chips
    player: str = ""
    entry_no: int = 0
    place: int = 0


# Before play.


class TournamentCreated(Struct, frozen=True, tag=True):
    """The tournament was announced. ``commitment`` binds the house to the secret of draw 1 (F1, F7)."""

    tournament_id: str
    config: TournamentConfig
    commitment: bytes
    created_by: str
    at_ms: int


class PaymentDue(Struct, frozen=True, tag=True):
    """A payment was ordered; it stays pending until `PaymentSettled`."""

    payment: Payment
    at_ms: int


class PaymentSettled(Struct, frozen=True, tag=True):
    """Act: the wallet's definite answer; refused, ``reason`` is its result in capitals.

    Only what a player pays, or what the house reserves, may end so: what is owed to somebody is asked for again.
    """

    key: str
    attempt_no: int
    is_refused: bool
    reason: str
    at_ms: int


class PaymentOverdue(Struct, frozen=True, tag=True):
    """An alarm: a payment is not settled so long after it was due. It goes on being asked for."""

    key: str
    due_at_ms: int
    at_ms: int


class RegistrationOpened(Struct, frozen=True, tag=True):
    """Entries may be asked for: the house has reserved what it might have to pay."""

    at_ms: int


class EntryRequested(Struct, frozen=True, tag=True):
    """Act: somebody enters, and the wallet is asked for ``entry`` and ``fee`` together, both into the pool.

    ``seed_commitment`` binds the player to a seed for the first draw; empty for none.
    """

    entry_no: int
    player: str
    is_bot: bool
    kind: EntryKind
    entry: Chips
    fee: Chips
    at_ms: int
    seed_commitment: bytes = b""


class EntryAccepted(Struct, frozen=True, tag=True):
    """The entry is paid for and counts."""

    entry_no: int
    at_ms: int


class EntryWithdrawn(Struct, frozen=True, tag=True):
    """Act: a player unregisters before play (the payment comes back)."""

    entry_no: int
    player: str
    at_ms: int


class EntryEnded(Struct, frozen=True, tag=True):
    """An entry is over without having been played; what was paid for it comes back by a payment of its own."""

    entry_no: int
    cause: EntryEndCause
    reason: str
    at_ms: int


class BotsWanted(Struct, frozen=True, tag=True):
    """So many bots may enter from now on, all told (marked; the conditions said so).

    It comes again a while after the wallet refused some. 0: nobody waits for them any more, their entries go back.
    """

    count: int
    at_ms: int


class RegistrationClosed(Struct, frozen=True, tag=True):
    """No entry is taken any more. ``breaking_order`` is the order in which tables will be broken (WSOP R66)."""

    cause: CloseCause
    breaking_order: tuple[int, ...]
    at_ms: int


class SeedsAsked(Struct, frozen=True, tag=True):
    """Who is drawn for is settled (``entrants_digest``): now whoever committed to a seed opens it, until ``until_ms``.

    Entries that count later are late ones; none is given back before the draw.
    """

    entrants_digest: bytes
    until_ms: int
    at_ms: int


class SeedOpened(Struct, frozen=True, tag=True):
    """Act: a player opens the seed that the entry has committed to; it takes part in the first draw."""

    entry_no: int
    player: str
    seed: bytes
    at_ms: int


class Drawn(Struct, frozen=True, tag=True):
    """The secret of a draw, shown, and the commitment to the next one. It stands before what this batch drew with it.

    Draws of one batch are told apart by ordinals from 0, in the order of the batch; labels and weights are in
    ``docs/reference/hashing.md``. ``entrants_digest`` is mixed into the first draw as seed 0, else empty, and every seed
    opened before it as the seed of its entry's number.
    """

    draw_no: int
    secret: bytes
    entrants_digest: bytes
    next_commitment: bytes
    at_ms: int


class MultiplierDrawn(Struct, frozen=True, tag=True):
    """A Spin's multiplier (F1): ``line`` of the table, from 0."""

    line: int
    times: int
    weight: int
    weights: int
    at_ms: int


class PoolFixed(Struct, frozen=True, tag=True):
    """The list of prizes is final: registration is closed and every entry answered for. ``prizes`` by place, exact."""

    entries: int
    pool: Chips
    fees: Chips
    prizes: tuple[Chips, ...]
    rule: str
    at_ms: int


# Tables and seats.


class TableOpened(Struct, frozen=True, tag=True):
    """A table was ordered. It waits for grants until play begins there; ``button`` is that of its first hand, drawn."""

    table_no: int
    table_id: str
    purpose: TablePurpose
    button: Seat
    at_ms: int


class SeatGiven(Struct, frozen=True):
    """Who is to sit where. ``from_table`` 0: from nowhere; ``stack`` is 0 while the old table has not told it."""

    move_no: int
    move_id: str
    player: str
    from_table: int
    seat: Seat
    stack: Chips


class SeatsDrawn(Struct, frozen=True, tag=True):
    """Seats of one table given by a committed draw (TDA R7, R8, R10, RP-9)."""

    table_no: int
    purpose: MovePurpose
    rule: str
    seats: tuple[SeatGiven, ...]
    at_ms: int


class TableReady(Struct, frozen=True, tag=True):
    """Act: the table exists."""

    table_no: int
    table_version: int
    at_ms: int


class EntrantSeated(Struct, frozen=True, tag=True):
    """Act: a table has seated a player; dealt in from its next hand (TDA R8, R10)."""

    table_no: int
    table_version: int
    move_id: str
    player: str
    seat: Seat
    at_ms: int


class EntrantReleased(Struct, frozen=True, tag=True):
    """Act: a table has let a player go with a stack, between two hands: they sit nowhere until seated again.

    Naiko's destellos (C2) and the time bank go along; ``time_bank_ms`` None is one never used.
    """

    table_no: int
    table_version: int
    move_id: str
    player: str
    stack: Chips
    destellos: int
    time_bank_ms: int | None
    at_ms: int


class StartModeSet(Struct, frozen=True, tag=True):
    """Act: a table confirms its start mode. ``running_hand_no`` is the hand in progress then, 0 between hands."""

    table_no: int
    table_version: int
    start_no: int
    mode: StartMode
    running_hand_no: int
    at_ms: int


class TableClockSet(Struct, frozen=True, tag=True):
    """Act: a table confirms the level clock of this number."""

    table_no: int
    table_version: int
    clock_no: int
    at_ms: int


class TableGone(Struct, frozen=True, tag=True):
    """Act: a table is closed: ordered by us, or lost. Whoever still sat there takes the last reported stack along."""

    table_no: int
    table_version: int
    at_ms: int


class PlayBegan(Struct, frozen=True, tag=True):
    """Everybody sits: the level clock starts at ``clock_base_ms``, when tables deal their first hand."""

    clock_no: int
    clock_base_ms: int
    at_ms: int


# Play.


class SeatResult(Struct, frozen=True):
    """A seat dealt into a hand, with its stack before anything was posted and after the hand."""

    seat: Seat
    player: str
    stack_before: Chips
    stack_after: Chips


class HandPlayed(Struct, frozen=True, tag=True):
    """Act: a hand of a table is over. Places are seats (a dead button or small blind too); in a void hand stacks stand."""

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
    at_ms: int


class OutPlayer(Struct, frozen=True):
    """Who is out, from which table, and the stack that the hand began with."""

    player: str
    entry_no: int
    table_no: int
    stack_before: Chips


class PlayersOut(Struct, frozen=True, tag=True):
    """Players go out together and share what they cover (F2, WSOP R126).

    They are number ``out_first`` to ``out_last`` in the order of going out, from 1. Places are 0 while entries are open:
    then nobody knows how many will have entered.
    """

    players: tuple[OutPlayer, ...]
    out_first: int
    out_last: int
    place_first: int
    place_last: int
    cause: OutCause
    rule: str
    at_ms: int


class BalancingOrdered(Struct, frozen=True, tag=True):
    """One player is to move from the longest table to the shortest.

    ``from_table`` stops after its hand, so that the next big blind is known when the player is chosen.
    """

    move_no: int
    from_table: int
    to_table: int
    from_size: int
    to_size: int
    rule: str
    at_ms: int


class MoverCandidate(Struct, frozen=True):
    """Who could move: how far from the big blind of the next hand (0: has it), and how often moved before to even out tables."""

    player: str
    seat: Seat
    hands_to_big_blind: int
    balanced: int


class MoverChosen(Struct, frozen=True, tag=True):
    """Who moves: the fewest moves so far, then the next big blind (TDA R11-A)."""

    move_no: int
    move_id: str
    player: str
    candidates: tuple[MoverCandidate, ...]
    rule: str
    at_ms: int


class SeatCandidate(Struct, frozen=True):
    """A free seat: how many hands until it has the big blind (0: the next hand).

    ``may_take``: it does not have the small blind in the next hand.
    """

    seat: Seat
    hands_to_big_blind: int
    may_take: bool


class SeatChosen(Struct, frozen=True, tag=True):
    """Where a moved player sits: the worst position, which is the soonest big blind, and never the small blind."""

    move_no: int
    table_no: int
    seat: Seat
    candidates: tuple[SeatCandidate, ...]
    rule: str
    at_ms: int


class MoveCancelled(Struct, frozen=True, tag=True):
    """A move that is not made any more: the player went out, or the tables are even without it."""

    move_no: int
    reason: str
    at_ms: int


class MoveRedirected(Struct, frozen=True, tag=True):
    """A move whose table is gone or closing goes to another one; its seat there is chosen when that table stands."""

    move_no: int
    to_table: int
    rule: str
    at_ms: int


class TableHalted(Struct, frozen=True, tag=True):
    """A table that is three or more short waits for its players (TDA R11-D, WSOP R67), or deals again."""

    table_no: int
    is_halted: bool
    rule: str
    at_ms: int


class TableBreaking(Struct, frozen=True, tag=True):
    """A table is broken after its hand, as the rest fit at one table fewer; seats are drawn when it stands still."""

    table_no: int
    purpose: MovePurpose
    rule: str
    at_ms: int


class RedrawOrdered(Struct, frozen=True, tag=True):
    """Everybody draws a new seat once all tables stand still: for the final table or at a set number of tables."""

    purpose: MovePurpose
    tables: int
    rule: str
    at_ms: int


class RedrawDone(Struct, frozen=True, tag=True):
    """Everybody sits at the new tables: play goes on."""

    at_ms: int


# Hand-for-hand (RP-8).


class HandForHandBegan(Struct, frozen=True, tag=True):
    """From the hand after the running ones, all tables play one hand and wait for each other."""

    players_left: int
    places_paid: int
    rule: str
    at_ms: int


class RoundGranted(Struct, frozen=True, tag=True):
    """Every table may play one hand. ``players_left`` is how many were in then; late tables are waited for until ``limit_at_ms``."""

    round_no: int
    tables: tuple[int, ...]
    players_left: int
    limit_at_ms: int
    at_ms: int


class RunoutHeld(Struct, frozen=True, tag=True):
    """Act: a table holds an all-in face down until all tables have finished (RP-8)."""

    table_no: int
    table_version: int
    hand_no: int
    until_ms: int
    at_ms: int


class RunoutsReleased(Struct, frozen=True, tag=True):
    """All tables have finished or hold an all-in, or the wait is over: the held ones are run out."""

    round_no: int
    tables: tuple[int, ...]
    at_ms: int


class TablesLate(Struct, frozen=True, tag=True):
    """Tables that the others wait for no longer: their hand still counts to the round it was granted in."""

    round_no: int
    tables: tuple[int, ...]
    at_ms: int


class RoundEnded(Struct, frozen=True, tag=True):
    """All hands of the round are in, and who went out in it has been ranked together.

    ``counted_ms`` is what the level clock is charged: the fixed time of a round, at most what was left before a break.
    """

    round_no: int
    players_left: int
    counted_ms: int
    at_ms: int


class HandForHandEnded(Struct, frozen=True, tag=True):
    """The bubble has burst: tables deal by themselves again."""

    players_left: int
    at_ms: int


# Clock, trouble, chips.


class ClockSet(Struct, frozen=True, tag=True):
    """The level clock was moved: levels run since ``base_ms``; it stands where ``paused_at_ms`` is not 0."""

    clock_no: int
    base_ms: int
    paused_at_ms: int
    cause: Literal["pause", "resume", "hand_for_hand"]
    at_ms: int


class LevelBegan(Struct, frozen=True, tag=True):
    """A level is in force for every hand that starts from now on (TDA R23); on a break ``is_break`` is set."""

    level_no: int
    is_break: bool
    ends_at_ms: int  # 0: the last level
    at_ms: int


class TournamentPaused(Struct, frozen=True, tag=True):
    """Act: an operator stops the tournament: running hands end, none starts, the level clock stands."""

    by: str
    reason: str
    at_ms: int


class TournamentResumed(Struct, frozen=True, tag=True):
    """Act: it goes on where it stood."""

    by: str
    reason: str
    at_ms: int


class RemovalOrdered(Struct, frozen=True, tag=True):
    """Act: an operator removes a player, whose chips leave play; they go out with the hand that they are in."""

    player: str
    by: str
    reason: str
    at_ms: int


class ExtraRequested(Struct, frozen=True, tag=True):
    """Act: a seated player asks for a rebuy or an add-on; chips come when it is paid."""

    extra_no: int
    player: str
    kind: ExtraKind
    price: Chips
    chips: Chips
    at_ms: int


class ExtraPaid(Struct, frozen=True, tag=True):
    """The extra chips are paid for; the player's table is asked to add them between hands."""

    extra_no: int
    add_id: str
    at_ms: int


class ExtraEnded(Struct, frozen=True, tag=True):
    """Nothing comes of the extra chips: refused, or the player was out before they came (the price goes back)."""

    extra_no: int
    reason: str
    at_ms: int


class ChipsAdded(Struct, frozen=True, tag=True):
    """Act: a table has put extra chips in front of a player."""

    table_no: int
    table_version: int
    add_id: str
    player: str
    amount: Chips
    at_ms: int


# The end.


class TournamentCancelled(Struct, frozen=True, tag=True):
    """It is called off: before play everything goes back, afterwards the pool is shared by the published policy.

    As an act (``by`` set) an operator called it off, with a reason. ``policy`` names which part of it applied.
    """

    cause: CancelCause
    by: str
    reason: str
    policy: str
    at_ms: int


class TournamentWon(Struct, frozen=True, tag=True):
    """One player is left."""

    player: str
    at_ms: int


class TournamentFinished(Struct, frozen=True, tag=True):
    """Every payment is confirmed and every table closed: nothing follows."""

    at_ms: int


type TournamentEvent = (
    TournamentCreated
    | PaymentDue
    | PaymentSettled
    | PaymentOverdue
    | RegistrationOpened
    | EntryRequested
    | EntryAccepted
    | EntryWithdrawn
    | EntryEnded
    | BotsWanted
    | RegistrationClosed
    | SeedsAsked
    | SeedOpened
    | Drawn
    | MultiplierDrawn
    | PoolFixed
    | TableOpened
    | SeatsDrawn
    | TableReady
    | EntrantSeated
    | EntrantReleased
    | StartModeSet
    | TableClockSet
    | TableGone
    | PlayBegan
    | HandPlayed
    | PlayersOut
    | BalancingOrdered
    | MoverChosen
    | SeatChosen
    | MoveCancelled
    | MoveRedirected
    | TableHalted
    | TableBreaking
    | RedrawOrdered
    | RedrawDone
    | HandForHandBegan
    | RoundGranted
    | RunoutHeld
    | RunoutsReleased
    | TablesLate
    | RoundEnded
    | HandForHandEnded
    | ClockSet
    | LevelBegan
    | TournamentPaused
    | TournamentResumed
    | RemovalOrdered
    | ExtraRequested
    | ExtraPaid
    | ExtraEnded
    | ChipsAdded
    | TournamentCancelled
    | TournamentWon
    | TournamentFinished
)
