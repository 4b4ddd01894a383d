"""What comes of using a power and of answering an Anchor (NK-39)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from diwan.core.cards import Card
from diwan.core.decider import Rejected
from diwan.core.games.naiko.rules import can_shield, cost_of, settings_of, why_no_target, why_not_on_turn
from diwan.core.hand.batch import Batch
from diwan.core.hand.commands import AnswerAnchor, ExpireClock, UsePower
from diwan.core.hand.events import (
    AnchorAnswered,
    AnchorDeclared,
    AnchorSettled,
    Answer,
    CardGlanced,
    CardSwapped,
    DecidedBy,
    HandEvent,
    Position,
    Seat,
    TurnBegan,
    WindowOpened,
)
from diwan.core.hand.state import NOBODY, HandState, LiveHand, NaikoState, Place, Window
from diwan.core.reasons import Reason

type Cards = Mapping[Position, Card]
type Step = tuple[tuple[HandEvent, ...], HandState]


def use_power(state: HandState | None, command: UsePower, cards: Cards) -> Step:
    """Decide upon a power on one's own turn. No card is read: powers move positions."""
    live, naiko, place = _turn_of(state, command)
    reason = why_not_on_turn(live, naiko, place, command.power)
    if reason is not None and not (command.power == "short_anchor" and reason in _OF_TARGETS):
        raise Rejected(reason, power=command.power)
    batch = Batch(live, cards, command.version, command.now_ms)
    cost = cost_of(live, command.power)
    match command.power:
        case "hidden_glance":
            batch.add(CardGlanced(command.seat, live.next_position, cost, live.turn, command.now_ms))
        case "sleeve_trick":
            discarded = command.discard
            if discarded is None or discarded not in live.holdings[place]:
                raise Rejected(Reason.CARD_NOT_HELD)
            taken = live.next_position
            batch.add(CardSwapped(command.seat, discarded, taken, cost, live.turn, command.now_ms))
        case "short_anchor":
            target = _target_of(live, naiko, place, command.target)
            batch.add(AnchorDeclared(command.seat, live.deal.seats[target], cost, live.turn, command.now_ms))
            _open_window(batch, naiko, target)
        case _:
            assert_never(command.power)
    return batch.close()


def answer_anchor(state: HandState | None, command: AnswerAnchor, cards: Cards) -> Step:
    """Decide upon an answer to an Anchor: only its target has one, within the window (NK-32, finer point 3)."""
    if not isinstance(state, LiveHand):
        raise Rejected(Reason.HAND_OVER)
    window = state.window
    open_turn = state.turn if window is None else window.turn
    if command.turn is not None and command.turn != open_turn:
        raise Rejected(Reason.STALE_TURN, turn=command.turn, open_turn=open_turn)
    if window is not None and command.now_ms > window.deadline_ms:
        raise Rejected(Reason.DEADLINE_PASSED, deadline_ms=window.deadline_ms, received_at_ms=command.now_ms)
    if state.naiko is None:
        raise Rejected(Reason.POWER_NOT_IN_GAME)
    if window is None or state.deal.seats[window.target] != command.seat:
        raise Rejected(Reason.NO_RESPONSE_WINDOW, seat=command.seat)
    return _close_window(Batch(state, cards, command.version, command.now_ms), window, command.answer, "player")


def expire_window(state: LiveHand, window: Window, command: ExpireClock, cards: Cards) -> Step:
    """Let a response window run out: the Anchor applies (NK-34). Nobody else's clock runs meanwhile."""
    is_target = state.deal.seats[window.target] == command.seat
    open_turn = window.turn if is_target else state.turn
    if command.turn is not None and command.turn != open_turn:
        raise Rejected(Reason.STALE_TURN, turn=command.turn, open_turn=open_turn)
    if not is_target:
        raise Rejected(Reason.WINDOW_OPEN, seat=state.deal.seats[window.target])
    if command.decided_by == "clock" and command.now_ms < window.deadline_ms:
        raise Rejected(Reason.CLOCK_RUNNING, seat=command.seat, deadline_ms=window.deadline_ms)
    batch = Batch(state, cards, command.version, command.now_ms)
    return _close_window(batch, window, "pass", command.decided_by)


_OF_TARGETS = (Reason.TARGET_NOT_ELIGIBLE, Reason.TARGET_ALREADY_ANCHORED)


def _turn_of(state: HandState | None, command: UsePower) -> tuple[LiveHand, NaikoState, Place]:
    """Return the state and the place to act, or refuse in the order of RULES.md."""
    if not isinstance(state, LiveHand):
        raise Rejected(Reason.HAND_OVER)
    if command.turn is not None and command.turn != state.turn:
        raise Rejected(Reason.STALE_TURN, turn=command.turn, open_turn=state.turn)
    if state.window is None and command.now_ms > state.deadline_ms:
        raise Rejected(Reason.DEADLINE_PASSED, deadline_ms=state.deadline_ms, received_at_ms=command.now_ms)
    if state.naiko is None:
        raise Rejected(Reason.POWER_NOT_IN_GAME)
    if state.naiko.window is not None:
        raise Rejected(Reason.WINDOW_OPEN, seat=state.deal.seats[state.naiko.window.target])
    place = state.actor
    if place == NOBODY or state.deal.seats[place] != command.seat:
        raise Rejected(Reason.NOT_YOUR_TURN, seat=command.seat)
    return state, state.naiko, place


def _target_of(state: LiveHand, naiko: NaikoState, place: Place, seat: Seat | None) -> Place:
    target = NOBODY if seat is None else state.deal.places.get(seat, NOBODY)
    reason = Reason.TARGET_NOT_ELIGIBLE if target == NOBODY else why_no_target(state, naiko, place, target)
    if reason is not None:
        raise Rejected(reason, target=seat)
    return target


def _open_window(batch: Batch, naiko: NaikoState, target: Place) -> None:
    """Ask the target, where it can answer; else the Anchor applies at once (C10)."""
    state = batch.state
    seat = state.deal.seats[target]
    if not can_shield(state, naiko, target):
        batch.add(AnchorSettled(seat, is_blocked=False))
        return
    deadline_ms = batch.now_ms + settings_of(state).response_seconds * 1000
    remaining_ms = max(0, state.deadline_ms - batch.now_ms)
    batch.add(WindowOpened(seat, batch.next_version, deadline_ms, remaining_ms))


def _close_window(batch: Batch, window: Window, answer: Answer, decided_by: DecidedBy) -> Step:
    """Take the answer; the declarer's turn begins again with the time that it had left (NK-40)."""
    state = batch.state
    seat = state.deal.seats[window.target]
    is_blocked = answer == "seal_shield"
    cost = cost_of(state, answer) if answer == "seal_shield" else 0
    batch.add(AnchorAnswered(seat, answer, cost, window.turn, decided_by, batch.now_ms))
    batch.add(AnchorSettled(seat, is_blocked))
    declarer = state.deal.seats[state.actor]
    batch.add(TurnBegan(declarer, batch.next_version, batch.now_ms + window.remaining_ms))
    return batch.close()
