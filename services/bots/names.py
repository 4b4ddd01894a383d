"""The bots' names. A name is also the player id, and carries the label that no person's id may have."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from diwan.chassis.access import BOT_PREFIX

NUMBERS: Final = 20
"""Bots of one first name."""

FIRST_NAMES: Final = (
    *("adam", "adel", "ahmad", "alia", "amal", "amin", "anwar", "aya", "bashir", "bilal", "dalia", "dana", "elias"),
    *("fadi", "farah", "farid", "fatima", "ghada", "habib", "hadi", "hala", "hana", "hasan", "huda", "idris", "iman"),
    *("jamal", "jana", "karim", "khalil", "lamia", "layla", "lina", "maha", "majid", "malik", "mariam", "maya"),
    *("nabil", "nada", "nadia", "najwa", "nasir", "nour", "omar", "qasim", "rami", "rana", "rashid", "rima", "sahar"),
    *("said", "salma", "samir", "sana", "tariq", "wael", "walid", "yara", "yasin", "yusuf", "zahra", "zaid", "zayn"),
)


def all_names() -> list[str]:
    """Return every name there is, in order."""
    return [f"{BOT_PREFIX}{name}-{number:02}" for name in FIRST_NAMES for number in range(1, NUMBERS + 1)]


def free_names(count: int, taken: Collection[str], chance: Callable[[int], int]) -> list[str]:
    """Return up to so many different names that are not taken, drawn by ``chance``."""
    free = [name for name in all_names() if name not in taken]
    return [free.pop(chance(len(free))) for _ in range(min(count, len(free)))]
