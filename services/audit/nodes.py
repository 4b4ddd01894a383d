"""Reads hashes over parts of a feed's tree from the nodes that are kept: O(log n) rows a proof."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from diwan.chassis.database import Connection
from diwan.core.transparency.tree import Place, Span, places, span_hashes
from services.audit import register_statements as statements


async def span_hashes_in(connection: Connection, feed_id: int, spans: Sequence[Span]) -> tuple[bytes, ...]:
    """Return the roots over spans of a feed's leaves; raises KeyError where the tree does not reach so far."""
    return span_hashes(spans, await nodes_in(connection, feed_id, places(spans)))


async def nodes_in(connection: Connection, feed_id: int, wanted: Iterable[Place]) -> dict[Place, bytes]:
    """Return kept nodes by their places, leaves included; those that are not kept are left out."""
    leaves = [place + 1 for level, place in wanted if level == 0]
    above = [place for place in wanted if place[0] > 0]
    found: dict[Place, bytes] = {}
    if leaves:
        rows = await connection.fetch(statements.LEAVES_AT, feed_id, leaves)
        found |= {(0, row["place"]): row["hash"] for row in rows}
    if above:
        levels, places_of = zip(*above, strict=True)
        rows = await connection.fetch(statements.NODES, feed_id, list(levels), list(places_of))
        found |= {(row["level"], row["place"]): row["hash"] for row in rows}
    return found


async def keep_nodes(connection: Connection, feed_id: int, nodes: Sequence[tuple[int, int, bytes]]) -> None:
    """Keep nodes that growing has completed."""
    if nodes:
        levels, places_of, hashes = zip(*nodes, strict=True)
        await connection.execute(statements.KEEP_NODES, feed_id, list(levels), list(places_of), list(hashes))
