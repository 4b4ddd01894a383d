"""Ids of a table's own things, which follow from the table's id and from what happens at it."""

from functools import lru_cache
from uuid import UUID

from diwan.chassis.ids import created_id_of, uuid5


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


def opening_id_of(table_id: UUID, hand_id: str, player: str) -> UUID:
    """Return the id of a player's opening of own cards: recorded once a hand, however often it is asked for."""
    return uuid5(table_id, f"opening/{hand_id}/{player}")
