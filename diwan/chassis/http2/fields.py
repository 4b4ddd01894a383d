"""Header fields: what a call says of itself before its messages, and what an answer says behind them.

Blocks are read by `hpack`. Callers say the same again and again, so a block that changed nothing in the connection's
table is remembered with the request that it stands for, until any block at all changes the table: then all is forgotten,
for the same bytes may be another caller's fields. What we send is written out and never indexed: it is short, and
a server that keeps no table for its answers cannot get it wrong.
"""

import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import quote

import grpc
import hpack
import msgspec

from diwan.chassis.http2.frames import ConnectionFault, Error, StreamFault

METADATA_BYTES_MAX: Final = 8 * 1024
"""More in a call's fields is refused with a reason; as HTTP/2 counts, 32 bytes for each beside its text."""
LIST_BYTES_MAX: Final = 64 * 1024
"""More in a block, unpacked, ends the connection: what is left unread of it would garble all later ones."""
REMEMBERED_BYTES_MAX: Final = 64 * 1024
"""Of all that a connection has remembered, blocks and what they stand for: one byte of a block can be 4 KiB of a field."""
REMEMBERED_MAX: Final = 64

TIMEOUT_SECONDS_MAX: Final = 30 * 24 * 3600.0
"""A caller's deadline is no further off: eight digits of hours are more than timers count."""

_TOO_MANY_SIZES: Final = re.compile(rb"(?:[\x20-\x3e]|\x3f[\x80-\xff]*[\x00-\x7f]){9}").match
"""Two tell everything there is to tell (RFC 7541 section 4.2); a block can hold thousands, and each costs as much as a field."""
_ENTRY_BYTES: Final = 32
_TIMEOUT: Final = re.compile(r"([0-9]{1,8})([HMSmun])").fullmatch
_CONTENT: Final = re.compile(r"application/grpc(?:[+;].*)?").fullmatch
"""Not ``application/grpc-web``, which frames its end otherwise."""
_UNITS: Final = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
_NAME: Final = re.compile(r"[0-9a-z_.!#$%&'*+^`|~-]+").fullmatch
_NOT_IN_VALUES: Final = re.compile(r"[\x00\r\n]").search
_OF_THE_CONNECTION: Final = frozenset({"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"})
_OF_THE_TRANSPORT: Final = frozenset({"te", "content-type", "grpc-timeout", "grpc-encoding", "grpc-accept-encoding"})
_READABLE: Final = " !\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~"

type Metadata = tuple[tuple[str, str | bytes], ...]


class Request(msgspec.Struct, frozen=True):
    """What a call says before its messages. ``http_status`` is set where it is no call at all, and nothing else is then.

    ``timeout`` is in seconds, None without one; ``metadata`` is what the caller added, binary values already bytes.
    """

    path: str = ""
    metadata: Metadata = ()
    timeout: float | None = None
    encoding: str = "identity"
    bytes: int = 0
    http_status: int = 0


class Blocks:
    """Reads the header blocks of one connection, in the order in which they come."""

    def __init__(self) -> None:
        self._decoder = hpack.Decoder(max_header_list_size=LIST_BYTES_MAX)
        self._table = self._decoder.header_table.dynamic_entries
        self._known: dict[bytes, Request] = {}
        self._known_bytes = 0

    def request(self, block: bytes) -> Request:
        """Return the request of a block; raises `StreamFault` where it is malformed, `ConnectionFault` beyond repair."""
        known = self._known.get(block)
        if known is not None:
            return known
        first, *sizes = self._mark()
        fields = self._decoded(block)
        first_now, *sizes_now = self._mark()
        is_changed = first_now is not first or sizes_now != sizes
        if is_changed:
            # Indexes in remembered blocks mean something else from now on, also where these fields make no request.
            self._forget()
        request = _request_of(fields)
        if not is_changed:
            self._remember(block, request)
        return request

    def _remember(self, block: bytes, request: Request) -> None:
        size = len(block) + request.bytes
        if len(self._known) < REMEMBERED_MAX and self._known_bytes + size <= REMEMBERED_BYTES_MAX:
            self._known[block] = request
            self._known_bytes += size

    def _forget(self) -> None:
        self._known.clear()
        self._known_bytes = 0

    def skip(self, block: bytes) -> None:
        """Take a block in of which only its effect on the table counts."""
        self._decoded(block)
        self._forget()

    def _mark(self) -> tuple[object, ...]:
        # Whatever is entered stands first, as an object of its own, whether or not its text is new.
        return (self._table[0] if self._table else None, len(self._table), self._decoder.header_table_size)

    def _decoded(self, block: bytes) -> Sequence[tuple[bytes, bytes]]:
        if _TOO_MANY_SIZES(block):
            raise ConnectionFault(Error.COMPRESSION_ERROR, "a table changes its size all the time")
        try:
            # As bytes: text that is none is the fault of one request, and the table is as good as before.
            return list(self._decoder.decode(block, raw=True))
        except hpack.OversizedHeaderListError:
            raise ConnectionFault(Error.ENHANCE_YOUR_CALM, "too much in one header block") from None
        except hpack.HPACKError:
            raise ConnectionFault(Error.COMPRESSION_ERROR, "a header block cannot be read") from None


def _request_of(raw: Sequence[tuple[bytes, bytes]]) -> Request:
    try:
        fields = [(name.decode(), value.decode()) for name, value in raw]
    except UnicodeDecodeError:
        raise _malformed("a field is no text") from None
    pseudo: dict[str, str] = {}
    rest: list[tuple[str, str]] = []
    for name, value in fields:
        if name.startswith(":"):
            if rest or name in pseudo:
                raise _malformed(f"{name} stands in the wrong place")
            pseudo[name] = value
        else:
            rest.append((name, value))
    if pseudo.keys() - {":authority"} != {":method", ":scheme", ":path"}:
        raise _malformed("a request has a method, a scheme and a path")
    size = sum(len(name) + len(value) + _ENTRY_BYTES for name, value in fields)
    said = _checked(rest)
    if pseudo[":method"] != "POST":
        return Request(http_status=405)
    if not _CONTENT(said.get("content-type", "")):
        return Request(http_status=415)
    return Request(
        path=pseudo[":path"],
        metadata=tuple(_metadata_of(rest)),
        timeout=_seconds_of(said["grpc-timeout"]) if "grpc-timeout" in said else None,
        encoding=said.get("grpc-encoding", "identity"),
        bytes=size,
    )


def _checked(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    said: dict[str, str] = {}
    for name, value in fields:
        if not _NAME(name) or name in _OF_THE_CONNECTION or _NOT_IN_VALUES(value):
            raise _malformed(f"{name[:32]!r} is no field of a request")
        if name == "te" and value != "trailers":
            raise _malformed("te says trailers or nothing")
        said.setdefault(name, value)
    return said


def _metadata_of(fields: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str | bytes]]:
    for name, value in fields:
        if name in _OF_THE_TRANSPORT:
            continue
        if not name.endswith("-bin"):
            yield name, value
            continue
        for part in value.split(","):
            try:
                yield name, b64decode(part + "=" * (-len(part) % 4), validate=True)
            except (NotBase64, ValueError):
                raise _malformed(f"{name[:32]!r} is not base64") from None


def _seconds_of(text: str) -> float:
    found = _TIMEOUT(text)
    if found is None:
        raise _malformed("a timeout is up to eight digits and a unit")
    return min(int(found[1]) * _UNITS[found[2]], TIMEOUT_SECONDS_MAX)


def _malformed(why: str) -> StreamFault:
    return StreamFault(Error.PROTOCOL_ERROR, why)


# ---- what we send -----------------------------------------------------------------------------------------------------


def encoded(fields: Iterable[tuple[str, bytes]]) -> bytes:
    """Return fields as a block, each written out and not indexed (RFC 7541 section 6.2.2)."""
    return b"".join(b"\x00" + _text(name.encode()) + _text(value) for name, value in fields)


def _text(value: bytes) -> bytes:
    size = len(value)
    if size < 127:
        return bytes([size]) + value
    size -= 127
    length = bytearray(b"\x7f")
    while size >= 128:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    length.append(size)
    return bytes(length) + value


_OK: Final = b"\x88"
"""``:status 200``, which every table has."""
ANSWER: Final = _OK + encoded([("content-type", b"application/grpc")])
"""What comes before an answer's messages, or with `trailers` instead of them."""
SUCCESS: Final = encoded([("grpc-status", b"0")])
"""What comes behind an answer that is whole."""


def trailers(code: grpc.StatusCode, details: str, metadata: Iterable[tuple[str, str | bytes]] = ()) -> bytes:
    """Return what comes behind an answer, or instead of one."""
    number, _ = code.value
    fields = [("grpc-status", str(number).encode())]
    if details:
        fields.append(("grpc-message", quote(details, safe=_READABLE).encode()))
    for name, value in metadata:
        raw = b64encode(value).rstrip(b"=") if isinstance(value, bytes) else value.encode("ascii", "backslashreplace")
        fields.append((name, raw))
    return encoded(fields)


def no_call(http_status: int) -> bytes:
    """Return the answer to a request that is no gRPC call."""
    return encoded([(":status", str(http_status).encode()), ("content-length", b"0")])
