"""A header block on its way: HEADERS and the CONTINUATIONs behind it, in one piece (RFC 9113, 4.3)."""

from typing import Final, NamedTuple

from diwan.chassis.http2 import frames
from diwan.chassis.http2.frames import ConnectionFault, Error

BLOCK_BYTES_MAX: Final = 32 * 1024
"""A header block, as it comes."""
CONTINUATIONS_MAX: Final = 15

_PRIORITY_BYTES: Final = 5


class WholeBlock(NamedTuple):
    """All of a header block, and whether the stream ends with it."""

    stream: int
    block: bytes
    is_last: bool


class GatheredBlock:
    """What has come of a connection's open header block; ``since`` is when it began, with more to follow."""

    __slots__ = ("_is_last", "_parts", "_stream", "is_open", "since")

    def __init__(self) -> None:
        self.is_open = False
        self.since = 0.0
        self._stream = 0
        self._is_last = False
        self._parts: list[bytes] = []

    def begin(self, flags: int, stream: int, payload: bytes, now: float) -> WholeBlock | None:
        """Take a HEADERS frame; returns the block if that is all of it."""
        block = frames.unpadded(flags, payload)
        if flags & frames.PRIORITY:
            if len(block) < _PRIORITY_BYTES:
                raise ConnectionFault(Error.FRAME_SIZE_ERROR, "headers without their priority")
            block = block[_PRIORITY_BYTES:]
        is_last = bool(flags & frames.END_STREAM)
        if flags & frames.END_HEADERS:
            return WholeBlock(stream, block, is_last)
        self.is_open, self.since = True, now
        self._stream, self._is_last, self._parts = stream, is_last, [block]
        return None

    def go_on(self, flags: int, stream: int, payload: bytes) -> WholeBlock | None:
        """Take a CONTINUATION frame; returns the block if that is the end of it."""
        if not self.is_open or self._stream != stream:
            raise ConnectionFault(Error.PROTOCOL_ERROR, "a continuation of nothing")
        self._parts.append(payload)
        if sum(map(len, self._parts)) > BLOCK_BYTES_MAX or len(self._parts) > CONTINUATIONS_MAX + 1:
            raise ConnectionFault(Error.ENHANCE_YOUR_CALM, "a header block without end")
        if not flags & frames.END_HEADERS:
            return None
        parts, self._parts, self.is_open = self._parts, [], False
        return WholeBlock(stream, b"".join(parts), self._is_last)
