"""Files of imported hands: what they are in the first line, then one stored event a line."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

import msgspec

from diwan.core.fairness import Reveal, verify_reveal
from diwan.core.hand.events import HandStarted
from diwan.core.hashing import chain_start
from diwan.core.log import LoggedEvent, StreamKind
from diwan.history import Entry
from diwan.verifier.chain import LogReader
from diwan.verifier.hand import verify_hand
from diwan.verifier.report import Fault, Report
from diwan.wire.imported import Imported

SUFFIX: Final = ".diwan"


class Source(msgspec.Struct, frozen=True):
    """Where an imported hand comes from: file name, its number there, and the file's SHA-256."""

    name: str
    label: str
    sha256: str


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line. Chips in the events are the source's times ``scale``; ``hidden`` are cards that no event shows."""

    format: Literal["diwan imported hand, 1"] = "diwan imported hand, 1"
    hand_id: str
    source: Source
    variant: str
    scale: int
    hidden: tuple[Reveal, ...]


class ImportedFile(msgspec.Struct, frozen=True):
    """A file that was read: its hand, and what verification says of it."""

    header: Header
    entries: tuple[Entry, ...]
    report: Report


class UnreadableFileError(Exception):
    """A file that is none of an imported hand, or was changed; the message says how."""


def write_file(folder: Path, hand: Imported, source: Path, raw: bytes, label: str, variant: str, scale: int) -> Path:
    """Write a hand into a folder and return its file; a second import of the same hand writes the same."""
    header = Header(
        hand_id=hand.hand_id,
        source=Source(source.name, label, sha256(raw).hexdigest()),
        variant=variant,
        scale=scale,
        hidden=hand.hidden,
    )
    path = folder / f"{hand.hand_id}{SUFFIX}"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, (header, *hand.events))) + b"\n")
    return path


def read_file(path: Path) -> ImportedFile:
    """Return an imported hand, each event held against the chain from its beginning; raises `UnreadableFileError`."""
    try:
        first, *lines = path.read_bytes().splitlines()
        header = msgspec.json.decode(first, type=Header)
        events = [msgspec.json.decode(line, type=LoggedEvent) for line in lines]
        entries = _entries(events)
        started = next(entry.event for entry in entries if isinstance(entry.event, HandStarted))
    except (OSError, ValueError, StopIteration, Fault) as error:
        raise UnreadableFileError(f"{path} holds no imported hand as it was written: {error}") from error
    for reveal in header.hidden:
        if not verify_reveal(started.hand_id, started.deck_root, reveal):
            raise UnreadableFileError(
                f"{path}: the card of position {reveal.position} is not the one that was imported"
            )
    return ImportedFile(header, entries, verify_hand(events, started.hand_id))


def _entries(events: Sequence[LoggedEvent]) -> tuple[Entry, ...]:
    stream_id = events[0].stream_id if events else b""
    reader = LogReader(chain_start(stream_id, StreamKind.IMPORTED))
    return tuple([reader.read_entry(event) for event in events])
