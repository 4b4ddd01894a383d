"""What does not add up, and the first event that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

FAULTS_MAX: Final = 50
"""So many are kept of one reading: one fault can make many, and the first is the one to look at."""


class Fault(Struct, frozen=True):
    """Something that does not hold. ``where`` names the event: ledger version, feed number, table, hand, seat."""

    where: str
    what: str


class Faults:
    """Collects the faults of one reading, in the order of its events."""

    def __init__(self) -> None:
        self._found: list[Fault] = []

    def add(self, where: str, what: str) -> None:
        """Add what does not hold."""
        if len(self._found) < FAULTS_MAX:
            self._found.append(Fault(where, what))

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)
