"""Join codes of private tables: made by chance, typed by people, kept as a hash."""

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from diwan.core.decider import Rejected
from diwan.core.hashing import hashed

CODE_CHARACTERS: Final = 16
"""80 bits: nobody finds a code by trying, not even against the hash in the log."""

GROUP_CHARACTERS: Final = 4
ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32: no letter is taken for another or for a digit."""

TYPED_CHARACTERS_MAX: Final = 64
_MISREAD: Final = str.maketrans("OIL", "011", "- ")

WRONG_MAX: Final = 10
WINDOW_SECONDS: Final = 600.0
"""After so many wrong codes in so long a player is told to wait, whatever the next code is."""

GUESSERS_KEPT: Final = 10_000


def new_code() -> str:
    """Return a code that nobody can guess, in groups for reading aloud."""
    letters = "".join(secrets.choice(ALPHABET) for _ in range(CODE_CHARACTERS))
    return "-".join(letters[at : at + GROUP_CHARACTERS] for at in range(0, CODE_CHARACTERS, GROUP_CHARACTERS))


def hash_of(code: str) -> bytes | None:
    """Return what the log holds of a code as it was typed, None for what is no code."""
    plain = code[:TYPED_CHARACTERS_MAX].upper().translate(_MISREAD)
    if len(code) > TYPED_CHARACTERS_MAX or len(plain) != CODE_CHARACTERS or not set(plain) <= set(ALPHABET):
        return None
    return hashed("joincode/v1", plain)


class Guesses:
    """Counts wrong codes a player; raises RATE_LIMITED where there were too many."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._wrong: OrderedDict[str, list[float]] = OrderedDict()

    def check(self, player: str) -> None:
        """Let a player try; raises `Rejected` with RATE_LIMITED."""
        oldest = self._monotonic() - WINDOW_SECONDS
        if sum(at > oldest for at in self._wrong.get(player, ())) >= WRONG_MAX:
            raise Rejected("RATE_LIMITED")

    def was_wrong(self, player: str) -> None:
        """Count a wrong code."""
        oldest = self._monotonic() - WINDOW_SECONDS
        recent = [at for at in self._wrong.pop(player, []) if at > oldest]
        self._wrong[player] = [*recent, self._monotonic()]
        if len(self._wrong) > GUESSERS_KEPT:
            self._wrong.popitem(last=False)
