"""Asks the wallet what it has, then folds both feeds up to there."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from msgspec import Struct

from diwan.cli.reconcile.faults import Faults
from diwan.cli.reconcile.ledger import Claimed, LedgerFold
from diwan.cli.reconcile.tables import TableFold
from diwan.client import DiwanClient, DiwanError
from diwan.wire.stored import logged_event

PATIENCE_SECONDS: Final = 900.0
"""How long a ledger that is being added up is asked about again."""

QUIET_SECONDS: Final = 3.0
"""How long the wallet's feed may be silent before it is said that it lacks something: commits get there in a moment."""

SHOWN_MAX: Final = 10
"""Faults of one kind that are shown."""


class Checked(Struct, frozen=True):
    """One thing that must hold; ``by`` is who looked, ``where`` the first event that breaks it."""

    by: str
    name: str
    holds: bool
    detail: str
    where: str = ""
    ledger_version: int = 0
    account_id: str = ""


async def reconcile(client: DiwanClient) -> list[Checked]:
    """Return everything that must hold: by the wallet's own word, and by its feed and the tables' feed. Raises `DiwanError`."""
    own = await _asked(client)
    # In this order: what the sums say is of one moment, the accounts are not older, the feeds go beyond both.
    totals = await client.wallet.get_totals()
    claimed = {
        account.account_id: Claimed(account.balance, account.version)
        async for account in client.wallet.accounts(with_closed=True)
    }
    ledger = await _ledger(client, claimed)
    set_aside = frozenset(totals.quarantined_tables)
    tables = TableFold(ledger, totals.table_feed_cursor, set_aside)
    async for line in client.feed("table").events():
        tables.take(line.global_seq, logged_event(line.event))
    tables.end({sitting.sitting: sitting.balance for sitting in totals.sittings if sitting.table_id not in set_aside})
    return [
        *(_own(check) for check in own.checks),
        *_found("ledger", f"{ledger.version} commits, {ledger.transfers} transfers", ledger.faults),
        *_found("accounts", f"{ledger.compared} accounts hold what their events make", ledger.account_faults),
        *_found("seats", f"{tables.hands} hands, {tables.escrows} escrows", tables.faults),
        *(
            Checked("feeds", "set aside", holds=False, detail="the wallet posts nothing of it", where=f"table {table}")
            for table in sorted(set_aside)
        ),
    ]


async def _asked(client: DiwanClient) -> Any:
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return await client.wallet.reconcile()
        except DiwanError as error:
            if error.reason != "RECONCILE_RUNNING" or time.monotonic() > end:
                raise


async def _ledger(client: DiwanClient, claimed: dict[str, Claimed]) -> LedgerFold:
    fold = LedgerFold(claimed)
    number, heard_at = 0, time.monotonic()
    while not fold.has_all and time.monotonic() - heard_at < QUIET_SECONDS:
        before = number
        async for line in client.feed("wallet").events(number):
            number = line.global_seq
            fold.take(number, logged_event(line.event))
        if number > before:
            heard_at = time.monotonic()
        elif not fold.has_all:
            await asyncio.sleep(0.1)
    fold.end()
    return fold


def _found(name: str, detail: str, faults: Faults) -> list[Checked]:
    if not len(faults):
        return [Checked("feeds", name, holds=True, detail=detail)]
    return [Checked("feeds", name, holds=False, detail=fault.what, where=fault.where) for fault in faults][:SHOWN_MAX]


def _own(check: Any) -> Checked:
    where = f"ledger version {check.first_ledger_version}" if check.first_ledger_version else ""
    return Checked(
        "wallet",
        check.name,
        check.holds,
        check.finding or f"{check.checked} looked at",
        where,
        check.first_ledger_version,
        check.account_id,
    )
