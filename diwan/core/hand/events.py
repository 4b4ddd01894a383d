"""What happened in a hand. Events carry every result, so that folding them needs no rule (DESIGN 3).

Events speak of deck positions, never of cards. A card that everybody may see is published beside the event that turned
it up, as a proved reveal; the wire format keeps both together.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diwan.core.hand.settings import HandSettings

type Seat = int
type Chips = int
type Position = int
type DecidedBy = Literal["player", "clock", "operator", "system"]
type ActionKind = Literal["fold", "check", "call", "bet", "raise"]
type PostKind = Literal["ante", "small_blind", "big_blind", "dead_blind"]
type RuleOfVoid = Literal["no_voluntary_bet", "no_raise"]
type VoidReason = Literal["no_voluntary_bet", "no_raise", "interrupted", "operator"]
type TurnPower = Literal["hidden_glance", "sleeve_trick", "short_anchor"]
type Power = Literal["hidden_glance", "sleeve_trick", "short_anchor", "seal_shield"]
type Answer = Literal["seal_shield", "pass"]
type HandResult = Literal["uncontested", "showdown", "void"]


class HandSeat(Struct, frozen=True, gc=False):
    """A seat that is dealt in: who sits there and the chips in front of it before anything is posted.

    ``sitting`` names the stay at the table whose escrow account holds the chips; empty where no wallet is behind them.
    """

    seat: Seat
    player: str
    stack: Chips
    is_bot: bool = False
    sitting: str = ""


class Due(Struct, frozen=True, gc=False):
    """A forced bet that a seat owes at the start; a short stack posts what it has (HD-9)."""

    seat: Seat
    kind: PostKind
    amount: Chips


class OpenedSeed(Struct, frozen=True, gc=False):
    """A seat's seed for this hand's deck, committed to before it was opened (F2). 32 bytes."""

    seat: Seat
    seed: bytes


class NaikoDeal(Struct, frozen=True, gc=False):
    """What a hand of Naiko begins with: the powers on show, and each seat's destellos with this deal's gain in them.

    ``destellos`` is parallel to ``HandStarted.seats``.
    """

    carousel: tuple[Power, ...]
    destellos: tuple[int, ...]


class TournamentDeal(Struct, frozen=True, gc=False):
    """What a tournament settles for a hand of its table as it begins.

    ``level`` counts from 1. ``small_blind_place`` is where the small blind stands, though nobody need have posted there.
    ``round_no`` is the grant that the hand was started by, 0 where hands start by themselves. An all-in waits at most
    ``hold_ms`` before the rest of its board is dealt (RP-8), 0 not at all.
    """

    tournament_id: str
    level: int
    small_blind_place: Seat | None = None
    round_no: int = 0
    hold_ms: int = 0


class HandStarted(Struct, frozen=True, tag=True, gc=False):
    """The first event of a hand, complete in itself: a hand is replayed from here without the table before it."""

    hand_id: str
    hand_no: int
    rules_version: int
    settings: HandSettings
    seats: tuple[HandSeat, ...]
    button: Seat
    big_blind_seat: Seat | None  # None in games without blinds: then the first player left of the button begins.
    dues: tuple[Due, ...]  # in the order in which they are posted; antes of everybody first
    secret_commitment: bytes  # of this hand's secret, published before any seed was opened
    seeds: tuple[OpenedSeed, ...]  # who contributed to the deck, by seat
    absent: tuple[Seat, ...]  # dealt in, but without a seed
    deck_root: bytes
    next_commitment: bytes  # of the next hand's secret: opens the next seed exchange
    started_at_ms: int
    deal_no: int = 0  # the number of this deal in the schedule of forced bets, from 1; 0 in games without one (SB-36)
    carried: Chips = 0  # dead money of void hands before this one (A6)
    naiko: NaikoDeal | None = None  # of that game only
    time_banks_ms: tuple[int, ...] = ()  # parallel to the seats; empty where nobody has one
    tournament: TournamentDeal | None = None  # of a tournament's table only


class Posted(Struct, frozen=True, tag=True, gc=False):
    """A forced bet went in. ``amount`` is what was really put in; dead chips do not count as a bet."""

    seat: Seat
    kind: PostKind
    amount: Chips


class HoleCardsDealt(Struct, frozen=True, tag=True, gc=False):
    """Hidden cards: which positions each seat holds. ``holdings`` is parallel to ``HandStarted.seats``."""

    holdings: tuple[tuple[Position, ...], ...]


class TurnBegan(Struct, frozen=True, tag=True, gc=False):
    """A seat must decide by the deadline. ``turn`` is this event's own version in its stream."""

    seat: Seat
    turn: int
    deadline_ms: int


class Acted(Struct, frozen=True, tag=True, gc=False):
    """A decision. ``to`` is the seat's total for this betting round afterwards, ``added`` the chips moved for it.

    ``is_sarab`` tells that the seat played Sarab (SB-17); ``kind`` then says what that amounted to.
    """

    seat: Seat
    kind: ActionKind
    to: Chips
    added: Chips
    is_all_in: bool
    turn: int
    decided_by: DecidedBy
    received_at_ms: int
    is_sarab: bool = False
    bank_spent_ms: int = 0  # of the seat's time bank


class BetReturned(Struct, frozen=True, tag=True, gc=False):
    """What nobody matched goes back; it is no win (HD-18)."""

    seat: Seat
    amount: Chips


class BettingRoundEnded(Struct, frozen=True, tag=True, gc=False):
    """Bets of the round were gathered into the middle; ``total`` is everything that lies there now."""

    total: Chips


class BoardDealt(Struct, frozen=True, tag=True, gc=False):
    """Shared cards were turned up; revealed to all with this event."""

    street: Literal["flop", "turn", "river"]
    positions: tuple[Position, ...]


class CardsShown(Struct, frozen=True, tag=True, gc=False):
    """A seat's hidden cards were turned up at showdown; revealed to all with this event (HD-19)."""

    seat: Seat
    positions: tuple[Position, ...]
    category: str  # by the names of the scenario format, empty before the board is complete
    rank: int  # strength, higher is better; comparable within one rules version only


class Share(Struct, frozen=True, gc=False):
    """What one seat takes from a pot; ``odd`` tells how much of ``amount`` were indivisible chips (HD-21)."""

    seat: Seat
    amount: Chips
    odd: Chips = 0


class PotAwarded(Struct, frozen=True, tag=True, gc=False):
    """A pot was paid. Index 0 is the main pot."""

    index: int
    amount: Chips
    eligible: tuple[Seat, ...]
    shares: tuple[Share, ...]


class DeadlineMoved(Struct, frozen=True, tag=True, gc=False):
    """The room itself could not take actions for a while, so the open decision got its time back."""

    turn: int
    deadline_ms: int
    reason: str
    moved_at_ms: int


class TimeBankBegan(Struct, frozen=True, tag=True, gc=False):
    """The decision clock ran out and the seat's time bank runs on: the same decision is open until ``deadline_ms``.

    ``bank_ms`` is all that the bank holds; what was used of it is told by the action.
    """

    seat: Seat
    turn: int
    bank_ms: int
    deadline_ms: int
    began_at_ms: int


class RunoutHeld(Struct, frozen=True, tag=True, gc=False):
    """Nobody has a decision left and cards are still to come: they stay down until the other tables are done (RP-8)."""

    until_ms: int
    held_at_ms: int


class RunoutReleased(Struct, frozen=True, tag=True, gc=False):
    """The held cards are dealt: the tournament said so by its order, or the time was over by the clock."""

    order_id: str
    hand_no: int
    is_by_clock: bool
    released_at_ms: int


class HandVoided(Struct, frozen=True, tag=True, gc=False):
    """The hand was ended without a result, by a rule or by an interruption; what was put in goes back.

    ``carried`` is what stays in the table's carried-pot account for the next hand instead (A6).
    """

    reason: VoidReason
    refunds: tuple[Share, ...]
    voided_at_ms: int
    decided_by: DecidedBy = "system"
    carried: Chips = 0


class HandEnded(Struct, frozen=True, tag=True, gc=False):
    """The end of every hand. Lists are parallel to ``HandStarted.seats``; ``digest`` is that of outcome/v1."""

    result: HandResult
    stacks: tuple[Chips, ...]
    payoffs: tuple[Chips, ...]
    won: tuple[Chips, ...]
    returned: tuple[Chips, ...]
    digest: bytes
    ended_at_ms: int


class CardGlanced(Struct, frozen=True, tag=True, gc=False):
    """A seat looks at the next card of the deck, which is revealed to it alone (NK-16). ``cost`` is in destellos."""

    seat: Seat
    position: Position
    cost: int
    turn: int
    received_at_ms: int


class CardSwapped(Struct, frozen=True, tag=True, gc=False):
    """A seat threw away one of its cards and took the next of the deck, which is revealed to it alone (NK-20)."""

    seat: Seat
    discarded: Position
    taken: Position
    cost: int
    turn: int
    received_at_ms: int


class AnchorDeclared(Struct, frozen=True, tag=True, gc=False):
    """A seat aimed the Short Anchor at another; paid, whatever becomes of it (NK-13, NK-25)."""

    seat: Seat
    target: Seat
    cost: int
    turn: int
    received_at_ms: int


class WindowOpened(Struct, frozen=True, tag=True, gc=False):
    """The seat under a declared Anchor may answer by the deadline (NK-34). ``turn`` is this event's own version.

    The declarer's clock stands still with ``remaining_ms`` on it.
    """

    seat: Seat
    turn: int
    deadline_ms: int
    remaining_ms: int


class AnchorAnswered(Struct, frozen=True, tag=True, gc=False):
    """The response window closed: with the Seal Shield, or without (NK-31, NK-34)."""

    seat: Seat
    answer: Answer
    cost: int
    turn: int
    decided_by: DecidedBy
    received_at_ms: int


class AnchorSettled(Struct, frozen=True, tag=True, gc=False):
    """A declared Anchor holds its target for the rest of the betting round, or was blocked."""

    target: Seat
    is_blocked: bool


class DestellosReturned(Struct, frozen=True, tag=True, gc=False):
    """What powers cost in a void hand goes back; ``destellos`` are the balances after it, parallel to the seats."""

    destellos: tuple[int, ...]


type NaikoEvent = (
    CardGlanced | CardSwapped | AnchorDeclared | WindowOpened | AnchorAnswered | AnchorSettled | DestellosReturned
)

type HandEvent = (
    Acted
    | TurnBegan
    | BettingRoundEnded
    | BoardDealt
    | BetReturned
    | Posted
    | HoleCardsDealt
    | CardsShown
    | PotAwarded
    | HandStarted
    | HandEnded
    | DeadlineMoved
    | TimeBankBegan
    | RunoutHeld
    | RunoutReleased
    | HandVoided
    | CardGlanced
    | CardSwapped
    | AnchorDeclared
    | WindowOpened
    | AnchorAnswered
    | AnchorSettled
    | DestellosReturned
)
