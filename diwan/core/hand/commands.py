"""What may be asked of a hand. ``version`` is the stream's version before the command's first event."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diwan.core.hand.events import (
    ActionKind,
    Answer,
    Chips,
    DecidedBy,
    Due,
    HandSeat,
    NaikoDeal,
    OpenedSeed,
    Position,
    Seat,
    TournamentDeal,
    TurnPower,
)
from diwan.core.hand.settings import HandSettings


class StartHand(Struct, frozen=True):
    """Deal a hand. The fields are those of ``HandStarted``, which see."""

    hand_id: str
    hand_no: int
    rules_version: int
    settings: HandSettings
    seats: tuple[HandSeat, ...]
    button: Seat
    big_blind_seat: Seat | None
    dues: tuple[Due, ...]
    secret_commitment: bytes
    seeds: tuple[OpenedSeed, ...]
    absent: tuple[Seat, ...]
    deck_root: bytes
    next_commitment: bytes
    version: int
    now_ms: int
    deal_no: int = 0
    carried: Chips = 0
    naiko: NaikoDeal | None = None
    time_banks_ms: tuple[int, ...] = ()
    tournament: TournamentDeal | None = None


class Act(Struct, frozen=True):
    """A seat's decision. ``to`` matters for bet and raise only: the seat's total for this betting round."""

    seat: Seat
    kind: ActionKind
    to: int
    turn: int | None  # the decision that is answered; None where the caller cannot name one (scenarios)
    version: int
    now_ms: int
    decided_by: DecidedBy = "player"


class AllIn(Struct, frozen=True):
    """All of the seat's chips, as the legal call, bet or raise that they amount to; in Sarab the sarab (SB-17)."""

    seat: Seat
    turn: int | None
    version: int
    now_ms: int


class UsePower(Struct, frozen=True):
    """A power of Naiko on one's own turn, before acting. ``target`` is of the Anchor, ``discard`` of the Trick."""

    seat: Seat
    power: TurnPower
    target: Seat | None
    discard: Position | None
    turn: int | None
    version: int
    now_ms: int


class AnswerAnchor(Struct, frozen=True):
    """An Anchor's target answers within its window."""

    seat: Seat
    answer: Answer
    turn: int | None
    version: int
    now_ms: int


class ExpireClock(Struct, frozen=True):
    """The decision clock ran out: check where that is legal, else fold (CL-2), after the seat's time bank if it has one.

    So may a response window (NK-34), which no bank makes longer. Who decides for somebody else waits for no bank.
    """

    seat: Seat
    turn: int | None
    version: int
    now_ms: int
    decided_by: DecidedBy = "clock"


class MoveDeadline(Struct, frozen=True):
    """Give the open decision its time back after an outage of the room's own."""

    turn: int
    deadline_ms: int
    reason: str
    version: int
    now_ms: int


class ReleaseRunout(Struct, frozen=True):
    """Deal the rest of a board that was held: by the tournament's order, or by the clock when its time is over."""

    order_id: str
    hand_no: int
    version: int
    now_ms: int
    is_by_clock: bool = False


class VoidHand(Struct, frozen=True):
    """End the hand without a result and give everything back (H9)."""

    reason: Literal["interrupted", "operator"]
    version: int
    now_ms: int
    decided_by: DecidedBy = "system"


type HandCommand = (
    Act | AllIn | ExpireClock | UsePower | AnswerAnchor | StartHand | MoveDeadline | ReleaseRunout | VoidHand
)
