"""Another service's feed, asked over gRPC: a consumer's source for what the bus lost."""

from collections.abc import Callable
from typing import Final
from uuid import UUID

import grpc

from diwan.api.feed.v1 import feed_service_pb2 as pb
from diwan.api.feed.v1.feed_service_pb2_grpc import FeedServiceStub
from diwan.chassis.feed.records import FeedEvent
from diwan.chassis.store.records import StoredEvent

READ_SECONDS: Final = 5.0
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", 16 * 1024 * 1024),
    ("grpc.enable_retries", 0),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
)


class RemoteFeed:
    """A `FeedSource` behind an address. ``token`` gives a token of the calling service that is good now."""

    def __init__(
        self, address: str, token: Callable[[], str], *, credentials: grpc.ChannelCredentials | None = None
    ) -> None:
        self._token = token
        self._channel = (
            grpc.aio.insecure_channel(address, _OPTIONS)
            if credentials is None
            else grpc.aio.secure_channel(address, credentials, _OPTIONS)
        )
        self._stub = FeedServiceStub(self._channel)  # type: ignore[no-untyped-call, unused-ignore]

    async def read(self, after: int, limit: int) -> list[FeedEvent]:
        """Return the events with greater numbers, in order, at most ``limit``; raises `ConnectionError`."""
        try:
            response = await self._stub.Read(
                pb.ReadRequest(after=after, limit=limit),
                timeout=READ_SECONDS,
                metadata=(("authorization", f"Bearer {self._token()}"),),
            )
        except grpc.aio.AioRpcError as error:
            raise ConnectionError(f"the feed was not read: {error.code().name}: {error.details()}") from None
        events = [_event(response.feed_id, message) for message in response.events]
        if limit == 1:
            # Whoever asks for one number sees what is there, also where that number is gone.
            return events
        if any(event.global_seq != number for number, event in enumerate(events, after + 1)):
            raise ConnectionError(f"the feed has a hole behind {after}")
        return events

    async def close(self) -> None:
        """Close the connection."""
        await self._channel.close()


def _event(feed_id: int, message: pb.FeedEvent) -> FeedEvent:
    stored = message.event
    return FeedEvent(
        feed_id,
        message.global_seq,
        message.leaf_hash,
        StoredEvent(
            stream_id=UUID(bytes=stored.stream_id),
            version=stored.version,
            event_id=UUID(bytes=stored.event_id),
            command_id=UUID(bytes=stored.command_id),
            epoch=stored.epoch,
            type_id=stored.type_id,
            schema_v=stored.schema_version,
            recorded_at_ms=stored.recorded_at_ms,
            body=stored.body,
            prev_hash=stored.prev_hash,
            hash=stored.hash,
            body_hash=stored.body_hash,
        ),
    )
