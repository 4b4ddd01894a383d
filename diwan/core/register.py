"""A Merkle tree that only grows (RFC 6962), kept as its right edge: one hash for every bit that is set in its size."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from diwan.core.merkle import EMPTY_ROOT, node_hash


class Edge(Struct, frozen=True):
    """The roots of the full subtrees of a tree, largest first: all that is needed to grow it and to know its root."""

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        if self.size < 0 or len(self.peaks) != self.size.bit_count():
            raise ValueError("a tree has a peak for every bit that is set in its size")

    @property
    def root(self) -> bytes:
        """The root over all leaves; no leaves have the hash of nothing."""
        if not self.peaks:
            return EMPTY_ROOT
        root = self.peaks[-1]
        for peak in self.peaks[-2::-1]:
            root = node_hash(peak, root)
        return root


def grow(edge: Edge, leaves: Iterable[bytes]) -> Edge:
    """Return the tree with more leaves behind; each costs as many hashes as it completes subtrees."""
    size, peaks = edge.size, list(edge.peaks)
    for leaf in leaves:
        node, full = leaf, size
        while full & 1:
            node = node_hash(peaks.pop(), node)
            full >>= 1
        peaks.append(node)
        size += 1
    return Edge(size, tuple(peaks))
