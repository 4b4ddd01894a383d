"""Ways from leaves to a root, each only as far as those before it have not led: neighbours share most of theirs.

A node's place is (level, index), leaves on level 0, as in docs/reference/hashing.md, 6. A node without a partner goes up
as it is. What was once on a way that led to the root is known, partners included.
"""

from __future__ import annotations

from collections.abc import Sequence

from diwan.core.hashing import HASH_BYTES
from diwan.core.merkle import node_hash

type Place = tuple[int, int]


class KnownTree:
    """The nodes of one tree of ``size`` leaves that are proved to be in it; its root is, to begin with."""

    def __init__(self, size: int, root: bytes) -> None:
        self.size = size
        self._nodes: dict[Place, bytes] = {(max(size - 1, 0).bit_length(), 0): root}

    def prove(self, index: int, leaf: bytes, path: Sequence[bytes]) -> bool:
        """Say whether a leaf stands at an index; ``path`` leads to the first known node, and is used up exactly."""
        if not 0 <= index < self.size:
            return False
        node, last, level, used = leaf, self.size - 1, 0, 0
        visited: list[tuple[Place, bytes]] = []
        while (known := self._nodes.get((level, index))) is None:
            visited.append(((level, index), node))
            if index % 2 or index < last:
                if used == len(path) or len(path[used]) != HASH_BYTES:
                    return False
                sibling = path[used]
                used += 1
                visited.append(((level, index ^ 1), sibling))
                node = node_hash(sibling, node) if index % 2 else node_hash(node, sibling)
            level, index, last = level + 1, index >> 1, last >> 1
        if known != node or used != len(path):
            return False
        self._nodes.update(visited)
        return True


class PathWriter:
    """Cuts whole paths of one tree (RFC 6962) to what `KnownTree.prove` wants, in the order of the bundle's events."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._known: set[Place] = {(max(size - 1, 0).bit_length(), 0)}

    def cut(self, index: int, path: Sequence[bytes]) -> tuple[bytes, ...]:
        """Return the part of a leaf's whole path that is not known yet; a leaf beyond the tree is a ValueError."""
        if not 0 <= index < self._size:
            raise ValueError(f"no leaf {index} in a tree of {self._size}")
        last, level, used = self._size - 1, 0, 0
        visited: list[Place] = []
        while (level, index) not in self._known:
            visited.append((level, index))
            if index % 2 or index < last:
                used += 1
                visited.append((level, index ^ 1))
            level, index, last = level + 1, index >> 1, last >> 1
        self._known.update(visited)
        return tuple(path[:used])
