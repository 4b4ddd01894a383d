"""Names that stand for players, tables and hands: always the same under one key, and nobody's without it."""

from __future__ import annotations

import base64
import hmac
from hashlib import sha256
from typing import Final, Protocol

from diwan.core.hashing import prefixed

KEY_BYTES: Final = 32
_NAME_BYTES: Final = 10
"""80 bits, 16 letters: two of a million players share one with a chance below one in a trillion."""

BOT_PREFIX: Final = "bot:"


class Names(Protocol):
    """What ids and names are written as. Nothing stays nothing."""

    @property
    def is_plain(self) -> bool:
        """Whether everything stays as it is."""
        ...

    def player(self, player: str) -> str:
        """Return what stands for a player."""
        ...

    def table(self, table_id: str) -> str:
        """Return what stands for a table's id."""
        ...

    def table_name(self, name: str) -> str:
        """Return what stands for a table's name."""
        ...

    def hand(self, hand_id: str) -> str:
        """Return what stands for a hand's id."""
        ...

    def tournament(self, tournament_id: str) -> str:
        """Return what stands for a tournament's id."""
        ...


class Plain:
    """Everything under its own name."""

    is_plain = True

    def player(self, player: str) -> str:
        return player

    def table(self, table_id: str) -> str:
        return table_id

    def table_name(self, name: str) -> str:
        return name

    def hand(self, hand_id: str) -> str:
        return hand_id

    def tournament(self, tournament_id: str) -> str:
        return tournament_id


PLAIN: Final = Plain()


class Pseudonyms:
    """HMAC-SHA-256 under a key of 32 bytes: who has no key cannot even try names out.

    What is a player in one export is the same player in another under the same key, and unlinked under another key. A
    bot is still told from a person. Ids keep the form of ids (a UUID of version 8).
    """

    is_plain = False

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"a key is {KEY_BYTES} bytes")
        self._key = key

    def player(self, player: str) -> str:
        prefix = BOT_PREFIX if player.startswith(BOT_PREFIX) else ""
        return prefix + self._name("player", player) if player else ""

    def table(self, table_id: str) -> str:
        return self._id("table", table_id)

    def table_name(self, name: str) -> str:
        return f"table {self._name('table name', name)}" if name else ""

    def hand(self, hand_id: str) -> str:
        return self._id("hand", hand_id)

    def tournament(self, tournament_id: str) -> str:
        return self._id("tournament", tournament_id)

    def _made(self, kind: str, text: str) -> bytes:
        return hmac.digest(self._key, prefixed("pseudonym/v1", kind, text), sha256)

    def _name(self, kind: str, text: str) -> str:
        return base64.b32encode(self._made(kind, text)[:_NAME_BYTES]).decode().lower()

    def _id(self, kind: str, text: str) -> str:
        if not text:
            return ""
        raw = bytearray(self._made(kind, text)[:16])
        raw[6], raw[8] = 0x80 | raw[6] & 0x0F, 0x80 | raw[8] & 0x3F
        digits = raw.hex()
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
