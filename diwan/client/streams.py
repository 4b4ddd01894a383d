"""Streams that survive their connections: they go on from the newest version that the caller has seen."""

import asyncio
from typing import Any, Final, Self

import grpc

from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.client.connection import Connection
from diwan.client.errors import DiwanError, as_our_errors

SILENCE_SECONDS_MAX: Final = 30.0
"""A table says every few seconds that it is alive: a line that is silent for longer is dead."""

PATIENCE_SECONDS: Final = 120.0
"""How long a stream is sought again before its iteration fails."""

_BACKOFF_SECONDS_MAX: Final = 2.0


def version_after(message: pb.WatchResponse | pb.PlayResponse, version: int) -> int:
    """Return the newest version that a caller has who has this message and had ``version`` before."""
    if message.WhichOneof("message") != "update":
        return version
    update = message.update
    newest = update.events[-1].version if update.events else 0
    return max(version, newest, update.view.version if update.HasField("view") else 0)


def is_unknown_version(error: DiwanError, version: int) -> bool:
    """Say whether the server does not know the version that we go on from: then everything is asked for anew.

    So it is after a seat was left at a table that shows itself late to spectators.
    """
    return error.reason == "VERSION_OUT_OF_RANGE" and version != 0


class Backoff:
    """Waits a little longer after each failure in a row, until patience ends."""

    def __init__(self, patience_seconds: float) -> None:
        self._patience = patience_seconds
        self.reset()

    def reset(self) -> None:
        """The line works: the next failure is the first again."""
        self._seconds = 0.05
        self._since: float | None = None

    async def wait(self, error: DiwanError) -> None:
        """Wait before the next try; raises ``error`` where trying again is useless or has gone on for too long."""
        now = asyncio.get_running_loop().time()
        self._since = self._since or now
        if not error.can_be_retried or now - self._since >= self._patience:
            raise error
        await asyncio.sleep(max(self._seconds, error.retry_seconds or 0))
        self._seconds = min(2 * self._seconds, _BACKOFF_SECONDS_MAX)


class Lasting:
    """A stream that is opened again where it was lost. Who derives from it moves the request on, message by message.

    Leaving an ``async with`` block cancels the call, which grpc.aio no longer does by itself for a call that is dropped
    (grpc issue 43462).
    """

    def __init__(
        self, connection: Connection, method: Any, request: Any, *, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self._connection = connection
        self._method = method
        self._request = request
        self._call: Any = None
        self._backoff = Backoff(patience_seconds)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cancel()

    def cancel(self) -> None:
        """End the stream."""
        if self._call is not None:
            self._call.cancel()
            self._call = None

    def __aiter__(self) -> Self:
        return self

    async def _read(self) -> Any:
        """Return the next message, None where the server has ended the stream; raises `DiwanError` if it stays lost."""
        while True:
            if self._call is None:
                self._call = self._method(self._request, metadata=self._connection.metadata)
            try:
                message = await read_message(self._call)
            except DiwanError as error:
                self.cancel()
                if not self._begins_anew(error):
                    await self._backoff.wait(error)
                continue
            except BaseException:
                self.cancel()
                raise
            if message is grpc.aio.EOF:
                self.cancel()
                return None
            self._backoff.reset()
            return message

    def _begins_anew(self, _error: DiwanError) -> bool:
        """Say whether the request was changed so that it can be asked again at once."""
        return False


class Story(Lasting):
    """A stream of versions: lost, it goes on behind the newest one, or from a snapshot where that is not known any more."""

    @property
    def version(self) -> int:
        """The newest version that was handed out."""
        version: int = self._request.after_version
        return version

    def _begins_anew(self, error: DiwanError) -> bool:
        if not is_unknown_version(error, self._request.after_version):
            return False
        self._request.after_version = 0
        return True


class Watching(Story):
    """A table's story as one unbroken iteration, whatever becomes of connections and servers.

    Use it as ``async with tables.watch(...) as messages: async for message in messages``.
    """

    async def __anext__(self) -> pb.WatchResponse:
        """Return the next message; raises StopAsyncIteration when the table's story is over, else `DiwanError`."""
        message: pb.WatchResponse | None = await self._read()
        if message is None:
            raise StopAsyncIteration
        self._request.after_version = version_after(message, self._request.after_version)
        return message


async def read_message(call: Any) -> Any:
    """Return a stream's next message, or grpc's EOF; raises `DiwanError`, SILENT where a living line would speak."""
    try:
        with as_our_errors():
            async with asyncio.timeout(SILENCE_SECONDS_MAX):
                return await call.read()
    except TimeoutError:
        raise DiwanError("SILENT", code=grpc.StatusCode.UNAVAILABLE, is_from_server=False) from None


async def write_message(call: Any, message: Any) -> bool:
    """Write to a stream; returns False where it has ended: why is for its reader to learn."""
    try:
        with as_our_errors():
            await call.write(message)
    except (DiwanError, asyncio.InvalidStateError):
        return False
    return True
