"""Tokens of pages: where a page ended, bound to the question that it was a page of (AIP-158)."""

import base64
from hashlib import sha256
from typing import Final
from uuid import UUID

from diwan.core.decider import Rejected

NEWEST: Final = (2**62, UUID(int=2**128 - 1))
"""A place behind every line: where the first page begins."""

NUMBER_MAX: Final = 2**62
_SCOPE_CHARACTERS: Final = 12


def page_token(time_ms: int, last_id: UUID, scope: bytes = b"") -> str:
    """Return a token for where a page ended; ``scope`` is everything else that was asked."""
    return _token(f"{time_ms}/{last_id}", scope)


def after_token(token: str, scope: bytes = b"") -> tuple[int, UUID] | None:
    """Return the (time, id) that a token stands for, None for no token.

    Raises PAGE_TOKEN_INVALID, also for the token of another question: its pages would not follow each other.
    """
    if not token:
        return None
    time_ms, last_id = _parts(token, 2, scope)
    try:
        return _number(time_ms), UUID(last_id)
    except ValueError:
        raise Rejected("PAGE_TOKEN_INVALID") from None


def numbers_token(*numbers: int, scope: bytes) -> str:
    """Return a token for a place that numbers tell, each of 0 to `NUMBER_MAX`."""
    return _token("/".join(map(str, numbers)), scope)


def after_numbers(token: str, count: int, scope: bytes) -> tuple[int, ...]:
    """Return the ``count`` numbers that a token stands for; raises PAGE_TOKEN_INVALID."""
    return tuple(map(_number, _parts(token, count, scope)))


def _token(place: str, scope: bytes) -> str:
    """Return an opaque, URL-safe text."""
    return base64.urlsafe_b64encode(f"{place}/{_digest(scope)}".encode()).decode().rstrip("=")


def _parts(token: str, count: int, scope: bytes) -> list[str]:
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True).decode()
    except ValueError:
        raise Rejected("PAGE_TOKEN_INVALID") from None
    *parts, digest = raw.split("/")
    if len(parts) != count or digest != _digest(scope):
        raise Rejected("PAGE_TOKEN_INVALID")
    return parts


def _number(digits: str) -> int:
    if not digits.isascii() or not digits.isdigit() or len(digits) > len(str(NUMBER_MAX)) or int(digits) > NUMBER_MAX:
        raise Rejected("PAGE_TOKEN_INVALID")
    return int(digits)


def _digest(scope: bytes) -> str:
    return sha256(scope).hexdigest()[:_SCOPE_CHARACTERS]
