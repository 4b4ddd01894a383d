"""Reads back from the running house what the checks look at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from diwan.chassis.bus import FEEDS, Bus
from diwan.chassis.database import Database
from diwan.chassis.feed.feed import Feed
from diwan.chassis.feed.scrub import ScrubReport, scrub
from diwan.cli.demo.evidence import AuditStatus, Evidence, FeedLine, WalletTotals
from diwan.cli.stack.stack import Stack, superuser_database_url
from diwan.client import DiwanClient
from diwan.core.hand.events import HandEnded
from diwan.wire.events import decode
from diwan.wire.stored import logged_event

SETTLE_SECONDS: Final = 30.0
ASK_SECONDS: Final = 0.1


class NotSettledError(Exception):
    """Something did not come to rest in its time."""


async def until(what: str, is_so: Callable[[], Coroutine[Any, Any, bool]], seconds: float = SETTLE_SECONDS) -> None:
    """Wait for something that must become so; raises `NotSettledError` naming it where it does not."""
    end = time.monotonic() + seconds
    while not await is_so():
        if time.monotonic() > end:
            raise NotSettledError(f"{what}: not within {seconds:g} s")
        await asyncio.sleep(ASK_SECONDS)


async def wallet_totals(client: DiwanClient) -> WalletTotals:
    """Ask the wallet for its sums, all of one moment."""
    totals = await client.wallet.get_totals()
    balances = {each.sitting: each.balance for each in totals.sittings}
    return WalletTotals(totals.table_feed_cursor, totals.sum, balances, tuple(totals.quarantined_tables))


async def close_tables(client: DiwanClient, table_ids: list[str]) -> None:
    """Close every table after its running hand and wait until nobody sits there."""
    for table_id in table_ids:
        await client.tables.close(table_id)

    for table_id in table_ids:
        await until(f"table {table_id} closes", partial(_is_closed, client, table_id))


async def _is_closed(client: DiwanClient, table_id: str) -> bool:
    return (await client.tables.get(table_id)).is_closed


async def everything_applied(client: DiwanClient) -> None:
    """Wait until wallet and audit have taken in every event that there is."""

    async def wallet_is_through() -> bool:
        head = (await client.feed("table").read(0, limit=1)).head
        totals = await client.wallet.get_totals()
        return totals.table_feed_cursor >= head or bool(totals.quarantined_tables)

    async def audit_is_through() -> bool:
        status = await client.audit.get_status()
        cursors = {feed.feed_id: feed.cursor for feed in status.feeds}
        heads = {FEEDS[name]: (await client.feed(name).read(0, limit=1)).head for name in FEEDS}
        return all(cursors.get(feed_id, 0) >= head for feed_id, head in heads.items())

    await until("the wallet applies the table feed", wallet_is_through)
    await until("the audit takes in every feed", audit_is_through)


async def gather(client: DiwanClient, stack: Stack, totals: list[WalletTotals]) -> Evidence:
    """Read everything back: the table feed, the wallet's last sums, the bus copies, the audit's findings."""
    feed = [FeedLine(each.global_seq, logged_event(each.event)) async for each in client.feed("table").events()]
    hands = sum(isinstance(decode_line(line), HandEnded) for line in feed)
    await until("the audit judges every hand", partial(_has_judged, client, hands))
    totals = [*totals, await wallet_totals(client)]
    copies = {name: await _copy(stack, name, feed_id) for name, feed_id in FEEDS.items()}
    return Evidence(tuple(feed), tuple(totals), copies, await _audit(client), await _reconciled(client))


def decode_line(line: FeedLine) -> object:
    """Return the event of a feed's line; None where its body is for auditors."""
    return None if line.event.body_hash else decode(line.event.type_id, line.event.schema_v, line.event.body).event


async def _has_judged(client: DiwanClient, hands: int) -> bool:
    status = await client.audit.get_status()
    return status.hands_verified + status.hands_not_verified + status.hands_cannot_say >= hands


async def _copy(stack: Stack, service: str, feed_id: int) -> ScrubReport:
    url = superuser_database_url(stack.places, f"diwan_{service}")
    database = await Database.open(url, application="demo", is_checked=False)
    try:
        bus = Bus.start(stack.admin_nats_url(), "demo")
        try:
            await bus.ready()
            feed = Feed(database, feed_id)
            head = await feed.head()
            await until(f"the relay copies feed {service}", lambda: _has_reached(bus, service, head))
            return await scrub(bus, feed, service)
        finally:
            await bus.close()
    finally:
        await database.close()


async def _has_reached(bus: Bus, service: str, head: int) -> bool:
    return (await bus.stream_state(service)).last_seq >= head


async def _audit(client: DiwanClient) -> AuditStatus:
    status = await client.audit.get_status()
    findings = [f"{f.kind} {f'hand {f.hand_id}' if f.hand_id else f.stream_id}" async for f in client.audit.findings()]
    return AuditStatus(status.hands_verified, status.hands_not_verified, status.hands_cannot_say, tuple(findings))


async def _reconciled(client: DiwanClient) -> tuple[tuple[str, str], ...]:
    checks = (await client.wallet.reconcile()).checks
    return tuple((f"ledger version {c.first_ledger_version}", c.finding) for c in checks if not c.holds)
