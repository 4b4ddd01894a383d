"""What the requests of every service have in common: ids and sizes of pages, looked at before anything is done (L11, A2)."""

from typing import Final
from uuid import UUID

from diwan.core.decider import Rejected

PAGE_SIZE: Final = 50
"""Of whoever asks for no size."""


def uuid_of(text: str) -> UUID | None:
    """Return the id of a canonical text, None for any other."""
    try:
        parsed = UUID(text)
    except ValueError:
        return None
    return parsed if str(parsed) == text else None


def request_id(text: str) -> str:
    """Return a request id; raises FIELD_REQUIRED or REQUEST_ID_INVALID."""
    if not text:
        raise Rejected("FIELD_REQUIRED", field="request_id")
    parsed = uuid_of(text)
    if parsed is None or parsed.version != 4:
        raise Rejected("REQUEST_ID_INVALID")
    return text


def an_id(text: str, field: str) -> UUID:
    """Return an id; raises FIELD_REQUIRED or ID_INVALID."""
    if not text:
        raise Rejected("FIELD_REQUIRED", field=field)
    parsed = uuid_of(text)
    if parsed is None:
        raise Rejected("ID_INVALID", field=field)
    return parsed


def page_size(number: int, most: int) -> int:
    """Return a page size, `PAGE_SIZE` for none; raises PAGE_SIZE_INVALID."""
    if not 0 <= number <= most:
        raise Rejected("PAGE_SIZE_INVALID", max=most)
    return number or PAGE_SIZE


def page_size_up_to(most: int, number: int) -> int:
    """Return a page size, `PAGE_SIZE` for none and ``most`` for more (AIP-158); raises PAGE_SIZE_INVALID."""
    if number < 0:
        raise Rejected("PAGE_SIZE_INVALID", max=most)
    return min(number or PAGE_SIZE, most)
