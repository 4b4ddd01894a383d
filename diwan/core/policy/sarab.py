"""Sarab: everybody has paid the forced bet, a check costs nothing, and a hand that nobody bets on is void (SB-23).

So weak hands are checked and get their forced bet back; whoever is ahead must say so by the end of the turn, or wins
nothing. Where raising is closed the sarab is the only way to more (A5), where folding is closed (SB-26) the choice is
between calling and the sarab.
"""

from __future__ import annotations

from typing import Final

from diwan.core.policy.betting import call, facing_bet, free_to_check, give_up, happens, lift, odds, opening_percent
from diwan.core.policy.equity import sampled_equity
from diwan.core.policy.holdem import HOLDEM
from diwan.core.policy.situation import Chance, Choice, Situation
from diwan.core.policy.starting import percent_better
from diwan.core.policy.style import Style

_SHORT_POTS: Final = 2
"""With at most so many times what lies in the middle a seat moves all in or stays out."""

_CALLING: Final = 0.65
"""This share of the hands that open a pot calls a bet of the pot."""

_POT_ODDS: Final = 1 / 3
"""What such a call pays of the final pot."""

_BOLDEST: Final = 1.6
"""With hardly any chips so many times the usual holdings open a pot."""

_EVEN_ODDS: Final = 0.42
"""At this price a short seat calls with what would open a pot."""

_SARAB_EQUITY: Final = 0.82
_LAST_RAISING_EQUITY: Final = 0.62
"""Where a bet that is only called would leave the hand void, less is enough to raise it."""

_SARAB_POTS: Final = 3
"""Where raising is closed, a hand of this equity moves all in for at most so many pots."""


def sarab_choice(situation: Situation, chance: Chance, style: Style, *, is_void_unless_bet: bool) -> Choice:
    """Return what a seat does; ``is_void_unless_bet`` is the view's: unless somebody bets, or raises where that is asked."""
    is_last_word = is_void_unless_bet and situation.street == "turn"
    if situation.street == "preflop":
        choice = _before_flop(situation, chance, style)
    else:
        is_facing_bet = not situation.options.can_check
        equity = sampled_equity(situation, chance, is_facing_bet)
        if is_facing_bet:
            choice = _facing_bet(situation, equity, chance, style, is_last_word=is_last_word)
        elif is_last_word:
            choice = _last_word(situation, equity, chance, style)
        else:
            choice = free_to_check(situation, equity, chance, style)
    is_all_in = choice.kind in {"bet", "raise"} and choice.to == situation.all_in
    return Choice("sarab") if is_all_in and situation.options.can_sarab else choice


def _before_flop(situation: Situation, chance: Chance, style: Style) -> Choice:
    percent = percent_better(*situation.own_cards) * 100 / style.looseness
    opening = opening_percent(situation)
    if situation.all_in <= _SHORT_POTS * situation.pot:
        return _short(situation, percent, opening)
    if situation.options.can_check:
        if percent > opening or not happens(chance, 85):
            return Choice("check")
        size = 60 + 15 * chance(3)
        return lift(situation, max(situation.pot * size // 100, 2 * situation.big_blind))
    # The dearer the call against what can be won, the fewer hands go on.
    bound = min(opening * _CALLING * (_POT_ODDS / max(odds(situation), 0.01)) ** 1.5, opening * 1.3)
    if percent <= max(bound * 0.25, 2.0) * style.aggression / 100:
        return _raise(situation, 3 * situation.price)
    return call(situation) if percent <= bound else give_up(situation)


def _short(situation: Situation, percent: float, opening: float) -> Choice:
    """Few chips against what lies there: all in or out, the looser the less they are or the better the price."""
    if situation.options.can_check:
        bound = opening * (_BOLDEST - 0.3 * situation.all_in / situation.pot)
    else:
        bound = opening * min((_EVEN_ODDS / max(odds(situation), 0.01)) ** 2, 4)
    return _raise(situation, situation.all_in) if percent <= bound else give_up(situation)


def _raise(situation: Situation, to: int) -> Choice:
    """Bet or raise; where that is closed play Sarab if it is for a few pots only, else call."""
    options = situation.options
    if options.can_lift or situation.all_in > _SARAB_POTS * situation.pot or situation.reachable <= situation.price:
        return lift(situation, to)
    return Choice("sarab") if options.can_sarab else call(situation)


def _facing_bet(situation: Situation, equity: float, chance: Chance, style: Style, *, is_last_word: bool) -> Choice:
    if not situation.options.can_lift and equity >= _SARAB_EQUITY and happens(chance, 70 * style.aggression // 100):
        return _raise(situation, situation.all_in)
    raising = _LAST_RAISING_EQUITY if is_last_word else HOLDEM.raising_equity
    return facing_bet(situation, equity, raising, chance, style)


def _last_word(situation: Situation, equity: float, chance: Chance, style: Style) -> Choice:
    """Bet what is ahead, nearly always where nobody is left to bet: checked by all, the hand is void."""
    is_ahead = equity > 1 / (situation.opponents + 1) + 0.04
    wanted = 95 if situation.acting_later == 0 else 70
    if is_ahead and situation.options.can_lift and happens(chance, wanted):
        return lift(situation, max(situation.pot * (40 + 20 * chance(3)) // 100, situation.big_blind))
    return free_to_check(situation, equity, chance, style)
