"""The relay from feed to JetStream beside nats-py's own publishing, in the same run (PERFORMANCE.md: bar 0.5, aim 0.8)."""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from uuid import uuid4

import asyncpg
import uvloop

from diwan.chassis.bus import FEEDS, Bus, ensure_stream, rebuild
from diwan.chassis.database import OWNER, Database, ensure_roles
from diwan.chassis.embedded import EmbeddedNats, EmbeddedPostgres
from diwan.chassis.feed import Feed
from diwan.chassis.feed.relay import Relay
from diwan.chassis.feed.sequencer import sequence
from diwan.chassis.migrate import migrate
from diwan.chassis.store import Append, EventStore, NewEvent
from diwan.core.hashing import first_prev_hash

EVENTS = 10_000
IN_FLIGHT = 100
ROUNDS = 3
BODY = bytes(range(130))


async def fill(url: str) -> None:
    """Commit `EVENTS` events, 100 a command."""
    store = await EventStore.open(url)

    async def one() -> None:
        stream_id = uuid4()
        events = tuple(NewEvent(14, 1, BODY, uuid4()) for _ in range(100))
        head = first_prev_hash(stream_id.bytes, 1)
        await store.append(Append(stream_id, 1, 0, 0, head, uuid4(), "player-1", head, b"reply", 1_000, events))

    await asyncio.gather(*(one() for _ in range(EVENTS // 100)))
    await store.close()


async def number_all(url: str) -> float:
    """Events numbered per second."""
    connection = await asyncpg.connect(url)
    started = time.perf_counter()
    while await sequence(connection, FEEDS["table"]):
        pass
    seconds = time.perf_counter() - started
    await connection.close()
    return EVENTS / seconds


async def relayed(bus: Bus, feed: Feed) -> float:
    relay = Relay(bus, feed, "table")
    started = time.perf_counter()
    while await relay.step():
        pass
    return EVENTS / (time.perf_counter() - started)


async def published(bus: Bus) -> float:
    """Messages per second of plain publishing with `IN_FLIGHT` unanswered, the same bytes without headers."""
    left = iter(range(EVENTS // 4))

    async def publisher() -> None:
        for _ in left:
            await bus.request("ev.wallet.bench", BODY, seconds=30.0)

    started = time.perf_counter()
    await asyncio.gather(*(publisher() for _ in range(IN_FLIGHT)))
    return EVENTS // 4 / (time.perf_counter() - started)


async def measure(server: EmbeddedPostgres, nats: EmbeddedNats) -> None:
    passwords = await ensure_roles(server.superuser_url, "table")
    await migrate(server.url(OWNER, passwords[OWNER], "diwan_table"))
    await fill(server.url("table_rw", passwords["table_rw"], "diwan_table"))
    sequencer = server.url("table_seq", passwords["table_seq"], "diwan_table")
    print(f"numbered by the sequencer: {await number_all(sequencer):,.0f} events/s")
    database = await Database.open(sequencer)
    bus = Bus.start(nats.admin_url, "admin")
    await bus.ready()
    await ensure_stream(bus, "wallet")
    rounds: list[tuple[float, float]] = []
    for number in range(ROUNDS):
        await rebuild(bus, "table", first_seq=1)
        rounds.append((await relayed(bus, Feed(database, FEEDS["table"])), await published(bus)))
        ours, plain = rounds[-1]
        print(
            f"round {number + 1}: relay {ours:,.0f} events/s, plain publishing {plain:,.0f}/s, ratio {ours / plain:.2f}"
        )
    ratio = statistics.median(ours / plain for ours, plain in rounds)
    print(f"median ratio {ratio:.2f} ({IN_FLIGHT} in flight, sync always on both), bar 0.5, aim 0.8")
    await bus.close()
    await database.close()


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as directory,
        EmbeddedPostgres(Path(directory)) as server,
        EmbeddedNats(Path(directory)) as nats,
    ):
        uvloop.run(measure(server, nats))


if __name__ == "__main__":
    main()
