"""Whole hands played by policies through the core, each decision from the view that its seat is sent."""

import random  # noqa: TID251  (tests may use chance)
from dataclasses import dataclass, field

from diwan.core.hand.commands import Act, StartHand
from diwan.core.hand.decide import advance
from diwan.core.hand.events import Due, HandSeat
from diwan.core.hand.rules import CURRENT_RULES_VERSION
from diwan.core.hand.settings import HandSettings
from diwan.core.hand.state import EndedHand
from diwan.core.policy import Choice, choose
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
    return lambda seen, _: _any_move(chance, seen.table.hand)


def _any_move(chance, hand):
    decision = hand.decision
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


def command_of(state, seat, move, version):
    match move:
        case Choice(kind, to):
            return Act(seat, kind, to, state.turn, version, NOW)
    raise AssertionError(f"{move} is no move of a betting round")


def asked(state):
    return state.deal.seats[state.actor]


@dataclass
class Hand:
    """How a hand went: who saw what and did what, the events, the result by seat."""

    moves: list = field(default_factory=list)  # (view, seat, move)
    states: list = field(default_factory=list)  # in which each was made
    events: list = field(default_factory=list)
    ended: object = None

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
        command = command_of(state, seat, move, start.version + len(hand.events))
        events, state = advance(state, command, cards)
        hand.events += events
    hand.ended = state.ended
    return hand


def usual_start(number, stacks, button, *, game):
    """A hand as cash tables make them, blinds 1 and 2."""
    seats = len(stacks)
    small = button if seats == 2 else (button + 1) % seats
    big = (small + 1) % seats
    return StartHand(
        hand_id=f"00000000-0000-0000-0000-{number:012}",
        hand_no=number + 1,
        rules_version=CURRENT_RULES_VERSION,
        settings=HandSettings(game=game, limit="pot_limit" if game == "omaha" else "no_limit"),
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
