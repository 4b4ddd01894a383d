"""The ledger as it stands: balances, posted transfers and refused ids, folded from commits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.ledger.accounts import CHIP
from diwan.core.ledger.events import AccountKind, LedgerCommitted, LedgerTransfer


class Account(Struct, frozen=True):
    """An account; ``version`` counts its entries. A closed one is empty and takes nothing any more."""

    account_id: str
    kind: AccountKind
    owner: str
    currency: str = CHIP
    balance: int = 0
    version: int = 0
    is_closed: bool = False


class Transfer(Struct, frozen=True):
    """What somebody asks to be moved: the debit account gives, the credit account takes. Applied once by its id."""

    transfer_id: str
    debit_account: str
    credit_account: str
    amount: int
    code: str
    cause: str
    currency: str = CHIP

    def posted(self) -> LedgerTransfer:
        """Return it as the log keeps it; the currency is that of its accounts."""
        return LedgerTransfer(
            self.transfer_id, self.debit_account, self.credit_account, self.amount, self.code, self.cause
        )


class Books(Struct, frozen=True):
    """The whole ledger, or the part of it that a decision reads. ``refused`` maps an id to its first reason."""

    accounts: Mapping[str, Account] = {}
    transfers: Mapping[str, Transfer] = {}
    refused: Mapping[str, str] = {}


EMPTY: Final = Books()


def evolve(books: Books, event: LedgerCommitted) -> Books:
    """Return the books after one commit."""
    return fold(books, (event,))


def fold(books: Books, events: Iterable[LedgerCommitted]) -> Books:
    """Return the books after many commits, copying them once."""
    accounts, transfers, refused = dict(books.accounts), dict(books.transfers), dict(books.refused)
    for event in events:
        for opened in event.accounts:
            accounts[opened.account_id] = Account(opened.account_id, opened.kind, opened.owner, opened.currency)
        for posted in event.transfers:
            debit = accounts[posted.debit_account]
            accounts[debit.account_id] = moved(debit, -posted.amount)
            credit = accounts[posted.credit_account]
            accounts[credit.account_id] = moved(credit, posted.amount)
            transfers[posted.transfer_id] = Transfer(
                posted.transfer_id,
                posted.debit_account,
                posted.credit_account,
                posted.amount,
                posted.code,
                posted.cause,
                debit.currency,
            )
        for refusal in event.refusals:
            refused[refusal.transfer_id] = refusal.reason
    return Books(accounts, transfers, refused)


def moved(account: Account, amount: int) -> Account:
    """Return an account behind one more entry."""
    return replace(account, balance=account.balance + amount, version=account.version + 1)


def sums(books: Books) -> dict[str, int]:
    """Return the sum of all balances by currency; each must be 0 (L1)."""
    total: Counter[str] = Counter()
    for account in books.accounts.values():
        total[account.currency] += account.balance
    return dict(total)
