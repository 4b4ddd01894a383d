"""What deciding a commit reads of the books: ids, accounts, holds that are due, tallies."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final
from uuid import UUID

import asyncpg
import msgspec

from diwan.chassis.database import Connection
from diwan.core.ledger.accounts import BOTS, BOTS_ISSUANCE, LEDGER_STREAM
from diwan.core.ledger.books import DAY_MS, Account, Books, Hold, Tally, TallyKey, Transfer
from diwan.core.ledger.events import RefundShortfall
from diwan.core.ledger.requests import Grant
from services.wallet import statements
from services.wallet.works import Work

SHARD: Final = UUID(LEDGER_STREAM)
"""The ledger's one stream: one event a commit."""

DUE_MAX: Final = 100
"""Holds that end by the clock beside a commit's requests; where more are due, they end in commits of their own first."""


class Loaded(msgspec.Struct, frozen=True):
    """What a decision reads, where the ledger stood when it was read, and what time it was then.

    ``is_crowded``: more holds are due than end in one commit, so first of all some of them must.
    """

    books: Books
    version: int
    now_ms: int
    is_crowded: bool = False


class _Found:
    """The ids of a commit's requests, as far as the ledger knows them."""

    def __init__(self, rows: Iterable[asyncpg.Record]) -> None:
        self.transfers: dict[str, Transfer] = {}
        self.refused: dict[str, str] = {}
        self.holds: dict[str, Hold] = {}
        self.reversed_by: dict[str, str] = {}
        self.shortfalls: dict[str, RefundShortfall] = {}
        for row in rows:
            self._add(row)

    def _add(self, row: asyncpg.Record) -> None:
        # Columns: version, now_ms, what, id, debit, credit, amount, code, cause, currency, hold_id, reverses,
        # lasts_ms, expires_at_ms, resolution, part, by.
        key = row["id"]
        match row["what"]:
            case "transfer":
                transfer = self.transfers[key] = Transfer(key, *row[4:12])
                if row["by"] is not None:
                    self.reversed_by[key] = row["by"]
                if row["part"] is not None:
                    self.shortfalls[key] = RefundShortfall(key, transfer.credit_account, row["part"])
            case "hold":
                self.holds[key] = Hold(key, *row[4:10], *row[12:17])
            case "refused":
                self.refused[key] = row["code"]

    @property
    def account_ids(self) -> set[str]:
        """Accounts of what is there: what is revoked, reversed or posted moves between them."""
        there: list[Transfer | Hold] = [*self.transfers.values(), *self.holds.values()]
        return {account for each in there for account in (each.debit_account, each.credit_account)}


async def load_in(
    connection: Connection,
    works: Sequence[Work],
    remembered: Mapping[str, Account] = MappingProxyType({}),
    *,
    not_before_ms: int = 0,
    is_locked: bool = False,
) -> Loaded:
    """Read what deciding requests needs, but for the accounts that are ``remembered``.

    What was read without the ledger's lock holds only if the ledger has not moved by the time that something is
    written: `write_in` says so. ``is_locked``: the caller has the lock, and the accounts are locked too. The time is
    the database's, or ``not_before_ms`` where that is later.
    """
    ids: list[str] = []
    account_ids: set[str] = set()
    for work in works:
        ids += work.ids
        account_ids.update(work.account_ids)
    rows = await connection.fetch(statements.KNOWN, SHARD, ids)
    found = _Found(rows)
    account_ids |= found.account_ids
    if BOTS.account_id in account_ids:
        account_ids.add(BOTS_ISSUANCE.account_id)
    accounts = {key: remembered[key] for key in account_ids if key in remembered}
    if len(accounts) < len(account_ids):
        statement = statements.LOCK_ACCOUNTS if is_locked else statements.ACCOUNTS
        fetched = await connection.fetch(statement, list(account_ids - accounts.keys()))
        accounts.update((row["account_id"], Account(*row)) for row in fetched)
    version, now_ms = rows[0]["version"], max(rows[0]["now_ms"], not_before_ms)
    due = await _due(connection, accounts.values(), now_ms)
    holds = {**found.holds, **{hold.hold_id: hold for hold in due[:DUE_MAX]}}
    tallies = await _tallies(connection, works, now_ms)
    at_tables = await _at_tables(connection, works)
    books = Books(
        accounts, found.transfers, found.refused, holds, found.reversed_by, found.shortfalls, tallies, at_tables
    )
    return Loaded(books, version, now_ms, len(due) > DUE_MAX)


async def _due(connection: Connection, accounts: Iterable[Account], now_ms: int) -> list[Hold]:
    """Return holds that are due on accounts that hold something back, at most one more than end at once."""
    holding = [account.account_id for account in accounts if account.held]
    if not holding:
        return []
    return [Hold(*row) for row in await connection.fetch(statements.DUE, holding, now_ms, DUE_MAX + 1)]


async def _at_tables(connection: Connection, works: Sequence[Work]) -> dict[str, int]:
    """Return what stands at tables of those whom a policy asks how much they have."""
    asked = [
        work.request.transfer.credit_account
        for work in works
        if isinstance(work.request, Grant) and work.request.policy.below
    ]
    if not asked:
        return {}
    return {row["home"]: row["balance"] for row in await connection.fetch(statements.AT_TABLES, asked)}


async def _tallies(connection: Connection, works: Sequence[Work], now_ms: int) -> dict[TallyKey, Tally]:
    keys = {key for work in works for key in work.tallies}
    if not keys:
        return {}
    account_ids, codes = zip(*sorted(keys), strict=True)
    rows = await connection.fetch(statements.TALLIES, list(account_ids), list(codes), now_ms // DAY_MS)
    return {(account_id, code, day): Tally(*tally) for account_id, code, day, *tally in rows}
