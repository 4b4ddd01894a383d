"""Verifies every ended hand from the kept bytes, beside the taking in (P6, P8)."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import structlog

from diwan.chassis.database import Connection, Database
from diwan.core.log import TABLE_FEED
from diwan.verifier import Report, Verdict, verify_hand
from services.audit import statements
from services.audit.findings import Finding, record
from services.audit.rows import logged_of
from services.audit.working import work_on

IDLE_SECONDS: Final = 0.5

VERDICT_NUMBERS: Final = {Verdict.VERIFIED: 1, Verdict.NOT_VERIFIED: 2, Verdict.CANNOT_SAY: 3}
"""As in audit/v1."""

_log = structlog.get_logger(__name__)


class HandVerifier:
    """Works off the hands that are due. What is due stands in the database, so nothing is forgotten by a crash."""

    def __init__(self, database: Database, *, hands_at_once: int = 16) -> None:
        self._database = database
        self._hands_at_once = hands_at_once
        self._due = asyncio.Event()

    def wake(self) -> None:
        """Look again: a hand has ended."""
        self._due.set()

    async def run(self) -> None:
        """Verify hands as they become due, for ever."""
        await work_on(self._verify_all, "verifying", idle_seconds=IDLE_SECONDS, woken=self._due)

    async def _verify_all(self) -> None:
        while await self.verify_due():
            pass

    async def verify_due(self) -> int:
        """Verify some of the hands that are due; returns how many."""
        due = await self._database.run(self._due_in)
        if due:
            # A millisecond a hand, off the loop: calls are answered meanwhile.
            reports = await asyncio.to_thread(lambda: [_verified(events, hand["hand_id"]) for hand, events in due])
            judged = [(hand, report) for (hand, _), report in zip(due, reports, strict=True)]
            await self._database.run(lambda c: _keep(c, judged))
        return len(due)

    async def _due_in(self, connection: Connection) -> list[tuple[Any, list[Any]]]:
        """Return hands that are due, each with the events from its secret's commitment to its end."""
        hands = await connection.fetch(statements.HANDS_DUE, self._hands_at_once)
        return [
            (
                hand,
                await connection.fetch(
                    statements.OF_STREAM, hand["stream_id"], hand["needs_version"], hand["last_version"]
                ),
            )
            for hand in hands
        ]


def _verified(rows: list[Any], hand_id: str) -> Report:
    try:
        return verify_hand([logged_of(row) for row in rows], hand_id)
    except ValueError as error:
        return Report(Verdict.NOT_VERIFIED, hand_id, found=str(error))


async def _keep(connection: Connection, judged: list[tuple[Any, Report]]) -> None:
    """Keep each verdict once, and its finding with it."""
    await connection.execute(statements.ONE_AT_A_TIME)
    findings = [
        await _finding(connection, hand, report)
        for hand, report in judged
        if await _is_first_verdict(connection, hand, report) and not report.is_verified
    ]
    await record(connection, findings)


async def _is_first_verdict(connection: Connection, hand: Any, report: Report) -> bool:
    return bool(
        await connection.fetchval(
            statements.HAND_VERDICT,
            hand["stream_id"],
            hand["first_version"],
            VERDICT_NUMBERS[report.verdict],
            report.at_version,
            report.rule,
            report.detail or report.found or _unseen(report),
            report.acts,
            report.reveals,
        )
    )


def _unseen(report: Report) -> str:
    """Say for which seats of a verified hand the log was taken at its word (docs/auditing/verdicts.md)."""
    if not report.unseen:
        return ""
    seats = ", ".join(map(str, report.unseen))
    return f"nothing has turned up the cards of seats {seats}: what hangs on these alone is the log's word"


async def _finding(connection: Connection, hand: Any, report: Report) -> Finding:
    at_version = report.at_version or hand["first_version"]
    seq = await connection.fetchval(statements.SEQ_OF, TABLE_FEED, hand["stream_id"], at_version)
    kind = str(report.rule) if report.rule is not None else "HAND_ID_INVALID"
    return Finding(
        TABLE_FEED,
        seq or hand["ended_seq"],
        hand["stream_id"],
        at_version,
        kind,
        report.detail or report.found,
        hand["hand_id"],
    )
