"""The rules of a betting round: the price, who must decide next, and what may be done for how much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from diwan.core.hand.events import Chips, Seat, TurnPower
from diwan.core.hand.state import NOBODY, LiveHand, Place
from diwan.core.limits import SEATS_MAX

if TYPE_CHECKING:
    from diwan.core.games.holdem import Holdem


# For every number of seats and every place: all places, clockwise from the one after it. Place -1 is the last.
_CLOCKWISE: Final[tuple[tuple[tuple[Place, ...], ...], ...]] = tuple(
    [tuple([(*range(place + 1, seats), *range(place + 1)) for place in range(seats)]) for seats in range(SEATS_MAX + 1)]
)


class LegalActions(Struct, frozen=True):
    """What the seat whose turn it is may do. Ranges are the lowest and highest total for this betting round."""

    seat: Seat
    fold: bool
    check: bool
    call: Chips | None  # chips to add
    bet: tuple[Chips, Chips] | None
    raise_to: tuple[Chips, Chips] | None
    to_call: Chips  # chips to add, 0 where the seat may check
    pot_to: Chips | None  # the total of a pot-sized bet or raise, kept within its range (HD-16)
    sarab: bool = False  # whether the seat may play Sarab, where the game has it (A5)
    powers: tuple[TurnPower, ...] = ()  # that the seat may use before it acts, where the game has them

    @property
    def lift(self) -> tuple[Chips, Chips] | None:
        """The range of the bet or the raise, whichever of them there is."""
        return self.bet or self.raise_to


def price_of(state: LiveHand) -> Chips:
    """Return the total that a seat must reach to stay in. A short big blind leaves it at the full blind (B1)."""
    if state.lifts:
        return state.lifts[-1]
    return state.deal.largest_blind if state.street == "preflop" else 0


def last_full_raise(state: LiveHand) -> Chips:
    """Return by how much a full raise must lift the price now (HD-12); short all-ins do not count (finer point 9)."""
    size = state.deal.started.settings.big_blind
    level = state.deal.largest_blind if state.street == "preflop" else 0
    for to in state.lifts:
        size = max(to - level, size)
        level = to
    return size


def has_reopened(state: LiveHand, place: Place) -> bool:
    """Say whether the betting is open for a raise by a seat (HD-14, B2): always before its first action of the round."""
    seen = state.answered[place]
    if seen < 0:
        return True
    lifts = state.lifts
    if len(lifts) == seen:
        return False
    level = lifts[seen - 1] if seen else (state.deal.largest_blind if state.street == "preflop" else 0)
    if state.deal.started.settings.short_allins_add_up:
        return lifts[-1] - level >= last_full_raise(state)
    size = state.deal.started.settings.big_blind
    before = state.deal.largest_blind if state.street == "preflop" else 0
    for number, to in enumerate(lifts):
        if to - before >= size:
            if number >= seen:
                return True
            size = to - before
        before = to
    return False


def can_others_act(state: LiveHand, place: Place) -> bool:
    """Say whether anybody but this seat is still in the hand with chips behind."""
    unfolded = state.unfolded & ~(1 << place)
    for other, stack in enumerate(state.stacks):  # noqa: SIM110  (at every action: a generator costs three times as much)
        if stack and unfolded >> other & 1:
            return True
    return False


def next_to_act(state: LiveHand, after: Place) -> Place:
    """Return the next place clockwise with a decision, or NOBODY: then the round is over (HD-6, HD-10).

    Somebody must decide who has not acted in this round or has less in than the price. Who is alone against all-ins
    must meet only what one of them really put in, not a nominal price (finer point 5).
    """
    lifts = state.lifts
    price = lifts[-1] if lifts else price_of(state)
    unfolded, stacks, answered, bets = state.unfolded, state.stacks, state.answered, state.bets
    next_place = NOBODY
    can_another_act = False
    for place in _CLOCKWISE[len(stacks)][after]:
        if stacks[place] and unfolded >> place & 1:
            if next_place == NOBODY and (answered[place] < 0 or bets[place] < price):
                if can_another_act:
                    return place
                next_place = place
            elif next_place == NOBODY:
                can_another_act = True
            else:
                return next_place
    if next_place == NOBODY:
        return NOBODY
    bet = bets[next_place]
    is_outbid = any(other_bet > bet and unfolded >> other & 1 for other, other_bet in enumerate(bets))
    return next_place if is_outbid else NOBODY


def lift_bounds(game: Holdem, state: LiveHand, place: Place, price: Chips) -> tuple[Chips, Chips | None]:
    """Return the lowest full total and the highest total that the rules allow, whatever the seat's chips are.

    The highest is None at no-limit and never below the lowest (finer point 7).
    """
    lowest = price + last_full_raise(state)
    highest = game.highest_lift(state, place, price)
    return lowest, None if highest is None else max(highest, lowest)


def may_lift(game: Holdem, state: LiveHand, place: Place) -> bool:
    """Say whether a bet or raise by the seat to act is allowed at all, its amount apart."""
    return has_reopened(state, place) and can_others_act(state, place) and game.is_lifting_open(state, place)


def pot_sized(state: LiveHand, place: Place, price: Chips) -> Chips:
    """Return the total of a pot-sized raise: what lies in the middle, plus the call, plus the price (HD-16, B3)."""
    return state.pot + (price - state.bets[place]) + price


def legal_actions(game: Holdem, state: LiveHand) -> LegalActions | None:
    """Return what the seat to act may do, or None where nobody has a decision.

    That is nothing at all while an Anchor's target is asked (NK-40): the turn stays, and so does what it costs to call.
    """
    place = state.actor
    if place == NOBODY:
        return None
    price = price_of(state)
    bet, stack = state.bets[place], state.stacks[place]
    all_in = bet + stack
    to_call = min(price - bet, stack) if price > bet else 0
    lift = pot_to = None
    naiko = state.naiko
    if naiko is not None and naiko.window is not None:
        return _nothing_but(state.deal.seats[place], to_call)
    if all_in > price and may_lift(game, state, place):
        lowest, highest = lift_bounds(game, state, place, price)
        top = all_in if highest is None else min(all_in, highest)
        lift = (min(lowest, top), top)
        pot_to = min(max(pot_sized(state, place, price), lift[0]), top)
    return LegalActions(
        seat=state.deal.seats[place],
        fold=game.may_fold(state, place),
        check=price <= bet,
        call=to_call or None,
        bet=None if price else lift,
        raise_to=lift if price else None,
        to_call=to_call,
        pot_to=pot_to,
        sarab=game.has_sarab and (all_in <= price or lift is not None or game.is_sarab_free(state)),
        powers=() if naiko is None else game.usable_powers(state, place),
    )


def _nothing_but(seat: Seat, to_call: Chips) -> LegalActions:
    return LegalActions(
        seat=seat, fold=False, check=False, call=None, bet=None, raise_to=None, to_call=to_call, pot_to=None
    )
