"""The language of Naiko's tests: powers and answers beside the actions of `tests.unit.hand.hands`."""

from msgspec.structs import replace

from diwan.core.cards import parse_card
from diwan.core.games.naiko.rules import why_not
from diwan.core.hand.betting import legal_actions
from diwan.core.hand.commands import AnswerAnchor, ExpireClock, UsePower
from diwan.core.hand.events import NaikoDeal
from diwan.core.hand.settings import NaikoSettings
from tests.property.random_hands import game_of
from tests.unit.hand.hands import Hand, start

GLANCE, TRICK, ANCHOR, SHIELD = "hidden_glance", "sleeve_trick", "short_anchor", "seal_shield"
NO_SHIELD = (GLANCE, TRICK, ANCHOR)
NO_TRICK = (GLANCE, ANCHOR, SHIELD)
NO_GLANCE = (TRICK, ANCHOR, SHIELD)


def naiko_start(stacks, carousel=NO_SHIELD, destellos=None, settings=None, **more):
    """A StartHand of Naiko; everybody has three destellos unless told otherwise. Chosen settings by name."""
    command = start(stacks, game="naiko", naiko=settings or NaikoSettings(), **more)
    return replace(command, naiko=NaikoDeal(tuple(carousel), tuple(destellos or [3] * len(command.seats))))


class NaikoHand(Hand):
    """A hand in a test; ``glance``, ``trick 2d``, ``anchor 1``, ``shield`` and ``pass`` are actions too."""

    def command(self, action, seat=None, turn=None, now_ms=None, **more):
        kind, _, what = action.partition(" ")
        now_ms = self.now_ms if now_ms is None else now_ms
        version = len(self.events)
        if kind in {"shield", "pass"}:
            window = self.live.window
            asked = self.actor if window is None else self.live.deal.seats[window.target]
            answer = "seal_shield" if kind == "shield" else kind
            return AnswerAnchor(asked if seat is None else seat, answer, turn, version, now_ms)
        seat = self.actor if seat is None else seat
        if kind == "expire" and self.live.window is not None:
            return ExpireClock(seat, turn, version, now_ms, **more)
        if kind == "glance":
            return UsePower(seat, GLANCE, None, None, turn, version, now_ms)
        if kind == "trick":
            card = parse_card(what)
            position = next(position for position, one in self.cards.items() if one == card)
            return UsePower(seat, TRICK, None, position, turn, version, now_ms)
        if kind == "anchor":
            return UsePower(seat, ANCHOR, int(what), None, turn, version, now_ms)
        return super().command(action, seat, turn, now_ms, **more)

    @property
    def destellos(self):
        return list(self.live.naiko.destellos)

    @property
    def powers(self):
        return legal_actions(game_of(self.live), self.live).powers

    @property
    def lift(self):
        return legal_actions(game_of(self.live), self.live).lift

    def held(self, seat):
        return {self.cards[position] for position in self.live.holdings[self.live.deal.places[seat]]}

    def why_not(self, power, seat=None):
        return why_not(self.state, self.actor if seat is None else seat, power)


def naiko(stacks=(1000, 1000, 1000, 1000), carousel=NO_SHIELD, destellos=None, cards=None, **more):
    """Four seats, button 0, blinds 5/10 by seats 1 and 2, seat 3 to act."""
    return NaikoHand(naiko_start(list(stacks), carousel, destellos, **more), cards)
