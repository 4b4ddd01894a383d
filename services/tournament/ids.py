"""Ids that follow from other ids, so that asking twice is asking once (DESIGN 4)."""

from typing import Final
from uuid import NAMESPACE_OID, UUID, uuid5

_CALLERS: Final = uuid5(NAMESPACE_OID, "diwan/caller")


def command_id_of(subject: str, request_id: str) -> UUID:
    """Return the stored id of a caller's request: two callers' equal request ids are two requests."""
    return uuid5(uuid5(_CALLERS, subject), request_id)


def tournament_id_of(subject: str, request_id: str) -> UUID:
    """Return the id of the tournament that a caller's request creates."""
    return uuid5(uuid5(_CALLERS, subject), f"tournament/{request_id}")


def internal_id_of(tournament_id: UUID, version: int) -> UUID:
    """Return the id of what a tournament does by itself at a version: that happens once."""
    return uuid5(tournament_id, f"version/{version}")


def order_request_id(tournament_id: UUID, order_id: str) -> str:
    """Return the request id under which an order is sent to another service, however often: a UUID of version 4 by form.

    Requests of callers carry UUIDs of version 4; an order's follows from the tournament's stream instead of chance.
    """
    made = uuid5(tournament_id, f"order/{order_id}")
    return str(UUID(int=made.int & ~(0xF << 76) | 4 << 76))
