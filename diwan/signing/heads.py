"""What was signed last of each log, as one line: size, root and origin. Kept beside the key, by logs and by witnesses."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec import Struct

from diwan.core.hashing import HASH_BYTES
from diwan.core.merkle import EMPTY_ROOT
from diwan.core.transparency.checkpoint import parse_decimal
from diwan.core.transparency.note import NoteMalformed, checked_name, from_base64, to_base64
from diwan.signing.files import replace_file

LINE_BYTES_MAX: Final = 4_096


class Head(Struct, frozen=True):
    """The newest checkpoint of a log that was signed; size 0 before the first."""

    origin: str
    size: int = 0
    root: bytes = EMPTY_ROOT

    @property
    def line(self) -> str:
        """The head as it is kept."""
        return f"{self.size} {to_base64(self.root)} {self.origin}\n"


def parse_head(line: str) -> Head:
    """Return the head of a line; raises `NoteMalformed`."""
    parts = line.split(" ")
    if len(parts) != 3 or not line.endswith("\n"):
        raise NoteMalformed("a head is SIZE ROOT ORIGIN")
    return Head(checked_name(parts[2][:-1]), parse_decimal(parts[0]), from_base64(parts[1], HASH_BYTES))


class Heads:
    """A folder with a file a log."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, origin: str) -> Path:
        """Return where a log's head is kept: the origin is text of others, its hash is a file's name anywhere."""
        return self.folder / sha256(origin.encode()).hexdigest()[:32]

    def read(self, origin: str) -> Head | None:
        """Return a log's head, None where there never was one; raises `NoteMalformed` where it is damaged."""
        try:
            with self.path(origin).open("rb") as file:
                line = file.read(LINE_BYTES_MAX).decode()
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            raise NoteMalformed(f"the head of {origin} is damaged") from None
        head = parse_head(line)
        if head.origin != origin:
            raise NoteMalformed(f"the head of {origin} is that of {head.origin}")
        return head

    def write(self, head: Head) -> None:
        """Keep a head; on disk when this returns, whole or not at all."""
        replace_file(self.path(head.origin), head.line)
