"""Looks for secrets in heaps of bytes, however they may have been written down."""

import base64
from pathlib import Path

import numpy as np

WINDOW = 12
"""Bytes of a spelling that are looked for: a chance hit in a terabyte is still out of the question."""

CHUNK_BYTES = 1 << 22


def spellings(token):
    """Return how a token of 32 bytes may stand somewhere: raw, hexadecimal, base64 at every offset, in both alphabets."""
    hexadecimal = token.hex()
    found = {token[8 : 8 + WINDOW]}
    for text in (hexadecimal, hexadecimal.upper()):
        found.add(text[:WINDOW].encode())
    for offset in range(3):
        encoded = base64.b64encode(bytes(offset) + token)[4 : 4 + WINDOW]
        found |= {encoded, encoded.replace(b"+", b"-").replace(b"/", b"_")}
    return found


class Search:
    """Tokens by name, sought all at once: each place's first three bytes are looked up in a table of what may begin."""

    def __init__(self, tokens):
        self.names = {spelling: name for name, token in tokens.items() for spelling in spellings(token)}
        self._may_begin = np.zeros(1 << 24, dtype=bool)
        for spelling in self.names:
            self._may_begin[int.from_bytes(spelling[:3])] = True

    def found_in(self, content):
        """Return the names of all tokens in some bytes."""
        found = set()
        for start in range(0, len(content), CHUNK_BYTES):
            found |= self._found_in_chunk(content[start : start + CHUNK_BYTES + WINDOW])
        return found

    def _found_in_chunk(self, content):
        if not content.strip(b"\0"):
            return set()
        row = np.frombuffer(content, dtype=np.uint8).astype(np.uint32)
        places = np.flatnonzero(self._may_begin[row[:-2] << 16 | row[1:-1] << 8 | row[2:]])
        here = (self.names.get(content[place : place + WINDOW]) for place in places.tolist())
        return {name for name in here if name is not None}

    def found_under(self, folder):
        """Return the names of all tokens in the files of a folder, by file."""
        found = {}
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file() and not path.is_symlink() and (names := self.found_in(path.read_bytes())):
                found[path.relative_to(folder)] = names
        return found
