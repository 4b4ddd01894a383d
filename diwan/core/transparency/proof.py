"""Checking consistency proofs (RFC 6962 2.1.2), and an entry's proof as one text (c2sp.org/tlog-proof)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from diwan.core.hashing import HASH_BYTES
from diwan.core.merkle import node_hash, root_by_path
from diwan.core.transparency.checkpoint import Checkpoint, parse_checkpoint, parse_decimal
from diwan.core.transparency.note import Note, NoteMalformed, from_base64, parse_note, to_base64

HASHES_MAX: Final = 63
"""No proof of a tree that can exist is longer."""

_FIRST: Final = "c2sp.org/tlog-proof@v1"


def is_included(leaf: bytes, index: int, size: int, root: bytes, path: Sequence[bytes]) -> bool:
    """Whether a leaf stands at an index of the tree with this size and root."""
    return len(leaf) == HASH_BYTES and root_by_path(leaf, index, size, path) == root


def is_consistent(old: int, old_root: bytes, new: int, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether the tree of the new size begins with the whole tree of the old one.

    From nothing to anything needs no proof, and has none.
    """
    if not 0 <= old <= new or any(len(one) != HASH_BYTES for one in (old_root, new_root, *proof)):
        return False
    if old == 0:
        return not proof
    if old == new:
        return not proof and old_root == new_root
    # An old tree that is one perfect subtree of the new one is its own first hash.
    hashes = [old_root, *proof] if old & (old - 1) == 0 else list(proof)
    if not hashes:
        return False
    at, last = old - 1, new - 1
    while at & 1:
        at >>= 1
        last >>= 1
    seen_old = seen_new = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            seen_old, seen_new = node_hash(sibling, seen_old), node_hash(sibling, seen_new)
            while at and not at & 1:
                at >>= 1
                last >>= 1
        else:
            seen_new = node_hash(seen_new, sibling)
        at >>= 1
        last >>= 1
    return last == 0 and seen_old == old_root and seen_new == new_root


class TlogProof(Struct, frozen=True):
    """An entry's place in a log, its path, and the checkpoint that the path leads to. ``extra`` is nobody's word."""

    index: int
    path: tuple[bytes, ...]
    note: Note
    extra: bytes | None = None

    @property
    def checkpoint(self) -> Checkpoint:
        """What the note says; raises `NoteMalformed`."""
        return parse_checkpoint(self.note.text)

    @property
    def raw(self) -> bytes:
        """The proof as it is kept."""
        lines = [_FIRST]
        if self.extra is not None:
            lines.append(f"extra {to_base64(self.extra)}")
        lines += [f"index {self.index}", *map(to_base64, self.path), "", ""]
        return "\n".join(lines).encode() + self.note.raw

    def proves(self, leaf: bytes) -> bool:
        """Whether the leaf is in the tree of the checkpoint; who signed that is another question."""
        head = self.checkpoint
        return is_included(leaf, self.index, head.size, head.root, self.path)


def parse_tlog_proof(raw: bytes) -> TlogProof:
    """Return the proof of a text; raises `NoteMalformed`."""
    head, gap, rest = raw.partition(b"\n\n")
    try:
        lines = head.decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise NoteMalformed("a proof is ASCII up to its checkpoint") from None
    if not gap or lines.pop(0) != _FIRST:
        raise NoteMalformed("not a proof of c2sp.org/tlog-proof@v1")
    extra = None
    if lines and lines[0].startswith("extra "):
        extra = from_base64(lines.pop(0).removeprefix("extra "))
    if not lines or not lines[0].startswith("index "):
        raise NoteMalformed("a proof without an index")
    index = parse_decimal(lines.pop(0).removeprefix("index "))
    if len(lines) > HASHES_MAX:
        raise NoteMalformed(f"a path of more than {HASHES_MAX} hashes")
    proof = TlogProof(index, tuple(from_base64(line, HASH_BYTES) for line in lines), parse_note(rest), extra)
    parse_checkpoint(proof.note.text)
    return proof
