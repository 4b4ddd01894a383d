"""A log's head as text (c2sp.org/tlog-checkpoint): its origin, how many leaves, and the root over them."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from diwan.core.hashing import HASH_BYTES
from diwan.core.transparency.note import NoteMalformed, from_base64, to_base64

SIZE_MAX: Final = 2**63 - 1
_DECIMAL: Final = re.compile(r"0|[1-9][0-9]{0,18}").fullmatch


class Checkpoint(Struct, frozen=True):
    """What a log says of itself; ``text`` is what is signed. Extension lines are carried along and mean nothing here."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.size <= SIZE_MAX or len(self.root) != HASH_BYTES:
            raise ValueError("a checkpoint has a size of 0..2^63-1 and a root of 32 bytes")
        if not self.origin or any("\n" in line or not line for line in (self.origin, *self.extensions)):
            raise ValueError("a checkpoint's lines are not empty")

    @property
    def text(self) -> str:
        """The note's text."""
        lines = (self.origin, str(self.size), to_base64(self.root), *self.extensions)
        return "".join(f"{line}\n" for line in lines)


def origin_of(house: str, feed_id: int) -> str:
    """Return the origin of a house's log over one feed."""
    return f"{house}/feed/{feed_id}"


def parse_decimal(text: str) -> int:
    """Return a number in its one spelling, 0..2^63-1; raises `NoteMalformed`."""
    if not _DECIMAL(text) or int(text) > SIZE_MAX:
        raise NoteMalformed(f"not a decimal number: {text[:40]!r}")
    return int(text)


def parse_checkpoint(text: str) -> Checkpoint:
    """Return the checkpoint of a note's text; raises `NoteMalformed`."""
    lines = text.split("\n")
    if lines.pop() or len(lines) < 3 or not all(lines):
        raise NoteMalformed("a checkpoint is three lines or more, none of them empty")
    origin, size, root, *extensions = lines
    return Checkpoint(origin, parse_decimal(size), from_base64(root, HASH_BYTES), tuple(extensions))
