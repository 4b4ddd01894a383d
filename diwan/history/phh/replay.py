"""A history's hand played once more through the rules: every action is asked of the core, and refused by it if wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Final

from msgspec import Struct

from diwan.core.cards import DECK, Card
from diwan.core.decider import Rejected
from diwan.core.games import GAMES
from diwan.core.hand.betting import price_of
from diwan.core.hand.commands import Act, HandCommand, StartHand
from diwan.core.hand.deal import hole_positions
from diwan.core.hand.decide import advance
from diwan.core.hand.events import ActionKind, Due, HandEvent, HandSeat, PostKind
from diwan.core.hand.rules import CURRENT_RULES_VERSION
from diwan.core.hand.settings import HandSettings
from diwan.core.hand.state import EndedHand, HandState, LiveHand, Place
from diwan.history.phh.hand import NotCovered, PhhAction, PhhError, PhhHand

_NO_HASH: Final = bytes(32)
_TRIED: Final = 3_000  # holdings that are looked at for the weakest: all of hold'em's 990, a part of Omaha's


class Divergence(PhhError):  # noqa: N818  (an answer about a history)
    """The history and the rules part: ``index`` is the action's place in its list, from 0."""

    def __init__(self, index: int, what: str) -> None:
        super().__init__(what)
        self.index = index


class Batch(Struct, frozen=True):
    """What one command made; ``version`` is that of the event before it."""

    version: int
    command: HandCommand
    events: tuple[HandEvent, ...]


class Replay(Struct, frozen=True):
    """A replayed hand: its batches, the cards by position, and whose cards are not told.

    ``stand_ins`` are players whose unknown cards came to a showdown, given the weakest that are left; ``mucked`` are
    those who by the history did not show.
    """

    state: HandState
    batches: tuple[Batch, ...]
    cards: Mapping[int, Card]
    stand_ins: frozenset[Place]
    mucked: frozenset[Place]

    @property
    def events(self) -> Iterator[HandEvent]:
        """All events in order."""
        for batch in self.batches:
            yield from batch.events


class UnknownCard(LookupError):  # noqa: N818  (an answer: the history does not tell that card)
    """The rules came to a card that the history does not tell."""


class _Cards(dict[int, Card]):
    def __missing__(self, position: int) -> Card:
        raise UnknownCard(position)


def start_of(
    hand: PhhHand,
    *,
    hand_id: str = "",
    hand_no: int = 1,
    deck_root: bytes = _NO_HASH,
    commitment: bytes = _NO_HASH,
    now_ms: int = 0,
    version: int = 0,
) -> StartHand:
    """Return the command that deals a history's hand: player ``p1`` in seat 0, the button in the last."""
    players = range(len(hand.stacks))
    largest = max(hand.blinds)
    antes = [Due(place, "ante", hand.antes[place]) for place in players if hand.antes[place]]
    blinds = [
        Due(place, _blind_kind(amount, largest), abs(amount)) for place, amount in enumerate(hand.blinds) if amount
    ]
    return StartHand(
        hand_id=hand_id,
        hand_no=hand_no,
        rules_version=CURRENT_RULES_VERSION,
        settings=HandSettings(
            game=hand.game,
            limit=GAMES[hand.game].limits[0],
            small_blind=min((due.amount for due in blinds), default=hand.min_bet),
            big_blind=hand.min_bet,
        ),
        seats=tuple(HandSeat(place, hand.names[place], hand.stacks[place]) for place in players),
        button=players[-1],
        big_blind_seat=_big_blind(hand),
        dues=(*antes, *blinds),
        secret_commitment=commitment,
        seeds=(),
        absent=tuple(players),
        deck_root=deck_root,
        next_commitment=_NO_HASH,
        version=version,
        now_ms=now_ms,
    )


def _big_blind(hand: PhhHand) -> Place | None:
    """Return who has the largest blind: the last of several, unless the history lets somebody else begin after it."""
    largest = max(hand.blinds)
    if largest <= 0:
        return None
    places = [place for place, blind in enumerate(hand.blinds) if blind == largest]
    first = next((action.player for action in hand.actions if action.word in {"fold", "call", "to"}), -1)
    return next((place for place in places if (place + 1) % len(hand.blinds) == first), places[-1])


def _blind_kind(amount: int, largest: int) -> PostKind:
    return "small_blind" if abs(amount) < largest else "big_blind"


def replay_hand(hand: PhhHand, start: StartHand | None = None) -> Replay:
    """Play a history's hand to its end.

    Raises `Divergence` where the rules refuse an action or the history stops too early, `NotCovered` where unknown
    cards would have to be known.
    """
    play = _Play(hand, start or start_of(hand))
    for action in hand.actions:
        play.take(action)
    if isinstance(play.state, LiveHand):
        actor = play.state.actor
        raise Divergence(len(hand.fields["actions"]), f"the history ends while p{actor + 1} is still to act")
    return Replay(play.state, tuple(play.batches), play.cards, frozenset(play.stand_ins), frozenset(play.mucked))


class _Play:
    def __init__(self, hand: PhhHand, start: StartHand) -> None:
        self.hand = hand
        self.cards = _dealt(hand)
        self.batches: list[Batch] = []
        self.turned_up = 0
        self.mucked: set[Place] = set()
        self.stand_ins: set[Place] = set()
        self.now_ms = start.now_ms
        self.version = start.version
        self.state: HandState = self._advance(None, start, 0)

    def take(self, action: PhhAction) -> None:
        """Do what an action says; showings say nothing that the rules do not know."""
        if action.word == "show":
            self._take_showing(action)
        elif action.word == "board":
            self._take_board(action)
        else:
            self._take_act(action)

    def _take_showing(self, action: PhhAction) -> None:
        if not action.is_shown:
            self.mucked.add(action.player)

    def _take_board(self, action: PhhAction) -> None:
        self.turned_up += len(action.cards)
        if self.turned_up > len(self._last.board):
            street = self._last.street
            raise Divergence(action.index, f"cards are turned up that are not due yet: play is at the {street}")

    def _take_act(self, action: PhhAction) -> None:
        state = self.state
        if isinstance(state, EndedHand):
            if action.word == "call":  # A check that others ask of whom nobody can call any more (finer point 5).
                return
            raise Divergence(action.index, "the hand is over before this action")
        if self.turned_up < len(state.board):
            raise Divergence(action.index, f"cards of the {state.street} were to be turned up before this action")
        if state.actor != action.player:
            raise Divergence(action.index, f"it is the turn of p{state.actor + 1}")
        kind, to = _decision(state, action)
        command = Act(action.player, kind, to, state.turn, self.version, self.now_ms)
        self.state = self._advance(state, command, action.index)

    @property
    def _last(self) -> LiveHand:
        return self.state.last if isinstance(self.state, EndedHand) else self.state

    def _advance(self, state: HandState | None, command: StartHand | Act, index: int) -> HandState:
        try:
            events, after = self._decided(state, command)
        except Rejected as refused:
            facts = ", ".join(f"{name} {value}" for name, value in refused.facts.items())
            raise Divergence(index, f"refused: {refused.reason}" + (f" ({facts})" if facts else "")) from refused
        self.batches.append(Batch(self.version, command, events))
        self.version += len(events)
        return after

    def _decided(self, state: HandState | None, command: HandCommand) -> tuple[tuple[HandEvent, ...], HandState]:
        try:
            return advance(state, command, self.cards)
        except UnknownCard:
            self._stand_in(command)
            return advance(state, command, self.cards)

    def _stand_in(self, command: HandCommand) -> None:
        """Give whoever reached the showdown with unknown cards the weakest that are left: such a hand was mucked."""
        positions, board = _positions(self.hand)
        if any(position not in self.cards for position in board):
            raise NotCovered("a showdown whose board is unknown")
        folded = command.seat if isinstance(command, Act) and command.kind == "fold" else -1
        unfolded = self._last.unfolded if self.batches else -1
        for place, own in enumerate(positions):
            if unfolded >> place & 1 and place != folded and any(one not in self.cards for one in own):
                self.cards.update(_weakest(self.hand, self.cards, own, board))
                self.stand_ins.add(place)


def _decision(state: LiveHand, action: PhhAction) -> tuple[ActionKind, int]:
    price = price_of(state)
    if action.word == "fold":
        return "fold", 0
    if action.word == "call":
        return ("call" if price > state.bets[state.actor] else "check"), 0
    return ("raise" if price else "bet"), action.to


def _positions(hand: PhhHand) -> tuple[tuple[tuple[int, ...], ...], range]:
    """Return the deck positions of every player's cards and of the board."""
    players, each = len(hand.stacks), GAMES[hand.game].hole_cards
    return hole_positions(players, 0, each), range(players * each, players * each + 5)


def _dealt(hand: PhhHand) -> _Cards:
    """Lay the known cards where the deal takes them from."""
    own, board = _positions(hand)
    turned_up = [card for action in hand.actions for card in action.cards]
    known = [*zip(own, hand.holes, strict=True), (board[: len(turned_up)], turned_up)]
    pairs = [pair for places, cards in known for pair in zip(places, cards, strict=True)]
    return _Cards({position: card for position, card in pairs if card is not None})


def _weakest(hand: PhhHand, cards: Mapping[int, Card], own: Sequence[int], board: range) -> dict[int, Card]:
    """Return cards for the unknown ones of ``own`` that make the weakest hand (Omaha: of those that were tried)."""
    shared = [cards[position] for position in board]
    known = [cards[position] for position in own if position in cards]
    unknown = [position for position in own if position not in cards]
    used = set(cards.values())
    left = [card for card in DECK if card not in used]
    strength = GAMES[hand.game].strength
    tried = islice(combinations(left, len(unknown)), _TRIED)
    worst = min(tried, key=lambda more: strength([*known, *more], shared))
    return dict(zip(unknown, worst, strict=True))
