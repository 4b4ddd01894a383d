"""Random hands: any seats, stacks, antes, blinds, dues and settings; any legal way of playing them."""

import random  # noqa: TID251  (tests may use chance)

from hypothesis import strategies as st

from diwan.core.games import GAMES
from diwan.core.hand.betting import legal_actions
from diwan.core.hand.commands import Act, AllIn, ExpireClock, StartHand
from diwan.core.hand.decide import advance
from diwan.core.hand.events import Due, HandSeat
from diwan.core.hand.rules import CURRENT_RULES_VERSION, SUPPORTED_RULES_VERSIONS
from diwan.core.hand.settings import HandSettings
from diwan.core.hand.state import EndedHand
from diwan.core.table.button import first_hand_positions

NOW = 1_700_000_000_000


def shuffled(chance):
    deck = list(range(52))
    chance.shuffle(deck)
    return dict(enumerate(deck))


def game_of(state):
    return GAMES[state.deal.started.settings.game]


def random_start(chance, *, version=None, limit=None, game="holdem"):
    """A StartHand as tables make them, and stranger ones; stacks often around the blinds, where rules are delicate."""
    numbers = sorted(chance.sample(range(9), chance.randint(2, 9)))
    button = chance.randrange(9)
    big = chance.choice([2, 3, 10, 20])
    small = chance.randint(1, big)
    largest = chance.choice([2 * big, 6 * big, 40 * big])
    positions = first_hand_positions(button, numbers, small, big)
    dues = _antes(chance, numbers, positions.spots.big_blind, big)
    dues += positions.dues
    for seat in numbers:
        if chance.random() < 0.05 and seat not in {positions.spots.small_blind, positions.spots.big_blind}:
            dues += [Due(seat, "dead_blind", small), Due(seat, "big_blind", big)][chance.randrange(2) :]
    return StartHand(
        hand_id="12345678-1234-1234-1234-123456789abc",
        hand_no=chance.randint(1, 10**6),
        rules_version=version or chance.choice([CURRENT_RULES_VERSION, *SUPPORTED_RULES_VERSIONS]),
        settings=HandSettings(
            game=game,
            limit=limit or chance.choice(["no_limit", "no_limit", "pot_limit"] if game == "holdem" else ["pot_limit"]),
            small_blind=small,
            big_blind=big,
            short_allins_add_up=chance.random() < 0.8,
            show_all_in=chance.choice(["at_showdown", "at_once"]),
        ),
        seats=tuple(HandSeat(seat, f"player-{seat}", chance.randint(1, largest)) for seat in numbers),
        button=positions.spots.button,
        big_blind_seat=positions.spots.big_blind,
        dues=tuple(dues),
        secret_commitment=chance.randbytes(32),
        seeds=(),
        absent=tuple(numbers),
        deck_root=chance.randbytes(32),
        next_commitment=chance.randbytes(32),
        version=chance.randint(0, 1000),
        now_ms=NOW,
    )


def _antes(chance, numbers, big_blind, big):
    kind = chance.choice(["none", "none", "equal", "single", "unequal"])
    ante = chance.randint(1, big)
    owing = {"none": [], "equal": numbers, "single": [big_blind], "unequal": chance.sample(numbers, len(numbers) - 1)}
    return [Due(seat, "ante", ante) for seat in sorted(owing[kind])]


def legal_of(state):
    return legal_actions(game_of(state), state)


def random_command(chance, state, version):
    """A legal command for the seat to act; bold enough to get short all-ins, timid enough to see rivers."""
    legal = legal_actions(game_of(state), state)
    turn = chance.choice([None, state.turn])
    if chance.random() < 0.03:
        return ExpireClock(legal.seat, turn, version, state.deadline_ms + chance.randrange(5))
    now_ms = chance.randint(NOW, state.deadline_ms)
    choices = ["call"] * 4 + ["check"] * 4 + ["fold"] + ["lift"] * 3 + ["all_in"]
    if legal.sarab and state.deal.started.hand_no % 3 == 0:  # Some hands must be checked to the end of the turn.
        choices = ["call"] * 9 + ["check"] * 30 + ["fold", "lift"]
    while True:
        choice = chance.choice(choices)
        if choice == "fold" and legal.fold and (legal.to_call or chance.random() < 0.1):
            return Act(legal.seat, "fold", 0, turn, version, now_ms)
        if choice == "check" and legal.check:
            return Act(legal.seat, "check", 0, turn, version, now_ms)
        if choice == "call" and legal.call:
            return Act(legal.seat, "call", 0, turn, version, now_ms)
        if choice == "lift" and legal.lift:
            low, high = legal.lift
            to = chance.choice([low, low, min(high, low + chance.randrange(20)), chance.randint(low, high), high])
            return Act(legal.seat, "bet" if legal.bet else "raise", to, turn, version, now_ms)
        if choice == "all_in" and is_all_in_legal(state, legal):
            return AllIn(legal.seat, turn, version, now_ms)


def is_all_in_legal(state, legal):
    """All in is a call for less or exactly, or a bet or raise that reaches the stack; or the sarab, where there is one."""
    stack = state.stacks[state.actor]
    total = state.bets[state.actor] + stack
    return legal.sarab or legal.call == stack or (legal.lift is not None and legal.lift[1] == total)


class Played:
    """A hand that was played: its batches, with the state before each, and the deck."""

    def __init__(self, seed, start=random_start, choose=random_command, **choices):
        chance = random.Random(seed)
        self.cards = shuffled(chance)
        self.start = start(chance, **choices)
        self.batches = []
        self.commands = []
        self.states = [None]
        version = self.start.version
        command = self.start
        while True:
            events, state = advance(self.states[-1], command, self.cards)
            self.commands.append(command)
            self.batches.append(events)
            self.states.append(state)
            version += len(events)
            if isinstance(state, EndedHand):
                break
            command = choose(chance, state, version)

    @property
    def events(self):
        return [event for batch in self.batches for event in batch]

    @property
    def last(self):
        return self.states[-1].last

    @property
    def ended(self):
        return self.states[-1].ended


seeds = st.integers(0, 2**48)
"""A seed stands for a whole hand; Hypothesis keeps those that failed."""
