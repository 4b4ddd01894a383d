"""A log for witnesses to look at, and the requests that it makes."""

from __future__ import annotations

from hashlib import sha256

from diwan.core import merkle
from diwan.core.register import Edge
from diwan.core.transparency.checkpoint import Checkpoint
from diwan.core.transparency.note import Note, Signature, to_base64
from diwan.core.transparency.tree import consistency_spans, grow_with_nodes, span_hashes
from diwan.signing.notekey import LogSecret

ORIGIN = "diwan.test/feed/1"
SECRET = LogSecret(bytes(32))
KEY = SECRET.key(ORIGIN)


class Log:
    """A history of leaves; two of them with one origin are a fork."""

    def __init__(self, size: int, *, forked_at: int | None = None, origin: str = ORIGIN) -> None:
        self.origin = origin
        self.leaves = [
            sha256(b"forked" * (forked_at is not None and at >= forked_at) + b"%d" % at).digest() for at in range(size)
        ]
        _, nodes = grow_with_nodes(Edge(), self.leaves)
        self._nodes = {(0, at): leaf for at, leaf in enumerate(self.leaves)}
        self._nodes |= {(level, place): node for level, place, node in nodes}

    def head(self, size: int) -> Checkpoint:
        return Checkpoint(self.origin, size, merkle.root(self.leaves[:size]))

    def proof(self, old: int, new: int) -> tuple[bytes, ...]:
        return span_hashes(consistency_spans(old, new), self._nodes)

    def note(self, size: int, *more: Signature, key=None) -> Note:
        text = self.head(size).text
        return Note(text, ((key or SECRET.key(self.origin)).sign(text), *more))

    def request(self, old: int, new: int, **options) -> bytes:
        return request(old, self.proof(old, new) if old <= new else (), self.note(new, **options))


def request(old: int | str, proof, note: Note) -> bytes:
    lines = "".join(f"{to_base64(one)}\n" for one in proof)
    return f"old {old}\n{lines}\n".encode() + note.raw
