"""Which nodes of a growing Merkle tree are kept, and how proofs are put together from few of them (RFC 6962).

A *perfect* node covers a full power of two of leaves and never changes; it is named by its level (leaves are level 0)
and its place in the level, from the left. Every fourth level is kept: a fifteenth of the leaves, and what lies between
is hashed again from at most eight nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from diwan.core.merkle import EMPTY_ROOT, node_hash
from diwan.core.register import Edge

STRIDE: Final = 4
"""Levels 0, 4, 8, ... are kept."""

type Place = tuple[int, int]
"""Level and place of a perfect node."""

type Span = tuple[int, int]
"""Leaves from the first up to, not including, the last: the left end is a multiple of the largest power of two in it."""


def grow_with_nodes(edge: Edge, leaves: Iterable[bytes]) -> tuple[Edge, list[tuple[int, int, bytes]]]:
    """Return the tree with more leaves behind, and the kept nodes above the leaves that these complete."""
    size, peaks = edge.size, list(edge.peaks)
    completed: list[tuple[int, int, bytes]] = []
    for leaf in leaves:
        node, full, level = leaf, size, 0
        while full & 1:
            node = node_hash(peaks.pop(), node)
            full >>= 1
            level += 1
            if level % STRIDE == 0:
                completed.append((level, full, node))
        peaks.append(node)
        size += 1
    return Edge(size, tuple(peaks)), completed


def inclusion_spans(index: int, size: int) -> list[Span]:
    """Return what the hashes of an inclusion proof cover, the leaf's sibling first (RFC 6962 2.1.1)."""
    if not 0 <= index < size:
        raise ValueError("no such leaf in a tree of this size")
    spans: list[Span] = []
    first, last = 0, size
    while last - first > 1:
        split = first + _split(last - first)
        if index < split:
            spans.append((split, last))
            last = split
        else:
            spans.append((first, split))
            first = split
    return spans[::-1]


def consistency_spans(old: int, new: int) -> list[Span]:
    """Return what the hashes of a consistency proof cover (RFC 6962 2.1.2); none from nothing, or to itself."""
    if not 0 <= old <= new:
        raise ValueError("a tree is consistent with later ones only")
    if old in {0, new}:
        return []
    spans: list[Span] = []
    first, last, is_whole = 0, new, True
    while old != last:
        split = first + _split(last - first)
        if old <= split:
            spans.append((split, last))
            last = split
        else:
            spans.append((first, split))
            first = split
            is_whole = False
    if not is_whole:
        spans.append((first, last))
    return spans[::-1]


def places(spans: Iterable[Span]) -> set[Place]:
    """Return the kept nodes that the hashes of spans are made of."""
    found: set[Place] = set()
    for span in spans:
        for level, place in _perfect(span):
            below = level % STRIDE
            found.update((level - below, (place << below) + number) for number in range(1 << below))
    return found


def span_hash(span: Span, nodes: Mapping[Place, bytes]) -> bytes:
    """Return the root over a span from the nodes of `places`; raises KeyError naming one that is missing."""
    if span[0] == span[1]:
        return EMPTY_ROOT
    peaks = [_perfect_hash(level, place, nodes) for level, place in _perfect(span)]
    root = peaks[-1]
    for peak in peaks[-2::-1]:
        root = node_hash(peak, root)
    return root


def span_hashes(spans: Sequence[Span], nodes: Mapping[Place, bytes]) -> tuple[bytes, ...]:
    """Return the hashes of a proof's spans."""
    return tuple(span_hash(span, nodes) for span in spans)


def _split(size: int) -> int:
    """Return the largest power of two below a size of two or more."""
    return 1 << (size - 1).bit_length() - 1


def _perfect(span: Span) -> list[Place]:
    """Return the perfect nodes that a span consists of, from the left."""
    first, last = span
    found: list[Place] = []
    while first < last:
        level = (last - first).bit_length() - 1
        found.append((level, first >> level))
        first += 1 << level
    return found


def _perfect_hash(level: int, place: int, nodes: Mapping[Place, bytes]) -> bytes:
    if level % STRIDE == 0:
        return nodes[level, place]
    left = _perfect_hash(level - 1, place * 2, nodes)
    return node_hash(left, _perfect_hash(level - 1, place * 2 + 1, nodes))
