"""What was committed to before what: the secret before the seeds, the seeds before the hand (F1, F2)."""

from __future__ import annotations

from msgspec import Struct

from diwan.core.fairness import SEED_BYTES, seed_commitment
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandStarted, Seat
from diwan.core.table.events import SecretCommitted, SeedsCommitted
from diwan.history.entries import Entry, Withheld
from diwan.verifier.report import Fault, Rule

COMMITTING = frozenset({"SecretCommitted", "SeedsCommitted", "HandStarted", "CapsaStarted"})
"""Kinds of events without whose bodies nobody can say what was committed to."""


class _Exchange(Struct):
    """The exchange for one hand as far as it was read; a new secret begins it anew."""

    secret: bytes
    secret_version: int
    secrets: int
    seeds: dict[Seat, bytes] | None = None


class Commitments:
    """Follows a table's stream and knows what was committed to for the next hand."""

    def __init__(self) -> None:
        self._open: dict[int, _Exchange] = {}
        self._first_version: int | None = None

    def take(self, entry: Entry) -> None:
        """Take one more event in."""
        if self._first_version is None:
            self._first_version = entry.version
        match entry.event:
            case SecretCommitted(hand_no=hand_no, commitment=commitment):
                self._commit(hand_no, commitment, entry.version)
            case (
                HandStarted(hand_no=hand_no, next_commitment=commitment)
                | CapsaStarted(hand_no=hand_no, next_commitment=commitment)
            ):
                # What was open for this hand is used up; a list of all hands' exchanges would grow for ever.
                self._open = {}
                self._commit(hand_no + 1, commitment, entry.version)
            case SeedsCommitted(hand_no=hand_no):
                self._close(entry, hand_no)
            case Withheld(kind=kind) if kind in COMMITTING:
                raise Fault(Rule.BODY_WITHHELD, entry.version, f"the body of {kind}", "its hash alone")
            case _:
                pass

    def check(self, started: HandStarted | CapsaStarted, version: int) -> int:
        """Hold a hand's beginning against what was committed to; return how many secrets were, for this hand.

        Call it before `take` of the same event. Raises `Fault` at the hand's version.
        """
        exchange = self._open.get(started.hand_no)
        if exchange is None:
            rule = Rule.SECRET_NOT_COMMITTED if self._first_version == 1 else Rule.EARLIER_EVENTS_MISSING
            raise Fault(rule, version, f"a secret committed to for hand {started.hand_no} before", "none")
        if exchange.secret != started.secret_commitment:
            raise Fault(Rule.SECRET_DIFFERS, version, exchange.secret.hex(), started.secret_commitment.hex())
        _check_seeds(started, exchange, version)
        return exchange.secrets

    def _commit(self, hand_no: int, commitment: bytes, version: int) -> None:
        before = self._open.get(hand_no)
        self._open[hand_no] = _Exchange(commitment, version, 1 if before is None else before.secrets + 1)

    def _close(self, entry: Entry, hand_no: int) -> None:
        exchange = self._open.get(hand_no)
        if exchange is None:
            rule = Rule.SECRET_COMMITTED_LATE if self._first_version == 1 else Rule.EARLIER_EVENTS_MISSING
            raise Fault(rule, entry.version, f"a secret committed to for hand {hand_no} before", "none")
        if exchange.seeds is not None:
            raise Fault(Rule.OUT_OF_PLACE, entry.version, "one closing an exchange", "a second")
        assert isinstance(entry.event, SeedsCommitted)  # noqa: S101  (the only caller has matched it)
        exchange.seeds = {one.seat: one.commitment for one in entry.event.commitments}


def _check_seeds(started: HandStarted | CapsaStarted, exchange: _Exchange, version: int) -> None:
    committed = exchange.seeds or {}
    for one in started.seeds:
        if one.seat not in committed:
            raise Fault(Rule.SEEDS_NOT_COMMITTED, version, "seeds of seats that committed", f"one of seat {one.seat}")
        wanted = committed[one.seat].hex()
        found = _commitment(started.hand_id, one.seat, one.seed)
        if found != wanted:
            raise Fault(Rule.SEED_DIFFERS, version, f"a seed of seat {one.seat} behind {wanted}", found)
    present = [one.seat for one in started.seeds]
    dealt = [one.seat for one in started.seats]
    absent = [seat for seat in dealt if seat not in present]
    if list(started.absent) != absent or not set(present) <= set(dealt) or len(set(present)) != len(present):
        raise Fault(Rule.ABSENT_DIFFER, version, f"absent {absent}", f"absent {list(started.absent)}, seeds {present}")


def _commitment(hand_id: str, seat: Seat, seed: bytes) -> str:
    if len(seed) != SEED_BYTES:
        return f"a seed of {len(seed)} bytes"
    return seed_commitment(hand_id, seat, seed).hex()
