"""What a bot knows when it must decide, and what it decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from diwan.core.cards import Card

type Chips = int
type Street = Literal["preflop", "flop", "turn", "river"]
type ChoiceKind = Literal["fold", "check", "call", "bet", "raise", "sarab"]

type Chance = Callable[[int], int]
"""A draw below n, each of 0..n-1 as likely; drawn where chance may be drawn, never in here."""


class Options(Struct, frozen=True, kw_only=True):
    """The legal actions of the open decision; amounts are totals for the betting round."""

    can_fold: bool
    can_check: bool
    can_call: bool
    call_amount: Chips
    can_bet: bool
    can_raise: bool
    min_to: Chips
    max_to: Chips
    can_sarab: bool = False

    @property
    def can_lift(self) -> bool:
        """Say whether a bet or a raise is allowed."""
        return self.can_bet or self.can_raise


class Situation(Struct, frozen=True, kw_only=True):
    """A seat's own cards, the public facts, and the legal actions."""

    own_cards: tuple[Card, ...]
    board: tuple[Card, ...]
    street: Street
    big_blind: Chips
    pot: Chips  # everything in the middle, this round's bets included
    own_bet: Chips  # in this betting round
    own_stack: Chips  # behind
    opponents: int  # not folded
    acting_later: int  # of them, those between this seat and the button, the button included
    reachable: Chips  # the largest total of this round that some opponent could still match
    options: Options
    next_card: Card | None = None  # that is known to turn up next
    dead: tuple[Card, ...] = ()  # known to be in no other hand and not to come

    def __repr__(self) -> str:
        return f"Situation({self.street}, pot={self.pot}, cards withheld)"

    @property
    def price(self) -> Chips:
        """The total that a call reaches."""
        return self.own_bet + (self.options.call_amount if self.options.can_call else 0)

    @property
    def all_in(self) -> Chips:
        """The total of this round with everything put in."""
        return self.own_bet + self.own_stack


class Choice(Struct, frozen=True):
    """An act of a betting round. ``to`` is the total of a bet or raise, 0 for other kinds.

    A sarab is all of the seat's chips; over the wire it is the action with ``is_all_in``.
    """

    kind: ChoiceKind
    to: Chips = 0
