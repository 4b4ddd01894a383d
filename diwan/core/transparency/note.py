"""Signed notes and the keys that sign them (c2sp.org/signed-note, c2sp.org/tlog-cosignature)."""

from __future__ import annotations

import base64
import binascii
import re
from enum import IntEnum
from hashlib import sha256
from struct import Struct as Layout
from typing import Final

from msgspec import Struct

KEY_ID_BYTES: Final = 4
PUBLIC_KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
SIGNATURES_MAX: Final = 64
"""Verifiers must take 16 and should have a limit."""

NOTE_BYTES_MAX: Final = 256 * 1024
TIMESTAMP_MAX: Final = 2**63 - 1

_DASH: Final = "\N{EM DASH} "
_TIME: Final = Layout(">Q")
_KEY_ID: Final = re.compile(r"[0-9a-f]{8}").fullmatch


class NoteMalformed(ValueError):  # noqa: N818  (what the text is)
    """A text that is not of its format; the message says where."""


class KeyType(IntEnum):
    """The signature types that are used here, as the first byte of an encoded key."""

    ED25519 = 0x01
    """A log's signature over a note's text."""
    COSIGNATURE_V1 = 0x04
    """A witness's signature over a time and a note's text."""


class VerifierKey(Struct, frozen=True):
    """A public key with the name it signs under. ``kind`` may be a type that is not used here: then nothing verifies."""

    name: str
    kind: int
    public: bytes

    @property
    def key_id(self) -> bytes:
        """The 4 bytes that stand before each of its signatures."""
        return sha256(self.name.encode() + b"\n" + bytes((self.kind,)) + self.public).digest()[:KEY_ID_BYTES]

    @property
    def text(self) -> str:
        """The key as one word: name, id, type and key (a *vkey*)."""
        return f"{self.name}+{self.key_id.hex()}+{to_base64(bytes((self.kind,)) + self.public)}"


class Signature(Struct, frozen=True):
    """One signature line: who, with which key, and what follows the key's id."""

    name: str
    key_id: bytes
    blob: bytes

    @property
    def line(self) -> str:
        """The line with its end."""
        return f"{_DASH}{self.name} {to_base64(self.key_id + self.blob)}\n"

    def is_of(self, key: VerifierKey) -> bool:
        """Whether it names this key; nothing is verified."""
        return self.name == key.name and self.key_id == key.key_id


class Note(Struct, frozen=True):
    """A text, which ends with a newline, and its signatures, of which nothing is known yet."""

    text: str
    signatures: tuple[Signature, ...]

    @property
    def raw(self) -> bytes:
        """The note as it is kept and sent."""
        return f"{self.text}\n{''.join(one.line for one in self.signatures)}".encode()


def to_base64(raw: bytes) -> str:
    """Return the standard base 64 of RFC 4648, padded."""
    return base64.b64encode(raw).decode()


def from_base64(text: str, size: int | None = None) -> bytes:
    """Return what a text encodes; raises `NoteMalformed` unless it is the one spelling of so many bytes."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        raise NoteMalformed(f"not base 64: {text[:80]!r}") from None
    if to_base64(raw) != text:
        raise NoteMalformed(f"not the canonical base 64: {text[:80]!r}")
    if size is not None and len(raw) != size:
        raise NoteMalformed(f"{len(raw)} bytes where {size} belong")
    return raw


def checked_name(name: str) -> str:
    """Return a key's name; raises `NoteMalformed` for none, and for one with blanks, plus or control characters."""
    if not name or any(letter.isspace() or letter == "+" or not letter.isprintable() for letter in name):
        raise NoteMalformed(f"not a key's name: {name[:80]!r}")
    return name


def parse_vkey(text: str) -> VerifierKey:
    """Return the key of a *vkey*; raises `NoteMalformed` for other texts, and where the id is not the key's."""
    name, plus, rest = text.partition("+")
    digits, second, encoded = rest.partition("+")
    if not plus or not second or not _KEY_ID(digits):
        raise NoteMalformed(f"a key is NAME+ID+KEY, not {text[:120]!r}")
    raw = from_base64(encoded)
    if len(raw) < 2:
        raise NoteMalformed("a key without a type or without a key")
    key = VerifierKey(checked_name(name), raw[0], raw[1:])
    if key.kind in set(KeyType) and len(key.public) != PUBLIC_KEY_BYTES:
        raise NoteMalformed(f"an Ed25519 key of {len(key.public)} bytes")
    if key.key_id.hex() != digits:
        raise NoteMalformed(f"the key {name} has the id {key.key_id.hex()}, not {digits}")
    return key


def parse_note(raw: bytes) -> Note:
    """Return a note's text and signatures; raises `NoteMalformed`."""
    if len(raw) > NOTE_BYTES_MAX:
        raise NoteMalformed(f"a note of more than {NOTE_BYTES_MAX} bytes")
    try:
        whole = raw.decode()
    except UnicodeDecodeError:
        raise NoteMalformed("a note is UTF-8") from None
    if any(letter < " " and letter != "\n" for letter in whole):
        raise NoteMalformed("control characters in a note")
    head, gap, tail = whole.rpartition("\n\n")
    if not gap:
        raise NoteMalformed("a note without an empty line before its signatures")
    return Note(head + "\n", parse_signatures(tail))


def parse_signatures(text: str) -> tuple[Signature, ...]:
    """Return the signatures of one line or more; raises `NoteMalformed`."""
    if not text.endswith("\n"):
        raise NoteMalformed("a signature line ends with a newline")
    lines = text[:-1].split("\n")
    if len(lines) > SIGNATURES_MAX:
        raise NoteMalformed(f"more than {SIGNATURES_MAX} signatures")
    return tuple(_signature(line) for line in lines)


def _signature(line: str) -> Signature:
    name, blank, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not blank:
        raise NoteMalformed(f"not a signature line: {line[:80]!r}")
    raw = from_base64(encoded)
    if len(raw) <= KEY_ID_BYTES:
        raise NoteMalformed("a signature without a key's id or without a signature")
    return Signature(checked_name(name), raw[:KEY_ID_BYTES], raw[KEY_ID_BYTES:])


def cosigned_message(time: int, text: str) -> bytes:
    """Return what a witness signs over a note's text at a time (POSIX seconds)."""
    if not 0 <= time <= TIMESTAMP_MAX:
        raise ValueError("a time is 0..2^63-1 seconds")
    return f"cosignature/v1\ntime {time}\n{text}".encode()


def cosignature_blob(time: int, signature: bytes) -> bytes:
    """Return what stands behind the key's id in a cosignature."""
    return _TIME.pack(time) + signature


def parse_cosignature(blob: bytes) -> tuple[int, bytes]:
    """Return a cosignature's time and signature; raises `NoteMalformed`."""
    if len(blob) != _TIME.size + SIGNATURE_BYTES:
        raise NoteMalformed(f"a cosignature of {len(blob)} bytes")
    time: int = _TIME.unpack_from(blob)[0]
    if time > TIMESTAMP_MAX:
        raise NoteMalformed("a cosignature from beyond all time")
    return time, blob[_TIME.size :]
