"""Where the button and the blinds go from hand to hand (B5, RULES.md 'joining').

The big blind moves to the next player and never misses one; the small blind stands where the big blind was, the
button where the small blind was. A seat that was emptied keeps its place in that order: then the small blind is dead,
or the button is (finer point 11). Heads-up the button posts the small blind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.hand.events import Chips, Due, Seat
from diwan.core.limits import PLAYERS_MIN, SEATS_MAX

type Standing = Literal["playing", "newcomer", "returner", "arrival"]


class Contender(Struct, frozen=True):
    """A seat with chips whose player wants the next hand.

    Who is ``playing`` owes nothing beyond the blinds. A newcomer or a returner who does not post waits for the big
    blind; one who posts is dealt in at once, unless the seat lies between the button and the big blind. So is an arrival
    at a tournament's table, who owes nothing and is never dealt in as the small blind (TDA R8, R10).
    """

    seat: Seat
    standing: Standing = "playing"
    posts: bool = False


class Spots(Struct, frozen=True):
    """The three places of a hand. ``small_blind`` is a place: nobody need have posted there."""

    button: Seat
    small_blind: Seat
    big_blind: Seat


class Positions(Struct, frozen=True):
    """A hand's places, who is dealt in (by seat number), and what is owed, in the order of posting; antes apart."""

    spots: Spots
    dealt_in: tuple[Seat, ...]
    dues: tuple[Due, ...]

    @property
    def small_blind_seat(self) -> Seat | None:
        """Who posts the small blind, or None where it is dead."""
        return self.spots.small_blind if self.spots.small_blind in self.dealt_in else None


def first_hand_positions(button: Seat, seats: Iterable[Seat], small: Chips, big: Chips) -> Positions | None:
    """Return the positions of a table's first hand: everybody is dealt in, blinds are posted left of the button.

    None where fewer than two seats are there.
    """
    order = _clockwise(seats, after=button)
    if len(order) < PLAYERS_MIN:
        return None
    spots = Spots(order[1], order[1], order[0]) if len(order) == PLAYERS_MIN else Spots(button, order[0], order[1])
    return Positions(spots, tuple(sorted(order)), _blinds(spots, order, small, big))


def next_hand_positions(previous: Spots, contenders: Sequence[Contender], small: Chips, big: Chips) -> Positions | None:
    """Return the positions of the hand after ``previous``, or None where fewer than two seats contend.

    Where fewer than two of them are ``playing``, nobody waits or posts: the table begins afresh, but nobody has the
    big blind twice running. With one who plays and arrivals that is so only where no two could be dealt in otherwise.
    """
    if len(contenders) < PLAYERS_MIN:
        return None
    standings = [each.standing for each in contenders]
    if standings.count("playing") < PLAYERS_MIN and ("arrival" not in standings or "playing" not in standings):
        contenders = [replace(each, standing="playing", posts=False) for each in contenders]
    by_seat = {each.seat: each for each in contenders}
    big_blind = _clockwise(by_seat, after=previous.big_blind)[0]
    ring = _Ring(previous, big_blind)
    posting = [seat for seat, each in by_seat.items() if _may_post(each, ring)]
    playing = [seat for seat, each in by_seat.items() if each.standing == "playing" or seat == big_blind]
    dealt_in = tuple(sorted({*playing, *posting}))
    if len(dealt_in) < PLAYERS_MIN:
        afresh = [replace(each, standing="playing", posts=False) for each in contenders]
        return next_hand_positions(previous, afresh, small, big)
    spots = _spots(ring, dealt_in)
    dues = _blinds(spots, dealt_in, small, big)
    for seat in _clockwise([each for each in posting if by_seat[each].standing != "arrival"], after=big_blind):
        if by_seat[seat].standing == "returner":
            dues += (Due(seat, "dead_blind", small),)
        dues += (Due(seat, "big_blind", big),)
    return Positions(spots, dealt_in, dues)


class _Ring(Struct, frozen=True):
    """The table as seen from the new big blind: seats by how far left of it they are."""

    previous: Spots
    big_blind: Seat

    def distance(self, seat: Seat) -> int:
        return (seat - self.big_blind) % SEATS_MAX

    @property
    def small_blind(self) -> int:
        return self.distance(self.previous.big_blind)

    @property
    def button(self) -> int | None:
        """How far left the button is, or None where the old small blind lies no longer before the new one.

        That is so after a heads-up hand whose small blind has the big blind now.
        """
        distance = self.distance(self.previous.small_blind)
        return distance if 0 < distance < self.small_blind else None


def _spots(ring: _Ring, dealt_in: Sequence[Seat]) -> Spots:
    if len(dealt_in) == PLAYERS_MIN:
        other = dealt_in[0] if dealt_in[1] == ring.big_blind else dealt_in[1]
        return Spots(other, other, ring.big_blind)
    button = ring.previous.small_blind
    if ring.button is None:
        button = max((seat for seat in dealt_in if ring.distance(seat) < ring.small_blind), key=ring.distance)
    return Spots(button, ring.previous.big_blind, ring.big_blind)


def _may_post(contender: Contender, ring: _Ring) -> bool:
    """Say whether somebody who comes in by posting is dealt in now: not between the button and the big blind."""
    if contender.standing == "playing" or not (contender.posts or contender.standing == "arrival"):
        return False
    distance = ring.distance(contender.seat)
    last = ring.small_blind - 1 if ring.button is None else ring.button
    return 0 < distance <= last


def _blinds(spots: Spots, dealt_in: Iterable[Seat], small: Chips, big: Chips) -> tuple[Due, ...]:
    blinds = (Due(spots.big_blind, "big_blind", big),)
    if small and spots.small_blind in dealt_in:
        return (Due(spots.small_blind, "small_blind", small), *blinds)
    return blinds


def _clockwise(seats: Iterable[Seat], after: Seat) -> list[Seat]:
    """Return the seats from the first one left of ``after`` on; ``after`` itself comes last."""
    return sorted(seats, key=lambda seat: (seat - after - 1) % SEATS_MAX)
