"""What does not hold, on its way into the register of findings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from uuid import UUID

import msgspec
import structlog

from diwan.chassis.database import Connection
from services.audit import statements

DETAIL_CHARACTERS_MAX: Final = 2_000

_log = structlog.get_logger(__name__)


class Finding(msgspec.Struct, frozen=True):
    """Something that does not hold, and where: the event's place in its feed and in its stream."""

    feed_id: int
    global_seq: int
    stream_id: UUID
    version: int
    kind: str
    detail: str
    hand_id: str = ""


async def record(connection: Connection, findings: Iterable[Finding]) -> None:
    """Add findings, numbered without a gap; the caller holds the audit's lock."""
    for one in findings:
        _log.error("finding", **msgspec.structs.asdict(one))
        await connection.execute(
            statements.ADD_FINDING,
            one.feed_id,
            one.global_seq,
            one.stream_id,
            one.version,
            one.kind,
            one.detail[:DETAIL_CHARACTERS_MAX],
            one.hand_id,
        )


async def record_once(connection: Connection, finding: Finding) -> bool:
    """Add a finding unless it is there, and say whether it was new; takes the audit's lock."""
    await connection.execute(statements.ONE_AT_A_TIME)
    place: tuple[int, int, UUID, str] = (finding.feed_id, finding.global_seq, finding.stream_id, finding.kind)
    if await connection.fetchval(statements.IS_FOUND, *place):
        return False
    await record(connection, [finding])
    return True
