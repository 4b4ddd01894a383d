"""The hand of a table, whichever aggregate it is: a poker hand or a hand of Capsa."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, get_args

from msgspec import Struct

from diwan.core.cards import Card
from diwan.core.decider import Rejected
from diwan.core.games.capsa.commands import (
    AnswerCall,
    CapsaCommand,
    ExpireCapsaClock,
    LockSet,
    SaveDraft,
    StartCapsa,
    Unlock,
)
from diwan.core.games.capsa.decide import advance as advance_capsa
from diwan.core.games.capsa.events import (
    AnswerAsked,
    Answered,
    CapsaEvent,
    CapsaOnlyEvent,
    CapsaStarted,
    DraftSaved,
    NaturalShown,
    PairSettled,
    RoyaltiesDeclared,
    SetLocked,
    SetsShown,
    SettingBegan,
    SettingClosed,
    SetUnlocked,
    ThirteenDealt,
)
from diwan.core.games.capsa.evolve import evolve as evolve_capsa
from diwan.core.games.capsa.inverse import command_of as capsa_command_of
from diwan.core.games.capsa.state import CapsaState, EndedCapsa, LiveCapsa
from diwan.core.games.naiko.rules import settings_of
from diwan.core.hand.bank import bank_of
from diwan.core.hand.commands import (
    Act,
    AllIn,
    AnswerAnchor,
    ExpireClock,
    HandCommand,
    MoveDeadline,
    UsePower,
    VoidHand,
)
from diwan.core.hand.decide import advance as advance_hand
from diwan.core.hand.events import HandEvent, HandStarted, Position, Seat, TurnBegan, WindowOpened
from diwan.core.hand.evolve import evolve as evolve_hand
from diwan.core.hand.inverse import command_of as hand_command_of
from diwan.core.hand.state import NOBODY, EndedHand, HandState, LiveHand
from diwan.core.reasons import Reason

type PlayedHand = HandState | CapsaState
type PlayedEvent = HandEvent | CapsaEvent
type StartedEvent = HandStarted | CapsaStarted
type PlayedStep = tuple[tuple[PlayedEvent, ...], PlayedHand]

PLAYED_EVENTS = (*get_args(HandEvent.__value__), *get_args(CapsaOnlyEvent.__value__))
"""Every kind of event that belongs to a hand."""


def evolve_played(hand: PlayedHand | None, event: PlayedEvent) -> PlayedHand:
    """Return a table's hand after one of its events; what every hand has goes to the one that is there."""
    # By type, as every event of every log comes through here: asking with isinstance what a record is not costs more.
    kind = type(event)
    if kind is HandStarted:
        return evolve_hand(None, event)  # type: ignore[arg-type]  # looked at above
    if kind is CapsaStarted:
        return evolve_capsa(None, event)  # type: ignore[arg-type]  # looked at above
    if type(hand) is LiveHand:
        return evolve_hand(hand, event)  # type: ignore[arg-type]  # refused there if it is another game's
    # Another game's event, or one before its hand, is a log out of order: both folds refuse it.
    if isinstance(hand, LiveCapsa | EndedCapsa):
        return evolve_capsa(hand, event)  # type: ignore[arg-type]
    return evolve_hand(hand, event)  # type: ignore[arg-type]


def advance_played(
    hand: PlayedHand | None, command: HandCommand | CapsaCommand, cards: Mapping[Position, Card]
) -> PlayedStep:
    """Return what a command makes of a table's hand, and the hand after it; NOT_IN_THIS_GAME for another game's."""
    if hand is None:
        raise Rejected(Reason.HAND_OVER)
    is_for_all = isinstance(command, MoveDeadline | VoidHand)
    is_for_capsa = isinstance(command, SaveDraft | LockSet | Unlock | AnswerCall | ExpireCapsaClock | StartCapsa)
    if isinstance(hand, LiveCapsa | EndedCapsa):
        if is_for_all or is_for_capsa:
            return advance_capsa(hand, command, cards)  # type: ignore[arg-type]  # looked at above
    elif not is_for_capsa:
        return advance_hand(hand, command, cards)  # type: ignore[arg-type]
    raise Rejected(Reason.NOT_IN_THIS_GAME)


def played_command_of(event: PlayedEvent, version: int) -> HandCommand | CapsaCommand | None:
    """Return the command of which a hand's event is the act, None for an outcome; ``version`` as in commands.

    What every hand has leads back to the same command in both.
    """
    match event:
        case DraftSaved() | SetLocked() | SetUnlocked() | SettingClosed() | Answered() | CapsaStarted():
            return capsa_command_of(event, version)
        case ThirteenDealt() | NaturalShown() | SettingBegan() | AnswerAsked() | RoyaltiesDeclared():
            return None
        case SetsShown() | PairSettled():
            return None
        case _:
            return hand_command_of(event, version)


def live_of(hand: PlayedHand | None) -> LiveHand | LiveCapsa | None:
    """Return a hand as it is, or as it stood when it ended."""
    return hand.last if isinstance(hand, EndedHand | EndedCapsa) else hand


def poker_of(hand: PlayedHand | None) -> HandState | None:
    """Return the hand where it is one of poker."""
    return hand if isinstance(hand, LiveHand | EndedHand) else None


def capsa_of(hand: PlayedHand | None) -> CapsaState | None:
    """Return the hand where it is one of Capsa."""
    return hand if isinstance(hand, LiveCapsa | EndedCapsa) else None


def is_awaited(hand: LiveCapsa, seat: Seat) -> bool:
    """Say whether a hand of Capsa waits for a seat: for its set, or for its answer."""
    place = hand.deal.places.get(seat)
    if place is None:
        return False
    if hand.phase == "setting":
        play = hand.plays[place]
        return play.natural is None and play.locked is None
    return hand.asked == place


OPENINGS: Final = (TurnBegan, WindowOpened, SettingBegan, AnswerAsked)
"""Events by which a decision is asked for; an answer names one by its version, the ``turn``."""

DECISIONS: Final = (Act, AllIn, UsePower, AnswerAnchor, SaveDraft, LockSet, Unlock, AnswerCall)
"""What players answer with. None is received before it was asked for."""


class OpenClock(Struct, frozen=True):
    """The one clock of a hand that runs now: what an answer must name, and until when it is waited for."""

    turn: int
    deadline_ms: int


def open_clock(hand: PlayedHand | None) -> OpenClock | None:
    """Return the clock that runs: of a turn, a response window, the setting of sets or an answer; None where none does."""
    if isinstance(hand, LiveHand) and hand.asked != NOBODY:
        return OpenClock(hand.asked_turn, hand.asked_until_ms)
    if isinstance(hand, LiveCapsa) and (hand.phase == "setting" or hand.asked != NOBODY):
        return OpenClock(hand.turn, hand.deadline_ms)
    return None


def whole_time_ms(hand: PlayedHand | None) -> int:
    """Return all the time that the running clock gives its decision; 0 where none runs.

    After an outage of its own the room gives back at most so much, or `OUTAGE_GRACE_MS` where that is more.
    """
    if isinstance(hand, LiveHand) and hand.asked != NOBODY:
        if hand.window is not None:
            return settings_of(hand).response_seconds * 1000
        if hand.is_bank_running:
            return bank_of(hand, hand.actor)
        return hand.deal.started.settings.decision_seconds * 1000
    if isinstance(hand, LiveCapsa) and open_clock(hand) is not None:
        settings = hand.deal.started.settings
        return (settings.set_seconds if hand.phase == "setting" else settings.declare_seconds) * 1000
    return 0


def expiry(hand: PlayedHand | None, version: int, now_ms: int) -> ExpireClock | ExpireCapsaClock | None:
    """Return the command for the running clock when its time is over."""
    if isinstance(hand, LiveHand) and hand.asked != NOBODY:
        return ExpireClock(hand.deal.seats[hand.asked], hand.asked_turn, version, now_ms)
    if isinstance(hand, LiveCapsa) and open_clock(hand) is not None:
        return ExpireCapsaClock(None, hand.turn, version, now_ms)
    return None


def is_well_begun(hand: LiveHand | LiveCapsa) -> bool:
    """Say whether a hand is so far on that there is little time left for anything beside it."""
    return bool(hand.board) if isinstance(hand, LiveHand) else hand.phase == "declaring"
