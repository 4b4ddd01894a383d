"""Tokens of pages: where a page ended, bound to the question that it was a page of (AIP-158)."""

import base64
from hashlib import sha256
from typing import Final
from uuid import UUID

from diwan.core.decider import Rejected

NEWEST: Final = (2**62, UUID(int=2**128 - 1))
"""A place behind every line: where the first page begins."""

_SCOPE_CHARACTERS: Final = 12


def page_token(time_ms: int, last_id: UUID, scope: bytes = b"") -> str:
    """Return an opaque, URL-safe token for where a page ended; ``scope`` is everything else that was asked."""
    return base64.urlsafe_b64encode(f"{time_ms}/{last_id}/{_digest(scope)}".encode()).decode().rstrip("=")


def after_token(token: str, scope: bytes = b"") -> tuple[int, UUID] | None:
    """Return the (time, id) that a token stands for, None for no token.

    Raises PAGE_TOKEN_INVALID, also for the token of another question: its pages would not follow each other.
    """
    if not token:
        return None
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
        time_ms, last_id, digest = raw.split("/")
        parsed = int(time_ms), UUID(last_id)
    except (ValueError, UnicodeDecodeError):
        raise Rejected("PAGE_TOKEN_INVALID") from None
    if not 0 <= parsed[0] < 2**62 or digest != _digest(scope):
        raise Rejected("PAGE_TOKEN_INVALID")
    return parsed


def moment_token(after_version: int, opened_version: int, scope: bytes) -> str:
    """Return an opaque, URL-safe token for where a page of a replay ended, and for the look that it is part of."""
    return base64.urlsafe_b64encode(f"{after_version}/{opened_version}/{_digest(scope)}".encode()).decode().rstrip("=")


def after_moment(token: str, scope: bytes) -> tuple[int, int]:
    """Return the (version, version of the look) that a token stands for; raises PAGE_TOKEN_INVALID."""
    try:
        after, opened, digest = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode().split("/")
        parsed = int(after), int(opened)
    except (ValueError, UnicodeDecodeError):
        raise Rejected("PAGE_TOKEN_INVALID") from None
    if not all(0 <= number < 2**62 for number in parsed) or digest != _digest(scope):
        raise Rejected("PAGE_TOKEN_INVALID")
    return parsed


def _digest(scope: bytes) -> str:
    return sha256(scope).hexdigest()[:_SCOPE_CHARACTERS]
