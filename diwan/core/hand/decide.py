"""What happens when something is asked of a hand: the only place where its rules are applied to commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from diwan.core.cards import Card
from diwan.core.decider import Rejected
from diwan.core.games import GAMES
from diwan.core.games.holdem import Holdem
from diwan.core.games.naiko.deciding import answer_anchor, expire_window, use_power
from diwan.core.hand.bank import bank_after_clock, bank_spent
from diwan.core.hand.batch import Batch
from diwan.core.hand.betting import lift_bounds, may_lift, next_to_act, price_of
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
from diwan.core.hand.course import begin_turn, end_round, run_out, void
from diwan.core.hand.deal import deal_hand
from diwan.core.hand.events import (
    Acted,
    ActionKind,
    Chips,
    DeadlineMoved,
    DecidedBy,
    HandEvent,
    Position,
    RunoutReleased,
    Seat,
)
from diwan.core.hand.evolve import after_acted, after_turn_began, evolve_live
from diwan.core.hand.state import NOBODY, HandState, LiveHand, Place
from diwan.core.reasons import Reason

type Cards = Mapping[Position, Card]


def decide(state: HandState | None, command: HandCommand, cards: Cards) -> tuple[HandEvent, ...]:
    """Return the batch of events that a command makes, the act itself first; raise `Rejected`, changing nothing.

    ``cards`` maps deck positions to cards; only positions that are revealed to all by then are read. A mapping that
    lacks one of them raises its own LookupError: whoever has no more than revealed cards "cannot say" then.
    Raises `UnknownRules` for a hand of an unknown rules version.
    """
    return advance(state, command, cards)[0]


def advance(state: HandState | None, command: HandCommand, cards: Cards) -> tuple[tuple[HandEvent, ...], HandState]:
    """Return the batch of `decide` together with the state after it, which is that of folding the batch."""
    match command:
        case Act():
            if command.decided_by == "clock":  # The clock only ends a turn; else the log could not tell both apart.
                raise Rejected(Reason.ARGUMENT_INVALID, field="decided_by", why="the clock acts by ExpireClock")
            live, place = _turn_of(state, command.seat, command.turn, command.now_ms, command.decided_by)
            game = GAMES[live.deal.started.settings.game]
            to = _allowed_total(game, live, place, command.kind, command.to)
            return _act(game, live, place, command.kind, to, command, command.decided_by, cards)
        case ExpireClock():
            if isinstance(state, LiveHand) and (window := state.window) is not None:
                return expire_window(state, window, command, cards)
            live, place = _turn_of(state, command.seat, command.turn, command.now_ms, command.decided_by)
            if command.decided_by == "clock" and command.now_ms < live.deadline_ms:
                raise Rejected(Reason.CLOCK_RUNNING, seat=command.seat, deadline_ms=live.deadline_ms)
            if command.decided_by == "clock" and (began := bank_after_clock(live, place, command.now_ms)) is not None:
                return (began,), evolve_live(live, began)
            game = GAMES[live.deal.started.settings.game]
            kind = game.clock_action(live, place)
            to = _allowed_total(game, live, place, kind, 0)
            return _act(game, live, place, kind, to, command, command.decided_by, cards)
        case AllIn():
            live, place = _turn_of(state, command.seat, command.turn, command.now_ms, "player")
            game = GAMES[live.deal.started.settings.game]
            kind, to = _all_in(live, place)
            if not game.is_sarab_free(live):
                to = _allowed_total(game, live, place, kind, to)
            return _act(game, live, place, kind, to, command, "player", cards, is_sarab=game.has_sarab)
        case UsePower():
            return use_power(state, command, cards)
        case AnswerAnchor():
            return answer_anchor(state, command, cards)
        case StartHand():
            if isinstance(state, LiveHand):
                raise Rejected(Reason.HAND_IN_PROGRESS, hand_id=state.deal.started.hand_id)
            return deal_hand(command, cards)
        case MoveDeadline():
            return _move_deadline(state, command, cards)
        case ReleaseRunout():
            return _release_runout(state, command, cards)
        case VoidHand():
            live = _live(state)
            batch = Batch(live, cards, command.version, command.now_ms)
            return void(batch, command.reason, command.decided_by)
        case _:
            assert_never(command)


def _live(state: HandState | None) -> LiveHand:
    if not isinstance(state, LiveHand):
        raise Rejected(Reason.HAND_OVER)
    return state


def _turn_of(
    state: HandState | None, seat: Seat, turn: int | None, now_ms: int, decided_by: DecidedBy
) -> tuple[LiveHand, Place]:
    """Return the state and the place to act, or refuse in the order of RULES.md."""
    if not isinstance(state, LiveHand):
        raise Rejected(Reason.HAND_OVER)
    if turn is not None and turn != state.turn:
        raise Rejected(Reason.STALE_TURN, turn=turn, open_turn=state.turn)
    if state.naiko is not None and state.naiko.window is not None:  # NK-40; the clock of the turn stands still
        raise Rejected(Reason.WINDOW_OPEN, seat=state.deal.seats[state.naiko.window.target])
    if decided_by == "player" and now_ms > state.deadline_ms:
        raise Rejected(Reason.DEADLINE_PASSED, deadline_ms=state.deadline_ms, received_at_ms=now_ms)
    place = state.actor
    if place == NOBODY or state.deal.seats[place] != seat:
        raise Rejected(Reason.NOT_YOUR_TURN, seat=seat)
    return state, place


def _allowed_total(game: Holdem, state: LiveHand, place: Place, kind: ActionKind, to: Chips) -> Chips:
    """Return the seat's total for this round after a legal action; refuse any other."""
    price, bet = price_of(state), state.bets[place]
    match kind:
        case "fold":
            if not game.may_fold(state, place):
                raise Rejected(Reason.FOLD_NOT_ALLOWED, stack=state.stacks[place])
            return bet
        case "call":
            if price <= bet:
                raise Rejected(Reason.CALL_NOT_ALLOWED)
            return min(price, bet + state.stacks[place])
        case "check":
            if price > bet:
                raise Rejected(Reason.CHECK_NOT_ALLOWED, to_call=min(price - bet, state.stacks[place]))
            return bet
        case "bet":
            if price or not may_lift(game, state, place):
                raise Rejected(Reason.BET_NOT_ALLOWED)
        case "raise":
            if not price or not may_lift(game, state, place):
                raise Rejected(Reason.RAISE_NOT_ALLOWED)
        case _:
            assert_never(kind)
    return _allowed_lift(game, state, place, price, to)


def _allowed_lift(game: Holdem, state: LiveHand, place: Place, price: Chips, to: Chips) -> Chips:
    """Check an amount in the order of RULES.md: over the stack, too small, too large."""
    all_in = state.bets[place] + state.stacks[place]
    lowest, highest = lift_bounds(game, state, place, price)
    if to > all_in:
        raise Rejected(Reason.AMOUNT_OVER_STACK, to=to, stack_to=all_in)
    if to < lowest and (to < all_in or to <= price):
        raise Rejected(Reason.AMOUNT_TOO_SMALL, to=to, lowest_to=lowest)
    if highest is not None and to > highest:
        raise Rejected(Reason.AMOUNT_TOO_LARGE, to=to, highest_to=highest)
    return to


def _all_in(state: LiveHand, place: Place) -> tuple[ActionKind, Chips]:
    """Return the action that all of a seat's chips amount to."""
    price = price_of(state)
    total = state.bets[place] + state.stacks[place]
    if not price:
        return "bet", total
    return ("call" if total <= price else "raise"), total


def _act(
    game: Holdem,
    state: LiveHand,
    place: Place,
    kind: ActionKind,
    to: Chips,
    command: Act | AllIn | ExpireClock,
    decided_by: DecidedBy,
    cards: Cards,
    *,
    is_sarab: bool = False,
) -> tuple[tuple[HandEvent, ...], HandState]:
    added = to - state.bets[place]
    is_all_in = added > 0 and added == state.stacks[place]
    now_ms, spent_ms = command.now_ms, bank_spent(state, place, command.now_ms)
    acted = Acted(command.seat, kind, to, added, is_all_in, state.turn, decided_by, now_ms, is_sarab, spent_ms)
    after = after_acted(state, acted)
    if after.unfolded & (after.unfolded - 1):
        actor = next_to_act(after, place)
        if actor != NOBODY:  # Mostly an action only passes the turn on.
            began = begin_turn(after, actor, command.version + 2, now_ms)
            return (acted, began), after_turn_began(after, began)
    batch = Batch(after, cards, command.version, now_ms)
    batch.events.append(acted)
    return end_round(game, batch)


def _release_runout(
    state: HandState | None, command: ReleaseRunout, cards: Cards
) -> tuple[tuple[HandEvent, ...], HandState]:
    live = state if isinstance(state, LiveHand) else None
    if live is None or not live.held_until_ms or command.hand_no != live.deal.started.hand_no:
        raise Rejected(Reason.RUNOUT_NOT_HELD, hand_no=command.hand_no)
    if command.is_by_clock and command.now_ms < live.held_until_ms:
        raise Rejected(Reason.CLOCK_RUNNING, deadline_ms=live.held_until_ms)
    batch = Batch(live, cards, command.version, command.now_ms)
    batch.add(RunoutReleased(command.order_id, command.hand_no, command.is_by_clock, command.now_ms))
    return run_out(GAMES[live.deal.started.settings.game], batch)


def _move_deadline(
    state: HandState | None, command: MoveDeadline, cards: Cards
) -> tuple[tuple[HandEvent, ...], HandState]:
    live = _live(state)
    window = live.window
    open_turn, deadline_ms = (live.turn, live.deadline_ms) if window is None else (window.turn, window.deadline_ms)
    if command.turn != open_turn or live.actor == NOBODY:
        raise Rejected(Reason.STALE_TURN, turn=command.turn, open_turn=open_turn)
    if command.deadline_ms < deadline_ms:
        raise Rejected(Reason.ARGUMENT_INVALID, field="deadline_ms", why="a deadline only moves to a later time")
    batch = Batch(live, cards, command.version, command.now_ms)
    batch.add(DeadlineMoved(command.turn, command.deadline_ms, command.reason, command.now_ms))
    return batch.close()
