"""What is known of a hand so far: positions, never cards (DESIGN 3).

Lists run over the seats dealt in, in the order of ``HandStarted.seats``; a place in them is called a *place* here,
a number at the table a *seat*.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diwan.core.hand.events import CardsShown, Chips, HandEnded, HandStarted, Position, PotAwarded, Seat, TurnPower

type Place = int
type Street = Literal["preflop", "flop", "turn", "river"]

NOBODY = -1


class Deal(Struct, frozen=True, gc=False):
    """What does not change during a hand."""

    started: HandStarted
    seats: tuple[Seat, ...]
    places: dict[Seat, Place]
    stacks: tuple[Chips, ...]  # before anything was posted
    first: Place  # the first place left of the button
    largest_blind: Chips  # owed, not posted


class Activation(Struct, frozen=True, gc=False):
    """A power that was used on a turn. Street and number of lifts answered before it tell which turn that was."""

    place: Place
    power: TurnPower
    street: Street
    answered: int
    position: Position = NOBODY  # glanced at or thrown away
    target: Place = NOBODY
    is_anchored: bool = False  # the target is held: neither blocked nor still to be answered


class Window(Struct, frozen=True, gc=False):
    """The time in which an Anchor's target may answer."""

    target: Place
    turn: int
    deadline_ms: int
    remaining_ms: int  # of the declarer's clock, which stands still


class NaikoState(Struct, frozen=True, gc=False):
    """What a hand of Naiko knows beside its betting. Facts only: what they mean is said in `games.naiko`."""

    destellos: tuple[int, ...]
    activations: tuple[Activation, ...] = ()
    shielded: int = 0  # who used the Seal Shield, one bit a place
    window: Window | None = None


class LiveHand(Struct, frozen=True, gc=False):
    """A hand that is being played. Facts only: what they mean is said in `betting` and `pots`."""

    deal: Deal
    stacks: tuple[Chips, ...]
    bets: tuple[Chips, ...]  # live chips of this betting round
    gathered: Chips  # in the middle, without this round's bets
    unfolded: int  # one bit a place
    lifts: tuple[Chips, ...]  # to what each bet and raise of this round lifted the price
    answered: tuple[int, ...]  # how many lifts there had been at each place's last action of this round, or -1
    actor: Place  # who must decide, or NOBODY while events are still to follow
    turn: int
    deadline_ms: int
    street: Street
    board: tuple[Position, ...]
    next_position: Position  # the next card to leave the deck
    holdings: tuple[tuple[Position, ...], ...]
    aggressor: Place  # who bet or raised last in this round, or NOBODY
    antes: tuple[Chips, ...]
    dead_blinds: tuple[Chips, ...]
    returned: tuple[Chips, ...]
    won: tuple[Chips, ...]
    shown: tuple[CardsShown, ...]
    pots: tuple[PotAwarded, ...]  # as they were paid
    most_lifts: int = 0  # bets and raises of that earlier round of this hand which had most of them
    is_void: bool = False
    banks: tuple[int, ...] = ()  # milliseconds of time bank left at each place; empty where nobody has one
    is_bank_running: bool = False  # the actor's: ``deadline_ms`` is its end
    naiko: NaikoState | None = None
    held_until_ms: int = 0  # the rest of the board waits until then (RP-8)
    is_released: bool = False  # it has waited

    @property
    def pot(self) -> Chips:
        """All chips in the middle, this round's bets included."""
        return self.gathered + sum(self.bets)

    @property
    def window(self) -> Window | None:
        """The open response window, if there is one."""
        return None if self.naiko is None else self.naiko.window

    @property
    def asked(self) -> Place:
        """Who must answer now, or NOBODY: an Anchor's target within its window (NK-40), else the seat to act."""
        window = self.window
        return self.actor if window is None else window.target

    @property
    def asked_turn(self) -> int:
        """What the answer that is waited for must name."""
        window = self.window
        return self.turn if window is None else window.turn

    @property
    def asked_until_ms(self) -> int:
        """Until when that answer is waited for; no other clock of the hand runs."""
        window = self.window
        return self.deadline_ms if window is None else window.deadline_ms


class EndedHand(Struct, frozen=True, gc=False):
    """A hand that is over, with the state in which it ended."""

    last: LiveHand
    ended: HandEnded


type HandState = LiveHand | EndedHand
