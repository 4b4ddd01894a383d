"""Folding the events of a Capsa hand. Records what happened and contains no rule."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from diwan.core.games.capsa.events import (
    AnswerAsked,
    Answered,
    CapsaEvent,
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
from diwan.core.games.capsa.state import NOBODY, CapsaDeal, CapsaState, EndedCapsa, LiveCapsa, SeatPlay
from diwan.core.hand.events import DeadlineMoved, HandEnded, HandVoided, Seat


def evolve(state: CapsaState | None, event: CapsaEvent) -> CapsaState:
    """Return the state after an event. Total over what `decide` makes; an event without its hand is a ValueError."""
    if isinstance(event, CapsaStarted):
        return open_hand(event)
    if not isinstance(state, LiveCapsa):
        raise ValueError(f"{type(event).__name__} belongs to no hand in play")  # noqa: TRY004  (a wrong order, not type)
    if isinstance(event, HandEnded):
        return EndedCapsa(state, event)
    return evolve_live(state, event)


def open_hand(started: CapsaStarted) -> LiveCapsa:
    """Return the state of a hand of which only the first event is known."""
    seats = tuple([seat.seat for seat in started.seats])
    left = [place for place, seat in enumerate(seats) if seat > started.button]
    right = [place for place, seat in enumerate(seats) if seat <= started.button]
    stacks = tuple([seat.stack for seat in started.seats])
    places = {seat: place for place, seat in enumerate(seats)}
    return LiveCapsa(
        deal=CapsaDeal(started, seats, places, stacks, (*left, *right)),
        stacks=stacks,
        holdings=(),
        plays=(SeatPlay(),) * len(seats),
        phase="setting",
        asked=NOBODY,
        turn=0,
        deadline_ms=0,
        standings=(),
        shown=(),
        lines=(),
    )


def evolve_live(
    state: LiveCapsa,
    event: DraftSaved
    | SetLocked
    | SetUnlocked
    | AnswerAsked
    | Answered
    | PairSettled
    | ThirteenDealt
    | NaturalShown
    | SettingBegan
    | SettingClosed
    | RoyaltiesDeclared
    | SetsShown
    | DeadlineMoved
    | HandVoided,
) -> LiveCapsa:
    """Return the state of a hand being played after an event that neither begins nor ends it."""
    match event:
        case DraftSaved() | SetLocked() | SetUnlocked() | NaturalShown() | Answered():
            return _played(state, event.seat, event)
        case AnswerAsked():
            asked = state.deal.places[event.seat]
            return replace(state, phase="declaring", asked=asked, turn=event.turn, deadline_ms=event.deadline_ms)
        case PairSettled():
            return _settled(state, event)
        case ThirteenDealt():
            return replace(state, holdings=event.holdings)
        case SettingBegan():
            return replace(state, turn=event.turn, deadline_ms=event.deadline_ms)
        case SettingClosed():
            return state
        case RoyaltiesDeclared():
            return replace(state, standings=event.standings)
        case SetsShown():
            return replace(state, shown=event.sets)
        case DeadlineMoved():
            return replace(state, deadline_ms=event.deadline_ms)
        case HandVoided():
            return replace(state, asked=NOBODY, is_void=True)
        case _:
            assert_never(event)


def _played(
    state: LiveCapsa, seat: Seat, event: DraftSaved | SetLocked | SetUnlocked | NaturalShown | Answered
) -> LiveCapsa:
    place = state.deal.places[seat]
    play = state.plays[place]
    asked = state.asked
    match event:
        case DraftSaved():
            usable = event.arrangement if event.is_usable else play.usable_draft
            play = replace(play, draft=event.arrangement, usable_draft=usable, changes=play.changes + 1)
        case SetLocked():
            play = replace(play, locked=event)
        case SetUnlocked():
            play = replace(play, locked=None, changes=play.changes + 1)
        case NaturalShown():
            play = replace(play, natural=event)
        case Answered():
            play, asked = replace(play, answer=event.answer), NOBODY
        case _:
            assert_never(event)
    return replace(state, plays=(*state.plays[:place], play, *state.plays[place + 1 :]), asked=asked)


def _settled(state: LiveCapsa, line: PairSettled) -> LiveCapsa:
    stacks = list(state.stacks)
    stacks[state.deal.places[line.a]] += line.chips
    stacks[state.deal.places[line.b]] -= line.chips
    return replace(state, stacks=tuple(stacks), lines=(*state.lines, line))
