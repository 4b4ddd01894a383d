"""Verifies every ended hand from the kept bytes, beside the taking in (P6, P8)."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import asyncpg
import structlog

from diwan.chassis.database import Connection, Database
from diwan.core.log import LoggedEvent
from diwan.verifier import Report, Verdict, verify_hand
from services.audit import statements
from services.audit.findings import Finding, record
from services.audit.money import TABLE_FEED

IDLE_SECONDS: Final = 0.5
RETRY_SECONDS: Final = 1.0

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
        while True:
            try:
                while await self.verify_due():
                    pass
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                # The database is away or slow: the hands stay due, and are taken up when it is back.
                _log.warning("verifying_interrupted", error=repr(error))
                await asyncio.sleep(RETRY_SECONDS)
            # A transaction may end after it has woken us: then the next look finds its hand.
            try:
                await asyncio.wait_for(self._due.wait(), IDLE_SECONDS)
            except TimeoutError:
                continue
            self._due.clear()

    async def verify_due(self) -> int:
        """Verify some of the hands that are due; returns how many."""
        due = await self._database.run(lambda c: c.fetch(statements.HANDS_DUE, self._hands_at_once))
        for hand in due:
            events = await self._database.run(
                lambda c, hand=hand: c.fetch(  # type: ignore[misc]
                    statements.OF_STREAM, hand["stream_id"], hand["needs_version"], hand["last_version"]
                )
            )
            # A millisecond a hand, off the loop: calls are answered meanwhile.
            report = await asyncio.to_thread(_verified, events, hand["hand_id"])
            await self._database.run(lambda c, hand=hand, report=report: _keep(c, hand, report))  # type: ignore[misc]
        return len(due)


def _verified(rows: list[Any], hand_id: str) -> Report:
    events = [
        LoggedEvent(
            stream_id=row["stream_id"].bytes,
            version=row["version"],
            event_id=row["event_id"].bytes,
            command_id=row["command_id"].bytes,
            epoch=row["epoch"],
            type_id=row["type_id"],
            schema_v=row["schema_v"],
            recorded_at_ms=row["recorded_at_ms"],
            body=row["body"],
            prev_hash=row["prev_hash"],
            hash=row["hash"],
        )
        for row in rows
    ]
    try:
        return verify_hand(events, hand_id)
    except ValueError as error:
        return Report(Verdict.NOT_VERIFIED, hand_id, found=str(error))


async def _keep(connection: Connection, hand: Any, report: Report) -> None:
    """Keep a verdict once, and its finding with it."""
    await connection.execute(statements.ONE_AT_A_TIME)
    detail = report.detail or report.found
    is_first = await connection.fetchval(
        statements.HAND_VERDICT,
        hand["stream_id"],
        hand["first_version"],
        VERDICT_NUMBERS[report.verdict],
        report.at_version,
        report.rule,
        detail,
        report.acts,
        report.reveals,
    )
    if not is_first or report.is_verified:
        return
    at_version = report.at_version or hand["first_version"]
    seq = await connection.fetchval(statements.SEQ_OF, TABLE_FEED, hand["stream_id"], at_version)
    kind = str(report.rule) if report.rule is not None else "HAND_ID_INVALID"
    finding = Finding(
        TABLE_FEED, seq or hand["ended_seq"], hand["stream_id"], at_version, kind, detail, hand["hand_id"]
    )
    await record(connection, [finding])
