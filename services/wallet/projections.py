"""What is read of the ledger: accounts, statements, and the sums that must hold."""

from collections.abc import Sequence
from typing import Final, get_args
from uuid import UUID

import msgspec

from diwan.chassis.database import Connection
from diwan.chassis.fields import page_size_up_to
from diwan.chassis.paging import after_numbers, after_token, numbers_token, page_token
from diwan.core.ledger.books import Account
from diwan.core.ledger.events import AccountKind
from services.wallet import statements

PAGE_ENTRIES_MAX: Final = 500
_NEWEST: Final = 2**63 - 1
_ACCOUNTS: Final = b"accounts"

ACCOUNT_KINDS: Final[tuple[str, ...]] = get_args(AccountKind.__value__)
_FIRST_ID: Final = "00000000-0000-0000-0000-000000000000"


class StatementLine(msgspec.Struct, frozen=True):
    """One entry of an account with what it is for."""

    version: int
    transfer_id: str
    amount: int
    previous_balance: int
    balance: int
    code: str
    cause: str
    posted_at_ms: int
    other_account: str
    hold_id: str
    reverses: str


class PostedTransfer(msgspec.Struct, frozen=True):
    """A transfer as it stands; ``reversed_by`` is the one that took it back, if any."""

    transfer_id: str
    debit_account: str
    credit_account: str
    amount: int
    code: str
    cause: str
    currency: str
    posted_at_ms: int
    hold_id: str
    reverses: str
    reversed_by: str


class HoldNow(msgspec.Struct, frozen=True):
    """A hold as it stands; ``state`` is "open" or how it ended."""

    hold_id: str
    debit_account: str
    credit_account: str
    amount: int
    code: str
    cause: str
    currency: str
    expires_at_ms: int
    state: str
    posted: int
    resolved_by: str


class Page(msgspec.Struct, frozen=True):
    """Entries, newest first; ``next_token`` is empty at the end."""

    lines: Sequence[StatementLine]
    next_token: str


class Wanted(msgspec.Struct, frozen=True):
    """Which accounts are listed: of a kind, empty for all; the closed ones too."""

    kind: str
    with_closed: bool


class AccountPage(msgspec.Struct, frozen=True):
    """Accounts by id; ``next_token`` is empty at the end."""

    accounts: Sequence[Account]
    next_token: str


class BalanceAt(msgspec.Struct, frozen=True):
    """What an account held at a moment, and how many entries it had by then."""

    version: int
    balance: int


class KindTotal(msgspec.Struct, frozen=True):
    """All accounts of a kind."""

    kind: str
    accounts: int
    balance: int


class SittingTotal(msgspec.Struct, frozen=True):
    """An open escrow; ``table_id`` is where its first chips were asked for."""

    sitting: str
    table_id: str
    balance: int


class Totals(msgspec.Struct, frozen=True):
    """The sums, all of one moment. ``cursor``: the table feed was applied up to here."""

    kinds: Sequence[KindTotal]
    sittings: Sequence[SittingTotal]
    cursor: int
    quarantined: Sequence[str]

    @property
    def sum(self) -> int:
        """Of everything; must be 0 (L1)."""
        return sum(kind.balance for kind in self.kinds)


async def account_in(connection: Connection, account_id: str) -> Account | None:
    """Return an account as it stands."""
    return (await accounts_now_in(connection, [account_id])).get(account_id)


async def accounts_now_in(connection: Connection, account_ids: Sequence[str]) -> dict[str, Account]:
    """Return accounts as they stand, without those that are not there."""
    rows = await connection.fetch(statements.ACCOUNTS_NOW, account_ids)
    return {row["account_id"]: Account(*row) for row in rows}


async def issued_today_in(connection: Connection, accounts: Sequence[Account]) -> dict[str, int]:
    """Return what those of the accounts that issue chips have issued on this UTC day."""
    issuing = [account.account_id for account in accounts if account.kind == "issuance"]
    if not issuing:
        return {}
    rows = await connection.fetch(statements.ISSUED_TODAY, issuing)
    return {row["account_id"]: row["amount"] for row in rows}


async def transfer_in(connection: Connection, transfer_id: str) -> PostedTransfer | None:
    """Return a transfer as it stands."""
    row = await connection.fetchrow(statements.TRANSFER, transfer_id)
    return None if row is None else PostedTransfer(*row)


async def hold_in(connection: Connection, hold_id: str) -> HoldNow | None:
    """Return a hold as it stands."""
    row = await connection.fetchrow(statements.HOLD, hold_id)
    return None if row is None else HoldNow(*row)


async def balance_at_in(connection: Connection, account_id: str, at_ms: int) -> BalanceAt | None:
    """Return what an account held at a moment, with everything posted in that millisecond; None if there is none."""
    row = await connection.fetchrow(statements.BALANCE_AT, account_id, at_ms)
    return None if row is None else BalanceAt(*row)


async def entries_in(connection: Connection, account_id: str, size: int, token: str) -> Page:
    """Return a page of an account's entries; raises `Rejected` for a size or a token that is none."""
    count = page_size_up_to(PAGE_ENTRIES_MAX, size)
    scope = f"entries/{account_id}".encode()
    (before,) = after_numbers(token, 1, scope) if token else (_NEWEST,)
    rows = await connection.fetch(statements.ENTRIES, account_id, before, count)
    lines = [StatementLine(*row) for row in rows]
    # Versions have no gap and begin at 1, so the last line says whether there is more.
    has_more = bool(lines) and lines[-1].version > 1
    return Page(lines, numbers_token(lines[-1].version, scope=scope) if has_more else "")


async def accounts_in(connection: Connection, wanted: Wanted, size: int, token: str) -> AccountPage:
    """Return a page of accounts; raises `Rejected` for a size or a token that is none."""
    count = page_size_up_to(PAGE_ENTRIES_MAX, size)
    place = after_token(token, _ACCOUNTS)
    after = _FIRST_ID if place is None else str(place[1])
    rows = await connection.fetch(statements.ACCOUNT_PAGE, wanted.kind, wanted.with_closed, after, count + 1)
    accounts = [Account(*row) for row in rows[:count]]
    next_token = page_token(0, UUID(accounts[-1].account_id), _ACCOUNTS) if len(rows) > count else ""
    return AccountPage(accounts, next_token)


async def totals_in(connection: Connection, consumer: str) -> Totals:
    """Return the sums of one snapshot."""
    await connection.execute("set transaction isolation level repeatable read, read only")
    kinds = await connection.fetch(statements.TOTALS)
    sittings = await connection.fetch(statements.SITTINGS)
    cursor = await connection.fetchval(statements.CURSOR, consumer)
    quarantined = await connection.fetch(statements.QUARANTINED, consumer)
    return Totals(
        [KindTotal(*row) for row in kinds],
        [SittingTotal(row["sitting"], _table_of(row["cause"]), row["balance"]) for row in sittings],
        cursor or 0,
        [row["stream_id"] for row in quarantined],
    )


def _table_of(cause: str) -> str:
    return cause.removeprefix("table/").partition("/")[0]
