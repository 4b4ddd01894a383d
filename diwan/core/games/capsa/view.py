"""What one viewer may know of a Capsa hand. Imports no hand, so that a bot's policy can use it and see nothing else.

Cards here are cards that the viewer may see. Amounts are units and chips; rows are front, middle, back.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diwan.core.cards import Card

type Seat = int
type Chips = int
type Units = int
type Phase = Literal["setting", "declaring", "over"]


class RowsView(Struct, frozen=True):
    """Three rows of cards with the names of their categories, empty where a row lacks cards; a draft may."""

    front: tuple[Card, ...]
    middle: tuple[Card, ...]
    back: tuple[Card, ...]
    categories: tuple[str, str, str]
    is_complete: bool
    is_fouled: bool


class NaturalView(Struct, frozen=True):
    """A natural with its thirteen cards; ``division`` is the server's, for three flushes or straights (CS-77)."""

    kind: str
    units: Units
    cards: tuple[Card, ...]
    division: tuple[tuple[Card, ...], ...]


class RoyaltyView(Struct, frozen=True):
    """A declared royalty."""

    row: Literal["front", "middle", "back"]
    category: str
    units: Units


class CapsaSeatView(Struct, frozen=True):
    """A seat in the hand, as everybody sees it."""

    seat: Seat
    player: str
    is_bot: bool
    stack: Chips
    has_locked: bool
    answer: str  # play, surrender, or empty
    status: str  # set, fouled, surrendered, natural, or empty while it is not known to all
    natural: NaturalView | None
    rows: RowsView | None  # turned up at the reveal
    royalties: tuple[RoyaltyView, ...]
    hidden_cards: int
    units: Units
    payoff: Chips


class LineView(Struct, frozen=True):
    """What one pair exchanged, from the side of ``a`` (CS-66)."""

    a: Seat
    b: Seat
    rows: tuple[int, int, int] | None
    row_units: Units
    overall: Units
    scoop: Units
    royalty: Units
    other: Units
    units: Units
    chips: Chips


class CapsaDecision(Struct, frozen=True):
    """The open decision: who may still set, or who must say whether it plays."""

    kind: Literal["set", "answer"]
    seats: tuple[Seat, ...]
    turn: int
    deadline_ms: int
    can_surrender: bool
    surrender_price: Units


class CapsaHandView(Struct, frozen=True):
    """The hand as everybody may know it."""

    hand_id: str
    hand_no: int
    rules_version: int
    phase: Phase
    button: Seat
    seats: tuple[CapsaSeatView, ...]
    decision: CapsaDecision | None
    lines: tuple[LineView, ...]
    is_void: bool
    deck_root: bytes


class CapsaOwnView(Struct, frozen=True):
    """What only a seat may know: its cards in the order in which they were dealt, its draft and its set."""

    seat: Seat
    cards: tuple[Card, ...]
    draft: RowsView | None
    locked: RowsView | None

    def __repr__(self) -> str:
        return f"CapsaOwnView(seat={self.seat}, cards withheld)"


class CapsaView(Struct, frozen=True):
    """A hand with what one viewer may know beyond the public."""

    hand: CapsaHandView
    own: tuple[CapsaOwnView, ...]

    def __repr__(self) -> str:
        return f"CapsaView({self.hand.hand_id}, {self.hand.phase}, cards withheld)"


class StakeOfferView(Struct, frozen=True):
    """A stake that one seat offers another (CS-62)."""

    seat: Seat
    other: Seat
    unit: Chips


class PairStakeView(Struct, frozen=True):
    """A stake that a pair agreed upon, from the next deal on."""

    a: Seat
    b: Seat
    unit: Chips


class ShortageView(Struct, frozen=True):
    """A seat that would be dealt out of the next hand, and the chips that it would need (RESERVE_TOO_SMALL, CS-65)."""

    seat: Seat
    reserve: Chips


class CapsaTableView(Struct, frozen=True):
    """What a table of Capsa has between its hands."""

    offers: tuple[StakeOfferView, ...]
    pair_units: tuple[PairStakeView, ...]
    shortages: tuple[ShortageView, ...]


class SeatLocked(Struct, frozen=True, tag=True):
    """What others see of a locked set: that it is locked (CS-22)."""

    seat: Seat
    turn: int
    received_at_ms: int
