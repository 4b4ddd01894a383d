"""Ids of a table's own things, which follow from the table's id and from what happens at it."""

import hmac
from functools import lru_cache
from uuid import UUID

from diwan.chassis.ids import created_id_of, uuid4_of, uuid5
from diwan.core.fairness import Secret
from diwan.core.hashing import prefixed, uuid_bytes


def table_id_of(subject: str, request_id: str) -> UUID:
    """Return the id of the table that a caller's request creates."""
    return created_id_of(subject, "table", request_id)


@lru_cache(maxsize=4096)
def hand_id_of(table_id: UUID, hand_no: int) -> str:
    """Return a hand's id."""
    return str(uuid5(table_id, f"hand/{hand_no}"))


def transfer_id_of(table_id: UUID, command_id: UUID) -> UUID:
    """Return the id of the wallet transfer that a buy-in or top-up asks for."""
    return uuid5(table_id, f"transfer/{command_id}")


def claim_id_of(table_id: UUID, epoch: int) -> UUID:
    """Return the id of an owner's first command."""
    return uuid5(table_id, f"claim/{epoch}")


def resolution_id_of(table_id: UUID, transfer_id: str) -> UUID:
    """Return the id of the command that records the wallet's answer."""
    return uuid5(table_id, f"resolution/{transfer_id}")


def opening_id_of(secret: Secret, hand_id: str, player: str) -> UUID:
    """Return the id of a player's opening of own cards: recorded once a hand, however often it is asked for.

    Ids of commands stand in what everybody is told, and this one must not tell who looked at which hand: it is keyed by the
    hand's secret, and looks as the random id of any other look does.
    """
    return uuid4_of(hmac.digest(bytes(secret), prefixed("look/v1", uuid_bytes(hand_id), player), "sha256")[:16])
