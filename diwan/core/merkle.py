"""Merkle trees of RFC 6962: leaves behind a zero byte, nodes behind a one, the left half a full power of two."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from diwan.core.hashing import HASH_BYTES

EMPTY_ROOT: Final = sha256(b"").digest()

type Levels = tuple[tuple[bytes, ...], ...]
"""All nodes, leaves first, the root's level of one node last; a node without a sibling stands again one level up."""


def leaf_hash(entry: bytes) -> bytes:
    """Return the leaf of an entry."""
    return sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the node over two others."""
    return sha256(b"\x01" + left + right).digest()


def tree(leaves: Sequence[bytes]) -> Levels:
    """Return all levels over one leaf or more.

    Pairing from the left and lifting a lone last node gives the tree that RFC 6962 describes by splitting.
    """
    if not leaves:
        raise ValueError("a tree has a leaf")
    level = tuple(leaves)
    levels = [level]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        above = [sha256(b"\x01" + left + right).digest() for left, right in pairs]
        if len(level) % 2:
            above.append(level[-1])
        level = tuple(above)
        levels.append(level)
    return tuple(levels)


def root(leaves: Sequence[bytes]) -> bytes:
    """Return the root over leaves; no leaves have the hash of nothing."""
    return tree(leaves)[-1][0] if leaves else EMPTY_ROOT


def path(levels: Levels, index: int) -> tuple[bytes, ...]:
    """Return the siblings from a leaf up to the root, those that exist."""
    if not 0 <= index < len(levels[0]):
        raise IndexError("no such leaf")
    siblings: list[bytes] = []
    for level in levels[:-1]:
        sibling = index ^ 1
        if sibling < len(level):
            siblings.append(level[sibling])
        index >>= 1
    return tuple(siblings)


def root_by_path(leaf: bytes, index: int, size: int, siblings: Sequence[bytes]) -> bytes | None:
    """Return the root that a leaf at an index of ``size`` leaves has by its path; None if no such path can exist.

    The index fixes the path's length and every turn, so neither can be chosen by whoever made the path.
    """
    if not 0 <= index < size or any(len(sibling) != HASH_BYTES for sibling in siblings):
        return None
    node, last, remaining = leaf, size - 1, iter(siblings)
    while last:
        if index % 2 or index < last:
            sibling = next(remaining, None)
            if sibling is None:
                return None
            left, right = (sibling, node) if index % 2 else (node, sibling)
            node = sha256(b"\x01" + left + right).digest()
        index >>= 1
        last >>= 1
    return node if next(remaining, None) is None else None
