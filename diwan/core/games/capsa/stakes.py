"""Stakes that pairs agree upon for themselves (CS-62): proposed by one, accepted by the other, ended when either leaves.

A small aggregate beside the hands of a table. What was agreed when a hand is dealt stands in its settings (CS-61).
"""

from __future__ import annotations

from typing import Literal, assert_never

from msgspec import Struct

from diwan.core.decider import Rejected
from diwan.core.games.capsa.settings import PairUnit
from diwan.core.hand.events import Chips, Seat
from diwan.core.limits import STACK_MAX
from diwan.core.reasons import Reason


class ProposeStake(Struct, frozen=True):
    """A seat offers another a stake of their own; a new offer takes the place of the last one."""

    seat: Seat
    other: Seat
    unit: Chips
    now_ms: int


class AcceptStake(Struct, frozen=True):
    """A seat accepts what another offered; the unit is named again, so that nobody accepts what changed meanwhile."""

    seat: Seat
    other: Seat
    unit: Chips
    now_ms: int


class EndStake(Struct, frozen=True):
    """A seat takes back its offer, refuses the other's, or ends what both had agreed."""

    seat: Seat
    other: Seat
    now_ms: int


class LeaveStakes(Struct, frozen=True):
    """A seat's player leaves: its offers and agreements end."""

    seat: Seat
    now_ms: int


class StakeProposed(Struct, frozen=True, tag=True):
    """An offer from ``seat`` to ``other``; public."""

    seat: Seat
    other: Seat
    unit: Chips
    proposed_at_ms: int


class StakeAgreed(Struct, frozen=True, tag=True):
    """``seat`` accepts what ``other`` offered: their stake from the next deal on."""

    seat: Seat
    other: Seat
    unit: Chips
    agreed_at_ms: int


class StakeEnded(Struct, frozen=True, tag=True):
    """The offer or agreement of a pair is over, from the next deal on, by ``seat``, who ended it or left."""

    seat: Seat
    other: Seat
    reason: Literal["ended", "left"]
    ended_at_ms: int


type StakeCommand = ProposeStake | AcceptStake | EndStake | LeaveStakes
type StakeEvent = StakeProposed | StakeAgreed | StakeEnded
type Pair = tuple[Seat, Seat]


class PairStakes(Struct, frozen=True):
    """Offers by pair (who made it, unit), and agreed units by pair; the lower seat first."""

    offers: dict[Pair, tuple[Seat, Chips]] = {}
    agreed: dict[Pair, Chips] = {}

    @property
    def pair_units(self) -> tuple[PairUnit, ...]:
        """The setting for the next deal."""
        return tuple([PairUnit(a, b, unit) for (a, b), unit in sorted(self.agreed.items())])


def decide(state: PairStakes, command: StakeCommand, seated: frozenset[Seat]) -> tuple[StakeEvent, ...]:
    """Return what a command makes; raises NOT_SEATED, SETTING_INVALID, or NOT_ASKED where nothing was offered."""
    match command:
        case ProposeStake(seat, other, unit, now_ms):
            _require_pair(seat, other, seated)
            if not 1 <= unit <= STACK_MAX:
                raise Rejected(Reason.SETTING_INVALID, setting="pair_units", why=f"1 to {STACK_MAX} chips")
            return (StakeProposed(seat, other, unit, now_ms),)
        case AcceptStake(seat, other, unit, now_ms):
            _require_pair(seat, other, seated)
            if state.offers.get(_pair(seat, other)) != (other, unit):
                raise Rejected(Reason.NOT_ASKED, seat=seat)
            return (StakeAgreed(seat, other, unit, now_ms),)
        case EndStake(seat, other, now_ms):
            pair = _pair(seat, other)
            if pair not in state.offers and pair not in state.agreed:
                raise Rejected(Reason.NOT_ASKED, seat=seat)
            return (StakeEnded(seat, other, "ended", now_ms),)
        case LeaveStakes(seat, now_ms):
            pairs = sorted({pair for pair in (*state.offers, *state.agreed) if seat in pair})
            return tuple([StakeEnded(seat, a + b - seat, "left", now_ms) for a, b in pairs])
        case _:
            assert_never(command)


def evolve(state: PairStakes, event: StakeEvent) -> PairStakes:
    """Return the state after an event."""
    pair = _pair(event.seat, event.other)
    match event:
        case StakeProposed():
            return PairStakes({**state.offers, pair: (event.seat, event.unit)}, state.agreed)
        case StakeAgreed():
            return PairStakes(_without(state.offers, pair), {**state.agreed, pair: event.unit})
        case StakeEnded():
            return PairStakes(_without(state.offers, pair), _without(state.agreed, pair))
        case _:
            assert_never(event)


def command_of(event: StakeEvent) -> StakeCommand | None:
    """Return the command of which an event is the act; None for what ended because its seat was given up."""
    match event:
        case StakeProposed():
            return ProposeStake(event.seat, event.other, event.unit, event.proposed_at_ms)
        case StakeAgreed():
            return AcceptStake(event.seat, event.other, event.unit, event.agreed_at_ms)
        case StakeEnded(reason="ended"):
            return EndStake(event.seat, event.other, event.ended_at_ms)
        case StakeEnded():
            return None
        case _:
            assert_never(event)


def _pair(seat: Seat, other: Seat) -> Pair:
    return min(seat, other), max(seat, other)


def _without[T](pairs: dict[Pair, T], pair: Pair) -> dict[Pair, T]:
    return {each: value for each, value in pairs.items() if each != pair}


def _require_pair(seat: Seat, other: Seat, seated: frozenset[Seat]) -> None:
    for each in (seat, other):
        if each not in seated:
            raise Rejected(Reason.NOT_SEATED, seat=each)
    if seat == other:
        raise Rejected(Reason.SETTING_INVALID, setting="pair_units", why="two different seats of the table")
