"""Back from an act to the command that made it: what verification decides again (DESIGN 3)."""

from __future__ import annotations

from diwan.core.games.capsa.commands import (
    AnswerCall,
    CapsaCommand,
    ExpireCapsaClock,
    LockSet,
    SaveDraft,
    StartCapsa,
    Unlock,
)
from diwan.core.games.capsa.events import (
    Answered,
    CapsaEvent,
    CapsaStarted,
    DraftSaved,
    SetLocked,
    SettingClosed,
    SetUnlocked,
)
from diwan.core.hand.commands import MoveDeadline, VoidHand
from diwan.core.hand.events import DeadlineMoved, HandVoided


def command_of(event: CapsaEvent, version: int) -> CapsaCommand | None:
    """Return the command of which an event is the act, or None where it is an outcome of the act before it.

    ``version`` is the stream's version before the event, as in commands.
    """
    match event:
        case DraftSaved():
            return SaveDraft(event.seat, event.arrangement, event.turn, version, event.received_at_ms)
        case SetLocked():
            return _lock_of(event, version)
        case SetUnlocked():
            return Unlock(event.seat, event.turn, version, event.received_at_ms)
        case SettingClosed():
            return ExpireCapsaClock(event.seat, event.turn, version, event.received_at_ms, event.decided_by)
        case Answered(decided_by="clock"):
            return ExpireCapsaClock(event.seat, event.turn, version, event.received_at_ms)
        case Answered():
            at_ms = event.received_at_ms
            return AnswerCall(event.seat, event.answer, event.turn, version, at_ms, event.decided_by)
        case CapsaStarted():
            return _start_of(event, version)
        case DeadlineMoved():
            return MoveDeadline(event.turn, event.deadline_ms, event.reason, version, event.moved_at_ms)
        case HandVoided():
            # Of another game. Mypy follows no "in".
            if event.reason == "no_voluntary_bet" or event.reason == "no_raise":  # noqa: PLR1714
                return None
            return VoidHand(event.reason, version, event.voided_at_ms, event.decided_by)
        case _:
            return None


def _lock_of(event: SetLocked, version: int) -> LockSet | None:
    if event.source != "player" or event.arrangement is None:  # made when time was over, in the batch of SettingClosed
        return None
    return LockSet(
        seat=event.seat,
        arrangement=event.arrangement,
        turn=event.turn,
        version=version,
        now_ms=event.received_at_ms,
        is_foul_confirmed=event.is_foul_confirmed,
        decided_by=event.decided_by,
    )


def _start_of(event: CapsaStarted, version: int) -> StartCapsa:
    return StartCapsa(
        hand_id=event.hand_id,
        hand_no=event.hand_no,
        rules_version=event.rules_version,
        settings=event.settings,
        seats=event.seats,
        button=event.button,
        secret_commitment=event.secret_commitment,
        seeds=event.seeds,
        absent=event.absent,
        deck_root=event.deck_root,
        next_commitment=event.next_commitment,
        version=version,
        now_ms=event.started_at_ms,
    )
