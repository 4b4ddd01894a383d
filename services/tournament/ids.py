"""Ids of tournaments and of what they ask other services for: asking twice is asking once."""

from uuid import UUID

from diwan.chassis.ids import created_id_of, uuid5


def tournament_id_of(subject: str, request_id: str) -> UUID:
    """Return the id of the tournament that a caller's request creates."""
    return created_id_of(subject, "tournament", request_id)


def order_request_id(tournament_id: UUID, order_id: str) -> str:
    """Return the request id under which an order is sent to another service, however often: a UUID of version 4 by form.

    Requests of callers carry UUIDs of version 4; an order's follows from the tournament's stream instead of chance.
    """
    made = uuid5(tournament_id, f"order/{order_id}")
    return str(UUID(int=made.int & ~(0xF << 76) | 4 << 76))
