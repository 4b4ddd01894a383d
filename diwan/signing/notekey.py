"""Keys that sign notes, each in a file of mode 0600: a log's, for all its origins, and a witness's."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable
from hmac import digest as hmac_digest
from pathlib import Path
from typing import Final, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from diwan.core.hashing import prefixed
from diwan.core.transparency.checkpoint import Checkpoint
from diwan.core.transparency.note import (
    KeyType,
    NoteMalformed,
    Signature,
    VerifierKey,
    checked_name,
    cosignature_blob,
    cosigned_message,
    from_base64,
    parse_vkey,
    to_base64,
)
from diwan.signing.files import write_new_file

SEED_BYTES: Final = 32
FILE_BYTES_MAX: Final = 4_096
_PRIVATE: Final = "PRIVATE+KEY+"


class NoteKey:
    """An Ed25519 key that signs notes under one name. Its text form is that of Go's `sumdb/note`: PRIVATE+KEY+..."""

    def __init__(self, name: str, kind: KeyType, seed: bytes) -> None:
        if len(seed) != SEED_BYTES:
            raise ValueError("an Ed25519 seed is 32 bytes")
        self._seed = seed
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.verifier = VerifierKey(checked_name(name), kind, self._key.public_key().public_bytes_raw())

    def __repr__(self) -> str:
        return f"NoteKey({self.verifier.name}+{self.verifier.key_id.hex()})"

    @classmethod
    def generate(cls, name: str, kind: KeyType) -> Self:
        """Return a new key from the system's randomness."""
        return cls(name, kind, secrets.token_bytes(SEED_BYTES))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the key of a private text; raises `NoteMalformed`, which never tells the key."""
        parts = text.split("+", 4)
        if len(parts) != 5 or not text.startswith(_PRIVATE):
            raise NoteMalformed("not a private key of a note")
        try:
            raw = from_base64(parts[4], 1 + SEED_BYTES)
            key = cls(parts[2], KeyType(raw[0]), raw[1:])
        except ValueError:
            raise NoteMalformed("a private key of a note that is damaged") from None
        if key.verifier.key_id.hex() != parts[3]:
            raise NoteMalformed("a private key of a note whose id is not its own")
        return key

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a key file; raises `NoteMalformed`, or PermissionError if others may read it."""
        return cls.parse(_read_private(path).strip())

    def save(self, path: Path) -> None:
        """Write the key, readable by its owner alone; raises FileExistsError rather than replace another."""
        write_new_file(path, self.private_text + "\n")

    @property
    def private_text(self) -> str:
        """The key itself, as one word."""
        encoded = to_base64(bytes((self.verifier.kind,)) + self._seed)
        return f"{_PRIVATE}{self.verifier.name}+{self.verifier.key_id.hex()}+{encoded}"

    def sign(self, text: str) -> Signature:
        """Return a log's signature over a note's text."""
        return self._signed(KeyType.ED25519, self._key.sign(text.encode()))

    def cosign(self, time: int, text: str) -> Signature:
        """Return a witness's signature over a time (POSIX seconds) and a note's text."""
        blob = cosignature_blob(time, self._key.sign(cosigned_message(time, text)))
        return self._signed(KeyType.COSIGNATURE_V1, blob)

    def _signed(self, kind: KeyType, blob: bytes) -> Signature:
        if self.verifier.kind != kind:
            raise ValueError(f"this key signs as {self.verifier.kind:#04x}, not as {kind:#04x}")
        return Signature(self.verifier.name, self.verifier.key_id, blob)


class LogSecret:
    """One secret for all logs of a house: each origin has a key of its own, made from it and the origin.

    So that a single file is kept, mounted and rotated, and no public key stands for two logs.
    """

    _FORMAT: Final = re.compile(r"diwan log secret v1\n([0-9a-f]{64})\n?").fullmatch

    def __init__(self, secret: bytes) -> None:
        if len(secret) != SEED_BYTES:
            raise ValueError("a log's secret is 32 bytes")
        self._secret = secret

    def __repr__(self) -> str:
        return "LogSecret(...)"

    @classmethod
    def generate(cls) -> Self:
        """Return a new secret from the system's randomness."""
        return cls(secrets.token_bytes(SEED_BYTES))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a secret's file; raises `NoteMalformed`, or PermissionError if others may read it."""
        found = cls._FORMAT(_read_private(path))
        if found is None:
            raise NoteMalformed(f"{path} is not a log's secret")
        return cls(bytes.fromhex(found[1]))

    @classmethod
    def load_or_generate(cls, path: Path) -> Self:
        """Read the secret of a data directory, or make it there the first time."""
        if not path.exists():
            try:
                cls.generate().save(path)
            except FileExistsError:
                # Another process was quicker; its secret is the one.
                return cls.load(path)
        return cls.load(path)

    def save(self, path: Path) -> None:
        """Write the secret, readable by its owner alone; raises FileExistsError rather than replace another."""
        write_new_file(path, f"diwan log secret v1\n{self._secret.hex()}\n")

    def key(self, origin: str) -> NoteKey:
        """Return the key that signs this log's checkpoints."""
        seed = hmac_digest(self._secret, prefixed("logkey/v1", origin), "sha256")
        return NoteKey(origin, KeyType.ED25519, seed)


def read_vkeys(path: Path, *, wanted: Callable[[VerifierKey], bool] = lambda _: True) -> list[VerifierKey]:
    """Read a file of public keys, one a line, `#` before remarks; raises `NoteMalformed`."""
    lines = (line.strip() for line in path.read_text("utf-8").splitlines())
    return [key for line in lines if line and not line.startswith("#") and wanted(key := parse_vkey(line))]


def signed_checkpoint(key: NoteKey, head: Checkpoint) -> Signature:
    """Return a log's signature over its head; raises ValueError for the head of another log."""
    if key.verifier.name != head.origin:
        raise ValueError(f"the key of {key.verifier.name} signs no checkpoint of {head.origin}")
    return key.sign(head.text)


def _read_private(path: Path) -> str:
    # The group may read: a secret mounted into a container belongs to root and is read by the service's group.
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_mode & 0o027:
            raise PermissionError(f"{path} may be read by others; its mode must be 0600, or 0640 at most")
        raw = file.read(FILE_BYTES_MAX)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise NoteMalformed(f"{path} is not a key file") from None
