"""Who shows, who wins, and how a pot is divided (HD-19 to HD-21)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from diwan.core.cards import Card
from diwan.core.evaluation import category_of
from diwan.core.hand.events import CardsShown, Position, PotAwarded, Share
from diwan.core.hand.pots import Pot
from diwan.core.hand.rules import odd_chips_go_round
from diwan.core.hand.state import NOBODY, Deal, LiveHand, Place

if TYPE_CHECKING:
    from diwan.core.games.holdem import Holdem


def showing_order(state: LiveHand) -> list[Place]:
    """Return the unfolded places as they show: from the last to bet on the river, else from the button's left."""
    seats = len(state.stacks)
    start = state.deal.first if state.aggressor == NOBODY else state.aggressor
    return [place for place in (*range(start, seats), *range(start)) if state.unfolded >> place & 1]


def show_early(state: LiveHand) -> list[CardsShown]:
    """Return the showings of an all-in before the board is complete: no strength yet (``show_all_in: at_once``)."""
    return [CardsShown(state.deal.seats[place], state.holdings[place], "", 0) for place in showing_order(state)]


def show_all(game: Holdem, state: LiveHand, cards: Mapping[Position, Card]) -> list[CardsShown]:
    """Return the showings of everybody who reached the showdown; nobody mucks (HD-19)."""
    board = [cards[position] for position in state.board]
    showings: list[CardsShown] = []
    for place in showing_order(state):
        positions = state.holdings[place]
        strength = game.strength([cards[position] for position in positions], board)
        showings.append(CardsShown(state.deal.seats[place], positions, category_of(strength), strength))
    return showings


def award(deal: Deal, index: int, pot: Pot, strengths: Mapping[Place, int]) -> PotAwarded:
    """Return how a pot is paid; ``strengths`` may be empty where a single player is left."""
    best = max([strengths.get(place, 0) for place in pot.eligible])
    winners = [place for place in pot.eligible if strengths.get(place, 0) == best]
    return PotAwarded(
        index,
        pot.amount,
        tuple([deal.seats[place] for place in pot.eligible]),
        _shares(deal, pot.amount, winners),
    )


def _shares(deal: Deal, amount: int, winners: Sequence[Place]) -> tuple[Share, ...]:
    """Divide a pot; odd chips go out from the tied winner nearest left of the button (B4), shares in that order."""
    from_button = [place for place in winners if place >= deal.first]
    from_button += [place for place in winners if place < deal.first]
    each, odd = divmod(amount, len(winners))
    if odd_chips_go_round(deal.started.rules_version):
        odds = [1 if number < odd else 0 for number in range(len(winners))]
    else:
        odds = [0 if number else odd for number in range(len(winners))]
    return tuple(
        [Share(deal.seats[place], each + extra, extra) for place, extra in zip(from_button, odds, strict=True)]
    )
