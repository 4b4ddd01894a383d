"""One pass over the books, all of one snapshot: a full one from the first event on, or on from where the last one ended."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import batched
from typing import Any, Final
from uuid import UUID

import asyncpg

from diwan.chassis.database import Connection
from diwan.core.hashing import ChainHead, chain_start
from diwan.core.ledger.events import LedgerCommitted
from diwan.core.log import StreamKind
from services.wallet import statements as ledger_statements
from services.wallet.loading import SHARD
from services.wallet.reconcile import statements
from services.wallet.reconcile.findings import Findings, Report
from services.wallet.reconcile.history import History, Known, named_in, read, stored_event
from services.wallet.reconcile.moment import add_up_in

COMMITS_FIRST: Final = 2
COMMITS_MAX: Final = 500
ROWS_WANTED: Final = 250
"""Transfers or accounts a step. While they are read and compared nobody else is answered: some 3 ms."""

_FIRST_ID: Final = UUID(int=0)


class Pass:
    """A pass in the making. ``share`` is how much of the time it may take; 1 takes what it gets.

    ``limits`` is what each purpose may issue on a UTC day.
    """

    def __init__(
        self, connection: Connection, consumer: str, limits: Mapping[str, int] | None = None, *, share: float = 1.0
    ) -> None:
        self._connection = connection
        self._limits = limits or {}
        self._consumer = consumer
        self._share = share
        self._resumed_at = time.monotonic()
        self._findings = Findings()

    async def run(self, after: int = 0) -> Report:
        """Check everything behind a ledger version that an earlier pass has checked, 0 for all of it.

        The caller's transaction is repeatable read, so all of it is of one moment.
        """
        connection = self._connection
        row = await connection.fetchrow(statements.SNAPSHOT, SHARD)
        head = row["version"] if row else 0
        cursor = await connection.fetchval(ledger_statements.CURSOR, self._consumer)
        if after > head:
            self._findings.add("events", f"the ledger ends at {head} and went on to {after} before", head)
            after = head
        history = await self._follow(after, head)
        if after:
            await self._compare_among(history)
        else:
            await self._compare_all(history, head)
        await add_up_in(connection, self._findings, self._limits)
        return self._findings.report(head, cursor or 0, is_full=not after)

    async def _follow(self, after: int, head: int) -> History:
        history = History(self._findings, await self._chain_at(after))
        commits = COMMITS_FIRST
        while history.version < head:
            version = history.version
            records = await self._connection.fetch(statements.EVENTS, SHARD, version, commits)
            if not records or records[0]["version"] != version + 1:
                self._findings.add("events", f"event {version + 1} is not there", version + 1)
                if not records:
                    break
            rows = await self._rows(version, records[-1]["version"])
            await self._take(history, records, rows, is_resumed=bool(after))
            transfers = sum(map(len, rows[0].values()))
            commits = max(1, min(COMMITS_MAX, len(records) * ROWS_WANTED // max(transfers, 1)))
        return history

    async def _chain_at(self, version: int) -> ChainHead:
        if not version:
            return chain_start(SHARD.bytes, StreamKind.LEDGER)
        row = await self._connection.fetchrow(statements.HEAD_AT, SHARD, version)
        if row is None:
            self._findings.add("events", f"event {version} is not there", version)
            return ChainHead(version, b"")
        return ChainHead(version, row["hash"], row["recorded_at_ms"])

    async def _rows(self, after: int, upto: int) -> tuple[dict[int, dict[str, Any]], dict[int, dict[str, str]]]:
        """Return the transfers and the refusals of some commits, by commit and id."""
        transfers: dict[int, dict[str, Any]] = defaultdict(dict)
        refused: dict[int, dict[str, str]] = defaultdict(dict)
        for row in await self._connection.fetch(statements.TRANSFERS, after, upto):
            transfers[row["ledger_version"]][row["transfer_id"]] = row
        for row in await self._connection.fetch(statements.REFUSED, after, upto):
            refused[row["ledger_version"]][row["transfer_id"]] = row["reason"]
        return transfers, refused

    async def _take(
        self,
        history: History,
        records: Sequence[asyncpg.Record],
        rows: tuple[dict[int, dict[str, Any]], dict[int, dict[str, str]]],
        *,
        is_resumed: bool,
    ) -> None:
        commits = [(stored, read(stored)) for stored in map(stored_event, records)]
        readable = {stored.version: commit for stored, commit in commits if isinstance(commit, LedgerCommitted)}
        holds = await self._holds(history, readable)
        if is_resumed:
            await self._begin(history, list(readable.values()))
            ids = [transfer_id for posted in rows[0].values() for transfer_id in posted]
            await self._refused_and_posted(statements.REFUSED_AND_POSTED_AMONG, ids)
        for stored, commit in commits:
            at = stored.version
            history.take(stored, commit, rows[0].get(at, {}), rows[1].get(at, {}), holds.get(at, {}))
            # Requests are answered by this process too.
            await asyncio.sleep(0)
        await self._rest()

    async def _holds(self, history: History, commits: Mapping[int, LedgerCommitted]) -> dict[int, dict[str, Any]]:
        """Return the holds that some commits place or end, by commit and id."""
        ended = [(end.hold_id, version) for version, commit in commits.items() for end in commit.resolutions]
        unknown = [hold_id for hold_id, _ in ended if hold_id not in history.open_holds]
        found: dict[int, dict[str, Any]] = defaultdict(dict)
        rows = await self._connection.fetch(statements.HOLDS, history.version, max(commits, default=0), unknown)
        by_id = {row["hold_id"]: row for row in rows}
        for row in rows:
            found[row["placed_version"]][row["hold_id"]] = row
        for hold_id, version in ended:
            if hold_id in by_id:
                found[version][hold_id] = by_id[hold_id]
        return found

    async def _begin(self, history: History, commits: Sequence[LedgerCommitted]) -> None:
        opened = {account.account_id for commit in commits for account in commit.accounts}
        named = {account_id for commit in commits for account_id in named_in(commit)}
        wanted = list(named - opened - history.accounts.keys())
        for row in await self._connection.fetch(statements.ACCOUNTS_AT, wanted, history.version):
            known = Known(row["kind"], row["owner"], row["currency"], row["balance"], row["version"])
            history.begin(row["account_id"], known)

    async def _refused_and_posted(self, statement: str, *ids: list[str]) -> None:
        for row in await self._connection.fetch(statement, *ids):
            text = f"transfer {row['transfer_id']} was refused ({row['reason']}) and is posted"
            self._findings.add("events", text, row["ledger_version"])

    async def _compare_among(self, history: History) -> None:
        seen: set[str] = set()
        for ids in batched(list(history.accounts), ROWS_WANTED):
            for row in await self._connection.fetch(statements.ACCOUNTS_AMONG, list(ids)):
                history.compare_account(row)
                seen.add(row["account_id"])
            await self._rest()
        self._missing(history, seen)

    async def _compare_all(self, history: History, head: int) -> None:
        seen: set[str] = set()
        last: UUID | str = _FIRST_ID
        while rows := await self._connection.fetch(statements.ACCOUNTS, last, ROWS_WANTED):
            for row in rows:
                history.compare_account(row)
                seen.add(row["account_id"])
            last = rows[-1]["account_id"]
            await self._rest()
        self._missing(history, seen)
        history.end_holds()
        await self._tallies(history)
        await self._shortfalls(history)
        await self._refused_and_posted(statements.REFUSED_AND_POSTED)
        for row in await self._connection.fetch(statements.STRAY_TRANSFERS, head):
            text = f"transfer {row['transfer_id']} of {row['amount']} belongs to commit {row['ledger_version']}"
            self._findings.add("events", f"{text}, which there is not")
        for row in await self._connection.fetch(statements.STRAY_HOLDS, head):
            text = f"hold {row['hold_id']} belongs to commit {row['placed_version']}, which there is not"
            self._findings.add("held", text)
        for row in await self._connection.fetch(statements.STRAY_REFUSALS, head):
            text = f"the refusal of {row['transfer_id']} belongs to commit {row['ledger_version']}"
            self._findings.add("events", f"{text}, which there is not")

    async def _tallies(self, history: History) -> None:
        """Compare the tallies of what was issued, by purpose and day."""
        tallies = {
            (row["account_id"], row["code"], row["day"]): (row["count"], row["amount"])
            for row in await self._connection.fetch(statements.TALLIES)
        }
        for key in sorted(tallies.keys() | history.issued.keys()):
            self._findings.checked["issuance"] += 1
            (times, amount), (counted, tallied) = history.issued.get(key, (0, 0)), tallies.get(key, (0, 0))
            if (times, amount) != (counted, tallied):
                account_id, code, day = key
                text = (
                    f"{code} on day {day}: the events issue {amount} in {times}, the tally says {tallied} in {counted}"
                )
                self._findings.add("issuance", text, 0, account_id)

    async def _shortfalls(self, history: History) -> None:
        """Compare what refunds could not take back."""
        there = {
            row["transfer_id"]: (row["account_id"], row["amount"], row["ledger_version"])
            for row in await self._connection.fetch(statements.SHORTFALLS)
        }
        for transfer_id in sorted(there.keys() | history.shortfalls.keys()):
            said = history.shortfalls.get(transfer_id)
            if there.get(transfer_id) != said:
                account_id, _, version = said or there[transfer_id]
                text = f"the shortfall of purchase {transfer_id} is not what its event says"
                self._findings.add("events", text, version, account_id)

    def _missing(self, history: History, seen: set[str]) -> None:
        for account_id in history.accounts.keys() - seen:
            known = history.accounts[account_id]
            text = f"the {known.kind} account of {known.owner} is not in the books"
            self._findings.add("events", text, known.touched, account_id)

    async def _rest(self) -> None:
        """Leave the time to others that is theirs."""
        worked = time.monotonic() - self._resumed_at
        await asyncio.sleep(worked * (1 / self._share - 1))
        self._resumed_at = time.monotonic()
