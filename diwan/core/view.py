"""What one viewer may know of a table. Imports no hand, so that a bot's policy can use it and see nothing else.

Field by field the same as ``diwan/api/table/v1/view.proto``. Cards here are cards that the viewer may see.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diwan.core.cards import Card
from diwan.core.fairness.deck import Reveal
from diwan.core.games.capsa.view import CapsaHandView, CapsaOwnView, CapsaTableView

type Seat = int
type Chips = int
type Street = Literal["preflop", "flop", "turn", "river", "over"]
type Power = Literal["hidden_glance", "sleeve_trick", "short_anchor", "seal_shield"]
type SeatStatus = Literal["reserved", "playing", "waiting", "sitting_out", "leaving"]


class Lens(Struct, frozen=True):
    """Whose eyes: a seat's holder, an auditor's (settled hands only; the caller sees to that), or anybody's."""

    kind: Literal["seat", "spectator", "auditor"] = "spectator"
    seat: Seat | None = None

    def sees_seat(self, seat: Seat) -> bool:
        """Say whether the hidden cards of a seat are for these eyes."""
        return self.kind == "auditor" or (self.kind == "seat" and self.seat == seat)


SPECTATOR = Lens()


class CoinsView(Struct, frozen=True):
    """An amount in Sarab's coins, with as few as can be; ``rest`` is what no coins can pay (SB-39)."""

    dinars: int
    dirhams: int
    fils: int
    stones: int
    rest: Chips


class SeatView(Struct, frozen=True):
    """A seat, as everybody sees it. ``stack`` in a hand is what stands in front of the seat."""

    seat: Seat
    player: str
    display_name: str
    is_bot: bool
    stack: Chips
    status: SeatStatus
    in_hand: bool = False
    has_folded: bool = False
    is_all_in: bool = False
    bet: Chips = 0
    shown_cards: tuple[Card, ...] = ()
    hidden_cards: int = 0
    time_bank_ms: int = 0
    coins: CoinsView | None = None  # of a match


class PotView(Struct, frozen=True):
    """A pot and the seats that can win it."""

    amount: Chips
    eligible: tuple[Seat, ...]


class Decision(Struct, frozen=True):
    """The open decision: everything that a client needs to offer it; amounts are totals for the betting round."""

    seat: Seat
    turn: int
    deadline_ms: int
    can_fold: bool
    can_check: bool
    can_call: bool
    call_amount: Chips
    can_bet: bool
    can_raise: bool
    min_to: Chips
    max_to: Chips
    pot_to: Chips
    can_sarab: bool = False
    is_time_bank_running: bool = False  # the deadline is its end


class SarabView(Struct, frozen=True):
    """What a hand of Sarab has beyond others: its level, and where the chips of void hands lie (SB-28, A6)."""

    deal_no: int
    forced_bet: Chips
    next_forced_bet: Chips  # of the next deal that counts
    carried: Chips  # in the middle from void hands before this one
    is_void: bool
    carried_on: Chips  # that this void hand leaves to the next one
    deals_to_next_step: int  # until the forced bet is another one, this deal included; 0 where it stays
    is_void_unless_bet: (
        bool  # unless somebody bets before the end of the turn; or raises, where the table asks for that
    )
    cannot_fold: tuple[Seat, ...]  # with too few chips behind (SB-26)


class SeatPowers(Struct, frozen=True):
    """A seat's destellos, the powers that it has used in this hand, and whether an Anchor holds it in this round."""

    seat: Seat
    destellos: int
    used: tuple[Power, ...]
    is_anchored: bool


class WindowView(Struct, frozen=True):
    """The time in which a seat may answer an Anchor; ``turn`` is what its answer names."""

    seat: Seat
    declared_by: Seat
    turn: int
    deadline_ms: int


class PowerView(Struct, frozen=True):
    """A power on show as it stands for the seat that is asked: usable, or why not, by the reasons for refusal."""

    power: Power
    seat: Seat
    cost: int
    why_not: str  # empty where the seat may use it
    targets: tuple[Seat, ...]  # of the Anchor


class NaikoView(Struct, frozen=True):
    """What a hand of Naiko has beyond others; all of it is public (NK-41)."""

    carousel: tuple[Power, ...]
    activations_left: int  # of the table, in this betting round
    seats: tuple[SeatPowers, ...]
    window: WindowView | None
    powers: tuple[PowerView, ...]


class HandView(Struct, frozen=True):
    """The running hand, or the last one until the next begins."""

    hand_id: str
    hand_no: int
    street: Street
    button: Seat
    board: tuple[Card, ...]
    pot: Chips
    pots: tuple[PotView, ...]
    decision: Decision | None
    deck_root: bytes
    game: str
    rules_version: int
    sarab: SarabView | None = None
    naiko: NaikoView | None = None
    capsa: CapsaHandView | None = None


class SeedExchangeView(Struct, frozen=True):
    """The seed exchange for a hand that has not begun."""

    hand_no: int
    hand_id: str
    secret_commitment: bytes
    is_opening: bool


class Settings(Struct, frozen=True):
    """What a viewer needs of a table's settings; the contract carries them all."""

    name: str
    game: str
    limit: str
    small_blind: Chips
    big_blind: Chips
    decision_seconds: int
    seats: int
    buy_in_min: Chips
    buy_in_max: Chips


class PlaceView(Struct, frozen=True):
    """Who came where in a match, from 1; 0 where it was cancelled. ``prize`` is chips of the wallet, once it is over."""

    place: int
    seat: Seat
    player: str
    is_bot: bool
    prize: Chips


class MatchView(Struct, frozen=True):
    """A match as it stands. ``result`` is empty while it goes on."""

    is_started: bool
    still_in: tuple[Seat, ...]
    result: str
    places: tuple[PlaceView, ...]


class LadderStepView(Struct, frozen=True):
    """A level of a tournament's ladder. Times are 0 where they are not known: the clock stands, or hands are counted.

    A break lies between the end of a level and the beginning of the next.
    """

    level: int
    small_blind: Chips
    big_blind: Chips
    ante: Chips
    ante_kind: Literal["each", "big_blind"]
    begins_at_ms: int
    ends_at_ms: int
    hands: int


class TournamentView(Struct, frozen=True):
    """A tournament as its table shows it. ``level`` is that of the running hand, or of the last one's end.

    ``is_waiting``: no hand begins before the tournament grants it, so that all tables play hand for hand. The rest of a
    board is held until ``held_until_ms`` at the latest (RP-8).
    """

    tournament_id: str
    table_no: int
    level: LadderStepView
    coming: tuple[LadderStepView, ...]
    hands_left: int  # of the level, where hands are counted
    is_clock_running: bool
    is_on_grant: bool
    is_waiting: bool
    round_no: int
    held_until_ms: int


class WaitingView(Struct, frozen=True):
    """Somebody who waits for a seat; ``seat`` is kept for it until ``until_ms``."""

    player: str
    seat: Seat | None
    until_ms: int


class TableView(Struct, frozen=True):
    """A table as everybody may know it."""

    table_id: str
    version: int
    epoch: int
    settings: Settings
    seats: tuple[SeatView, ...]
    hand: HandView | None
    seed_exchange: SeedExchangeView | None
    is_closing: bool
    is_closed: bool
    host: str = ""  # of a private table
    is_paused: bool = False
    paused_until_ms: int = 0
    waiting: tuple[WaitingView, ...] = ()
    capsa: CapsaTableView | None = None
    match: MatchView | None = None  # of a match's table
    tournament: TournamentView | None = None  # of a tournament's table


class PrivateView(Struct, frozen=True):
    """What only the holder of a seat may know: its own cards, with proofs.

    In Naiko also the card of the deck that it looked at, and the one that it threw away; in Capsa what it arranged.
    """

    seat: Seat
    hand_id: str
    reveals: tuple[Reveal, ...]
    glanced: Reveal | None = None
    discarded: Reveal | None = None
    capsa: CapsaOwnView | None = None

    def __repr__(self) -> str:
        return f"PrivateView(seat={self.seat}, hand_id={self.hand_id}, cards withheld)"


class SeatedView(Struct, frozen=True):
    """A table with what one viewer may know beyond the public: hidden cards by seat."""

    table: TableView
    own_cards: dict[Seat, tuple[Card, ...]]
    glanced: dict[Seat, Card] = {}
    discarded: dict[Seat, Card] = {}
    capsa: dict[Seat, CapsaOwnView] = {}

    def __repr__(self) -> str:
        return f"SeatedView({self.table.table_id}, version={self.table.version}, cards withheld)"
