"""The course of a hand between decisions: whose turn it is, the next street, the showdown, the end."""

from __future__ import annotations

from collections.abc import Sequence

from diwan.core.games.holdem import Holdem
from diwan.core.hand.batch import Batch
from diwan.core.hand.betting import next_to_act
from diwan.core.hand.events import (
    BetReturned,
    BettingRoundEnded,
    BoardDealt,
    Chips,
    DecidedBy,
    DestellosReturned,
    HandEnded,
    HandEvent,
    HandResult,
    HandVoided,
    RunoutHeld,
    Share,
    TurnBegan,
    VoidReason,
)
from diwan.core.hand.outcome import outcome_digest, payoffs_of
from diwan.core.hand.pots import cut_pots, unmatched
from diwan.core.hand.showdown import award, show_all, show_early
from diwan.core.hand.state import NOBODY, EndedHand, HandState, LiveHand, Place

type Step = tuple[tuple[HandEvent, ...], HandState]


def begin_betting(game: Holdem, batch: Batch) -> Step:
    """Go on after the cards were dealt, up to the first decision or the end of the hand."""
    actor = next_to_act(batch.state, game.before_first(batch.state.deal))
    return end_round(game, batch) if actor == NOBODY else _ask(batch, actor)


def begin_turn(state: LiveHand, place: Place, turn: int, now_ms: int) -> TurnBegan:
    """Return the beginning of a seat's turn; ``turn`` is the event's own version."""
    deal = state.deal
    return TurnBegan(deal.seats[place], turn, now_ms + deal.started.settings.decision_seconds * 1000)


def end_round(game: Holdem, batch: Batch) -> Step:
    """Go on where nobody has a decision in this round any more, up to the next decision or the end of the hand."""
    _gather(batch)
    if not batch.state.unfolded & (batch.state.unfolded - 1):  # HD-11
        return _pay(batch, {}, "uncontested")
    return _next_streets(game, batch)


def void(
    batch: Batch, reason: VoidReason, decided_by: DecidedBy = "system", kept: Sequence[Chips] | None = None
) -> Step:
    """End a hand without a result: what was put in goes back, but for what is kept of each place (H9, A6)."""
    state = batch.state
    kept = kept or (0,) * len(state.stacks)
    put_in = [before - now - stays for before, now, stays in zip(state.deal.stacks, state.stacks, kept, strict=True)]
    refunds = tuple([Share(state.deal.seats[place], amount) for place, amount in enumerate(put_in) if amount])
    carried = state.deal.started.carried + sum(kept)
    batch.add(HandVoided(reason, refunds, batch.now_ms, decided_by, carried))
    started = state.deal.started
    if state.naiko is not None and started.naiko is not None and state.naiko.activations:
        batch.add(DestellosReturned(started.naiko.destellos))
    return _end(batch, "void")


def _ask(batch: Batch, place: Place) -> Step:
    batch.add(begin_turn(batch.state, place, batch.next_version, batch.now_ms))
    return batch.close()


def _gather(batch: Batch) -> None:
    excess = unmatched(batch.state)
    if excess is not None:
        place, amount = excess
        batch.add(BetReturned(batch.state.deal.seats[place], amount))
    batch.add(BettingRoundEnded(batch.state.pot))


def _next_streets(game: Holdem, batch: Batch) -> Step:
    """Deal on, street after street where nobody has a decision left (HD-19)."""
    is_shown = batch.state.deal.started.settings.show_all_in == "at_showdown"
    while True:
        reason = game.void_reason(batch.state)
        if reason is not None:
            return void(batch, reason, kept=game.kept_in_void(batch.state))
        following = game.next_streets.get(batch.state.street)
        if following is None:
            return _show_down(game, batch)
        if (hold_ms := _hold_ms(batch.state)) and _is_betting_over(batch):  # RP-8
            batch.add(RunoutHeld(batch.now_ms + hold_ms, batch.now_ms))
            return batch.close()
        if not is_shown and _is_betting_over(batch):
            is_shown = True
            for showing in show_early(batch.state):
                batch.add(showing)
        street, count = following
        position = batch.state.next_position
        batch.add(BoardDealt(street, tuple(range(position, position + count))))
        actor = next_to_act(batch.state, batch.state.deal.first - 1)
        if actor != NOBODY:
            return _ask(batch, actor)


def run_out(game: Holdem, batch: Batch) -> Step:
    """Go on where the rest of the board was held: to the end of the hand."""
    return _next_streets(game, batch)


def _hold_ms(state: LiveHand) -> int:
    """Return how long the rest of the board is to wait, 0 where it has waited or is not to."""
    tournament = state.deal.started.tournament
    return 0 if tournament is None or state.is_released else tournament.hold_ms


def _is_betting_over(batch: Batch) -> bool:
    state = batch.state
    return sum([1 for place, stack in enumerate(state.stacks) if stack and state.unfolded >> place & 1]) < 2


def _show_down(game: Holdem, batch: Batch) -> Step:
    showings = show_all(game, batch.state, batch.cards)
    for showing in showings:
        batch.add(showing)
    places = batch.state.deal.places
    return _pay(batch, {places[showing.seat]: showing.rank for showing in showings}, "showdown")


def _pay(batch: Batch, strengths: dict[Place, int], result: HandResult) -> Step:
    deal = batch.state.deal
    for index, pot in enumerate(cut_pots(batch.state)):
        batch.add(award(deal, index, pot, strengths))
    return _end(batch, result)


def _end(batch: Batch, result: HandResult) -> Step:
    state = batch.state
    ended = HandEnded(
        result=result,
        stacks=state.stacks,
        payoffs=payoffs_of(state),
        won=state.won,
        returned=(0,) * len(state.stacks) if result == "void" else state.returned,
        digest=outcome_digest(state, result, batch.cards),
        ended_at_ms=batch.now_ms,
    )
    batch.events.append(ended)
    return batch.close(EndedHand(state, ended))
