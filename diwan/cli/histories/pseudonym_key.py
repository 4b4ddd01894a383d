"""The key under which names are exchanged for pseudonyms: a file that its owner alone can read."""

from __future__ import annotations

import os
import re
import secrets
import stat
from pathlib import Path
from typing import Final

from diwan.chassis.embedded.files import write_private
from diwan.history.exports.pseudonyms import KEY_BYTES, Pseudonyms

_FORMAT: Final = re.compile(r"diwan pseudonym key v1\n([0-9a-f]{64})\n").fullmatch
_FILE_BYTES_MAX: Final = 256


class PseudonymKeyError(Exception):
    """A key file that is none, or that others can read; the message says which, and holds no key."""


def make_key(path: Path) -> None:
    """Write a new key; raise `PseudonymKeyError` where a file stands already, for its pseudonyms would be lost."""
    if path.exists():
        raise PseudonymKeyError(f"{path} is there already: without it nobody's pseudonyms can be made again")
    write_private(path, f"diwan pseudonym key v1\n{secrets.token_hex(KEY_BYTES)}\n")


def read_key(path: Path) -> Pseudonyms:
    """Return the pseudonyms of a key file; raise `PseudonymKeyError`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise PseudonymKeyError(f"{path}: {error.strerror}") from None
    try:
        mode = os.fstat(descriptor).st_mode
        found = _FORMAT(os.read(descriptor, _FILE_BYTES_MAX).decode("latin-1"))
    finally:
        os.close(descriptor)
    if not stat.S_ISREG(mode) or stat.S_IMODE(mode) & 0o077:
        raise PseudonymKeyError(f"{path} must be a file that its owner alone can read (mode 0600)")
    if found is None:
        raise PseudonymKeyError(f"{path} is no key of pseudonyms")
    return Pseudonyms(bytes.fromhex(found[1]))
