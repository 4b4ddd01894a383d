"""What happens when something is asked of a Capsa hand.

Refusals come in the order of RULES.md: HAND_OVER, STALE_TURN, DEADLINE_PASSED, SURRENDER_NOT_ALLOWED, ALREADY_LOCKED or
NOT_ASKED, BAD_SET, FOULED_SET.
"""

from __future__ import annotations

from typing import Final, assert_never

from diwan.core.decider import Rejected
from diwan.core.games.capsa.batch import Batch, Cards, Step
from diwan.core.games.capsa.commands import (
    AnswerCall,
    CapsaCommand,
    ExpireCapsaClock,
    LockSet,
    SaveDraft,
    StartCapsa,
    Unlock,
)
from diwan.core.games.capsa.course import after_answer, after_lock, make_set, values_of, void
from diwan.core.games.capsa.deal import deal_hand
from diwan.core.games.capsa.events import (
    Answered,
    Arrangement,
    CapsaEvent,
    DraftSaved,
    SetLocked,
    SettingClosed,
    SetUnlocked,
)
from diwan.core.games.capsa.rows import is_fouled
from diwan.core.games.capsa.state import CapsaState, LiveCapsa, Place
from diwan.core.hand.commands import MoveDeadline, VoidHand
from diwan.core.hand.events import DeadlineMoved, DecidedBy, Seat
from diwan.core.reasons import Reason

CHANGES_MAX: Final = 200
"""Drafts saved and sets taken back by one seat in one hand: more is no arranging, and a log must not grow for ever."""

_FRONT_CARDS: Final = 3
_ROW_CARDS: Final = 5


def decide(state: CapsaState | None, command: CapsaCommand, cards: Cards) -> tuple[CapsaEvent, ...]:
    """Return the batch of events that a command makes, the act itself first; raise `Rejected`, changing nothing.

    ``cards`` maps deck positions to cards. What is read and not revealed to all is said in `course`. A mapping that
    lacks a position raises its own LookupError: whoever has no more than revealed cards "cannot say" then.
    Raises `UnknownRules` for a hand of an unknown rules version.
    """
    return advance(state, command, cards)[0]


def advance(state: CapsaState | None, command: CapsaCommand, cards: Cards) -> Step:
    """Return the batch of `decide` together with the state after it, which is that of folding the batch."""
    match command:
        case SaveDraft():
            return _save_draft(state, command, cards)
        case LockSet():
            return _lock(state, command, cards)
        case Unlock():
            return _unlock(state, command, cards)
        case AnswerCall():
            return _answer(state, command, cards)
        case ExpireCapsaClock():
            return _expire(state, command, cards)
        case StartCapsa():
            if isinstance(state, LiveCapsa):
                raise Rejected(Reason.HAND_IN_PROGRESS, hand_id=state.deal.started.hand_id)
            return deal_hand(command, cards)
        case MoveDeadline():
            return _move_deadline(state, command, cards)
        case VoidHand():
            batch = Batch(_live(state), cards, command.version, command.now_ms)
            return void(batch, command.reason, command.decided_by)
        case _:
            assert_never(command)


def _live(state: CapsaState | None) -> LiveCapsa:
    if not isinstance(state, LiveCapsa):
        raise Rejected(Reason.HAND_OVER)
    return state


def _open_turn(state: CapsaState | None, turn: int | None, now_ms: int, decided_by: DecidedBy) -> LiveCapsa:
    """Return the state if the decision named is the open one and in time."""
    live = _live(state)
    if turn is not None and turn != live.turn:
        raise Rejected(Reason.STALE_TURN, turn=turn, open_turn=live.turn)
    if decided_by == "player" and now_ms > live.deadline_ms:
        raise Rejected(Reason.DEADLINE_PASSED, deadline_ms=live.deadline_ms, received_at_ms=now_ms)
    return live


def _setter(live: LiveCapsa, seat: Seat) -> Place:
    """Return the place of a seat that may still set: it holds no natural (CS-81), and sets are not final (CS-21)."""
    place = live.deal.places.get(seat)
    if place is None or live.plays[place].natural is not None:
        raise Rejected(Reason.NOT_ASKED, seat=seat)
    if live.phase != "setting":
        raise Rejected(Reason.ALREADY_LOCKED, seat=seat)
    return place


def _unlocked(live: LiveCapsa, seat: Seat) -> Place:
    place = _setter(live, seat)
    if live.plays[place].locked is not None:
        raise Rejected(Reason.ALREADY_LOCKED, seat=seat)
    return place


def _require_few_changes(live: LiveCapsa, place: Place) -> None:
    if live.plays[place].changes >= CHANGES_MAX:
        raise Rejected(Reason.RATE_LIMITED, seat=live.deal.seats[place], limit=CHANGES_MAX)


def _is_complete(arrangement: Arrangement) -> bool:
    return tuple(map(len, arrangement.rows)) == (_FRONT_CARDS, _ROW_CARDS, _ROW_CARDS)


def _require_own_cards(live: LiveCapsa, place: Place, arrangement: Arrangement) -> None:
    """Refuse rows that are too long, and positions that are not the seat's own or stand there twice (CS-19)."""
    front, middle, back = arrangement.rows
    used = (*front, *middle, *back)
    if len(front) > _FRONT_CARDS or len(middle) > _ROW_CARDS or len(back) > _ROW_CARDS:
        raise Rejected(Reason.BAD_SET, why="rows hold 3, 5 and 5 cards")
    if len(set(used)) != len(used) or not set(used) <= set(live.holdings[place]):
        raise Rejected(Reason.BAD_SET, why="each of the seat's own thirteen cards once, and no other")


def _is_legal(batch: Batch, place: Place, arrangement: Arrangement) -> bool:
    """Say whether a complete arrangement is legal (CS-23); of unseen cards, whether the log says so."""
    unseen = batch.unseen(place)
    if unseen is not None:
        return unseen.is_usable(batch.state.deal.seats[place])
    return not is_fouled(*values_of(batch, arrangement))


def _save_draft(state: CapsaState | None, command: SaveDraft, cards: Cards) -> Step:
    live = _open_turn(state, command.turn, command.now_ms, "player")
    place = _unlocked(live, command.seat)
    _require_few_changes(live, place)
    _require_own_cards(live, place, command.arrangement)
    batch = Batch(live, cards, command.version, command.now_ms)
    is_usable = _is_complete(command.arrangement) and _is_legal(batch, place, command.arrangement)
    batch.add(DraftSaved(command.seat, command.arrangement, is_usable, live.turn, command.now_ms))
    return batch.close()


def _lock(state: CapsaState | None, command: LockSet, cards: Cards) -> Step:
    live = _open_turn(state, command.turn, command.now_ms, command.decided_by)
    place = _unlocked(live, command.seat)
    _require_own_cards(live, place, command.arrangement)
    if not _is_complete(command.arrangement):
        raise Rejected(Reason.BAD_SET, why="rows hold 3, 5 and 5 cards")
    batch = Batch(live, cards, command.version, command.now_ms)
    if (
        not command.is_foul_confirmed
        and batch.unseen(place) is None
        and not _is_legal(batch, place, command.arrangement)
    ):
        raise Rejected(Reason.FOULED_SET, seat=command.seat)
    batch.add(
        SetLocked(
            seat=command.seat,
            arrangement=command.arrangement,
            is_foul_confirmed=command.is_foul_confirmed,
            source="player",
            turn=live.turn,
            decided_by=command.decided_by,
            received_at_ms=command.now_ms,
        )
    )
    return after_lock(batch)


def _unlock(state: CapsaState | None, command: Unlock, cards: Cards) -> Step:
    live = _open_turn(state, command.turn, command.now_ms, "player")
    place = _setter(live, command.seat)
    if live.plays[place].locked is None:
        raise Rejected(Reason.ARGUMENT_INVALID, field="seat", why="its set is not locked")
    _require_few_changes(live, place)
    batch = Batch(live, cards, command.version, command.now_ms)
    batch.add(SetUnlocked(command.seat, live.turn, command.now_ms))
    return batch.close()


def _answer(state: CapsaState | None, command: AnswerCall, cards: Cards) -> Step:
    live = _open_turn(state, command.turn, command.now_ms, command.decided_by)
    if command.answer == "surrender" and not live.deal.started.settings.surrender.allowed:
        raise Rejected(Reason.SURRENDER_NOT_ALLOWED)
    _require_asked(live, command.seat)
    batch = Batch(live, cards, command.version, command.now_ms)
    batch.add(Answered(command.seat, command.answer, live.turn, command.decided_by, command.now_ms))
    return after_answer(batch)


def _require_asked(live: LiveCapsa, seat: Seat) -> None:
    if live.deal.places.get(seat, -1) != live.asked or live.phase != "declaring":
        raise Rejected(Reason.NOT_ASKED, seat=seat)


def _expire(state: CapsaState | None, command: ExpireCapsaClock, cards: Cards) -> Step:
    live = _open_turn(state, command.turn, command.now_ms, command.decided_by)
    batch = Batch(live, cards, command.version, command.now_ms)
    if live.phase == "declaring":
        if command.seat is not None:
            _require_asked(live, command.seat)
        _require_time_over(live, command)
        seat = live.deal.seats[live.asked]
        batch.add(Answered(seat, "play", live.turn, command.decided_by, command.now_ms))  # CS-31
        return after_answer(batch)
    late = (
        [place for place in live.setters if live.plays[place].locked is None]
        if command.seat is None
        else [_unlocked(live, command.seat)]
    )
    _require_time_over(live, command)
    batch.add(SettingClosed(command.seat, live.turn, command.decided_by, command.now_ms))
    for place in late:
        make_set(batch, place, command.decided_by)
    return after_lock(batch)


def _require_time_over(live: LiveCapsa, command: ExpireCapsaClock) -> None:
    if command.decided_by == "clock" and command.now_ms < live.deadline_ms:
        raise Rejected(Reason.CLOCK_RUNNING, deadline_ms=live.deadline_ms)


def _move_deadline(state: CapsaState | None, command: MoveDeadline, cards: Cards) -> Step:
    live = _live(state)
    if command.turn != live.turn:
        raise Rejected(Reason.STALE_TURN, turn=command.turn, open_turn=live.turn)
    if command.deadline_ms < live.deadline_ms:
        raise Rejected(Reason.ARGUMENT_INVALID, field="deadline_ms", why="a deadline only moves to a later time")
    batch = Batch(live, cards, command.version, command.now_ms)
    batch.add(DeadlineMoved(command.turn, command.deadline_ms, command.reason, command.now_ms))
    return batch.close()
