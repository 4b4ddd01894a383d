"""Unbiased numbers from a key: HMAC-SHA256 of a counter, and rejection of what would favour somebody."""

import hmac
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Final

_BLOCK: Final = 64
_INNER: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER: Final = bytes(byte ^ 0x5C for byte in range(256))
_WORDS: Final = 2**64


def derive_key(secret: bytes, message: bytes) -> bytes:
    """Return HMAC-SHA256 of a message under a secret."""
    return hmac.digest(secret, message, "sha256")


def keyed(key: bytes) -> Callable[[int], bytes]:
    """Return n -> HMAC-SHA256(key, n in 8 bytes) for a key of 32 bytes.

    This is RFC 2104 with both pads hashed once: a hand asks for 52 salts, and ``hmac.digest`` costs four times as much.
    """
    padded = key.ljust(_BLOCK, b"\x00")
    inner, outer = sha256(padded.translate(_INNER)), sha256(padded.translate(_OUTER))

    def number(n: int) -> bytes:
        inside, outside = inner.copy(), outer.copy()
        inside.update(n.to_bytes(8))
        outside.update(inside.digest())
        return outside.digest()

    return number


def blocks(key: bytes) -> Iterator[bytes]:
    """Yield the key's stream in blocks of 32 bytes, without end."""
    block, n = keyed(key), 0
    while True:
        yield block(n)
        n += 1


def shuffle_bytes(key: bytes, items: list[int]) -> None:
    """Shuffle up to 256 items in place by Fisher-Yates from the top, one byte a draw.

    A byte is taken modulo the number of choices only below the largest multiple of it that fits: without that, low
    choices would come more often (for 52 choices, 256 = 4 * 52 + 48, one in 4 against one in 5).
    """
    if len(items) > 256:
        raise ValueError("a byte draws among 256 at most")
    stream = (byte for block in blocks(key) for byte in block)
    for top in range(len(items) - 1, 0, -1):
        choices = top + 1
        limit = 256 - 256 % choices
        byte = next(stream)
        while byte >= limit:
            byte = next(stream)
        chosen = byte % choices
        items[top], items[chosen] = items[chosen], items[top]


def words_below(key: bytes) -> Callable[[int], int]:
    """Return a function that draws below a number of 1..2^64, 8 bytes a draw, with the same rejection."""
    words = (int.from_bytes(block[at : at + 8]) for block in blocks(key) for at in range(0, 32, 8))

    def below(choices: int) -> int:
        if not 0 < choices <= _WORDS:
            raise ValueError("a draw is among 1..2^64 choices")
        limit = _WORDS - _WORDS % choices
        word = next(words)
        while word >= limit:
            word = next(words)
        return word % choices

    return below
