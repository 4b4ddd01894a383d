"""A tournament's table as the ledger sees it: nothing of it is ever posted, and its chips add up all the same (L12)."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.hand.events import HandEnded, HandStarted, HandVoided
from diwan.core.ledger.disagreement import Disagreement
from diwan.core.table.events import TableEvent
from diwan.core.table.tournament.events import ChipsAdded, EntrantReleased, EntrantSeated


class Stay(Struct, frozen=True):
    """A player at a seat, by the order that brought it there."""

    move_id: str
    seat: int
    player: str
    stack: int


class TournamentSeats(Struct, frozen=True):
    """Who sits with what; ``dealt`` are the stays of the running hand with the stacks that they brought, None for no hand."""

    stays: tuple[Stay, ...] = ()
    dealt: tuple[tuple[str, int], ...] | None = None


TOURNAMENT_EVENTS = (EntrantSeated, EntrantReleased, ChipsAdded)
"""The events that mean something at a tournament's table and at no other."""


def follow_tournament(seats: TournamentSeats, event: TableEvent) -> TournamentSeats:
    """Return the seats after an event; raises `Disagreement` where chips come from nowhere or get lost."""
    match event:
        case EntrantSeated():
            return _seated(seats, event)
        case ChipsAdded():
            stay = _at(seats, event.seat, event.player)
            if event.amount <= 0:
                raise Disagreement(f"{event.amount} chips are added at seat {event.seat}")
            return _with(seats, replace(stay, stack=stay.stack + event.amount))
        case EntrantReleased():
            return _released(seats, event)
        case HandStarted():
            return _started(seats, event)
        case HandVoided():
            if event.carried:
                raise Disagreement(f"{event.carried} chips are carried over at a tournament's table")
            return seats
        case HandEnded():
            return _ended(seats, event)
        case _:
            raise Disagreement(f"{type(event).__name__} at a tournament's table: no wallet stands behind it")


def _seated(seats: TournamentSeats, event: EntrantSeated) -> TournamentSeats:
    if event.stack <= 0 or any(stay.seat == event.seat or stay.player == event.player for stay in seats.stays):
        raise Disagreement(f"{event.player} takes seat {event.seat} with {event.stack}")
    return replace(seats, stays=(*seats.stays, Stay(event.move_id, event.seat, event.player, event.stack)))


def _released(seats: TournamentSeats, event: EntrantReleased) -> TournamentSeats:
    stay = _at(seats, event.seat, event.player)
    if stay.stack != event.stack:
        raise Disagreement(f"seat {event.seat} is left with {event.stack}, its stack is {stay.stack}")
    if any(move_id == stay.move_id for move_id, _ in seats.dealt or ()):
        raise Disagreement(f"seat {event.seat} is left during its hand")
    return replace(seats, stays=tuple([each for each in seats.stays if each is not stay]))


def _started(seats: TournamentSeats, event: HandStarted) -> TournamentSeats:
    if seats.dealt is not None:
        raise Disagreement(f"hand {event.hand_id} begins in another one")
    for dealt in event.seats:
        stay = _at(seats, dealt.seat, dealt.player)
        if (stay.move_id, stay.stack) != (dealt.sitting, dealt.stack):
            raise Disagreement(f"seat {dealt.seat} of hand {event.hand_id} is not the stay with its stack")
    return replace(seats, dealt=tuple([(seat.sitting, seat.stack) for seat in event.seats]))


def _ended(seats: TournamentSeats, event: HandEnded) -> TournamentSeats:
    dealt = seats.dealt
    if dealt is None or not len(dealt) == len(event.payoffs) == len(event.stacks) or sum(event.payoffs) != 0:
        raise Disagreement("an end without its hand, or whose payoffs do not sum to nothing")
    won: dict[str, int] = {}
    for (move_id, before), payoff, after in zip(dealt, event.payoffs, event.stacks, strict=True):
        if before + payoff != after or after < 0:
            raise Disagreement(f"{before} and {payoff} do not make {after}")
        won[move_id] = payoff
    stays = tuple([replace(stay, stack=stay.stack + won.get(stay.move_id, 0)) for stay in seats.stays])
    return TournamentSeats(stays)


def _at(seats: TournamentSeats, number: int, player: str) -> Stay:
    for stay in seats.stays:
        if stay.seat == number and stay.player == player:
            return stay
    raise Disagreement(f"{player} does not sit at seat {number}")


def _with(seats: TournamentSeats, changed: Stay) -> TournamentSeats:
    return replace(seats, stays=tuple([changed if stay.seat == changed.seat else stay for stay in seats.stays]))
