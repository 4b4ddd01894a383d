"""What is read of the audit: how far it is, what it found, what it thinks of a hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from diwan.chassis.database import Connection
from diwan.chassis.fields import page_size_up_to
from diwan.chassis.paging import after_numbers, numbers_token
from diwan.core.register import Edge
from services.audit import statements
from services.audit.findings import Finding

PAGE_FINDINGS_MAX: Final = 500
_SCOPE: Final = b"findings"


class FeedStatus(msgspec.Struct, frozen=True):
    """How far a feed was taken in, and the root over all its leaves."""

    feed_id: int
    cursor: int
    root: bytes


class Status(msgspec.Struct, frozen=True):
    """How far the audit is."""

    feeds: Sequence[FeedStatus]
    hands_verified: int
    hands_not_verified: int
    hands_cannot_say: int
    tournaments_verified: int
    tournaments_not_verified: int
    findings: int


class NumberedFinding(msgspec.Struct, frozen=True):
    """A finding with its number and the time when it was found."""

    number: int
    finding: Finding
    found_at_ms: int


class FindingPage(msgspec.Struct, frozen=True):
    """Findings, oldest first; ``next_token`` is empty at the end."""

    findings: Sequence[NumberedFinding]
    next_token: str


class HandVerdict(msgspec.Struct, frozen=True):
    """What was found about a hand; ``verdict`` as in audit/v1, 0 while nobody has looked."""

    verdict: int
    detail: str
    acts: int
    reveals: int


async def status_in(connection: Connection) -> Status:
    """Return how far the audit is, all of one moment."""
    await connection.execute("set transaction isolation level repeatable read, read only")
    trees = await connection.fetch(statements.TREES)
    row = await connection.fetchrow(statements.STATUS)
    assert row is not None  # noqa: S101  (counts are always one row)
    feeds = [FeedStatus(t["feed_id"], t["size"], Edge(t["size"], tuple(t["peaks"])).root) for t in trees]
    return Status(
        feeds,
        row["verified"],
        row["not_verified"],
        row["cannot_say"],
        row["tournaments_verified"],
        row["tournaments_not_verified"],
        row["findings"],
    )


async def findings_in(connection: Connection, size: int, token: str) -> FindingPage:
    """Return a page of findings; raises `Rejected` for a size or a token that is none."""
    count = page_size_up_to(PAGE_FINDINGS_MAX, size)
    (after,) = after_numbers(token, 1, _SCOPE) if token else (0,)
    rows = await connection.fetch(statements.FINDINGS, after, count + 1)
    found = [NumberedFinding(row[0], Finding(*row[1:8]), row[8]) for row in rows[:count]]
    return FindingPage(found, numbers_token(found[-1].number, scope=_SCOPE) if len(rows) > count else "")


async def verdict_in(connection: Connection, hand_id: str) -> HandVerdict | None:
    """Return what was found about a hand, None where no such hand was seen; of two of one id, the worse."""
    row = await connection.fetchrow(statements.VERDICT_OF, hand_id)
    return None if row is None else HandVerdict(row["verdict"] or 0, row["detail"], row["acts"], row["reveals"])
