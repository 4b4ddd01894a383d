"""Back from an act to the command that made it: what verification decides again (DESIGN 3)."""

from __future__ import annotations

from diwan.core.hand.commands import (
    Act,
    AllIn,
    AnswerAnchor,
    ExpireClock,
    HandCommand,
    MoveDeadline,
    ReleaseRunout,
    StartHand,
    UsePower,
    VoidHand,
)
from diwan.core.hand.events import (
    Acted,
    AnchorAnswered,
    AnchorDeclared,
    CardGlanced,
    CardSwapped,
    DeadlineMoved,
    HandEvent,
    HandStarted,
    HandVoided,
    RunoutReleased,
    TimeBankBegan,
)


def command_of(event: HandEvent, version: int) -> HandCommand | None:
    """Return the command of which an event is the act, or None where it is an outcome of the act before it.

    ``version`` is the stream's version before the event, as in commands. A void by a rule of the game is an outcome:
    it never stands first in its batch, so ask only about first events, or compare batch with batch.
    """
    match event:
        case Acted(decided_by="clock" | "system"):
            # The room does for who leaves what the clock would (A11), and nothing else.
            return ExpireClock(event.seat, event.turn, version, event.received_at_ms, event.decided_by)
        case Acted():
            if event.is_sarab:
                return AllIn(event.seat, event.turn, version, event.received_at_ms)
            return Act(event.seat, event.kind, event.to, event.turn, version, event.received_at_ms, event.decided_by)
        case HandStarted():
            return StartHand(
                hand_id=event.hand_id,
                hand_no=event.hand_no,
                rules_version=event.rules_version,
                settings=event.settings,
                seats=event.seats,
                button=event.button,
                big_blind_seat=event.big_blind_seat,
                dues=event.dues,
                secret_commitment=event.secret_commitment,
                seeds=event.seeds,
                absent=event.absent,
                deck_root=event.deck_root,
                next_commitment=event.next_commitment,
                version=version,
                now_ms=event.started_at_ms,
                deal_no=event.deal_no,
                carried=event.carried,
                naiko=event.naiko,
                time_banks_ms=event.time_banks_ms,
                tournament=event.tournament,
            )
        case TimeBankBegan():
            return ExpireClock(event.seat, event.turn, version, event.began_at_ms)
        case RunoutReleased():
            order_id, hand_no, at_ms = event.order_id, event.hand_no, event.released_at_ms
            return ReleaseRunout(order_id, hand_no, version, at_ms, event.is_by_clock)
        case DeadlineMoved():
            return MoveDeadline(event.turn, event.deadline_ms, event.reason, version, event.moved_at_ms)
        case HandVoided():
            # By a rule, in the batch of the action before it. Mypy follows no "in".
            if event.reason == "no_voluntary_bet" or event.reason == "no_raise":  # noqa: PLR1714
                return None
            return VoidHand(event.reason, version, event.voided_at_ms, event.decided_by)
        case _:
            return _power_of(event, version)


def _power_of(event: HandEvent, version: int) -> HandCommand | None:
    match event:
        case CardGlanced():
            return UsePower(event.seat, "hidden_glance", None, None, event.turn, version, event.received_at_ms)
        case CardSwapped():
            discarded = event.discarded
            return UsePower(event.seat, "sleeve_trick", None, discarded, event.turn, version, event.received_at_ms)
        case AnchorDeclared():
            return UsePower(event.seat, "short_anchor", event.target, None, event.turn, version, event.received_at_ms)
        case AnchorAnswered(decided_by="player"):
            return AnswerAnchor(event.seat, event.answer, event.turn, version, event.received_at_ms)
        case AnchorAnswered():
            return ExpireClock(event.seat, event.turn, version, event.received_at_ms, event.decided_by)
        case _:
            return None
