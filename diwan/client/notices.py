"""Notices as one unbroken iteration, whatever becomes of connections and servers."""

from diwan.api.table.v1 import notices_pb2 as pb
from diwan.client.streams import Lasting


class Notices(Lasting):
    """What is to be pushed to phones; goes on by itself from the newest cursor that was handed out.

    Use it as ``async with tables.notices(...) as notices: async for notice in notices``. Keep ``cursor`` once a notice has
    been handled, and begin with it after a restart: none is missed, and none comes twice.
    """

    @property
    def cursor(self) -> int | None:
        """The newest cursor; None before the first message of a stream that began with now."""
        cursor: int | None = self._request.after_cursor if self._request.HasField("after_cursor") else None
        return cursor

    async def __anext__(self) -> pb.Notice:
        """Return the next notice; raises `DiwanError` where the stream cannot be had again."""
        while True:
            message = await self._message()
            if message.WhichOneof("message") == "notice":
                return message.notice

    async def caught_up(self) -> int:
        """Return the cursor once the server says that there is nothing more at the moment; notices before it are passed over."""
        while True:
            message = await self._message()
            if message.WhichOneof("message") == "heartbeat":
                return message.heartbeat.cursor

    async def _message(self) -> pb.WatchNoticesResponse:
        message: pb.WatchNoticesResponse | None = None
        while message is None:  # It has no end of its own: where it ends the server went away.
            message = await self._read()
        kind = message.WhichOneof("message")
        self._request.after_cursor = message.notice.cursor if kind == "notice" else message.heartbeat.cursor
        return message
