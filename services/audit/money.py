"""Holds the ledger against the tables: what a table's events ask for is posted, exactly that, and nothing else in its name.

The audit follows every table's stream by itself and computes the transfers that the wallet owes it (L1, L2, L10): each
hand's payoffs between its seats' escrows, each seat's chips home, each buy-in that the table relies on. They are
compared transfer by transfer with what the wallet's feed says it posted, whichever feed comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final
from uuid import UUID

import msgspec
from msgspec.structs import replace

from diwan.chassis.database import Connection
from diwan.core.hashing import uuid_bytes
from diwan.core.ledger.accounts import AMOUNT_MAX, LEDGER_STREAM, MAY_OWE, named_id
from diwan.core.ledger.books import Account, moved
from diwan.core.ledger.disagreement import Disagreement
from diwan.core.ledger.events import LedgerCommitted, LedgerTransfer
from diwan.core.ledger.requests import Confirmation, LinkedSet, Revocation, TableRequest
from diwan.core.ledger.seats import TableSeats, follow
from diwan.core.log import TABLE_FEED, WALLET_FEED
from diwan.wire.events import is_table_event
from services.audit import statements
from services.audit.findings import Finding
from services.audit.holds import KeptHold, accounts_of, check_holds, holds_in, keep_in
from services.audit.keeping import Read

_LEDGER: Final = UUID(LEDGER_STREAM)

MUST_BE_POSTED: Final = 1
WAS_POSTED: Final = 2
RETURNS: Final = 3

type Due = tuple[str, int, str, str, str, int, str, str]
"""Transfer, kind, the transfer that it returns, debit, credit, amount, code, cause."""


class TableExaminer:
    """Follows the tables and notes what the ledger owes them."""

    async def examine(self, connection: Connection, events: Sequence[Read]) -> list[Finding]:
        """Return where a table is at odds with itself or with what the ledger posted."""
        tables = await _followed(connection, {one.kept.event.stream_id for one in events})
        at_odds: dict[UUID, bool] = {table_id: is_at_odds for table_id, (_, is_at_odds) in tables.items()}
        states = {table_id: state for table_id, (state, _) in tables.items()}
        findings: list[Finding] = []
        due: list[str] = []
        for one in events:
            table_id = one.kept.event.stream_id
            if at_odds[table_id]:
                continue
            try:
                states[table_id], requests = _follow(states[table_id], one)
            except (Disagreement, ValueError) as disagreement:
                # A ValueError is an id that is none: no honest table writes one.
                at_odds[table_id] = True
                findings.append(_found(one, "TABLE_AT_ODDS", str(disagreement)))
                continue
            due += await _note_due(connection, one, requests)
        rows = [(key, s.version, msgspec.json.encode(s).decode(), at_odds[key]) for key, s in states.items()]
        await connection.executemany(statements.KEEP_FOLLOWED, rows)
        return findings + await compare(connection, due)


class LedgerExaminer:
    """Keeps the balances as the wallet's events make them."""

    async def examine(self, connection: Connection, events: Sequence[Read]) -> list[Finding]:
        """Return what the ledger may not do, or did otherwise than the tables asked."""
        # What stands elsewhere moves nothing in the wallet's books.
        own = [one for one in events if one.kept.event.stream_id == _LEDGER]
        commits = [(one, one.event) for one in own if isinstance(one.event, LedgerCommitted)]
        findings = [
            _found(one, "OUT_OF_PLACE", f"expected events of the ledger alone, stream {_LEDGER}")
            for one in events
            if one.kept.event.stream_id != _LEDGER
        ]
        findings += [
            _found(one, "OUT_OF_PLACE", f"expected LedgerCommitted, found {type(one.event).__name__}")
            for one in own
            if one.event is not None and not isinstance(one.event, LedgerCommitted)
        ]
        ids = [t.transfer_id for _, commit in commits for t in commit.transfers]
        known = {row["transfer_id"] for row in await connection.fetch(statements.POSTED_BEFORE, ids)}
        holds = await holds_in(connection, [commit for _, commit in commits])
        accounts = await _accounts(connection, [commit for _, commit in commits], holds)
        for one, commit in commits:
            found = chain(check_commit(accounts, known, commit), check_holds(accounts, holds, commit))
            findings += [_found(one, kind, detail) for kind, detail in found]
            await _note_posted(connection, one, commit, accounts)
        rows = [
            (a.account_id, a.kind, a.owner, a.currency, a.balance, a.is_closed, a.held, a.is_frozen)
            for a in accounts.values()
        ]
        await connection.executemany(statements.KEEP_ACCOUNT, rows)
        await keep_in(connection, holds.values())
        return findings + await compare(connection, ids)


def check_commit(accounts: dict[str, Account], known: set[str], commit: LedgerCommitted) -> Iterable[tuple[str, str]]:
    """Yield kind and detail of what a commit may not do; ``accounts`` and ``known`` move on with it.

    Every transfer gives as much as it takes, so all balances sum to zero as long as both accounts are there (L1).
    """
    for opened in commit.accounts:
        if opened.account_id in accounts:
            yield "ACCOUNT_OPENED_TWICE", f"account {opened.account_id} of {opened.owner}"
            continue
        accounts[opened.account_id] = Account(opened.account_id, opened.kind, opened.owner, opened.currency)
    for posted in commit.transfers:
        if posted.transfer_id in known:
            yield "TRANSFER_TWICE", f"transfer {posted.transfer_id} of {posted.amount} was posted before"
        known.add(posted.transfer_id)
        debit, credit = accounts.get(posted.debit_account), accounts.get(posted.credit_account)
        if debit is None or credit is None or debit is credit:
            yield "ACCOUNT_UNKNOWN", f"transfer {posted.transfer_id} is not between two accounts that were opened"
            continue
        if not 1 <= posted.amount <= AMOUNT_MAX or debit.currency != credit.currency:
            yield "TRANSFER_UNBALANCED", f"transfer {posted.transfer_id} of {posted.amount} {debit.currency}"
            continue
        if debit.is_closed or credit.is_closed:
            yield "ACCOUNT_CLOSED", f"transfer {posted.transfer_id} of {posted.amount} moves chips of a closed account"
        accounts[debit.account_id], accounts[credit.account_id] = (
            moved(debit, -posted.amount),
            moved(credit, posted.amount),
        )
        if debit.kind not in MAY_OWE and debit.balance < posted.amount:
            yield (
                "BALANCE_BELOW_ZERO",
                f"{debit.kind} account {debit.account_id} gives {posted.amount} of {debit.balance}",
            )
    for posted in commit.transfers:
        left = accounts[posted.debit_account].balance if posted.debit_account in accounts else 0
        if posted.code == "cash_out" and left:
            yield "ESCROW_NOT_EMPTY", f"account {posted.debit_account} holds {left} behind its seat's cash-out"
    yield from _check_closings(accounts, commit)


def _check_closings(accounts: dict[str, Account], commit: LedgerCommitted) -> Iterable[tuple[str, str]]:
    for account_id in commit.closings:
        account = accounts.get(account_id)
        if account is None or account.is_closed:
            yield "ACCOUNT_CLOSED", f"account {account_id} closes and is not open"
            continue
        accounts[account_id] = replace(account, is_closed=True)
        if account.balance and not any(
            t.code == "cash_out" and t.debit_account == account_id for t in commit.transfers
        ):
            yield "ESCROW_NOT_EMPTY", f"account {account_id} closes with {account.balance}"


async def compare(connection: Connection, transfer_ids: Sequence[str]) -> list[Finding]:
    """Hold due and posted transfers against each other, now that some more of either are known."""
    findings = [
        Finding(
            WALLET_FEED,
            row["global_seq"],
            row["ledger_id"],
            row["ledger_version"],
            "TRANSFER_DIFFERS",
            f"transfer {row['transfer_id']}: expected {row['expected']}, found {row['found']}",
        )
        for row in await connection.fetch(statements.MATCH, list(transfer_ids))
    ]
    findings += [
        Finding(
            WALLET_FEED,
            row["global_seq"],
            row["ledger_id"],
            row["ledger_version"],
            "TRANSFER_WITHOUT_CAUSE",
            f"transfer {row['transfer_id']}: {row['code']} of {row['amount']}, which {row['cause']} does not ask for",
        )
        for row in await connection.fetch(statements.UNCAUSED)
    ]
    findings += [
        Finding(
            TABLE_FEED,
            row["global_seq"],
            row["table_id"],
            row["table_version"],
            "TRANSFER_MISSING",
            f"transfer {row['transfer_id']}: {row['code']} of {row['amount']} was stepped over by the ledger",
        )
        for row in await connection.fetch(statements.UNPAID)
    ]
    return findings


def _follow(state: TableSeats, one: Read) -> tuple[TableSeats, tuple[TableRequest, ...]]:
    event = one.event
    if event is None or not is_table_event(event):
        raise Disagreement("an event that cannot be read: the table is followed no further")
    return follow(state, event, one.kept.event.version)


async def _followed(connection: Connection, table_ids: set[UUID]) -> dict[UUID, tuple[TableSeats, bool]]:
    found = {table_id: (TableSeats(str(table_id)), False) for table_id in table_ids}
    for row in await connection.fetch(statements.FOLLOWED, list(table_ids)):
        found[row["table_id"]] = (msgspec.json.decode(row["state"], type=TableSeats), row["is_at_odds"])
    return found


async def _accounts(
    connection: Connection, commits: Sequence[LedgerCommitted], holds: dict[str, KeptHold]
) -> dict[str, Account]:
    ids = {account.account_id for commit in commits for account in commit.accounts}
    ids |= {each for commit in commits for t in commit.transfers for each in (t.debit_account, t.credit_account)}
    ids |= {account_id for commit in commits for account_id in commit.closings}
    ids |= {account_id for commit in commits for account_id in accounts_of(commit, holds)}
    rows = await connection.fetch(statements.ACCOUNTS, list(ids))
    return {row["account_id"]: Account(**dict(row)) for row in rows}


async def _note_due(connection: Connection, one: Read, requests: Iterable[TableRequest]) -> list[str]:
    due = [each for request in requests for each in _due_of(request)]
    stored = one.kept.event
    rows = [(transfer_id, stored.stream_id, stored.version, one.kept.global_seq, *rest) for transfer_id, *rest in due]
    await connection.executemany(statements.ADD_DUE, rows)
    return [each[0] for each in due]


def _due_of(request: TableRequest) -> list[Due]:
    match request:
        case LinkedSet(transfers=transfers):
            return [
                (t.transfer_id, MUST_BE_POSTED, "", t.debit_account, t.credit_account, t.amount, t.code, t.cause)
                for t in transfers
            ]
        case Confirmation():
            sides = (request.debit_account, request.credit_account, request.amount)
            return [(request.transfer_id, WAS_POSTED, "", *sides, "buy_in", "")]
        case Revocation():
            back = named_id(request.transfer_id, "returned")
            return [(back, RETURNS, request.transfer_id, "", "", 0, "returned", request.cause)]


async def _note_posted(
    connection: Connection, one: Read, commit: LedgerCommitted, accounts: dict[str, Account]
) -> None:
    stored = one.kept.event
    rows = [
        (
            t.transfer_id, stored.stream_id, stored.version, one.kept.global_seq, t.debit_account, t.credit_account,
            t.amount, t.code, t.cause, *_caused_by(t), _is_escrow(accounts, t.debit_account),
        )
        for t in commit.transfers
    ]  # fmt: skip
    await connection.executemany(statements.POST, rows)


def _is_escrow(accounts: dict[str, Account], account_id: str) -> bool:
    account = accounts.get(account_id)
    return account is not None and account.kind == "escrow"


def _caused_by(transfer: LedgerTransfer) -> tuple[UUID | None, int | None]:
    """Return table and version that a cause names, as in ``table/<id>/<version>``."""
    kind, _, rest = transfer.cause.partition("/")
    table_id, _, version = rest.partition("/")
    if kind != "table" or not version.isdecimal():
        return None, None
    try:
        return UUID(bytes=uuid_bytes(table_id)), int(version)
    except ValueError:
        return None, None


def _found(one: Read, kind: str, detail: str) -> Finding:
    kept = one.kept
    return Finding(kept.feed_id, kept.global_seq, kept.event.stream_id, kept.event.version, kind, detail)
