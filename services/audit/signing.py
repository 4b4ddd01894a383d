"""Signs the heads of the trees, and never one that contradicts an earlier one (P7, P8; c2sp.org/tlog-checkpoint).

What was signed last stands in the database and in a file beside the key, which no restored database takes back. Both
must be the beginning of what is signed next. A tree that does not reach so far is waited for: a copy that was put back
fills up again from the feeds. One that differs is never signed: that log has ended, and a new one begins under another
house name (docs/operating/register.md).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from functools import partial
from typing import Final
from uuid import UUID

import msgspec
import structlog
from prometheus_client import Counter, Gauge

from diwan.chassis.alarms import raise_alarm
from diwan.chassis.database import Connection, Database
from diwan.core.register import Edge
from diwan.core.transparency.checkpoint import Checkpoint, origin_of
from diwan.core.transparency.note import Note, NoteMalformed
from diwan.signing.heads import Head, Heads
from diwan.signing.notekey import LogSecret, signed_checkpoint
from services.audit import register_statements as statements
from services.audit.findings import Finding, record_once
from services.audit.nodes import span_hashes_in
from services.audit.working import work_on

LOOK_SECONDS: Final = 0.1
CHECKPOINT_SECONDS: Final = 1.0
CHECKPOINT_LEAVES: Final = 1_000
"""A checkpoint a second, or as soon as so many leaves have come (RELIABILITY 3.4)."""

RETRY_SECONDS: Final = 1.0
AWAY_SECONDS: Final = 30.0
"""Witnesses may take so long to come up before somebody is told."""

NOWHERE: Final = UUID(int=0)
"""The stream of findings that concern no stream."""

_SIGNED: Final = Counter("diwan_checkpoints", "Checkpoints that were signed.", ["origin"])
_SIZE: Final = Gauge("diwan_checkpoint_size", "The size of the newest checkpoint that was signed.", ["origin"])
_HELD: Final = Gauge("diwan_register_held", "1 while nothing is signed for a log.", ["origin"])
_log = structlog.get_logger(__name__)


class HoldKind(StrEnum):
    """Why nothing is signed for a log."""

    BEHIND = "CHECKPOINT_AHEAD"
    """More was signed than the tree holds: a database was put back, or the file beside the key is another log's."""
    CONTRADICTED = "CHECKPOINT_CONTRADICTED"
    """What was signed is not the beginning of the tree."""
    WITNESSES = "WITNESSES_DISAGREE"
    """So many witnesses signed something else that no quorum can be had."""
    AWAY = "WITNESSES_AWAY"
    """Too few witnesses have said what they signed last: a machine that was put back would not be noticed."""
    UNREADABLE = "HEAD_UNREADABLE"
    """The file beside the key is damaged."""


class Hold(msgspec.Struct, frozen=True):
    """A log that is not signed, and why."""

    kind: HoldKind
    detail: str
    size: int


class Signer:
    """Signs the newest head of every feed's tree. ``secrets``: the key in force first, then one that is in its grace.

    ``ask_witnesses`` gets a feed and the size that was signed last, before the first signature of this process: only the
    witnesses know what a machine signed that was put back as a whole. ``is_proved_alone``: no witness is asked for.
    """

    def __init__(
        self,
        database: Database,
        house: str,
        secrets: Sequence[LogSecret],
        heads: Heads,
        *,
        ask_witnesses: Callable[[int, int], Awaitable[Hold | None]] | None = None,
        is_proved_alone: bool = False,
        alarm: Callable[[str, str], None] = raise_alarm,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.house = house
        self.held: dict[str, Hold] = {}
        self.listeners: list[asyncio.Event] = []
        self._asked: set[int] = set()
        self._ask_witnesses = ask_witnesses
        self._is_proved_alone = is_proved_alone
        self._database = database
        self._secrets = secrets
        self._heads = heads
        self._alarm = alarm
        self._now_ms = now_ms
        self._clock = clock
        self._last: dict[int, tuple[int, float]] = {}
        self._again_at: dict[int, float] = {}
        self._held_since: dict[str, float] = {}
        self._told: dict[str, HoldKind] = {}

    async def run(self) -> None:
        """Sign for as long as the service runs; what fails is tried again."""
        # While the database or the disk is away nothing is signed, and nothing is lost by that.
        await work_on(self.look, "signing", idle_seconds=LOOK_SECONDS)

    async def look(self) -> None:
        """Sign what is due now."""
        for row in await self._database.run(lambda c: c.fetch(statements.SIZES)):
            feed_id, size = row["feed_id"], row["size"]
            if self._clock() < self._again_at.get(feed_id, 0.0):
                continue
            before, at = self._last.get(feed_id, (-1, -CHECKPOINT_SECONDS))
            is_time = self._clock() - at >= CHECKPOINT_SECONDS or size - before >= CHECKPOINT_LEAVES
            if size != before and is_time:
                await self.sign(feed_id)

    async def sign(self, feed_id: int) -> Checkpoint | None:
        """Sign the head of a feed's tree as it is now; None where nothing may be signed."""
        origin = origin_of(self.house, feed_id)
        if self._is_final(origin):
            return None
        hold = await self._asked_witnesses(feed_id, origin)
        if hold is None:
            head, hold = await self._database.run(partial(self._sign_in, feed_id=feed_id, origin=origin))
        if hold is not None:
            await self.hold(feed_id, hold)
            return None
        self.release(origin)
        self._last[feed_id] = (head.size, self._clock())
        _SIZE.labels(origin).set(head.size)
        for listener in self.listeners:
            listener.set()
        return head

    async def hold(self, feed_id: int, hold: Hold) -> None:
        """Sign nothing more for a log; told once, as an alarm and as a finding."""
        origin = origin_of(self.house, feed_id)
        known, now = self.held.get(origin), self._clock()
        self.held[origin] = hold
        self._again_at[feed_id] = now + RETRY_SECONDS
        _HELD.labels(origin).set(1)
        if known is None or known.kind is not hold.kind:
            self._held_since[origin] = now
            _log.warning("register_held", origin=origin, kind=hold.kind, detail=hold.detail)
        if hold.kind is HoldKind.AWAY and now - self._held_since[origin] < AWAY_SECONDS:
            return
        if origin in self._told and self._told[origin] is hold.kind:
            return
        self._told[origin] = hold.kind
        self._alarm("register", f"{origin} is not signed any more: {hold.kind}: {hold.detail}")
        finding = Finding(feed_id, hold.size, NOWHERE, 0, hold.kind, hold.detail)
        await self._database.run(partial(record_once, finding=finding))

    def release(self, origin: str) -> None:
        """Sign again: what was missing is there."""
        self._told.pop(origin, None)
        if self.held.pop(origin, None) is not None:
            _HELD.labels(origin).set(0)
            _log.warning("register_goes_on", origin=origin)

    def _is_final(self, origin: str) -> bool:
        held = self.held.get(origin)
        return held is not None and held.kind not in {HoldKind.BEHIND, HoldKind.AWAY}

    async def _asked_witnesses(self, feed_id: int, origin: str) -> Hold | None:
        if self._ask_witnesses is None or feed_id in self._asked:
            return None
        newest = await self._database.run(lambda c: c.fetchrow(statements.NEWEST, origin))
        try:
            beside = await asyncio.to_thread(self._heads.read, origin)
        except NoteMalformed as error:
            return Hold(HoldKind.UNREADABLE, str(error), 0)
        sizes = [0 if newest is None else newest["size"], 0 if beside is None else beside.size]
        hold = await self._ask_witnesses(feed_id, max(sizes))
        if hold is None:
            self._asked.add(feed_id)
        return hold

    async def _sign_in(self, connection: Connection, feed_id: int, origin: str) -> tuple[Checkpoint, Hold | None]:
        await connection.execute(statements.SIGNING, origin)
        row = await connection.fetchrow(statements.TREE, feed_id)
        edge = Edge() if row is None else Edge(row["size"], tuple(row["peaks"]))
        head = Checkpoint(origin, edge.size, edge.root)
        hold = await self._contradiction(connection, feed_id, head)
        if hold is None:
            await self._keep(connection, feed_id, head)
        return head, hold

    async def _contradiction(self, connection: Connection, feed_id: int, head: Checkpoint) -> Hold | None:
        """Say which earlier signature a head does not continue."""
        try:
            beside = await asyncio.to_thread(self._heads.read, head.origin)
        except NoteMalformed as error:
            return Hold(HoldKind.UNREADABLE, str(error), head.size)
        row = await connection.fetchrow(statements.NEWEST, head.origin)
        earlier = {(row["size"], bytes(row["root"]))} if row is not None else set()
        if beside is not None:
            earlier.add((beside.size, beside.root))
        ahead = max((size for size, _ in earlier), default=0)
        if ahead > head.size:
            return Hold(HoldKind.BEHIND, f"size {ahead} was signed, the tree has {head.size}", head.size)
        # The head itself is checked as well: the edge that grows and the nodes that stay must tell the same.
        wanted = [*sorted(earlier), (head.size, head.root)]
        try:
            found = await span_hashes_in(connection, feed_id, [(0, size) for size, _ in wanted])
        except KeyError as missing:
            return Hold(HoldKind.CONTRADICTED, f"the node {missing} of the tree is not there", head.size)
        for (size, root), now in zip(wanted, found, strict=True):
            if now != root:
                detail = f"of size {size} the root was {root.hex()}, now it is {now.hex()}"
                return Hold(HoldKind.CONTRADICTED, detail, size)
        return None

    async def _keep(self, connection: Connection, feed_id: int, head: Checkpoint) -> None:
        """Sign and keep: beside the key first, then in the database, and only then does anybody get to see it."""
        note = Note(head.text, tuple(signed_checkpoint(secret.key(head.origin), head) for secret in self._secrets))
        await asyncio.to_thread(self._heads.write, Head(head.origin, head.size, head.root))
        row = (head.origin, head.size, feed_id, head.root, note.raw, self._now_ms())
        if await connection.execute(statements.ADD_CHECKPOINT, *row) == "INSERT 0 1":
            _SIGNED.labels(head.origin).inc()
        if self._is_proved_alone:
            await connection.execute(statements.ADD_PROVED, head.origin, head.size)
