"""Naiko: hold'em's bets, and when a power is worth its destellos (NK-1 to NK-35).

The Trick replaces a card that keeps a holding from being played; the Glance is for hands whose worth hangs on the next
card; the Anchor keeps a deep opponent from making a middling hand too dear; the Shield answers it where a large raise
is wanted. What would be left afterwards decides how good the reason must be: destellos above the most that can be
saved are lost (NK-1), the last ones may be missed later.
"""

from __future__ import annotations

from typing import Final

from diwan.core.cards import DECK, Card
from diwan.core.policy.betting import bet, entering_percent, happens
from diwan.core.policy.drawing import chance_of
from diwan.core.policy.equity import sampled_equity
from diwan.core.policy.holdem import HOLDEM
from diwan.core.policy.moves import AnchorAnswer, Move, PowerUse
from diwan.core.policy.seen import situation_of
from diwan.core.policy.situation import Chance, Situation
from diwan.core.policy.starting import percent_better
from diwan.core.policy.style import Style
from diwan.core.view import NaikoView, PowerView, Seat, SeatedView

_TRICK_GAIN: Final = 0.1
"""How much nearer to the best holdings a Trick must bring, on a scale from 0 (would not be played) to 1."""

_BINDING: Final = 1.5
"""An Anchor is for opponents who could bet this many times what it would leave them."""

_SHIELDED_PERCENT: Final = 6
_SHIELDED_EQUITY: Final = 0.66
_UNCERTAIN: Final = (0.18, 0.82)
_MIDDLING: Final = (0.36, 0.7)
_POT_BLINDS: Final = 4
"""Below so many big blinds in the middle no power is worth a destello after the flop."""


def naiko_move(view: SeatedView, seat: Seat, secret: bytes, style: Style) -> Move | None:
    """Return what a seat does: its answer to an Anchor, a power, or an act; None where nothing is asked of it."""
    hand = view.table.hand
    if hand is None or hand.naiko is None:
        raise ValueError("this is no hand of Naiko")
    window, decision = hand.naiko.window, hand.decision
    if window is not None:
        if window.seat != seat:
            return None
        chance = chance_of(secret, hand.hand_id, window.turn, "anchor")
        return AnchorAnswer("seal_shield" if _is_shield_wanted(view, seat, hand.naiko, chance) else "pass")
    if decision is None or decision.seat != seat:
        return None
    situation = situation_of(view, seat)
    power = _power(view, seat, situation, chance_of(secret, hand.hand_id, decision.turn, "power"), style)
    return power or bet(situation, chance_of(secret, hand.hand_id, decision.turn, "act"), style, HOLDEM)


def _power(view: SeatedView, seat: Seat, situation: Situation, chance: Chance, style: Style) -> PowerUse | None:
    """Return the power that the seat uses before it acts, if any. Legality is the view's own (`why_not`)."""
    hand = view.table.hand
    offers = [] if hand is None or hand.naiko is None else hand.naiko.powers
    usable = {offer.power: offer for offer in offers if offer.seat == seat and not offer.why_not}
    spare = 0 if hand is None or hand.naiko is None else _destellos(hand.naiko, seat)
    trick, glance, anchor = usable.get("sleeve_trick"), usable.get("hidden_glance"), usable.get("short_anchor")
    if trick is not None:
        discard = _discard(situation, style, spare - trick.cost)
        if discard is not None:
            return PowerUse("sleeve_trick", discard=discard)
    if situation.street == "preflop":
        equity = None
    elif (glance is None and anchor is None) or situation.pot < _POT_BLINDS * situation.big_blind:
        return None
    else:
        equity = sampled_equity(situation, chance, not situation.options.can_check)
    if glance is not None and equity is not None and _is_glance_wanted(equity, spare - glance.cost, chance):
        return PowerUse("hidden_glance")
    if anchor is not None and view.table.settings.limit == "no_limit":
        target = _deepest(view, situation, anchor)
        if target is not None and _is_anchor_wanted(situation, equity, spare - anchor.cost, chance, style):
            return PowerUse("short_anchor", target=target)
    return None


def _destellos(naiko: NaikoView, seat: Seat) -> int:
    return next((each.destellos for each in naiko.seats if each.seat == seat), 0)


def _discard(situation: Situation, style: Style, spare: int) -> Card | None:
    """Return the card whose exchange for an unknown one brings most, None where that is not enough (NK-20)."""
    first, second = situation.own_cards
    bound = entering_percent(situation) * style.looseness / 100
    unseen = [card for card in DECK if card not in {first, second}]

    def worth(a: Card, b: Card) -> float:
        return max(0.0, 1 - percent_better(a, b) / bound)

    now = worth(first, second)
    gains = [
        (sum([worth(kept, card) for card in unseen]) / len(unseen) - now, thrown)
        for kept, thrown in ((first, second), (second, first))
    ]
    gain, thrown = max(gains)
    return thrown if gain >= _TRICK_GAIN * (1 if spare else 1.5) else None


def _is_glance_wanted(equity: float, spare: int, chance: Chance) -> bool:
    low, high = _UNCERTAIN
    return low < equity < high and happens(chance, 70 if spare else 35)


def _deepest(view: SeatedView, situation: Situation, anchor: PowerView) -> Seat | None:
    """Return the target with most chips among those to whom a pot-sized limit would matter (NK-25)."""
    price = situation.price
    bound = _BINDING * (situation.pot + 2 * price)
    reach = {each.seat: each.bet + each.stack for each in view.table.seats if each.seat in anchor.targets}
    deepest = max(reach, key=lambda target: (reach[target], -target), default=None)
    return deepest if deepest is not None and reach[deepest] >= bound else None


def _is_anchor_wanted(situation: Situation, equity: float | None, spare: int, chance: Chance, style: Style) -> bool:
    """Say whether the hand is good enough to go on with and not so good that large raises are welcome."""
    if equity is None:
        percent = percent_better(*situation.own_cards) * 100 / style.looseness
        bound = entering_percent(situation)
        is_middling = bound * 0.35 < percent <= bound
    else:
        low, high = _MIDDLING
        is_middling = low < equity < high
    return is_middling and happens(chance, 50 if spare else 20)


def _is_shield_wanted(view: SeatedView, seat: Seat, naiko: NaikoView, chance: Chance) -> bool:
    """Say whether the seat keeps its large raises: with a hand for them, or a destello to spare (NK-31)."""
    shield = next((offer for offer in naiko.powers if offer.power == "seal_shield" and offer.seat == seat), None)
    if shield is None or shield.why_not:
        return False
    situation = situation_of(view, seat)
    if situation.all_in <= situation.pot:
        return False  # The Anchor leaves it every bet that it can make.
    if situation.street == "preflop":
        is_strong = percent_better(*situation.own_cards) <= _SHIELDED_PERCENT
    else:
        is_strong = sampled_equity(situation, chance, True) >= _SHIELDED_EQUITY  # noqa: FBT003  (a `Reading`'s)
    return is_strong or (_destellos(naiko, seat) - shield.cost >= 2 and happens(chance, 40))
