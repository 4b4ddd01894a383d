"""One file that holds a hand, or many, with everything needed to check them (docs/reference/bundle.md)."""

from diwan.history.bundle.paths import KnownTree, PathWriter
from diwan.history.bundle.reading import BundleError, UnknownBundleError, read_bundle
from diwan.history.bundle.records import (
    FORMAT,
    LINE_BYTES_MAX,
    CheckpointRecord,
    EndRecord,
    EventRecord,
    HandRecord,
    HeaderRecord,
    Record,
    RevealRecord,
    StreamRecord,
)
from diwan.history.bundle.writing import Source, bundle_lines, event_record, lines_of, logged_event

__all__ = [
    "FORMAT",
    "LINE_BYTES_MAX",
    "BundleError",
    "CheckpointRecord",
    "EndRecord",
    "EventRecord",
    "HandRecord",
    "HeaderRecord",
    "KnownTree",
    "PathWriter",
    "Record",
    "RevealRecord",
    "Source",
    "StreamRecord",
    "UnknownBundleError",
    "bundle_lines",
    "event_record",
    "lines_of",
    "logged_event",
    "read_bundle",
]
