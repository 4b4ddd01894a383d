"""NATS as the services use it: one client wrapper, the streams and durables, and a user a service (RELIABILITY 3.2).

The bus is a copy: whatever is lost here is read again from the feeds, so nothing is ever acknowledged to anybody
because NATS said yes. nats-py is known to this module alone.
"""

import asyncio
import base64
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

import msgspec
import nats.errors
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from diwan.chassis.bus_user import NatsUser
from diwan.core.log import TABLE_FEED, TOURNAMENT_FEED, WALLET_FEED

FEEDS: Final[Mapping[str, int]] = {"table": TABLE_FEED, "wallet": WALLET_FEED, "tournament": TOURNAMENT_FEED}
"""Services that publish their feed, and its number in the leaves of the register."""

CONSUMERS: Final[Mapping[str, Sequence[str]]] = {
    "table": ("wallet", "bots", "audit", "tournament"),
    "wallet": ("audit",),
    "tournament": ("audit",),
}
"""Who reads which feed: durables are made for these at set-up, and nobody can make others at run time."""

SCRUBBER: Final = "audit"
"""Who holds the copies against the feeds: it reads any message again, and may do nothing else that its durables do not do."""

API_SECONDS: Final = 5.0
RETENTION_SECONDS: Final = 30 * 24 * 3600
MESSAGE_BYTES_MAX: Final = 65_536
ACK_SECONDS: Final = 60
"""Redelivery after this long: more than five times what a consumer's unit may take."""

PULL_MESSAGES: Final = 256
PULL_SECONDS: Final = 5.0
_NANOSECONDS: Final = 1_000_000_000

WRONG_LAST_SEQUENCE: Final = 10071
NO_MESSAGE: Final = 10037
NO_STREAM: Final = 10059

_log = structlog.get_logger(__name__)


class BusError(Exception):
    """JetStream refused; ``code`` is its error code, 0 where it gave none."""

    def __init__(self, code: int, description: str) -> None:
        super().__init__(f"{description} ({code})")
        self.code = code


class BusUnavailable(Exception):  # noqa: N818
    """No answer: what was asked may or may not have happened (D9)."""


class StreamState(msgspec.Struct, frozen=True):
    """What a stream holds: an empty one that begins at n has ``last_seq`` n - 1."""

    messages: int
    first_seq: int
    last_seq: int
    is_atomic: bool


class BusMessage(msgspec.Struct, frozen=True):
    """One message of a stream's copy: its sequence is the event's ``global_seq``."""

    seq: int
    subject: str
    headers: Mapping[str, str]
    body: bytes


def stream_name(service: str) -> str:
    return f"FEED_{service}"


def subject_of(service: str, stream_id: str) -> str:
    """Return the subject of a stream's events: the id is a UUID, which holds no dot, star or bracket."""
    return f"ev.{service}.{stream_id}"


def users(passwords: Mapping[str, str]) -> list[NatsUser]:
    """Return a user a service with only the rights it needs; ``passwords`` names the services."""
    return [
        NatsUser(name=service, password=password, publish=_may_publish(service), subscribe=[f"_INBOX_{service}.>"])
        for service, password in passwords.items()
    ]


def services() -> list[str]:
    """Return every service that has a user on the bus."""
    return sorted({*FEEDS, *(reader for readers in CONSUMERS.values() for reader in readers)})


def _may_publish(service: str) -> list[str]:
    subjects = []
    if service in FEEDS:
        name = stream_name(service)
        subjects += [f"ev.{service}.>", f"$JS.API.STREAM.INFO.{name}", f"$JS.API.STREAM.MSG.GET.{name}"]
    for feed, readers in CONSUMERS.items():
        if service in readers:
            name = stream_name(feed)
            subjects += [f"$JS.API.CONSUMER.MSG.NEXT.{name}.{service}", f"$JS.ACK.{name}.{service}.>"]
            if service == SCRUBBER:
                subjects += [f"$JS.API.STREAM.INFO.{name}", f"$JS.API.STREAM.MSG.GET.{name}"]
    return subjects


class Bus:
    """A connection that comes back by itself for as long as the process lives."""

    def __init__(self, url: str, user: str) -> None:
        self._url = url
        self._user = user
        self._client = Client()
        self._connections = 0
        self._connecting: asyncio.Task[None] | None = None

    @classmethod
    def start(cls, url: str, user: str) -> Self:
        """Begin to connect and go on trying; ``url`` holds the credentials. A service starts without NATS too."""
        bus = cls(url, user)
        bus._connecting = asyncio.create_task(bus._connect(), name=f"bus-{user}")
        return bus

    async def _connect(self) -> None:
        """Connect for the first time, however long that takes; nats-py itself brings a lost connection back."""
        while True:
            client = Client()
            try:
                await client.connect(
                    self._url,
                    name=self._user,
                    inbox_prefix=f"_INBOX_{self._user}",
                    allow_reconnect=True,
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=1,
                    connect_timeout=2,
                    ping_interval=5,
                    max_outstanding_pings=2,
                    reconnected_cb=self._on_reconnected,
                    error_cb=self._on_fault,
                )
            except Exception as error:
                # Wrong credentials end nats-py's own attempts; they may be mended on the server's side.
                await self._on_fault(error)
                await asyncio.sleep(1.0)
                continue
            self._client = client
            return

    async def _on_reconnected(self) -> None:
        self._connections += 1

    async def _on_fault(self, error: Exception) -> None:
        _log.info("bus_fault", user=self._user, error=repr(error))

    async def ready(self, seconds: float = API_SECONDS) -> None:
        """Wait for the first connection; raises `BusUnavailable`."""
        if self._connecting is not None:
            done, _ = await asyncio.wait({self._connecting}, timeout=seconds)
            if not done:
                raise BusUnavailable("not connected yet")

    @property
    def is_connected(self) -> bool:
        return self._client.is_connected

    @property
    def generation(self) -> int:
        """Grows with every reconnection: what was asked over an older connection is not answered any more."""
        return self._connections

    async def close(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait({self._connecting})
        try:
            await asyncio.wait_for(self._client.close(), API_SECONDS)
        except Exception as error:
            # nats-py stumbles over what it still wanted to write to a connection that is gone; we are leaving anyway.
            _log.info("bus_closed_uncleanly", error=repr(error))

    async def request(
        self, subject: str, payload: bytes, headers: Mapping[str, str] | None = None, *, seconds: float = API_SECONDS
    ) -> dict[str, Any]:
        """Ask JetStream; raises `BusError` where it refuses and `BusUnavailable` where it does not answer."""
        if not self.is_connected:
            raise BusUnavailable("not connected")
        try:
            reply = await self._client.request(
                subject, payload, timeout=seconds, headers=dict(headers) if headers else None
            )
        except (nats.errors.Error, TimeoutError, OSError) as error:
            raise BusUnavailable(repr(error)) from error
        answer: dict[str, Any] = json.loads(reply.data)
        if "error" in answer:
            refusal = answer["error"]
            raise BusError(refusal.get("err_code", 0), refusal.get("description", "refused"))
        return answer

    async def send(self, subject: str, payload: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send without an answer: only for what is answered by a later request, never for a fact by itself (D10)."""
        if not self.is_connected:
            raise BusUnavailable("not connected")
        try:
            await self._client.publish(subject, payload, headers=dict(headers) if headers else None)
        except (nats.errors.Error, OSError) as error:
            raise BusUnavailable(repr(error)) from error

    async def stream_state(self, service: str) -> StreamState:
        """Return what the copy of a service's feed holds."""
        answer = await self.request(f"$JS.API.STREAM.INFO.{stream_name(service)}", b"")
        state = answer["state"]
        is_atomic = bool(answer["config"].get("allow_atomic"))
        return StreamState(state["messages"], state["first_seq"], state["last_seq"], is_atomic)

    async def message(self, service: str, seq: int) -> BusMessage | None:
        """Return one message of the copy, or None if it is not there."""
        try:
            answer = await self.request(
                f"$JS.API.STREAM.MSG.GET.{stream_name(service)}", json.dumps({"seq": seq}).encode()
            )
        except BusError as error:
            if error.code == NO_MESSAGE:
                return None
            raise
        stored = answer["message"]
        headers = parse_headers(base64.b64decode(stored.get("hdrs", "")))
        return BusMessage(stored["seq"], stored["subject"], headers, base64.b64decode(stored.get("data", "")))

    async def pull(self, service: str, durable: str) -> "Pull":
        """Return a puller on a durable that was made at set-up."""
        inbox = self._client.new_inbox()
        return Pull(self, await self._client.subscribe(inbox), inbox, stream_name(service), durable)


class Pull:
    """One long-lived pull: a request is always outstanding, and asked again when it ends, is lost, or is not answered.

    Written on the subscription itself: nats-py's `fetch` waits for a full batch until its time is up.
    """

    def __init__(self, bus: Bus, subscription: Subscription, inbox: str, stream: str, durable: str) -> None:
        self._bus = bus
        self._subscription = subscription
        self._inbox = inbox
        self._next = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{durable}"
        self._wanted = 0
        self._asked_until = 0.0
        self._generation = -1

    async def messages(self, seconds: float) -> list[Msg]:
        """Return what is there, or what comes first within ``seconds``; empty if nothing does."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not self._bus.is_connected:
                raise BusUnavailable("not connected")
            await self._ask()
            found = await self._take(left)
            while found and self._subscription.pending_msgs and len(found) < PULL_MESSAGES:
                found += await self._take(left)
            if found:
                return found
        return []

    async def _take(self, seconds: float) -> list[Msg]:
        try:
            message = await self._subscription.next_msg(timeout=seconds)
        except (TimeoutError, nats.errors.Error):
            return []
        if message.headers is not None and "Status" in message.headers:
            if message.headers["Status"] != "100":
                # Expired, refused, or nobody there; the latter two would otherwise be asked again in a hot loop.
                self._wanted = 0
                if message.headers["Status"] != "408":
                    await asyncio.sleep(min(seconds, 0.2))
            return []
        self._wanted -= 1
        return [message]

    async def _ask(self) -> None:
        now = time.monotonic()
        if self._wanted > 0 and now < self._asked_until and self._generation == self._bus.generation:
            return
        self._generation = self._bus.generation
        self._wanted = PULL_MESSAGES
        self._asked_until = now + PULL_SECONDS + 1.0
        request = {"batch": PULL_MESSAGES, "expires": int(PULL_SECONDS * _NANOSECONDS)}
        await self._bus._client.publish(self._next, json.dumps(request).encode(), self._inbox)  # noqa: SLF001


def sequence_of(message: Msg) -> int:
    """Return a delivered message's stream sequence."""
    sequence: int = message.metadata.sequence.stream
    return sequence


def parse_headers(raw: bytes) -> dict[str, str]:
    """Return the headers of a stored message: ``NATS/1.0``, then a name and a value a line."""
    lines = raw.decode().split("\r\n")[1:]
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines) if name}


async def ensure_stream(admin: Bus, service: str, *, first_seq: int = 1, replicas: int = 1) -> None:
    """Make the stream of a service's feed if it is not there; done at set-up, by a user that services do not have."""
    config = {
        "name": stream_name(service),
        "subjects": [f"ev.{service}.>"],
        "storage": "file",
        "num_replicas": replicas,
        "retention": "limits",
        "discard": "new",
        "max_age": RETENTION_SECONDS * _NANOSECONDS,
        "max_msg_size": MESSAGE_BYTES_MAX,
        "max_consumers": 16,
        "duplicate_window": 120 * _NANOSECONDS,
        "deny_delete": True,
        "deny_purge": True,
        "allow_direct": False,
        "allow_atomic": True,
        "first_seq": first_seq,
    }
    try:
        await admin.request(f"$JS.API.STREAM.INFO.{stream_name(service)}", b"")
    except BusError as error:
        if error.code != NO_STREAM:
            raise
        await admin.request(f"$JS.API.STREAM.CREATE.{stream_name(service)}", json.dumps(config).encode())


async def ensure_consumers(admin: Bus, service: str) -> None:
    """Make the durables of a service's feed, one a reader; an existing one keeps its place."""
    name = stream_name(service)
    for reader in CONSUMERS.get(service, ()):
        config = {
            "durable_name": reader,
            "deliver_policy": "all",
            "ack_policy": "explicit",
            "ack_wait": ACK_SECONDS * _NANOSECONDS,
            "max_deliver": -1,
            "max_ack_pending": PULL_MESSAGES,
            "replay_policy": "instant",
        }
        request = json.dumps({"stream_name": name, "config": config}).encode()
        await admin.request(f"$JS.API.CONSUMER.DURABLE.CREATE.{name}.{reader}", request)


async def set_up(admin_url: str, *, replicas: int = 1) -> None:
    """Make every stream and durable that is not there yet."""
    admin = Bus.start(admin_url, "setup")
    try:
        await admin.ready(30.0)
        for service in FEEDS:
            await ensure_stream(admin, service, replicas=replicas)
            await ensure_consumers(admin, service)
    finally:
        await admin.close()


async def rebuild(admin: Bus, service: str, *, first_seq: int, replicas: int = 1) -> None:
    """Drop a damaged or forked copy and begin it again at ``first_seq``; the relay refills it with the same numbers."""
    try:
        await admin.request(f"$JS.API.STREAM.DELETE.{stream_name(service)}", b"")
    except BusError as error:
        if error.code != NO_STREAM:
            raise
    await ensure_stream(admin, service, first_seq=first_seq, replicas=replicas)
    await ensure_consumers(admin, service)
