"""Ids that follow from other ids, so that asking twice is asking once (DESIGN 4)."""

from functools import lru_cache
from hashlib import sha1
from typing import Final
from uuid import NAMESPACE_OID, UUID

# The driver's own kind of UUID: equal to the standard one in every way, and made ten times faster.
from asyncpg.pgproto.pgproto import UUID as QuickUUID  # noqa: N811  (a class, whatever its capitals)

TABLE_KIND: Final = 1
"""The kind of a table's stream in the event store."""

FEED_ID: Final = 1
"""The table service's feed."""

_VERSION_4: Final = tuple(bytes([byte & 0x0F | 0x40]) for byte in range(256))
_VERSION_5: Final = tuple(bytes([byte & 0x0F | 0x50]) for byte in range(256))
_VARIANT: Final = tuple(bytes([byte & 0x3F | 0x80]) for byte in range(256))


def uuid5(namespace: UUID, name: str) -> UUID:
    """Return the name-based UUID (RFC 9562, version 5)."""
    raw = sha1(namespace.bytes + name.encode(), usedforsecurity=False).digest()
    made: UUID = QuickUUID(raw[:6] + _VERSION_5[raw[6]] + raw[7:8] + _VARIANT[raw[8]] + raw[9:16])
    return made


def uuid4_of(chance: bytes) -> UUID:
    """Return the random UUID (version 4) of 16 random bytes."""
    made: UUID = QuickUUID(chance[:6] + _VERSION_4[chance[6]] + chance[7:8] + _VARIANT[chance[8]] + chance[9:])
    return made


_CALLERS: Final = uuid5(NAMESPACE_OID, "diwan/caller")


@lru_cache(maxsize=8192)
def _caller(subject: str) -> UUID:
    return uuid5(_CALLERS, subject)


def command_id_of(subject: str, request_id: str) -> UUID:
    """Return the stored id of a caller's request: two callers' equal request ids are two requests."""
    return uuid5(_caller(subject), request_id)


def table_id_of(subject: str, request_id: str) -> UUID:
    """Return the id of the table that a caller's request creates."""
    return uuid5(_caller(subject), f"table/{request_id}")


@lru_cache(maxsize=4096)
def hand_id_of(table_id: UUID, hand_no: int) -> str:
    """Return a hand's id."""
    return str(uuid5(table_id, f"hand/{hand_no}"))


def transfer_id_of(table_id: UUID, command_id: UUID) -> UUID:
    """Return the id of the wallet transfer that a buy-in or top-up asks for."""
    return uuid5(table_id, f"transfer/{command_id}")


def internal_id_of(table_id: UUID, version: int) -> UUID:
    """Return the id of what the table does by itself at a version: that happens once."""
    return uuid5(table_id, f"version/{version}")


def claim_id_of(table_id: UUID, epoch: int) -> UUID:
    """Return the id of an owner's first command."""
    return uuid5(table_id, f"claim/{epoch}")


def resolution_id_of(table_id: UUID, transfer_id: str) -> UUID:
    """Return the id of the command that records the wallet's answer."""
    return uuid5(table_id, f"resolution/{transfer_id}")


def opening_id_of(table_id: UUID, hand_id: str, player: str) -> UUID:
    """Return the id of a player's opening of own cards: recorded once a hand, however often it is asked for."""
    return uuid5(table_id, f"opening/{hand_id}/{player}")
