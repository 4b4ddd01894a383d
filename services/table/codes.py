"""Join codes of private tables: made by chance, typed by people, kept as a hash; wrong ones counted."""

import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from diwan.chassis.database import Connection, Database
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
WINDOW_SECONDS: Final = 600
"""After so many wrong codes in so long a player is told to wait, whatever the next code is."""

FORGOTTEN_AT_ONCE: Final = 20
"""Rows of former guessers that go with every new wrong code: more than come, so that they do not pile up."""

_COUNT: Final = """
select count(*) from join_guess, unnest(wrong_at_ms) as at where player = $1 and at > $2
"""
_KEEP: Final = """
insert into join_guess (player, wrong_at_ms, newest_at_ms) values ($1, array[$2::bigint], $2)
on conflict (player) do update set
    wrong_at_ms = array(select at from unnest(join_guess.wrong_at_ms || $2::bigint) as at order by at desc limit $3),
    newest_at_ms = greatest(join_guess.newest_at_ms, $2)
"""
# Rows that somebody else has in hand are left to them: nobody waits for a row here, so nobody for each other.
_FORGET: Final = """
delete from join_guess where player in (
    select player from join_guess where newest_at_ms <= $1 limit $2 for update skip locked
)
"""


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
    """Counts wrong codes a player, in the database: a restart forgets none, and every process counts the same (P12).

    A right code is read for and writes nothing.
    """

    def __init__(self, database: Database, now_ms: Callable[[], int]) -> None:
        self._database = database
        self._now_ms = now_ms
        self._trying: Counter[str] = Counter()

    @asynccontextmanager
    async def trying(self, player: str) -> AsyncIterator[None]:
        """Let a player try one code; raises `Rejected` with RATE_LIMITED after `WRONG_MAX` wrong ones in the window.

        What is being tried meanwhile counts as wrong until it is answered, or any number could be tried at once.
        """
        self._trying[player] += 1
        try:
            if await self._wrong(player) + self._trying[player] > WRONG_MAX:
                raise Rejected("RATE_LIMITED")
            yield
        finally:
            self._trying[player] -= 1
            if not self._trying[player]:
                del self._trying[player]

    async def _wrong(self, player: str) -> int:
        counted: int = await self._database.run(lambda c: c.fetchval(_COUNT, player, self._oldest_ms()))
        return counted

    async def was_wrong(self, player: str) -> None:
        """Count a wrong code."""

        async def keep(connection: Connection) -> None:
            await connection.execute(_KEEP, player, self._now_ms(), WRONG_MAX)
            await connection.execute(_FORGET, self._oldest_ms(), FORGOTTEN_AT_ONCE)

        await self._database.run(keep)

    def _oldest_ms(self) -> int:
        return self._now_ms() - WINDOW_SECONDS * 1000
