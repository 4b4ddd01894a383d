"""Notices as one unbroken iteration, whatever becomes of connections and servers."""

from typing import Any, Self

from diwan.api.table.v1 import notices_pb2 as pb
from diwan.client.connection import Connection
from diwan.client.errors import DiwanError
from diwan.client.streams import PATIENCE_SECONDS, Backoff, read_message


class Notices:
    """What is to be pushed to phones; goes on by itself from the newest cursor that was handed out.

    Use it as ``async with tables.notices(...) as notices: async for notice in notices``. Keep ``cursor`` once a notice has
    been handled, and begin with it after a restart: none is missed, and none comes twice.
    """

    def __init__(
        self,
        connection: Connection,
        method: Any,
        request: pb.WatchNoticesRequest,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._connection = connection
        self._method = method
        self._request = request
        self._call: Any = None
        self._backoff = Backoff(patience_seconds)

    @property
    def cursor(self) -> int | None:
        """The newest cursor; None before the first message of a stream that began with now."""
        return self._request.after_cursor if self._request.HasField("after_cursor") else None

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

    async def __anext__(self) -> pb.Notice:
        """Return the next notice; raises `DiwanError` where the stream cannot be had again."""
        while True:
            message = await self._message()
            if message.WhichOneof("message") == "notice":
                return message.notice

    async def caught_up(self) -> int:
        """Return the cursor once the server says that there is nothing for now; notices before it are passed over."""
        while True:
            message = await self._message()
            if message.WhichOneof("message") == "heartbeat":
                return message.heartbeat.cursor

    async def _message(self) -> pb.WatchNoticesResponse:
        while True:
            if self._call is None:
                self._call = self._method(self._request, metadata=self._connection.metadata)
            try:
                message = await read_message(self._call)
            except DiwanError as error:
                self.cancel()
                await self._backoff.wait(error)
                continue
            except BaseException:
                self.cancel()
                raise
            if not isinstance(message, pb.WatchNoticesResponse):
                # It has no end of its own: the server went away.
                self.cancel()
                continue
            self._backoff.reset()
            kind = message.WhichOneof("message")
            self._request.after_cursor = message.notice.cursor if kind == "notice" else message.heartbeat.cursor
            return message
