"""Hands of Capsa played by policies through the core, each decision from what the seat is sent."""

import random  # noqa: TID251  (tests may use chance)
from dataclasses import dataclass, field

from diwan.core.games.capsa.arrangement import server_arrangement
from diwan.core.games.capsa.commands import AnswerCall, LockSet, SaveDraft, StartCapsa
from diwan.core.games.capsa.decide import advance
from diwan.core.games.capsa.events import Arrangement
from diwan.core.games.capsa.redact import view
from diwan.core.games.capsa.reserve import reserve_of
from diwan.core.games.capsa.rows import is_fouled, row_value
from diwan.core.games.capsa.state import EndedCapsa
from diwan.core.hand.events import HandSeat
from diwan.core.policy import CallAnswer, CapsaSeen, SetRows, choose
from diwan.core.policy.style import MIDDLE
from diwan.core.view import Lens

MOVES_MAX = 40


def bot(style=MIDDLE):
    return lambda seen, seat: choose(seen, seat, bytes(32), style)


def setter(arrange, answer="play"):
    """A player who sets at once, by a function of its cards and the wheel, and always answers the same."""

    def move(seen, _):
        decision, own = seen.hand.hand.decision, seen.hand.own[0]
        if decision.kind == "answer":
            return CallAnswer(answer)
        return None if own.locked is not None else SetRows(arrange(own.cards, seen.settings.wheel), is_final=True)

    return move


def careless(chance):
    """An arrangement for `setter`: any legal one, drawn until it is no foul."""

    def arrange(cards, wheel):
        while True:
            mixed = chance.sample(cards, 13)
            front, *fives = tuple(mixed[:3]), tuple(mixed[3:8]), tuple(mixed[8:])
            middle, back = sorted(fives, key=lambda five: row_value(five, wheel))
            if not is_fouled(*[row_value(row, wheel) for row in (front, middle, back)]):
                return front, middle, back

    return arrange


SERVER = setter(server_arrangement)


def capsa_start(chance, rules, players=None):
    seats = sorted(chance.sample(range(4), players or chance.randint(2, 4)))
    return StartCapsa(
        hand_id="00000000-0000-0000-0000-000000000001",
        hand_no=1,
        rules_version=1,
        settings=rules,
        seats=tuple(HandSeat(seat, f"p{seat}", reserve_of(rules, seat, seats)) for seat in seats),
        button=chance.choice(seats),
        secret_commitment=b"",
        seeds=(),
        absent=(),
        deck_root=b"",
        next_commitment=b"",
        version=0,
        now_ms=0,
    )


@dataclass
class Hand:
    moves: list = field(default_factory=list)  # (state, seen, seat, move)
    events: list = field(default_factory=list)
    state: object = None

    @property
    def payoffs(self):
        return dict(zip([seat.seat for seat in self.events[0].seats], self.state.ended.payoffs, strict=True))


def seen_by(state, cards, seat):
    started = state.deal.started
    return CapsaSeen(settings=started.settings, hand=view(state, cards, Lens("seat", seat)))


def command_of(seat, move, cards, at):
    match move:
        case SetRows(rows, is_final):
            place = {card: position for position, card in cards.items()}
            arrangement = Arrangement(*[tuple([place[card] for card in row]) for row in rows])
            return (LockSet if is_final else SaveDraft)(seat, arrangement, *at)
        case CallAnswer(answer):
            return AnswerCall(seat, answer, *at)
    raise AssertionError(f"{move} is no move of a hand")


def play_capsa(start, cards, players):
    """Play a hand to its end without a clock; what the core refuses is raised."""
    hand = Hand()
    events, state = advance(None, start, cards)
    hand.events += events
    while not isinstance(state, EndedCapsa):
        before = len(hand.moves)
        for seat in view(state, cards, Lens()).hand.decision.seats:
            seen = seen_by(state, cards, seat)
            move = players[seat](seen, seat)
            if move is None:
                continue
            hand.moves.append((state, seen, seat, move))
            events, state = advance(state, command_of(seat, move, cards, (state.turn, len(hand.events), 0)), cards)
            hand.events += events
            if isinstance(state, EndedCapsa) or seen.hand.hand.decision != _decision(state, cards):
                break
        assert before < len(hand.moves) < MOVES_MAX, "nobody ends this hand"
    hand.state = state
    return hand


def _decision(state, cards):
    return view(state, cards, Lens()).hand.decision


def hidden_permuted(chance, cards, state, seat):
    """Return the deck with everything that a seat does not see in another order."""
    seen = set(state.holdings[state.deal.places[seat]])
    for play, holding in zip(state.plays, state.holdings, strict=True):
        seen |= set(holding) if play.natural is not None else set()
    free = [position for position in cards if position not in seen]
    mixed = chance.sample(free, len(free))
    return cards | {position: cards[other] for position, other in zip(free, mixed, strict=True)}


def units_won(player, other, hands, seed, rules, players=2):
    """What one player wins hand by hand from others, in chips, seats changing."""
    chance = random.Random(seed)
    won = []
    for _ in range(hands):
        start = capsa_start(chance, rules, players)
        seats = [seat.seat for seat in start.seats]
        own = chance.choice(seats)
        deck = dict(enumerate(chance.sample(range(52), 52)))
        won.append(play_capsa(start, deck, dict.fromkeys(seats, other) | {own: player}).payoffs[own])
    return won
