"""What is read of the register: checkpoints with their cosignatures, and proofs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from diwan.chassis.database import Connection
from diwan.chassis.fields import page_size_up_to
from diwan.chassis.paging import after_numbers, numbers_token
from diwan.core.decider import Rejected
from diwan.core.transparency.checkpoint import origin_of
from diwan.core.transparency.tree import consistency_spans, inclusion_spans, places, span_hash
from services.audit import register_statements as statements
from services.audit.nodes import nodes_in, span_hashes_in

PAGE_CHECKPOINTS_MAX: Final = 500
PROOFS_MAX: Final = 500
_SCOPE: Final = b"checkpoints"
_BEYOND_ALL: Final = 2**63 - 1


class Signed(msgspec.Struct, frozen=True):
    """A checkpoint as it is shown: ``note`` holds every cosignature so far."""

    origin: str
    size: int
    root: bytes
    note: bytes
    is_proved: bool
    signed_at_ms: int


class Inclusion(msgspec.Struct, frozen=True):
    """That one event is in a tree."""

    global_seq: int
    leaf: bytes
    path: tuple[bytes, ...]


async def checkpoint_in(connection: Connection, house: str, feed_id: int, size: int, *, proved: bool) -> Signed:
    """Return the checkpoint of a size, or the newest (proved) one for size 0; raises `Rejected`."""
    origin = origin_of(house, feed_id)
    if size < 0:
        raise Rejected("FIELD_INVALID", field="size", why="a size of the log, or 0")
    if size or proved:
        of_size = size or await connection.fetchval(statements.NEWEST_PROVED_SIZE, origin)
        row = await connection.fetchrow(statements.CHECKPOINT_OF, origin, of_size)
    else:
        row = await connection.fetchrow(statements.NEWEST, origin)
    if row is None:
        raise Rejected("CHECKPOINT_NOT_FOUND", origin=origin)
    return _signed(row)


async def checkpoints_in(
    connection: Connection, house: str, feed_id: int, page_size: int, token: str
) -> tuple[list[Signed], str]:
    """Return a page of checkpoints, newest first, and the token of the next one; raises `Rejected`."""
    count = page_size_up_to(PAGE_CHECKPOINTS_MAX, page_size)
    origin = origin_of(house, feed_id)
    (before,) = after_numbers(token, 1, _SCOPE) if token else (_BEYOND_ALL,)
    rows = await connection.fetch(statements.CHECKPOINTS, origin, before, count + 1)
    found = [_signed(row) for row in rows[:count]]
    return found, numbers_token(found[-1].size, scope=_SCOPE) if len(rows) > count else ""


async def inclusions_in(
    connection: Connection, house: str, feed_id: int, global_seqs: Sequence[int], size: int
) -> tuple[Signed, list[Inclusion]]:
    """Return the proofs of events in the tree of a checkpoint; raises `Rejected`."""
    if not 1 <= len(global_seqs) <= PROOFS_MAX:
        raise Rejected("FIELD_INVALID", field="global_seqs", why=f"1 to {PROOFS_MAX} of them")
    head = await checkpoint_in(connection, house, feed_id, size, proved=True)
    for number in global_seqs:
        if number < 1:
            raise Rejected("FIELD_INVALID", field="global_seqs", why="numbers of the feed count from 1")
        if number > head.size:
            raise Rejected("NOT_IN_CHECKPOINT", global_seq=number, size=head.size)
    spans = [inclusion_spans(number - 1, head.size) for number in global_seqs]
    # The paths of neighbours meet soon: what they share is read and hashed once.
    distinct = {span for of_one in spans for span in of_one}
    nodes = await nodes_in(connection, feed_id, places(distinct) | {(0, number - 1) for number in global_seqs})
    hashes = {span: span_hash(span, nodes) for span in distinct}
    return head, [
        Inclusion(number, nodes[0, number - 1], tuple(hashes[span] for span in of_one))
        for number, of_one in zip(global_seqs, spans, strict=True)
    ]


async def consistency_in(
    connection: Connection, house: str, feed_id: int, old_size: int, size: int
) -> tuple[Signed, tuple[bytes, ...]]:
    """Return the proof that the tree of a checkpoint begins with that of an earlier size; raises `Rejected`."""
    head = await checkpoint_in(connection, house, feed_id, size, proved=False)
    if not 0 <= old_size <= head.size:
        raise Rejected("FIELD_INVALID", field="old_size", why=f"0 to {head.size}")
    return head, await span_hashes_in(connection, feed_id, consistency_spans(old_size, head.size))


def _signed(row: Any) -> Signed:
    note = row["note"] + row["cosignatures"].encode()
    return Signed(row["origin"], row["size"], row["root"], note, row["is_proved"], row["signed_at_ms"])
