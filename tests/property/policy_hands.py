"""Whole hands played by policies through the core, each decision from the view that its seat is sent."""

import random  # noqa: TID251  (tests may use chance)
from dataclasses import dataclass, field
from types import MappingProxyType

from msgspec.structs import replace

from diwan.core.cards import parse_cards
from diwan.core.games.naiko.carousel import CAROUSELS, deal_of
from diwan.core.games.sarab import forced_bet_of, forced_dues
from diwan.core.hand.commands import Act, AllIn, AnswerAnchor, StartHand, UsePower
from diwan.core.hand.decide import advance
from diwan.core.hand.events import Due, HandSeat
from diwan.core.hand.rules import CURRENT_RULES_VERSION
from diwan.core.hand.settings import HandSettings, NaikoSettings, SarabSettings
from diwan.core.hand.state import EndedHand
from diwan.core.policy import AnchorAnswer, Choice, PowerUse, choose
from diwan.core.policy.style import MIDDLE
from diwan.core.redact import view
from diwan.core.view import Lens
from tests.property.naiko_hands import table_of
from tests.property.random_hands import NOW, shuffled

NEXT = "12345678-1234-1234-1234-123456789abd"
MOVES_MAX = 400
"""No hand of nine players needs so many; a policy that stalls is found out."""


def bot(secret, style=MIDDLE):
    """A player by the policy."""
    return lambda seen, seat: choose(seen, seat, secret, style)


def erratic(chance):
    """A player to whom any legal action is as good as any other, amounts too."""
    return lambda seen, seat: _any_move(chance, seen, seat)


def _any_move(chance, seen, seat):
    hand = seen.table.hand
    naiko, decision = hand.naiko, hand.decision
    if naiko is not None and naiko.window is not None:
        return AnchorAnswer(chance.choice(["seal_shield", "pass"]))
    powers = [] if naiko is None else [each for each in naiko.powers if each.seat == seat and not each.why_not]
    if powers and chance.random() < 0.5:
        power = chance.choice(powers)
        target = chance.choice(power.targets) if power.targets else None
        discard = chance.choice(seen.own_cards[seat]) if power.power == "sleeve_trick" else None
        return PowerUse(power.power, target, discard)
    kinds = [kind for kind in ("fold", "check", "call", "bet", "raise", "sarab") if getattr(decision, f"can_{kind}")]
    kind = chance.choice(kinds)
    return Choice(kind, chance.randint(decision.min_to, decision.max_to) if kind in {"bet", "raise"} else 0)


def seen_by(state, cards, seat):
    return view(table_of(state), cards, Lens("seat", seat), names={}, next_hand_id=NEXT)


def hidden_permuted(chance, cards, seen, seat):
    """Return the deck with everything that a seat does not see in another order."""
    known = {*seen.own_cards[seat], *seen.table.hand.board, *seen.glanced.values(), *seen.discarded.values()}
    free = [position for position, card in cards.items() if card not in known]
    mixed = chance.sample(free, len(free))
    return cards | {position: cards[other] for position, other in zip(free, mixed, strict=True)}


def command_of(state, cards, seat, move, version):
    match move:
        case PowerUse(power, target, discard):
            thrown = None if discard is None else next(place for place, card in cards.items() if card == discard)
            return UsePower(seat, power, target, thrown, state.turn, version, NOW)
        case AnchorAnswer(answer):
            return AnswerAnchor(seat, answer, state.window.turn, version, NOW)
        case Choice("sarab"):
            return AllIn(seat, state.turn, version, NOW)
        case Choice(kind, to):
            return Act(seat, kind, to, state.turn, version, NOW)
    raise AssertionError(f"{move} is no move of a betting round")


def asked(state):
    return state.deal.seats[state.actor if state.window is None else state.window.target]


@dataclass
class Hand:
    """How a hand went: who saw what and did what, the events, the result by seat."""

    moves: list = field(default_factory=list)  # (view, seat, move)
    states: list = field(default_factory=list)  # in which each was made
    events: list = field(default_factory=list)
    ended_state: object = None

    @property
    def ended(self):
        return self.ended_state.ended

    @property
    def last(self):
        return self.ended_state.last

    @property
    def payoffs(self):
        return dict(zip([seat.seat for seat in self.events[0].seats], self.ended.payoffs, strict=True))


def play_hand(start, cards, players):
    """Play a hand to its end; ``players`` by seat. What the core refuses is raised."""
    hand = Hand()
    events, state = advance(None, start, cards)
    hand.events += events
    while not isinstance(state, EndedHand):
        assert len(hand.moves) < MOVES_MAX, "nobody ends this hand"
        seat = asked(state)
        seen = seen_by(state, cards, seat)
        move = players[seat](seen, seat)
        hand.moves.append((seen, seat, move))
        hand.states.append(state)
        command = command_of(state, cards, seat, move, start.version + len(hand.events))
        events, state = advance(state, command, cards)
        hand.events += events
    hand.ended_state = state
    return hand


def usual_start(number, stacks, button, *, game, destellos=MappingProxyType({})):
    """A hand as cash tables make them, blinds 1 and 2."""
    seats = len(stacks)
    small = button if seats == 2 else (button + 1) % seats
    big = (small + 1) % seats
    naiko = NaikoSettings() if game == "naiko" else None
    return StartHand(
        hand_id=f"00000000-0000-0000-0000-{number:012}",
        hand_no=number + 1,
        rules_version=CURRENT_RULES_VERSION,
        settings=HandSettings(game=game, limit="pot_limit" if game == "omaha" else "no_limit", naiko=naiko),
        seats=tuple(HandSeat(seat, f"p{seat}", stack) for seat, stack in enumerate(stacks)),
        button=button,
        big_blind_seat=big,
        dues=(Due(small, "small_blind", 1), Due(big, "big_blind", 2)),
        secret_commitment=bytes(32),
        seeds=(),
        absent=tuple(range(seats)),
        deck_root=bytes(32),
        next_commitment=bytes(32),
        version=0,
        now_ms=NOW,
        naiko=naiko and deal_of(naiko, CAROUSELS[number % 3], range(seats), destellos),
    )


def deck_with(cards):
    """Return a deck with these texts of cards at these positions, the others behind in order."""
    fixed = {first + number: card for first, text in cards.items() for number, card in enumerate(parse_cards(text))}
    rest = iter([card for card in range(52) if card not in fixed.values()])
    return {position: fixed[position] if position in fixed else next(rest) for position in range(52)}


def played_to(start, cards, acts):
    """Return the state after acts of whoever is asked: ("call", 0), or a move for `command_of`."""
    events, state = advance(None, start, cards)
    version = start.version + len(events)
    for act in acts:
        move = Choice(*act) if isinstance(act, tuple) else act
        events, state = advance(state, command_of(state, cards, asked(state), move, version), cards)
        version += len(events)
    return state


def sarab_start(number, stacks, button):
    """A deal of a match of Sarab, some levels up."""
    sarab, deal_no = SarabSettings(), 1 + number % 12
    forced_bet = forced_bet_of(sarab, deal_no)
    start = usual_start(number, stacks, button, game="sarab")
    return replace(
        start,
        settings=replace(start.settings, small_blind=0, big_blind=forced_bet, sarab=sarab),
        big_blind_seat=None,
        dues=forced_dues(range(len(stacks)), forced_bet),
        deal_no=deal_no,
    )


def won_against_erratic(start, seats, hands, seed):
    """What one policy wins among erratic players, hand by hand, taking every seat in turn."""
    chance = random.Random(seed)
    won = []
    for number in range(hands):
        place = number % seats
        players = {seat: erratic(chance) for seat in range(seats)} | {place: bot(b"s" * 32)}
        button = number // seats % seats
        won.append(play_hand(start(number, button), shuffled(chance), players).payoffs[place])
    return won
