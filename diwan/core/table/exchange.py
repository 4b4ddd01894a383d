"""The seed exchange for the next hand: committed first, opened later, whoever is late is absent (F1, F2, DESIGN 6)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from diwan.core.decider import Rejected
from diwan.core.fairness import seed_commitment
from diwan.core.hand.events import HandSeat, Seat
from diwan.core.hashing import HASH_BYTES
from diwan.core.table.commands import CommitSecret, CommitSeeds, StartNextHand
from diwan.core.table.state import SeedExchange, TableState


def open_exchange(state: TableState) -> SeedExchange:
    """Return the exchange for the next hand; without one nothing was committed to."""
    exchange = state.exchange
    if exchange is None or exchange.hand_no != state.hand_no + 1:
        raise Rejected("UNEXPECTED", why="no secret was committed to")
    return exchange


def check_secret(state: TableState, command: CommitSecret) -> None:
    """A commitment may open an exchange, or take the place of one whose secret is lost: the log shows both."""
    if state.is_running:
        raise Rejected("UNEXPECTED", why="a hand is running")
    if state.is_closing:
        raise Rejected("TABLE_CLOSED", table_id=state.table_id)
    _check_size(command.commitment)


def check_seeds(state: TableState, command: CommitSeeds) -> None:
    """Commitments are closed once, by seats that are taken, each with one commitment."""
    exchange = open_exchange(state)
    if command.hand_no != exchange.hand_no or exchange.commitments is not None:
        raise Rejected("SEED_NOT_ASKED", hand_no=command.hand_no)
    seats = [each.seat for each in command.commitments]
    if not seats or not _rises(seats) or any(state.seat(seat) is None for seat in seats):
        raise Rejected("FIELD_INVALID", field="commitments", why="taken seats, each once, in rising order")
    for each in command.commitments:
        _check_size(each.commitment)


def checked_seeds(state: TableState, command: StartNextHand, dealt: Sequence[HandSeat]) -> frozenset[Seat]:
    """Return the seats whose seeds go into the deck; every seed must be the one that its seat committed to."""
    commitments = {each.seat: each.commitment for each in open_exchange(state).commitments or ()}
    seats = [each.seat for each in command.seeds]
    if not _rises(seats) or not {each.seat for each in dealt}.issuperset(seats):
        raise Rejected("FIELD_INVALID", field="seeds", why="seats that are dealt in, each once, rising")
    for each in command.seeds:
        if commitments.get(each.seat) != seed_commitment(command.hand_id, each.seat, each.seed):
            raise Rejected("SEED_DOES_NOT_MATCH", seat=each.seat)
    return frozenset(seats)


def _rises(seats: Sequence[Seat]) -> bool:
    return all(before < after for before, after in pairwise(seats))


def _check_size(commitment: bytes) -> None:
    if len(commitment) != HASH_BYTES:
        raise Rejected("FIELD_INVALID", field="commitment", why="a commitment is 32 bytes")
