"""The ledger as it stands: balances, transfers, holds, tallies and refused ids, folded from commits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.ledger.accounts import CHIP, HOUSE
from diwan.core.ledger.events import (
    AccountKind,
    HoldPlaced,
    LedgerCommitted,
    LedgerTransfer,
    RefundShortfall,
    Resolution,
)

DAY_MS: Final = 86_400_000
"""A UTC day, by which tallies are kept."""

type Side = Literal["debit_account", "credit_account", "house"]

TALLIED: Final[dict[str, tuple[Side, ...]]] = {
    "starting_grant": ("debit_account",),
    "issue": ("debit_account",),
    "promotion": ("debit_account",),
    "adjustment": ("debit_account",),
    "operator_refund": ("house",),
    "gift": ("debit_account",),
    "purchase": ("debit_account", "credit_account"),
    "ad_reward": ("debit_account", "credit_account"),
    "free_top_up": ("debit_account", "credit_account"),
}
"""Codes that policies limit, and on whose account each is counted: what operators take out of all pools is on the house's."""


class Account(Struct, frozen=True):
    """An account; ``version`` counts its entries. A closed one is empty and takes nothing any more.

    ``held`` is the sum of its open holds (L2). ``home`` is of an escrow: the account that its first chips came from.
    """

    account_id: str
    kind: AccountKind
    owner: str
    currency: str = CHIP
    balance: int = 0
    version: int = 0
    is_closed: bool = False
    held: int = 0
    is_frozen: bool = False
    has_top_up_consent: bool = False
    home: str = ""

    @property
    def available(self) -> int:
        """What can be given: the balance less what is held."""
        return self.balance - self.held


class Transfer(Struct, frozen=True):
    """What somebody asks to be moved: the debit account gives, the credit account takes. Applied once by its id.

    ``hold_id`` names the hold that it resolves, ``reverses`` the transfer that it takes back.
    """

    transfer_id: str
    debit_account: str
    credit_account: str
    amount: int
    code: str
    cause: str
    currency: str = CHIP
    hold_id: str = ""
    reverses: str = ""

    def posted(self) -> LedgerTransfer:
        """Return it as the log keeps it; the currency is that of its accounts."""
        return LedgerTransfer(
            self.transfer_id,
            self.debit_account,
            self.credit_account,
            self.amount,
            self.code,
            self.cause,
            self.hold_id,
            self.reverses,
        )


class Hold(Struct, frozen=True):
    """Chips set aside until the hold is posted, voided or expires; ``resolution`` is empty as long as it is open.

    ``lasts_ms`` (0: for ever) runs from when it was placed. ``posted`` chips moved by the transfer ``resolved_by``; a
    voided one names the request there.
    """

    hold_id: str
    debit_account: str
    credit_account: str
    amount: int
    code: str
    cause: str
    currency: str = CHIP
    lasts_ms: int = 0
    expires_at_ms: int = 0
    resolution: Resolution | Literal[""] = ""
    posted: int = 0
    resolved_by: str = ""

    def is_due(self, now_ms: int) -> bool:
        """Whether it is open and has expired: from that moment on it holds nothing, whoever looks."""
        return not self.resolution and 0 < self.expires_at_ms <= now_ms

    def placed(self) -> HoldPlaced:
        """Return it as the log keeps it."""
        return HoldPlaced(
            self.hold_id,
            self.debit_account,
            self.credit_account,
            self.amount,
            self.code,
            self.cause,
            self.expires_at_ms,
        )


class Tally(Struct, frozen=True):
    """How often and how much of one code on one account on one UTC day, and when last."""

    count: int = 0
    amount: int = 0
    last_at_ms: int = 0

    def with_one(self, amount: int, at_ms: int) -> Tally:
        """Return the tally with one more."""
        return Tally(self.count + 1, self.amount + amount, max(self.last_at_ms, at_ms))


type TallyKey = tuple[str, str, int]
"""Account, code, and the UTC day as days since the epoch."""


class Books(Struct, frozen=True):
    """The whole ledger, or the part of it that a decision reads.

    ``refused`` maps an id to its first reason, ``reversed_by`` a transfer to the one that took it back, ``shortfalls`` a
    refunded purchase to what could not be taken back, ``at_tables`` an account to the chips of its sittings.
    """

    accounts: Mapping[str, Account] = {}
    transfers: Mapping[str, Transfer] = {}
    refused: Mapping[str, str] = {}
    holds: Mapping[str, Hold] = {}
    reversed_by: Mapping[str, str] = {}
    shortfalls: Mapping[str, RefundShortfall] = {}
    tallies: Mapping[TallyKey, Tally] = {}
    at_tables: Mapping[str, int] = {}


EMPTY: Final = Books()


def evolve(books: Books, event: LedgerCommitted) -> Books:
    """Return the books after one commit."""
    return fold(books, (event,))


def fold(books: Books, events: Iterable[LedgerCommitted]) -> Books:
    """Return the books after many commits, copying them once."""
    folding = _Folding(books)
    for event in events:
        folding.apply(event)
    return Books(
        folding.accounts,
        folding.transfers,
        folding.refused,
        folding.holds,
        folding.reversed_by,
        folding.shortfalls,
        folding.tallies,
        folding.at_tables,
    )


class _Folding:
    """The books while events are folded into them. Never leaves this module."""

    def __init__(self, books: Books) -> None:
        self.accounts = dict(books.accounts)
        self.transfers = dict(books.transfers)
        self.refused = dict(books.refused)
        self.holds = dict(books.holds)
        self.reversed_by = dict(books.reversed_by)
        self.shortfalls = dict(books.shortfalls)
        self.tallies = dict(books.tallies)
        self.at_tables = dict(books.at_tables)

    def apply(self, event: LedgerCommitted) -> None:
        for opened in event.accounts:
            self.accounts[opened.account_id] = Account(opened.account_id, opened.kind, opened.owner, opened.currency)
        for posted in event.transfers:
            self._move(posted)
        self.tallies.update(counted(event.transfers, event.committed_at_ms, self.tallies))
        for refusal in event.refusals:
            self.refused[refusal.transfer_id] = refusal.reason
        for placed in event.holds:
            self._place(placed, event.committed_at_ms)
        for resolved in event.resolutions:
            hold = self.holds[resolved.hold_id]
            self._hold_back(hold.debit_account, -hold.amount)
            self.holds[hold.hold_id] = replace(
                hold, resolution=resolved.resolution, posted=resolved.amount, resolved_by=resolved.transfer_id
            )
        for freeze in event.freezes:
            account = self.accounts[freeze.account_id]
            self.accounts[freeze.account_id] = replace(account, is_frozen=freeze.is_frozen)
        for consent in event.consents:
            account = self.accounts[consent.account_id]
            self.accounts[consent.account_id] = replace(account, has_top_up_consent=consent.is_given)
        for shortfall in event.shortfalls:
            self.shortfalls[shortfall.transfer_id] = shortfall
        for account_id in event.closings:
            self.accounts[account_id] = replace(self.accounts[account_id], is_closed=True)

    def _move(self, posted: LedgerTransfer) -> None:
        debit = self.accounts[posted.debit_account]
        for key, amount, other in (
            (posted.debit_account, -posted.amount, posted.credit_account),
            (posted.credit_account, posted.amount, posted.debit_account),
        ):
            after = self.accounts[key] = moved(self.accounts[key], amount, other)
            if after.home:
                self.at_tables[after.home] = self.at_tables.get(after.home, 0) + amount
        self.transfers[posted.transfer_id] = Transfer(
            posted.transfer_id,
            posted.debit_account,
            posted.credit_account,
            posted.amount,
            posted.code,
            posted.cause,
            debit.currency,
            posted.hold_id,
            posted.reverses,
        )
        if posted.reverses:
            self.reversed_by[posted.reverses] = posted.transfer_id

    def _place(self, placed: HoldPlaced, at_ms: int) -> None:
        self.holds[placed.hold_id] = Hold(
            placed.hold_id,
            placed.debit_account,
            placed.credit_account,
            placed.amount,
            placed.code,
            placed.cause,
            self.accounts[placed.debit_account].currency,
            placed.expires_at_ms - at_ms if placed.expires_at_ms else 0,
            placed.expires_at_ms,
        )
        self._hold_back(placed.debit_account, placed.amount)

    def _hold_back(self, account_id: str, amount: int) -> None:
        account = self.accounts[account_id]
        self.accounts[account_id] = replace(account, held=account.held + amount)


def moved(account: Account, amount: int, other: str = "") -> Account:
    """Return an account behind one more entry; ``other`` is the account on the other side."""
    if account.kind == "escrow" and not account.version:
        account = replace(account, home=other)
    return replace(account, balance=account.balance + amount, version=account.version + 1)


def tallied_on(transfer: Transfer | LedgerTransfer, side: Side) -> str:
    """Return the account on which a transfer is counted."""
    match side:
        case "debit_account":
            return transfer.debit_account
        case "credit_account":
            return transfer.credit_account
        case "house":
            return HOUSE.account_id


def counted(
    transfers: Iterable[LedgerTransfer], at_ms: int, tallies: Mapping[TallyKey, Tally]
) -> dict[TallyKey, Tally]:
    """Return the tallies that transfers of one moment change, as they are afterwards."""
    changed: dict[TallyKey, Tally] = {}
    for posted in transfers:
        for side in TALLIED.get(posted.code, ()):
            key = (tallied_on(posted, side), posted.code, at_ms // DAY_MS)
            before = changed.get(key) or tallies.get(key) or Tally()
            changed[key] = before.with_one(posted.amount, at_ms)
    return changed


def sums(books: Books) -> dict[str, int]:
    """Return the sum of all balances by currency; each must be 0 (L1)."""
    total: Counter[str] = Counter()
    for account in books.accounts.values():
        total[account.currency] += account.balance
    return dict(total)
