"""Folding the events of a hand. Records what happened and contains no rule, so that it can follow any rules version."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from diwan.core.hand.events import (
    Acted,
    AnchorAnswered,
    AnchorDeclared,
    AnchorSettled,
    BetReturned,
    BettingRoundEnded,
    BoardDealt,
    CardGlanced,
    CardsShown,
    CardSwapped,
    DeadlineMoved,
    DestellosReturned,
    HandEnded,
    HandEvent,
    HandStarted,
    HandVoided,
    HoleCardsDealt,
    Posted,
    PotAwarded,
    RunoutHeld,
    RunoutReleased,
    Share,
    TimeBankBegan,
    TurnBegan,
    WindowOpened,
)
from diwan.core.hand.powers import after_deadline_moved, evolve_powers, open_naiko
from diwan.core.hand.state import NOBODY, Deal, EndedHand, HandState, LiveHand

LIVE_BLINDS = ("small_blind", "big_blind")


type InHandEvent = (
    Acted
    | TurnBegan
    | BettingRoundEnded
    | BoardDealt
    | BetReturned
    | Posted
    | HoleCardsDealt
    | CardsShown
    | PotAwarded
    | DeadlineMoved
    | TimeBankBegan
    | RunoutHeld
    | RunoutReleased
    | HandVoided
    | CardGlanced
    | CardSwapped
    | AnchorDeclared
    | WindowOpened
    | AnchorAnswered
    | AnchorSettled
    | DestellosReturned
)
"""What happens between the first event of a hand and its last."""


def evolve(state: HandState | None, event: HandEvent) -> HandState:
    """Return the state after an event. Total over what `decide` makes; an event without its hand is a ValueError."""
    kind = type(event)
    if isinstance(state, LiveHand) and kind is not HandStarted and kind is not HandEnded:
        return evolve_live(state, event)  # type: ignore[arg-type]  # it neither begins nor ends the hand
    if isinstance(event, HandStarted):
        return open_hand(event)
    if not isinstance(state, LiveHand):
        raise ValueError(f"{type(event).__name__} belongs to no hand in play")  # noqa: TRY004  (a wrong order, not type)
    if isinstance(event, HandEnded):
        return EndedHand(state, event)
    return evolve_live(state, event)


def open_hand(started: HandStarted) -> LiveHand:
    """Return the state of a hand of which only the first event is known."""
    seats = tuple([seat.seat for seat in started.seats])
    stacks = tuple([seat.stack for seat in started.seats])
    blinds = [due.amount for due in started.dues if due.kind in LIVE_BLINDS]
    left_of_button = [place for place, seat in enumerate(seats) if seat > started.button]
    deal = Deal(
        started,
        seats,
        {seat: place for place, seat in enumerate(seats)},
        stacks,
        left_of_button[0] if left_of_button else 0,
        max(blinds, default=0),
    )
    zeros = (0,) * len(seats)
    return LiveHand(
        deal=deal,
        stacks=stacks,
        bets=zeros,
        gathered=started.carried,
        unfolded=(1 << len(seats)) - 1,
        lifts=(),
        answered=(-1,) * len(seats),
        actor=NOBODY,
        turn=0,
        deadline_ms=0,
        street="preflop",
        board=(),
        next_position=0,
        holdings=(),
        aggressor=NOBODY,
        antes=zeros,
        dead_blinds=zeros,
        returned=zeros,
        won=zeros,
        shown=(),
        pots=(),
        banks=started.time_banks_ms,
        naiko=open_naiko(started),
    )


def evolve_live(state: LiveHand, event: InHandEvent) -> LiveHand:
    """Return the state of a hand being played after an event that neither begins nor ends it; frequent events first."""
    match event:
        case Acted():
            return after_acted(state, event)
        case TurnBegan():
            return after_turn_began(state, event)
        case BettingRoundEnded():
            seats = len(state.stacks)
            return replace(
                state,
                bets=(0,) * seats,
                gathered=event.total,
                lifts=(),
                most_lifts=max(state.most_lifts, len(state.lifts)),
                answered=(-1,) * seats,
                actor=NOBODY,
            )
        case BoardDealt():
            return replace(
                state,
                street=event.street,
                board=state.board + event.positions,
                next_position=max(event.positions) + 1,
                aggressor=NOBODY,
            )
        case BetReturned():
            return _returned(state, event)
        case Posted():
            return _posted(state, event)
        case HoleCardsDealt():
            last = max([position for holding in event.holdings for position in holding])
            return replace(state, holdings=event.holdings, next_position=last + 1)
        case CardsShown():
            return replace(state, shown=(*state.shown, event))
        case PotAwarded():
            stacks, won = _paid(state, state.stacks, event.shares), _paid(state, state.won, event.shares)
            gathered = state.gathered - event.amount
            return replace(state, gathered=gathered, stacks=stacks, won=won, pots=(*state.pots, event))
        case DeadlineMoved():
            return after_deadline_moved(state, event)
        case TimeBankBegan():
            return replace(state, deadline_ms=event.deadline_ms, is_bank_running=True)
        case RunoutHeld():
            return replace(state, held_until_ms=event.until_ms)
        case RunoutReleased():
            return replace(state, held_until_ms=0, is_released=True)
        case HandVoided():
            return replace(
                state,
                stacks=_paid(state, state.stacks, event.refunds),
                bets=(0,) * len(state.stacks),
                gathered=state.pot - event.carried - sum(share.amount for share in event.refunds),
                actor=NOBODY,
                is_void=True,
            )
        case (
            CardGlanced()
            | CardSwapped()
            | AnchorDeclared()
            | WindowOpened()
            | AnchorAnswered()
            | AnchorSettled()
            | DestellosReturned()
        ):
            return evolve_powers(state, event)
        case _:
            assert_never(event)


def after_turn_began(state: LiveHand, event: TurnBegan) -> LiveHand:
    """Return the state after a turn began."""
    return replace(state, actor=state.deal.places[event.seat], turn=event.turn, deadline_ms=event.deadline_ms)


def after_acted(state: LiveHand, event: Acted) -> LiveHand:
    """Return the state after an action."""
    place = state.deal.places[event.seat]
    kind = event.kind
    if state.is_bank_running:
        banks = _added(state.banks, place, -event.bank_spent_ms)
        state = replace(state, banks=banks, is_bank_running=False)
    if kind == "fold":
        return replace(state, unfolded=state.unfolded & ~(1 << place), actor=NOBODY)
    lifts = state.lifts
    answered = [*state.answered]
    if kind == "check":
        answered[place] = len(lifts)
        return replace(state, answered=tuple(answered), actor=NOBODY)
    stacks, bets = [*state.stacks], [*state.bets]
    stacks[place] -= event.added
    bets[place] = event.to
    if kind == "call":
        answered[place] = len(lifts)
        return replace(state, stacks=tuple(stacks), bets=tuple(bets), answered=tuple(answered), actor=NOBODY)
    lifts = (*lifts, event.to)
    answered[place] = len(lifts)
    return replace(
        state,
        stacks=tuple(stacks),
        bets=tuple(bets),
        lifts=lifts,
        answered=tuple(answered),
        actor=NOBODY,
        aggressor=place,
    )


def _added(amounts: tuple[int, ...], place: int, amount: int) -> tuple[int, ...]:
    changed = [*amounts]
    changed[place] += amount
    return tuple(changed)


def _paid(state: LiveHand, amounts: tuple[int, ...], shares: tuple[Share, ...]) -> tuple[int, ...]:
    for share in shares:
        amounts = _added(amounts, state.deal.places[share.seat], share.amount)
    return amounts


def _posted(state: LiveHand, event: Posted) -> LiveHand:
    place = state.deal.places[event.seat]
    stacks = _added(state.stacks, place, -event.amount)
    if event.kind in LIVE_BLINDS:
        return replace(state, stacks=stacks, bets=_added(state.bets, place, event.amount))
    gathered = state.gathered + event.amount
    if event.kind == "ante":
        return replace(state, stacks=stacks, gathered=gathered, antes=_added(state.antes, place, event.amount))
    dead_blinds = _added(state.dead_blinds, place, event.amount)
    return replace(state, stacks=stacks, gathered=gathered, dead_blinds=dead_blinds)


def _returned(state: LiveHand, event: BetReturned) -> LiveHand:
    """Chips come back from the bet first; what exceeds it was a forced bet that lies in the middle already."""
    place = state.deal.places[event.seat]
    from_bet = min(event.amount, state.bets[place])
    return replace(
        state,
        stacks=_added(state.stacks, place, event.amount),
        bets=_added(state.bets, place, -from_bet),
        gathered=state.gathered - (event.amount - from_bet),
        returned=_added(state.returned, place, event.amount),
    )
