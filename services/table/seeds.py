"""What seats have sent for the next hand's deck: kept in memory until it stands in the log (F2, DESIGN 6)."""

from collections.abc import Iterable
from typing import Final

from diwan.core.decider import Rejected
from diwan.core.fairness import SEED_BYTES, seed_commitment
from diwan.core.hand.events import OpenedSeed, Seat
from diwan.core.hashing import HASH_BYTES
from diwan.core.table.events import SeedCommitment
from diwan.core.table.state import SeatState, TableState

COMMIT_MS: Final = 4_000
"""Commitments are closed after this long, or when the flop comes: then there is time left to open."""

FIRST_HAND_MS: Final = 1_000
"""What a table's first hand waits for seeds in all: half for commitments, half for opening."""


class SeedBook:
    """The exchange of one table. A seat is named with its sitting: who takes a seat anew has sent nothing."""

    def __init__(self) -> None:
        self._hand_no = 0
        self._commitments: dict[Seat, tuple[str, bytes]] = {}
        self._seeds: dict[Seat, tuple[str, bytes]] = {}

    def commit(self, state: TableState, seat: SeatState, hand_no: int, commitment: bytes) -> None:
        """Take a commitment; raises `Rejected` with SEED_NOT_ASKED, SEED_INVALID or SEED_ALREADY_COMMITTED."""
        self._turn_to(state)
        exchange = state.exchange
        if exchange is None or exchange.hand_no != hand_no or exchange.commitments is not None or not seat.is_funded:
            raise Rejected("SEED_NOT_ASKED", hand_no=hand_no)
        if len(commitment) != HASH_BYTES:
            raise Rejected("SEED_INVALID")
        standing = self._commitments.get(seat.seat)
        if standing is not None and standing[0] == seat.sitting and standing[1] != commitment:
            raise Rejected("SEED_ALREADY_COMMITTED", hand_no=hand_no)
        self._commitments[seat.seat] = (seat.sitting, commitment)

    def open(self, state: TableState, seat: SeatState, hand_no: int, seed: bytes, hand_id: str) -> None:
        """Take a seed; raises `Rejected` with SEED_NOT_ASKED, SEED_INVALID or SEED_DOES_NOT_MATCH."""
        self._turn_to(state)
        exchange = state.exchange
        if exchange is None or exchange.hand_no != hand_no or exchange.commitments is None:
            raise Rejected("SEED_NOT_ASKED", hand_no=hand_no)
        if len(seed) != SEED_BYTES:
            raise Rejected("SEED_INVALID")
        committed = {each.seat: each.commitment for each in exchange.commitments}.get(seat.seat)
        if committed is None:
            raise Rejected("SEED_NOT_ASKED", hand_no=hand_no)
        if committed != seed_commitment(hand_id, seat.seat, seed):
            raise Rejected("SEED_DOES_NOT_MATCH", hand_no=hand_no)
        self._seeds[seat.seat] = (seat.sitting, seed)

    def has_commitments(self, state: TableState) -> bool:
        """Say whether anybody has sent one, perhaps somebody who has left since; asked before every step."""
        return bool(self._commitments) and state.exchange is not None and state.exchange.hand_no == self._hand_no

    def commitments(self, state: TableState) -> tuple[SeedCommitment, ...]:
        """Return what is to be logged now, by seat."""
        self._turn_to(state)
        sittings = {seat.seat: seat.sitting for seat in state.seats}
        return tuple(
            SeedCommitment(seat, commitment)
            for seat, (sitting, commitment) in sorted(self._commitments.items())
            if sittings.get(seat) == sitting
        )

    def have_committed(self, state: TableState, seats: Iterable[Seat]) -> bool:
        """Say whether all of some seats have committed, and there is one at least."""
        committed = {each.seat for each in self.commitments(state)}
        asked = set(seats)
        return bool(asked) and asked <= committed

    def opened(self, state: TableState, seats: Iterable[Seat]) -> tuple[OpenedSeed, ...]:
        """Return the seeds opened by these seats, by seat."""
        self._turn_to(state)
        sittings = {seat.seat: seat.sitting for seat in state.seats}
        asked = set(seats)
        return tuple(
            OpenedSeed(seat, seed)
            for seat, (sitting, seed) in sorted(self._seeds.items())
            if seat in asked and sittings.get(seat) == sitting
        )

    def _turn_to(self, state: TableState) -> None:
        hand_no = 0 if state.exchange is None else state.exchange.hand_no
        if hand_no != self._hand_no:
            self._hand_no = hand_no
            self._commitments.clear()
            self._seeds.clear()
