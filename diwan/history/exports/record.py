"""A finished poker hand as outside formats tell it: names, cards and amounts, no positions, proofs or clocks.

Made from a hand's events and the cards that the reader may know. Formats read back give the same record without what
they cannot say, which is how their round trips are held to account.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from diwan.core.cards import Card
from diwan.core.hand.events import (
    Acted,
    ActionKind,
    BetReturned,
    BoardDealt,
    CardsShown,
    HandEnded,
    HandEvent,
    HandResult,
    HandStarted,
    HandVoided,
    HoleCardsDealt,
    Posted,
    PostKind,
    PotAwarded,
)
from diwan.history.exports.pseudonyms import PLAIN, Names

type Cards = Mapping[int, Card]
type Known = tuple[Card | None, ...]
type Street = Literal["preflop", "flop", "turn", "river"]


class NotWritable(Exception):  # noqa: N818  (an answer: a format does not know such hands)
    """A hand that a format has no way to tell; the message says why."""


class Seated(Struct, frozen=True):
    """A seat that was dealt in; numbers count from 1. ``cards`` holds None for each that the reader may not know."""

    seat: int
    player: str
    stack: int
    is_bot: bool
    cards: Known


class Post(Struct, frozen=True, tag=True):
    """A forced bet, as much of it as went in."""

    seat: int
    kind: PostKind
    amount: int
    is_all_in: bool = False


class Act(Struct, frozen=True, tag=True):
    """A decision: ``added`` chips went in, for a total of ``to`` in this round; ``by`` is the lift over the price."""

    seat: int
    kind: ActionKind
    added: int = 0
    to: int = 0
    by: int = 0
    is_all_in: bool = False


class Board(Struct, frozen=True, tag=True):
    """Shared cards that were turned up."""

    street: Street
    cards: tuple[Card, ...]


class Returned(Struct, frozen=True, tag=True):
    """What nobody matched went back."""

    seat: int
    amount: int


class Shown(Struct, frozen=True, tag=True):
    """A hand that was turned up; ``category`` is empty where the board was not complete."""

    seat: int
    cards: tuple[Card, ...]
    category: str = ""


type Line = Post | Act | Board | Returned | Shown


class Take(Struct, frozen=True):
    """What a seat took from a pot."""

    seat: int
    amount: int


class Pot(Struct, frozen=True):
    """A pot as it was paid, the main one first."""

    amount: int
    takes: tuple[Take, ...]


class PokerHand(Struct, frozen=True, kw_only=True):
    """A finished hand. ``button`` and seats count from 1; ``table_seats`` 0 where it is not known."""

    hand_id: str
    hand_no: int
    table_id: str = ""
    table_name: str = ""
    table_seats: int = 0
    tournament_id: str = ""
    level: int = 0
    game: str
    limit: str
    small_blind: int
    big_blind: int
    ante: int
    chips: str = ""
    started_at_ms: int = 0
    button: int
    big_blind_seat: int = 0  # whose turn it was to post the big blind, 0 for nobody's
    seats: tuple[Seated, ...]
    heroes: tuple[int, ...] = ()  # seats whose cards the reader holds beside what was shown
    lines: tuple[Line, ...]
    pots: tuple[Pot, ...]
    result: HandResult

    @property
    def shown(self) -> dict[int, Shown]:
        """The newest showing of each seat."""
        return {line.seat: line for line in self.lines if isinstance(line, Shown)}

    @property
    def board(self) -> tuple[Card, ...]:
        """All shared cards."""
        return tuple(card for line in self.lines if isinstance(line, Board) for card in line.cards)

    @property
    def won(self) -> dict[int, int]:
        """What each seat took from the pots; nothing for who took none."""
        won: dict[int, int] = {}
        for pot in self.pots:
            for take in pot.takes:
                won[take.seat] = won.get(take.seat, 0) + take.amount
        return won


class About(Struct, frozen=True, kw_only=True):
    """What a hand's events do not say of where it was played."""

    table_id: str = ""
    table_name: str = ""
    table_seats: int = 0
    chips: str = ""


NOWHERE: Final = About()


def poker_hand(
    events: Iterable[HandEvent],
    cards: Cards,
    about: About = NOWHERE,
    names: Names = PLAIN,
    heroes: Collection[int] = (),
) -> PokerHand:
    """Return a finished hand of betting; raise `NotWritable` where the events are none.

    ``cards`` are those that the reader may know, by position: what was shown, with a seat's own or an auditor's.
    ``heroes`` are the seats (from 0) whose cards were opened for the reader.
    """
    log = list(events)
    if not log or not isinstance(log[0], HandStarted):
        raise NotWritable("not a hand with betting")
    started, ended = log[0], log[-1]
    if not isinstance(ended, HandEnded):
        raise NotWritable("the hand is not over")
    settings = started.settings
    antes = [due.amount for due in started.dues if due.kind == "ante"]
    return PokerHand(
        hand_id=names.hand(started.hand_id),
        hand_no=started.hand_no,
        table_id=names.table(about.table_id),
        table_name=names.table_name(about.table_name),
        table_seats=about.table_seats,
        tournament_id="" if started.tournament is None else names.tournament(started.tournament.tournament_id),
        level=0 if started.tournament is None else started.tournament.level,
        game=settings.game,
        limit=settings.limit,
        small_blind=settings.small_blind,
        big_blind=settings.big_blind,
        ante=max(antes, default=0),
        chips=about.chips,
        started_at_ms=started.started_at_ms,
        button=started.button + 1,
        big_blind_seat=0 if started.big_blind_seat is None else started.big_blind_seat + 1,
        seats=_seats(log, started, cards, names),
        heroes=tuple(seat.seat + 1 for seat in started.seats if seat.seat in heroes),
        lines=tuple(_Lines(started, cards).read(log)),
        pots=tuple(
            Pot(event.amount, tuple(Take(share.seat + 1, share.amount) for share in event.shares))
            for event in log
            if isinstance(event, PotAwarded)
        ),
        result=ended.result,
    )


def _seats(log: Sequence[HandEvent], started: HandStarted, cards: Cards, names: Names) -> tuple[Seated, ...]:
    holdings = next((event.holdings for event in log if isinstance(event, HoleCardsDealt)), ())
    held = dict(zip((seat.seat for seat in started.seats), holdings, strict=False))
    return tuple(
        Seated(
            seat.seat + 1,
            names.player(seat.player),
            seat.stack,
            seat.is_bot,
            tuple(map(cards.get, held.get(seat.seat, ()))),
        )
        for seat in started.seats
    )


class _Lines:
    """Follows stacks and the price, as far as formats ask for them."""

    def __init__(self, started: HandStarted, cards: Cards) -> None:
        self._cards = cards
        self._stacks = {seat.seat: seat.stack for seat in started.seats}
        self._price = max((due.amount for due in started.dues if due.kind in {"small_blind", "big_blind"}), default=0)

    def read(self, log: Iterable[HandEvent]) -> Iterator[Line]:
        """Yield the hand's lines, in order."""
        for event in log:
            match event:
                case Posted():
                    self._stacks[event.seat] -= event.amount
                    yield Post(event.seat + 1, event.kind, event.amount, self._stacks[event.seat] == 0)
                case Acted():
                    yield self._act(event)
                case BoardDealt():
                    self._price = 0
                    yield Board(event.street, tuple(self._cards[at] for at in event.positions))
                case BetReturned():
                    yield Returned(event.seat + 1, event.amount)
                case CardsShown():
                    yield Shown(event.seat + 1, tuple(self._cards[at] for at in event.positions), event.category)
                case HandVoided():
                    return
                case _:
                    pass

    def _act(self, event: Acted) -> Act:
        lift = max(event.to - self._price, 0)
        self._price = max(self._price, event.to)
        return Act(event.seat + 1, event.kind, event.added, event.to, lift, event.is_all_in)
