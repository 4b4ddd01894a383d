"""Hold'em, and the base of every poker game: another game overrides what it does differently, and nothing else.

Override points: how many hole cards, how strong they are, who begins, how far a bet may go, whether betting is still
open, whether a fold is allowed, what the clock does for a player, whether there is Sarab or a power, whether a hand is void before
its end and what of it stays in the middle then, and what must hold of a hand's beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from diwan.core.cards import Card
from diwan.core.evaluation import evaluate
from diwan.core.hand.betting import pot_sized, price_of
from diwan.core.hand.events import ActionKind, Chips, RuleOfVoid, TurnPower
from diwan.core.hand.state import Deal, LiveHand, Place, Street

if TYPE_CHECKING:
    from diwan.core.hand.commands import StartHand


class Holdem:
    """No-limit or pot-limit hold'em (HD-1 to HD-23)."""

    name: ClassVar[str] = "holdem"
    hole_cards: ClassVar[int] = 2
    limits: ClassVar[Sequence[Literal["no_limit", "pot_limit"]]] = ("no_limit", "pot_limit")
    """How far betting may go, the usual way first."""

    next_streets: ClassVar[Mapping[Street, tuple[Literal["flop", "turn", "river"], int]]] = {
        "preflop": ("flop", 3),
        "flop": ("turn", 1),
        "turn": ("river", 1),
    }
    """After each street the next one and how many cards it turns up; no cards are burnt (FORMAT)."""

    has_sarab: ClassVar[bool] = False
    """Whether going all in is an action of its own (SB-17)."""

    has_powers: ClassVar[bool] = False
    """Whether there are powers, and destellos to pay for them (HD-3)."""

    def start_rules(self, command: StartHand) -> Iterator[tuple[str, bool, str]]:
        """Yield what must hold of a hand's beginning beyond what holds in every game: setting, whether, and why."""
        yield "limit", command.settings.limit in self.limits, f"{self.name} is played {' or '.join(self.limits)}"
        yield "sarab", command.settings.sarab is None, "settings of another game"
        naiko = (command.settings.naiko, command.naiko)
        yield "naiko", (None not in naiko) if self.has_powers else naiko == (None, None), "of Naiko, and only of Naiko"
        yield "deal_no", command.deal_no == 0, "this game has no schedule of deals"
        yield "carried", command.carried == 0, "this game carries no pot"

    def strength(self, hole: Sequence[Card], board: Sequence[Card]) -> int:
        """Return the strength of a seat's best five cards (HD-2: none, one or two of its own)."""
        return evaluate((*hole, *board))

    def before_first(self, deal: Deal) -> Place:
        """Return the place after which the first betting round begins: the big blind's (HD-5), else the button's."""
        seat = deal.started.big_blind_seat
        return deal.first - 1 if seat is None else deal.places[seat]

    def highest_lift(self, state: LiveHand, place: Place, price: Chips) -> Chips | None:
        """Return the highest total that a bet or raise may reach, or None where only the stack limits it (HD-15)."""
        if state.deal.started.settings.limit == "pot_limit":
            return pot_sized(state, place, price)
        return None

    def is_lifting_open(self, state: LiveHand, place: Place) -> bool:
        """Say whether the round still takes bets and raises."""
        return True

    def may_fold(self, state: LiveHand, place: Place) -> bool:
        """Say whether the seat may fold on its turn (HD-19: also where it could check)."""
        return True

    def clock_action(self, state: LiveHand, place: Place) -> ActionKind:
        """Return what is done for a seat whose time is over: check where that is legal, else fold (CL-2)."""
        return "check" if state.bets[place] >= price_of(state) else "fold"

    def is_sarab_free(self, state: LiveHand) -> bool:
        """Say whether the seat to act may put in all its chips, also where betting is closed to it (A5)."""
        return False

    def usable_powers(self, state: LiveHand, place: Place) -> tuple[TurnPower, ...]:
        """Return the powers that the seat to act may use now."""
        return ()

    def void_reason(self, state: LiveHand) -> RuleOfVoid | None:
        """Return why a hand is void at the end of a betting round, if it is."""
        return None

    def kept_in_void(self, state: LiveHand) -> Sequence[Chips] | None:
        """Return what of each place's chips stays in the middle after a hand that is void by rule; None: nothing."""
        return None
