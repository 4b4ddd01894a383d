"""What can be added up at one moment, whatever led there: sums, seats' escrows, what is closed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Final

import asyncpg
import msgspec

from diwan.chassis.database import Connection
from diwan.core.ledger.books import DAY_MS
from diwan.core.ledger.policies import ISSUED_AS
from diwan.core.ledger.seats import TableSeats
from services.wallet.reconcile import statements
from services.wallet.reconcile.findings import Findings

OVERDUE_MS: Final = 10 * 60 * 1000
"""So long after its time a hold that is still open was forgotten: due ones are ended within seconds."""

FUNDING: Final = frozenset({"buy_in", "top_up"})


class Seated(msgspec.Struct):
    """What a table says of one sitting: its stack, and what it asked for and has not been told of yet."""

    table_id: str
    stack: int
    asked: dict[str, int]


async def add_up_in(connection: Connection, findings: Findings, limits: Mapping[str, int]) -> None:
    """Check everything that holds at every moment, in the caller's snapshot.

    ``limits`` is what each purpose may issue on a UTC day.
    """
    await _sum(connection, findings)
    await _held(connection, findings)
    await _issued(connection, findings, limits)
    await _closed(connection, findings)
    tables = [
        msgspec.json.decode(row["state"], type=TableSeats) for row in await connection.fetch(statements.TABLE_SEATS)
    ]
    await _escrows(connection, findings, _seated(tables))
    await _pots(connection, findings, {table.table_id: table.carried + table.pool for table in tables})


async def _sum(connection: Connection, findings: Findings) -> None:
    # A wrong balance that an event shows is named by that event; the sum only adds that it is one chip too many.
    places = [each.ledger_version for each in findings.found if each.check == "balances" and each.ledger_version]
    for row in await connection.fetch(statements.SUMS):
        findings.checked["sum"] += row["accounts"]
        if row["balance"]:
            text = f"all balances in {row['currency']} sum to {row['balance']}"
            findings.add("sum", text, min(places, default=0))


async def _held(connection: Connection, findings: Findings) -> None:
    """Hold what accounts say is set aside against the open holds (L6)."""
    findings.checked["held"] += await connection.fetchval(statements.HOLDS_OPEN)
    for row in await connection.fetch(statements.HELD):
        text = (
            f"the {row['kind']} account of {row['owner']} has {row['held']} set aside, its open holds say {row['open']}"
        )
        version = await connection.fetchval(statements.NEWEST_HOLD_OF, row["account_id"])
        findings.add("held", text, version or 0, row["account_id"])
    late_ms = await connection.fetchval(statements.NOW_MS) - OVERDUE_MS
    for row in await connection.fetch(statements.OVERDUE, late_ms):
        text = f"hold {row['hold_id']} should have expired at {row['expires_at_ms']} and was never released"
        findings.add("held", text, row["placed_version"], row["debit_account"])


async def _issued(connection: Connection, findings: Findings, limits: Mapping[str, int]) -> None:
    """Hold what was issued today against the limits of the day."""
    day = await connection.fetchval(statements.NOW_MS) // DAY_MS
    for row in await connection.fetch(statements.ISSUED_ON, day):
        limit = limits.get(row["owner"], 0)
        if limit and row["amount"] > limit and row["code"] == ISSUED_AS[row["owner"]]:
            text = f"{row['owner']} issued {row['amount']} today, its limit is {limit}"
            place = (row["account_id"], row["code"], day * DAY_MS, limit)
            version = await connection.fetchval(statements.BEYOND, *place)
            findings.add("issuance", text, version or 0, row["account_id"])


async def _closed(connection: Connection, findings: Findings) -> None:
    findings.checked["pools"] += await connection.fetchval(statements.CLOSED)
    for row in await connection.fetch(statements.CLOSED_NOT_EMPTY):
        text = f"the closed {row['kind']} account of {row['owner']} holds {row['balance']}"
        findings.add("pools", text, await _newest(connection, row["account_id"]), row["account_id"])


async def _pots(connection: Connection, findings: Findings, kept: dict[str, int]) -> None:
    """Hold what tables carry over and what matches have gathered against the tables' pots."""
    pots = {row["table_id"]: row for row in await connection.fetch(statements.POTS)}
    findings.checked["pools"] += len(pots)
    for table_id in sorted(pots.keys() | kept.keys()):
        wanted, row = kept.get(table_id, 0), pots.get(table_id)
        balance = row["balance"] if row else 0
        if balance != wanted:
            text = f"the pot of table {table_id} holds {balance}, the table keeps {wanted} in it"
            account_id = row["account_id"] if row else ""
            findings.add("pools", text, await _newest(connection, account_id) if row else 0, account_id)


async def _escrows(connection: Connection, findings: Findings, seated: dict[str, Seated]) -> None:
    """Hold every escrow against the stack of its seat: cursor, stacks and balances are of one snapshot."""
    escrows = {row["sitting"]: row for row in await connection.fetch(statements.ESCROWS)}
    findings.checked["escrows"] += len(escrows)
    for sitting in sorted(seated.keys() - escrows.keys()):
        if seated[sitting].stack:
            findings.add("escrows", f"sitting {sitting} has {seated[sitting].stack} chips and no escrow")
    for sitting, row in escrows.items():
        seat = seated.get(sitting)
        more = row["balance"] - (seat.stack if seat else 0)
        if not more or (seat and more in seat.asked.values()):
            continue
        await _explain(connection, findings, row, seat, more)


async def _explain(
    connection: Connection, findings: Findings, row: asyncpg.Record, seat: Seated | None, more: int
) -> None:
    """Look through an escrow that differs from its stack.

    The table asks by a call, which may run ahead of what we have read of its feed: the newest fundings of a seat, in the
    order in which the table asked for them, may be such that we have not read of.
    """
    through = await connection.fetch(statements.THROUGH, row["account_id"])
    fundings = [each for each in through if each["is_in"] and each["code"] in FUNDING]
    if more in accumulate(each["amount"] for each in reversed(fundings)):
        return
    table = f"table/{seat.table_id}" if seat else _table_of(fundings)
    strange = [each for each in through if not table or not each["cause"].startswith(table)]
    first = strange[0] if strange else (through[-1] if through else None)
    text = f"the escrow of sitting {row['sitting']} holds {row['balance']}, its stack is {seat.stack if seat else 0}"
    if strange:
        text += f"; {strange[0]['cause']!r} moved {strange[0]['amount']}, which is no event of its table"
    findings.add("escrows", text, first["ledger_version"] if first else 0, row["account_id"])


def _table_of(fundings: list[asyncpg.Record]) -> str:
    return str(fundings[0]["cause"]) if fundings else ""


def _seated(tables: Iterable[TableSeats]) -> dict[str, Seated]:
    seated: dict[str, Seated] = {}
    for table in tables:
        asked: dict[str, dict[str, int]] = defaultdict(dict)
        for each in table.asked:
            asked[each.sitting][each.transfer_id] = each.amount
        for sitting in table.sittings:
            seated[sitting.sitting] = Seated(table.table_id, sitting.stack, asked[sitting.sitting])
    return seated


async def _newest(connection: Connection, account_id: str) -> int:
    through = await connection.fetch(statements.THROUGH, account_id)
    return through[-1]["ledger_version"] if through else 0
