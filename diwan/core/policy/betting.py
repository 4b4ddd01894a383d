"""Bets in games with blinds: ranges before the flop, equity against the price after it.

What a holding is worth is a game's `Reading`. Every choice is legal by construction: `lift` keeps amounts inside the
offered range, `give_up` folds only where that is allowed and needed. Raises grow at least twofold, so that a betting
round ends after a handful of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from diwan.core.cards import Card
from diwan.core.policy.situation import Chance, Chips, Choice, Situation
from diwan.core.policy.style import Style

_OPENING_PERCENT: Final = (45, 36, 28, 22, 18, 15)
"""Hands that open a pot, by the number of opponents who act later."""

_HEADS_UP_PERCENT: Final = 75
_SHORT_BIG_BLINDS: Final = 12
"""With fewer big blinds than this a bot moves all-in or folds."""

_CALLING: Final = 0.65
"""This share of the hands that open a pot goes on against a raise."""

_COMMITTED_PERCENT: Final = 40
"""Who would put in this share of the chips puts in all of them."""


class Reading(Struct, frozen=True):
    """What a game makes of cards.

    ``percent`` is the share of starting holdings that are better, in percent. ``equity`` is the share of the pot that a
    seat wins on average, 0 to 1; its last argument says whether somebody has bet.
    """

    percent: Callable[[tuple[Card, ...]], float]
    equity: Callable[[Situation, Chance, bool], float]
    raising_equity: float
    """From here on a bet is raised for value."""


def bet(situation: Situation, chance: Chance, style: Style, reading: Reading) -> Choice:
    """Return what a seat does."""
    if situation.street == "preflop":
        return _before_flop(situation, chance, style, reading)
    return after_flop(situation, chance, style, reading)


def _before_flop(situation: Situation, chance: Chance, style: Style, reading: Reading) -> Choice:
    percent = reading.percent(situation.own_cards) * 100 / style.looseness
    opening = opening_percent(situation)
    if situation.all_in <= _SHORT_BIG_BLINDS * situation.big_blind:
        return _short(situation, percent, opening)
    if situation.price <= situation.big_blind:
        return _unopened(situation, percent, opening, chance, style)
    return _raised(situation, percent, opening, chance, style)


def entering_percent(situation: Situation) -> float:
    """Return down to which starting holdings a seat plays on before the flop, in percent."""
    opening = opening_percent(situation)
    if situation.price <= situation.big_blind:
        return opening
    return opening * _CALLING * _narrowing(situation)


def _narrowing(situation: Situation) -> float:
    """Return by how much a raise narrows what is played: the larger it is against the blind, the more."""
    size = situation.price / situation.big_blind
    return float((3 / max(size, 3)) ** 0.6)


def opening_percent(situation: Situation) -> int:
    """Return down to which starting holdings a seat opens a pot, in percent."""
    if situation.opponents == 1:
        return _HEADS_UP_PERCENT
    return _OPENING_PERCENT[min(situation.acting_later, len(_OPENING_PERCENT) - 1)]


def _short(situation: Situation, percent: float, opening: int) -> Choice:
    """Few chips: all-in or out; a raise before us asks for half as many hands."""
    is_raised = situation.price > situation.big_blind
    if percent <= opening * (0.4 if is_raised else 0.7):
        return lift(situation, situation.all_in)
    return give_up(situation)


def _unopened(situation: Situation, percent: float, opening: int, chance: Chance, style: Style) -> Choice:
    blind = situation.big_blind
    if percent <= opening and happens(chance, 90):
        limped = max(0, situation.pot - 2 * blind)
        return lift(situation, (blind * (5 + chance(2))) // 2 + limped)
    if situation.options.can_check:
        return Choice("check")
    is_cheap = 2 * situation.options.call_amount <= blind
    if percent <= opening + (35 if is_cheap else 15) and happens(chance, style.looseness * 6 // 10):
        return call(situation)
    return give_up(situation)


def _raised(situation: Situation, percent: float, opening: int, chance: Chance, style: Style) -> Choice:
    """Facing a raise: fewer hands go on, the best raise again."""
    narrowing = _narrowing(situation)
    raising = max(opening * 0.18 * narrowing, 2.0) * style.aggression / 100
    if percent <= raising:
        return lift(situation, 3 * situation.price)
    if percent <= opening * _CALLING * narrowing * (1.3 if odds(situation) < 0.25 else 1):
        return call(situation)
    if (
        percent <= opening
        and situation.price <= 4 * situation.big_blind
        and happens(chance, style.aggression * 4 // 100)
    ):
        return lift(situation, 3 * situation.price)
    return give_up(situation)


def after_flop(situation: Situation, chance: Chance, style: Style, reading: Reading) -> Choice:
    """Return what a seat does once there is a board."""
    is_facing_bet = not situation.options.can_check
    equity = reading.equity(situation, chance, is_facing_bet)
    if is_facing_bet:
        return facing_bet(situation, equity, reading.raising_equity, chance, style)
    return free_to_check(situation, equity, chance, style)


def free_to_check(situation: Situation, equity: float, chance: Chance, style: Style) -> Choice:
    """Bet for value most of the time, as a bluff now and then, more often when nobody acts later."""
    fair_share = 1 / (situation.opponents + 1)
    has_value = equity > fair_share + 0.14
    bluffing = 0 if situation.opponents > 2 else 14 if situation.acting_later == 0 else 7
    wanted = 80 if has_value else bluffing
    if not situation.options.can_lift or not happens(chance, wanted * style.aggression // 100):
        return Choice("check")
    size = 50 + 25 * chance(3) if has_value else 50 + 16 * chance(2)
    return lift(situation, max(situation.pot * size // 100, situation.big_blind))


def facing_bet(situation: Situation, equity: float, raising: float, chance: Chance, style: Style) -> Choice:
    """Raise from an equity of ``raising`` on, call where the price is right, bluff now and then."""
    # Equity is against a range already, but what stands behind the bet grows with every raise that we have seen.
    own = situation.own_bet / max(situation.pot, 1)
    if equity > raising + 0.3 * own and happens(chance, 75 * style.aggression // 100):
        return lift(situation, situation.price + (situation.pot + situation.options.call_amount) * 3 // 4)
    margin = 0.04 * 100 / style.looseness
    if equity > odds(situation) + margin:
        return call(situation)
    is_cheap_bluff = situation.opponents == 1 and not situation.own_bet and situation.own_stack > 4 * situation.price
    if is_cheap_bluff and happens(chance, 4 * style.aggression // 100):
        return lift(situation, 3 * situation.price)
    return give_up(situation)


def odds(situation: Situation) -> float:
    """Return the share of the final pot that a call pays."""
    amount = situation.options.call_amount
    return amount / max(situation.pot + amount, 1)


def lift(situation: Situation, to: Chips) -> Choice:
    """Bet or raise to about ``to``, all-in where that commits; call or check where neither is allowed."""
    options = situation.options
    if not options.can_lift or situation.reachable <= situation.price:
        return call(situation)
    to = max(to, 2 * situation.price)
    if 100 * (to - situation.own_bet) >= _COMMITTED_PERCENT * situation.own_stack:
        to = situation.all_in
    to = min(max(to, options.min_to), options.max_to)
    return Choice("bet" if options.can_bet else "raise", to)


def call(situation: Situation) -> Choice:
    """Call where there is something to call."""
    if situation.options.can_call:
        return Choice("call")
    return give_up(situation)


def give_up(situation: Situation) -> Choice:
    """Check where that is free, else fold; call where the rules leave nothing else."""
    if situation.options.can_check:
        return Choice("check")
    return Choice("fold") if situation.options.can_fold else Choice("call")


def happens(chance: Chance, percent: int) -> bool:
    """Say yes so many times of a hundred."""
    return chance(100) < percent
