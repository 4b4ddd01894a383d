"""Reading a bundle from whoever made it: every line is small, in its place and in its one spelling, or refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from diwan.history.bundle.records import (
    CHECKPOINTS_MAX,
    FAMILY,
    FORMAT,
    HANDS_MAX,
    LINE_BYTES_MAX,
    LINES_MAX,
    CheckpointRecord,
    EndRecord,
    EventRecord,
    HandRecord,
    HeaderRecord,
    Record,
    StreamRecord,
)


class BundleError(Exception):
    """The bytes are no bundle; ``line`` counts from 1."""

    def __init__(self, line: int, expected: str, found: str) -> None:
        super().__init__(f"line {line}: expected {expected}, found {found}")
        self.line = line
        self.expected = expected
        self.found = found


class UnknownBundleError(BundleError):
    """A bundle of a newer format."""


class _Format(msgspec.Struct):
    format: str = ""


_decoder: Final = msgspec.json.Decoder(Record)
_encoder: Final = msgspec.json.Encoder()
_format: Final = msgspec.json.Decoder(_Format)


def read_bundle(lines: Iterable[bytes]) -> Iterator[tuple[int, Record]]:
    """Yield each line's number and record; raises `BundleError` at the first line that is not what must stand there.

    ``lines`` are the file's lines with their line feeds, cut behind `LINE_BYTES_MAX` bytes by whoever reads the file:
    nothing larger is ever looked at.
    """
    place = _Place()
    number = 0
    for number, line in enumerate(lines, 1):
        if number > LINES_MAX:
            raise BundleError(number, f"at most {LINES_MAX} lines", "more")
        record = _record(number, line)
        place.take(number, record)
        yield number, record
    if not place.has_ended:
        raise BundleError(number + 1, "a line that ends the bundle", "the end of the file")


def _record(number: int, line: bytes) -> Record:
    if len(line) > LINE_BYTES_MAX or not line.endswith(b"\n"):
        raise BundleError(number, f"a line of at most {LINE_BYTES_MAX} bytes", f"{len(line)} bytes without an end")
    text = line[:-1]
    if number == 1:
        _check_format(text)
    try:
        record = _decoder.decode(text)
        # Invalid surrogates can be decoded and cannot be encoded.
        spelling = _encoder.encode(record)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BundleError(number, "a record of a bundle", str(error)[:200]) from None
    if spelling != text:
        raise BundleError(number, "the one spelling of its record", "another")
    return record


def _check_format(text: bytes) -> None:
    try:
        found = _format.decode(text).format
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BundleError(1, FORMAT, str(error)[:200]) from None
    if found != FORMAT:
        kind = UnknownBundleError if found.startswith(FAMILY) else BundleError
        raise kind(1, FORMAT, repr(found[:40]))


class _Place:
    """Which record may follow: there is one order, so that the same content is the same file."""

    def __init__(self) -> None:
        self._stage = 0
        self._header: HeaderRecord | None = None
        self._checkpoints: list[int] = []
        self._hands: list[tuple[str, int]] = []
        self._stream: tuple[int, str] | None = None
        self._version = 0
        self.has_ended = False

    def take(self, number: int, record: Record) -> None:
        if self.has_ended:
            raise BundleError(number, "nothing behind the end", type(record).__name__)
        stage = _STAGES[type(record)]
        if stage < self._stage or (self._header is None) is not isinstance(record, HeaderRecord):
            raise BundleError(number, "the order of a bundle", f"{type(record).__name__} out of its place")
        self._stage = stage
        match record:
            case HeaderRecord():
                self._take_header(number, record)
            case CheckpointRecord():
                self._take_checkpoint(number, record)
            case HandRecord():
                self._take_hand(number, record)
            case StreamRecord():
                self._take_stream(number, record)
            case EventRecord():
                self._take_event(number, record)
            case EndRecord():
                self.has_ended = True
                if record.lines != number:
                    raise BundleError(number, f"{record.lines} lines", f"{number}")

    def _take_header(self, number: int, record: HeaderRecord) -> None:
        if (record.lens == "seat") is (record.seat is None):
            raise BundleError(number, "a seat with the lens of a seat alone", f"{record.lens} and {record.seat}")
        self._header = record

    def _take_checkpoint(self, number: int, record: CheckpointRecord) -> None:
        self._checkpoints.append(record.feed_id)
        if self._checkpoints[-2:] != sorted(self._checkpoints[-2:]):
            raise BundleError(number, "checkpoints by feed", "others")
        if len(self._checkpoints) > CHECKPOINTS_MAX:
            raise BundleError(number, f"at most {CHECKPOINTS_MAX} checkpoints", "more")
        if bool(record.consistency) and self._checkpoints.count(record.feed_id) == 1:
            raise BundleError(number, "no proof that a checkpoint extends itself", "one")

    def _take_hand(self, number: int, record: HandRecord) -> None:
        self._hands.append((record.stream_id, record.first_version))
        if not record.needs_version < record.first_version < record.last_version:
            raise BundleError(number, "rising versions of a hand", "others")
        if len(self._hands) > 1 and self._hands[-2] >= self._hands[-1]:
            raise BundleError(number, "hands by stream and version", "others")
        if len(self._hands) > HANDS_MAX:
            raise BundleError(number, f"at most {HANDS_MAX} hands", "more")
        assert self._header is not None  # noqa: S101  (it came first)
        wanted = {"public": (False, True), "seat": (False, False), "auditor": (True, True)}[self._header.lens]
        if (
            len(record.secret) not in {0, 32}
            or (bool(record.secret) and not wanted[0])
            or (record.reveals and wanted[1])
        ):
            raise BundleError(number, f"what the lens {self._header.lens} shows", "a secret or cards beside it")

    def _take_stream(self, number: int, record: StreamRecord) -> None:
        place = (record.feed_id, record.stream_id)
        if self._stream is not None and place <= self._stream:
            raise BundleError(number, "streams by feed and id", "others")
        if record.feed_id not in self._checkpoints:
            raise BundleError(number, f"a checkpoint of feed {record.feed_id}", "none")
        self._stream, self._version = place, 0

    def _take_event(self, number: int, record: EventRecord) -> None:
        if self._stream is None:
            raise BundleError(number, "the stream of an event", "none")
        if record.version <= self._version:
            raise BundleError(number, "rising versions of a stream", f"{record.version} after {self._version}")
        if len(record.body_hash) not in {0, 32} or (record.body_hash and record.body):
            raise BundleError(number, "a body, or the hash of a withheld one", "others")
        self._version = record.version


# A stream and its events take turns.
_STAGES: Final[dict[type, int]] = {
    HeaderRecord: 0,
    CheckpointRecord: 1,
    HandRecord: 2,
    StreamRecord: 3,
    EventRecord: 3,
    EndRecord: 4,
}
