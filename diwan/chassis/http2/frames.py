"""Frames of HTTP/2 as bytes (RFC 9113 sections 4 to 7)."""

from enum import IntEnum
from struct import Struct as Layout
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD: Final = Layout(">BHBBI")
"""Length (24 bits, in two), kind, flags, stream."""
HEAD_BYTES: Final = 9
_SETTING: Final = Layout(">HI")
PAYLOAD_MAX: Final = 16_384
"""What we take, which is the least that everybody must, and what we send unless the peer takes more."""
STREAM_MAX: Final = 2**31 - 1
WINDOW_MAX: Final = 2**31 - 1
WINDOW: Final = 65_535
"""Bytes that may be under way on a stream or a connection before anybody has said otherwise."""


class Kind(IntEnum):
    """What a frame is; others are ignored."""

    DATA = 0
    HEADERS = 1
    PRIORITY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PUSH_PROMISE = 5
    PING = 6
    GOAWAY = 7
    WINDOW_UPDATE = 8
    CONTINUATION = 9


END_STREAM: Final = 0x1
ACK: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
PRIORITY: Final = 0x20


class Setting(IntEnum):
    """What can be set for a connection."""

    HEADER_TABLE_SIZE = 1
    ENABLE_PUSH = 2
    MAX_CONCURRENT_STREAMS = 3
    INITIAL_WINDOW_SIZE = 4
    MAX_FRAME_SIZE = 5
    MAX_HEADER_LIST_SIZE = 6


class Error(IntEnum):
    """Why a stream or a connection ends."""

    NO_ERROR = 0
    PROTOCOL_ERROR = 1
    INTERNAL_ERROR = 2
    FLOW_CONTROL_ERROR = 3
    SETTINGS_TIMEOUT = 4
    STREAM_CLOSED = 5
    FRAME_SIZE_ERROR = 6
    REFUSED_STREAM = 7
    CANCEL = 8
    COMPRESSION_ERROR = 9
    CONNECT_ERROR = 10
    ENHANCE_YOUR_CALM = 11


class ConnectionFault(Exception):  # noqa: N818  (read as a sentence: the connection ends)
    """The peer broke the protocol or our patience: the connection ends with GOAWAY."""

    def __init__(self, error: Error, why: str) -> None:
        super().__init__(why)
        self.error = error
        self.why = why


class StreamFault(Exception):  # noqa: N818
    """Something is wrong with one stream: it ends with RST_STREAM, the others go on."""

    def __init__(self, error: Error, why: str) -> None:
        super().__init__(why)
        self.error = error
        self.why = why


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """Return a whole frame."""
    size = len(payload)
    return HEAD.pack(size >> 16, size & 0xFFFF, kind, flags, stream) + payload


def settings(values: dict[Setting, int]) -> bytes:
    """Return our settings."""
    payload = b"".join(key.to_bytes(2) + value.to_bytes(4) for key, value in values.items())
    return frame(Kind.SETTINGS, 0, 0, payload)


def settings_of(payload: bytes) -> dict[Setting, int]:
    """Return what the peer sets that we heed, of each the last word; what we may index we do not, and push nothing."""
    if len(payload) % _SETTING.size:
        raise ConnectionFault(Error.FRAME_SIZE_ERROR, "half a setting")
    heeded: dict[Setting, int] = {}
    for key, value in _SETTING.iter_unpack(payload):
        match key:
            case Setting.INITIAL_WINDOW_SIZE:
                if value > WINDOW_MAX:
                    raise ConnectionFault(Error.FLOW_CONTROL_ERROR, "a window beyond all windows")
                heeded[Setting.INITIAL_WINDOW_SIZE] = value
            case Setting.MAX_FRAME_SIZE:
                if not PAYLOAD_MAX <= value < 2**24:
                    raise ConnectionFault(Error.PROTOCOL_ERROR, "no size of a frame")
                heeded[Setting.MAX_FRAME_SIZE] = value
            case Setting.ENABLE_PUSH if value > 1:
                raise ConnectionFault(Error.PROTOCOL_ERROR, "push is on or off")
    return heeded


def window_update(stream: int, size: int) -> bytes:
    """Return leave for the peer to send so many bytes more, on a stream or with 0 on the connection."""
    return frame(Kind.WINDOW_UPDATE, 0, stream, size.to_bytes(4))


def reset(stream: int, error: Error) -> bytes:
    """Return the abrupt end of a stream."""
    return frame(Kind.RST_STREAM, 0, stream, error.to_bytes(4))


def go_away(last: int, error: Error, why: str = "") -> bytes:
    """Return the end of a connection: streams above ``last`` were never looked at."""
    return frame(Kind.GOAWAY, 0, 0, last.to_bytes(4) + error.to_bytes(4) + why.encode()[:64])


def headers(stream: int, block: bytes, payload_max: int, *, ends_stream: bool) -> bytes:
    """Return a header block, in as many frames as the peer's limit makes of it."""
    flags = END_STREAM if ends_stream else 0
    if len(block) <= payload_max:
        return frame(Kind.HEADERS, flags | END_HEADERS, stream, block)
    parts = [block[at : at + payload_max] for at in range(0, len(block), payload_max)]
    first = frame(Kind.HEADERS, flags, stream, parts[0])
    middle = [frame(Kind.CONTINUATION, 0, stream, part) for part in parts[1:-1]]
    return b"".join([first, *middle, frame(Kind.CONTINUATION, END_HEADERS, stream, parts[-1])])


def unpadded(flags: int, payload: bytes) -> bytes:
    """Return what a DATA or HEADERS frame carries beside its padding."""
    if not flags & PADDED:
        return payload
    if not payload or payload[0] >= len(payload):
        raise ConnectionFault(Error.PROTOCOL_ERROR, "padding is longer than its frame")
    return payload[1 : len(payload) - payload[0]]
