"""What a witness answers (c2sp.org/tlog-witness). It knows origins, sizes and roots, and nothing of what is logged."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from msgspec import Struct

from diwan.core.hashing import HASH_BYTES
from diwan.core.transparency.checkpoint import Checkpoint, parse_checkpoint, parse_decimal
from diwan.core.transparency.note import Note, NoteMalformed, VerifierKey, from_base64, parse_note
from diwan.core.transparency.proof import HASHES_MAX, is_consistent
from diwan.signing.heads import Head
from diwan.signing.notes import is_signed
from diwan.witness.folder import Folder

SIZE_TYPE: Final = "text/x.tlog.size"
TEXT_TYPE: Final = "text/plain; charset=utf-8"


class Answer(Struct, frozen=True):
    """What goes back over HTTP."""

    status: HTTPStatus
    body: str
    content_type: str = TEXT_TYPE


class Request(Struct, frozen=True):
    """A checkpoint and how it follows from the one of the old size."""

    old: int
    proof: tuple[bytes, ...]
    note: Note
    head: Checkpoint


def parse_request(raw: bytes) -> Request:
    """Return an add-checkpoint request; raises `NoteMalformed`."""
    top, gap, rest = raw.partition(b"\n\n")
    try:
        first, *lines = top.decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise NoteMalformed("a request is ASCII up to its checkpoint") from None
    if not gap or not first.startswith("old "):
        raise NoteMalformed("a request begins with a line `old SIZE`, and an empty line stands before the checkpoint")
    if len(lines) > HASHES_MAX:
        raise NoteMalformed(f"a proof of more than {HASHES_MAX} hashes")
    old = parse_decimal(first.removeprefix("old "))
    proof = tuple(from_base64(line, HASH_BYTES) for line in lines)
    note = parse_note(rest)
    return Request(old, proof, note, parse_checkpoint(note.text))


class Witness:
    """Answers for one folder, for any number of threads; logs are read again when their file changes."""

    def __init__(
        self,
        folder: Folder,
        *,
        now: Callable[[], float] = time.time,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._folder = folder
        self._keys = folder.signing_keys()
        self._now = now
        self._say = say
        self._mutex = threading.Lock()
        self._origins: dict[str, threading.Lock] = {}
        self._logs: list[VerifierKey] = []
        self._seen: tuple[int, ...] = ()
        folder.heads()  # a head that is lost is told at the start, not at the first request

    def add_checkpoint(self, raw: bytes) -> Answer:
        """Sign a checkpoint that extends what was signed before, or say why not.

        Raises `WitnessError` where the head is lost, OSError where it cannot be kept: nothing is signed then.
        """
        try:
            request = parse_request(raw)
        except NoteMalformed as error:
            return Answer(HTTPStatus.BAD_REQUEST, f"{error}\n")
        head = request.head
        keys = [key for key in self._known() if key.name == head.origin]
        if not keys:
            return Answer(HTTPStatus.NOT_FOUND, "this log is not known here\n")
        if not any(is_signed(request.note.text, one, key) for one in request.note.signatures for key in keys):
            return Answer(HTTPStatus.FORBIDDEN, "no key of this log that is known here has signed\n")
        if request.old > head.size:
            return Answer(HTTPStatus.BAD_REQUEST, "the old size is above the checkpoint's\n")
        with self._one_at_a_time(head.origin):
            return self._judge(request, raw)

    def _judge(self, request: Request, raw: bytes) -> Answer:
        """Compare, keep and sign in one go: between two of these no other may come (the lock of the origin)."""
        head, last = request.head, self._folder.head(request.head.origin)
        if request.old != last.size:
            return Answer(HTTPStatus.CONFLICT, f"{last.size}\n", SIZE_TYPE)
        if head.size == last.size and head.root != last.root:
            self._contradicted(raw, f"{head.origin}: two trees of size {head.size}")
            return Answer(HTTPStatus.CONFLICT, "another tree of this size was signed here\n")
        if not is_consistent(last.size, last.root, head.size, head.root, request.proof):
            self._contradicted(raw, f"{head.origin}: size {head.size} is not shown to extend size {last.size}")
            return Answer(HTTPStatus.UNPROCESSABLE_ENTITY, "the proof does not hold\n")
        if head.size != last.size:
            self._folder.write_head(Head(head.origin, head.size, head.root))
        now = int(self._now())
        lines = "".join(key.cosign(now, request.note.text).line for key in self._keys)
        return Answer(HTTPStatus.OK, lines)

    def _contradicted(self, raw: bytes, what: str) -> None:
        kept = self._folder.keep_evidence(raw)
        self._say(f"REFUSED {what}" + (f"; kept in {kept}" if kept else ""))

    def _known(self) -> list[VerifierKey]:
        status = self._folder.logs_file.stat()
        seen = (status.st_ino, status.st_mtime_ns, status.st_size)
        with self._mutex:
            if seen != self._seen:
                self._logs, self._seen = self._folder.logs(), seen
            return self._logs

    def _one_at_a_time(self, origin: str) -> threading.Lock:
        with self._mutex:
            return self._origins.setdefault(origin, threading.Lock())
