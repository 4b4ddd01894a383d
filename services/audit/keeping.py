"""Takes a feed in: keeps every event, grows the Merkle tree, holds each stream to its chain (P8, H1, H2, D1).

Nothing that an event says can stop it: what does not hold becomes a finding, and the event is kept as evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol
from uuid import UUID

import msgspec

from diwan.chassis.database import Connection
from diwan.chassis.feed import FeedEvent
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandEnded, HandStarted
from diwan.core.hashing import ChainHead, chain_start, feed_leaf
from diwan.core.log import LoggedEvent, StreamKind
from diwan.core.merkle import EMPTY_ROOT
from diwan.core.register import Edge
from diwan.core.table.events import HandOpened, RefusalsRecorded
from diwan.core.transparency.tree import grow_with_nodes
from diwan.verifier.chain import LogReader
from diwan.verifier.report import Fault, Rule
from diwan.wire.events import Event
from services.audit import statements
from services.audit.findings import Finding, record
from services.audit.nodes import keep_nodes
from services.audit.search.indexer import note

_NUL: Final = b"\\u0000"


class Read(msgspec.Struct, frozen=True):
    """An event of a feed with what it says; None where it could not be read."""

    kept: FeedEvent
    event: Event | None


class Examiner(Protocol):
    """Looks at what a feed's events say, behind the checks that every event goes through."""

    async def examine(self, connection: Connection, events: Sequence[Read]) -> list[Finding]:
        """Return what does not hold; works in the transaction that moves the feed's cursor."""
        ...


class _Head(msgspec.Struct):
    """How far a stream was taken in."""

    reader: LogReader
    hand_version: int = 1
    running_hand: int | None = None


class Keeper:
    """Takes one feed in. ``apply`` is what its consumer calls, inside the transaction that moves the cursor."""

    def __init__(
        self, feed_id: int, kind: StreamKind, examiner: Examiner, *, on_hand_ended: Callable[[], None] = lambda: None
    ) -> None:
        self._feed_id = feed_id
        self._kind = kind
        self._examiner = examiner
        self._on_hand_ended = on_hand_ended

    async def apply(self, connection: Connection, events: Sequence[FeedEvent]) -> None:
        """Keep and check events, in feed order."""
        await connection.execute(statements.ONE_AT_A_TIME)
        edge = await self._edge(connection)
        findings = await self._gaps(connection, edge, events)
        leaves = [self._leaf(event) for event in events]
        findings += [
            _finding(event, "LEAF_DIFFERS", f"expected {leaf.hex()}, found {event.leaf_hash.hex()}")
            for event, leaf in zip(events, leaves, strict=True)
            if leaf != event.leaf_hash
        ]
        await self._keep(connection, events, leaves)
        await self._grow(connection, edge)
        read, faults = await self._read(connection, events)
        findings += faults
        findings += await self._examiner.examine(connection, read)
        await record(connection, findings)
        if any(isinstance(one.event, HandEnded) for one in read):
            self._on_hand_ended()

    async def _edge(self, connection: Connection) -> Edge:
        row = await connection.fetchrow(statements.TREE, self._feed_id)
        return Edge() if row is None else Edge(row["size"], tuple(row["peaks"]))

    async def _gaps(self, connection: Connection, edge: Edge, events: Sequence[FeedEvent]) -> list[Finding]:
        """Numbers have no gap: the event before each is kept, or comes in this batch."""
        findings = []
        before = edge.size
        for event in events:
            if event.global_seq != before + 1 and not await connection.fetchval(
                statements.IS_KEPT, self._feed_id, event.global_seq - 1
            ):
                findings.append(_finding(event, "FEED_GAP", f"expected number {before + 1}, found {event.global_seq}"))
            before = event.global_seq
        return findings

    def _leaf(self, event: FeedEvent) -> bytes:
        stored = event.event
        try:
            return feed_leaf(self._feed_id, event.global_seq, stored.stream_id.bytes, stored.version, stored.hash)
        except ValueError:
            # A hash or a number of no event: it has no leaf, and its place in the tree says so.
            return EMPTY_ROOT

    async def _keep(self, connection: Connection, events: Sequence[FeedEvent], leaves: Sequence[bytes]) -> None:
        rows = [
            (
                self._feed_id, event.global_seq, s.stream_id, s.version, s.event_id, s.command_id, s.epoch, s.type_id,
                s.schema_v, s.recorded_at_ms, s.body, s.prev_hash, s.hash, leaf,
            )
            for event, leaf in zip(events, leaves, strict=True)
            for s in (event.event,)
        ]  # fmt: skip
        await connection.execute(statements.KEEP, *map(list, zip(*rows, strict=True)))

    async def _grow(self, connection: Connection, edge: Edge) -> None:
        """Grow the tree as far as leaves are there without a gap: what was set aside and comes later closes it."""
        leaves: list[bytes] = []
        for row in await connection.fetch(statements.LEAVES, self._feed_id, edge.size):
            if row["global_seq"] != edge.size + len(leaves) + 1:
                break
            leaves.append(row["leaf_hash"])
        if leaves:
            grown, nodes = grow_with_nodes(edge, leaves)
            await keep_nodes(connection, self._feed_id, nodes)
            await connection.execute(statements.KEEP_TREE, self._feed_id, grown.size, list(grown.peaks))

    async def _read(self, connection: Connection, events: Sequence[FeedEvent]) -> tuple[list[Read], list[Finding]]:
        heads = await self._heads(connection, {event.event.stream_id for event in events})
        read: list[Read] = []
        findings: list[Finding] = []
        for event in events:
            stored = event.event
            head = heads.get(stored.stream_id) or _Head(LogReader(chain_start(stored.stream_id.bytes, self._kind)))
            heads[stored.stream_id] = head
            said, fault = _read_one(head.reader, event.event.logged())
            if fault is not None:
                findings.append(_finding(event, str(fault.rule), f"expected {fault.expected}, found {fault.found}"))
            read.append(Read(event, said))
            await self._hands(connection, head, event, said)
        for stream_id, head in heads.items():
            assert head.reader.head is not None  # noqa: S101  (it was started or resumed)
            await connection.execute(
                statements.KEEP_HEAD,
                stream_id,
                self._feed_id,
                head.reader.head.version,
                head.reader.head.hash,
                head.reader.head.recorded_at_ms,
                head.reader.epoch,
                head.hand_version,
                head.running_hand,
            )
        return read, findings

    async def _heads(self, connection: Connection, stream_ids: set[UUID]) -> dict[UUID, _Head]:
        rows = await connection.fetch(statements.HEADS, list(stream_ids))
        return {
            row["stream_id"]: _Head(
                LogReader(ChainHead(row["version"], row["hash"], row["recorded_at_ms"]), epoch=row["epoch"]),
                row["hand_version"],
                row["running_hand"],
            )
            for row in rows
        }

    async def _hands(self, connection: Connection, head: _Head, event: FeedEvent, said: Event | None) -> None:
        """Note where hands begin and end; an ended one is due to be verified."""
        stored = event.event
        match said:
            case HandStarted() | CapsaStarted():
                await connection.execute(
                    statements.HAND_BEGAN,
                    stored.stream_id,
                    stored.version,
                    said.hand_id,
                    said.hand_no,
                    head.hand_version,
                )
                head.hand_version = head.running_hand = stored.version
            case HandEnded() if head.running_hand is not None:
                await connection.execute(
                    statements.HAND_ENDED, stored.stream_id, head.running_hand, stored.version, event.global_seq
                )
                head.running_hand = None
            case HandOpened() | RefusalsRecorded():
                await note(connection, event.global_seq, stored.stream_id, stored.version, said)
            case _:
                pass


def _read_one(reader: LogReader, event: LoggedEvent) -> tuple[Event | None, Fault | None]:
    try:
        said = reader.read(event).event
    except Fault as fault:
        reader.resume(event)
        return None, fault
    # No honest text holds a NUL, and no text of the database can: it would end the audit of its stream.
    if _NUL in msgspec.json.encode(said):
        return None, Fault(Rule.MALFORMED, event.version, "text that can be kept", "a NUL in it")
    return said, None


def _finding(event: FeedEvent, kind: str, detail: str) -> Finding:
    stored = event.event
    return Finding(event.feed_id, event.global_seq, stored.stream_id, stored.version, kind, detail)
