"""What chance is made of: the house's secret, the seats' seeds, and what commits to them."""

from collections.abc import Mapping
from struct import Struct
from types import MappingProxyType
from typing import Final, Self

from diwan.core.hashing import hashed, uuid_bytes

SECRET_BYTES: Final = 32
SEED_BYTES: Final = 32

type Seeds = Mapping[int, bytes]
"""The opened seeds by seat; a seat that opened none is not in it."""

NO_SEEDS: Final[Seeds] = MappingProxyType({})

_SEAT_AND_SEED: Final = Struct(">IQI32s")


class Secret(bytes):
    """The 32 secret bytes of a hand or a draw. They print as nothing: logs and tracebacks must not carry them (S6)."""

    def __new__(cls, raw: bytes) -> Self:
        if len(raw) != SECRET_BYTES:
            raise ValueError("a secret is 32 bytes")
        return super().__new__(cls, raw)

    def __repr__(self) -> str:
        return "Secret(withheld)"

    __str__ = __repr__


def secret_commitment(hand_id: str, secret: bytes) -> bytes:
    """Return what is logged for the house's secret before any seed is opened (F1)."""
    check_secret(secret)
    return hashed("secret/v1", uuid_bytes(hand_id), secret)


def seed_commitment(hand_id: str, seat: int, seed: bytes) -> bytes:
    """Return what a seat sends for its seed before any seed is opened (F2).

    Hand and seat are in it, so that a seat can neither replay a commitment nor copy its neighbour's.
    """
    check_seed(seed)
    return hashed("seed/v1", uuid_bytes(hand_id), seat, seed)


def mix(seeds: Seeds) -> bytes:
    """Return the opened seeds as fields, seat by seat in rising order; no seeds are no bytes."""
    parts: list[bytes] = []
    for seat in sorted(seeds):
        seed = seeds[seat]
        check_seed(seed)
        parts.append(_SEAT_AND_SEED.pack(8, seat, SEED_BYTES, seed))
    return b"".join(parts)


def check_secret(secret: bytes) -> None:
    """Raise ValueError unless these are 32 bytes; the message never holds them."""
    if len(secret) != SECRET_BYTES:
        raise ValueError("a secret is 32 bytes")


def check_seed(seed: bytes) -> None:
    """Raise ValueError unless these are 32 bytes."""
    if len(seed) != SEED_BYTES:
        raise ValueError("a seed is 32 bytes")
