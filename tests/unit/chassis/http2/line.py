"""A line to a `Listener` without a network: frames in as bytes, frames out as records."""

import asyncio
import struct
from dataclasses import dataclass

import grpc
import hpack

from diwan.chassis.http2 import frames
from diwan.chassis.http2.connection import Connection
from diwan.chassis.http2.frames import Kind, Setting
from diwan.chassis.http2.listener import Limits, Listener

MESSAGE_MAX = 128 * 1024
HEADERS = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/echo"),
    (":authority", "house"),
    ("te", "trailers"),
    ("content-type", "application/grpc"),
]


@dataclass(frozen=True)
class Frame:
    kind: int
    flags: int
    stream: int
    payload: bytes


class Transport(asyncio.Transport):
    """Keeps what is written; ``unsent`` is what the line has not taken yet."""

    def __init__(self):
        super().__init__()
        self.written = bytearray()
        self.writes = 0
        self.unsent = 0
        self.is_deaf = self.is_closed = self.is_aborted = False

    def get_extra_info(self, name, default=None):
        return ("127.0.0.1", 4711) if name == "peername" else default

    def set_write_buffer_limits(self, high=None, low=None):
        self.high = high

    def get_write_buffer_size(self):
        return self.unsent

    def write(self, data):
        self.written += data
        self.writes += 1

    def is_closing(self):
        return self.is_closed

    def close(self):
        self.is_closed = True

    def abort(self):
        self.is_closed = self.is_aborted = True

    def pause_reading(self):
        self.is_deaf = True

    def resume_reading(self):
        self.is_deaf = False


class Methods(grpc.GenericRpcHandler):
    """Echoes once, echoes as a stream, waits for ever, counts."""

    def __init__(self):
        self.calls = []
        self.cancelled = 0
        self.size = 0

    def service(self, details):
        self.calls.append(details)
        match details.method:
            case "/echo":
                return grpc.unary_unary_rpc_method_handler(self.echo)
            case "/sized":
                return grpc.unary_unary_rpc_method_handler(self.sized)
            case "/many":
                return grpc.unary_stream_rpc_method_handler(self.many)
            case "/talk":
                return grpc.stream_stream_rpc_method_handler(self.talk)
            case "/wait":
                return grpc.unary_unary_rpc_method_handler(self.wait)
            case "/refuse":
                return grpc.stream_stream_rpc_method_handler(self.refuse)
            case "/break":
                return grpc.unary_unary_rpc_method_handler(self.breaks)
        return None

    async def echo(self, raw, _context):
        return raw

    async def sized(self, raw, _context):
        return bytes(int(raw))

    async def many(self, raw, context):
        for _ in range(int(raw)):
            await context.write(b"x" * 100)

    async def talk(self, _requests, context):
        while (raw := await context.read()) is not grpc.aio.EOF:
            await context.write(raw)

    async def refuse(self, _requests, context):
        await context.abort(grpc.StatusCode.NOT_FOUND, "100 % كذلك", (("more-bin", b"\x00\xff"),))

    async def breaks(self, _raw, _context):
        raise RuntimeError("swordfish")

    async def wait(self, _raw, _context):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


class Line:
    """One client's connection; with ``begins`` it has said preface and settings."""

    def __init__(self, *, calls_max=1000, begins=True, listener=None):
        self.methods = Methods()
        self.listener = listener or Listener(Limits(message_bytes_max=MESSAGE_MAX, calls_max=calls_max))
        self.listener.add_generic_rpc_handlers([self.methods])
        self.transport = Transport()
        self.connection = Connection(self.listener, asyncio.get_running_loop(), MESSAGE_MAX)
        self.encoder = hpack.Encoder()
        self.decoder = hpack.Decoder()
        self.read = 0
        self.connection.connection_made(self.transport)
        if begins:
            self.say(frames.PREFACE + frames.settings({}))

    def say(self, data):
        self.connection.data_received(data)

    def frame(self, kind, flags, stream, payload=b""):
        self.say(frames.frame(kind, flags, stream, payload))

    def block(self, fields):
        return self.encoder.encode(fields)

    def headers(self, stream, path="/echo", *more, ends=False, fields=None):
        said = [(name, path if name == ":path" else value) for name, value in HEADERS] + list(more)
        flags = frames.END_HEADERS | (frames.END_STREAM if ends else 0)
        self.frame(Kind.HEADERS, flags, stream, self.block(said if fields is None else fields))

    def data(self, stream, message, *, ends=True):
        self.frame(Kind.DATA, frames.END_STREAM if ends else 0, stream, prefixed(message))

    def call(self, stream, path="/echo", message=b"hello", *more):
        self.headers(stream, path, *more)
        self.data(stream, message)

    async def heard(self, turns=5):
        """Return the frames that came since the last time, after some turns of the loop."""
        for _ in range(turns):
            await asyncio.sleep(0)
        found, data = [], bytes(self.transport.written)
        while len(data) - self.read >= frames.HEAD_BYTES:
            high, low, kind, flags, stream = frames.HEAD.unpack_from(data, self.read)
            end = self.read + frames.HEAD_BYTES + (high << 16 | low)
            assert end <= len(data), "frames are written whole"
            found.append(Frame(kind, flags, stream, data[self.read + frames.HEAD_BYTES : end]))
            self.read = end
        return found

    async def answer(self, stream=1, turns=5):
        """Return what a call was answered: its messages and its trailers; None for trailers that have not come."""
        return self.answer_in(await self.heard(turns), stream)

    def answer_in(self, heard, stream=1):
        messages, said = bytearray(), None
        for each in heard:
            if each.kind == Kind.HEADERS:
                fields = dict(self.decoder.decode(each.payload))
                if each.stream == stream and each.flags & frames.END_STREAM:
                    said = fields
            elif each.kind == Kind.DATA and each.stream == stream:
                messages += each.payload
        return split(bytes(messages)), said

    async def end(self):
        """Return the connection's end: error and words; None where it goes on."""
        for each in await self.heard():
            if each.kind == Kind.GOAWAY:
                return frames.Error(int.from_bytes(each.payload[4:8])), each.payload[8:].decode()
        return None

    async def reset(self, stream=1):
        """Return with which error a stream was ended; None where it was not."""
        for each in await self.heard():
            if each.kind == Kind.RST_STREAM and each.stream == stream:
                return frames.Error(int.from_bytes(each.payload))
        return None

    async def is_alive(self, stream):
        """Say whether the connection still answers."""
        self.call(stream, "/echo", b"still here")
        messages, said = await self.answer(stream)
        return messages == [b"still here"] and said["grpc-status"] == "0"


def prefixed(message, packed=0):
    return struct.pack(">BI", packed, len(message)) + message


def split(data):
    """Return the messages in what a call was sent."""
    messages = []
    while data:
        _, size = struct.unpack_from(">BI", data)
        messages.append(data[5 : 5 + size])
        data = data[5 + size :]
    return messages


def setting(key, value):
    return frames.settings({Setting(key): value}) if key in set(Setting) else None
