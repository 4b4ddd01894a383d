"""The books while a batch is decided, and the double entry itself: what every kind of request is made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.ledger.accounts import AMOUNT_MAX, BOTS, BOTS_ISSUANCE, KINDS, named_id
from diwan.core.ledger.books import (
    DAY_MS,
    TALLIED,
    Account,
    Books,
    Hold,
    Tally,
    Transfer,
    counted,
    moved,
    tallied_on,
)
from diwan.core.ledger.events import (
    AccountFreezeChanged,
    AccountOpened,
    HoldPlaced,
    HoldResolved,
    LedgerTransfer,
    RefundShortfall,
    Resolution,
    TopUpConsentChanged,
)
from diwan.core.ledger.moves import GIVES_ALTHOUGH_FROZEN, WITHHELD_WHILE_FROZEN
from diwan.core.ledger.requests import REMEMBERED, DailyLimit, Float, Outcome, Result, Verdict

_COMPARED: Final = (
    ("reverses", Result.EXISTS_WITH_DIFFERENT_REVERSES),
    ("hold_id", Result.EXISTS_WITH_DIFFERENT_HOLD),
    ("debit_account", Result.EXISTS_WITH_DIFFERENT_DEBIT_ACCOUNT),
    ("credit_account", Result.EXISTS_WITH_DIFFERENT_CREDIT_ACCOUNT),
    ("amount", Result.EXISTS_WITH_DIFFERENT_AMOUNT),
    ("code", Result.EXISTS_WITH_DIFFERENT_CODE),
    ("cause", Result.EXISTS_WITH_DIFFERENT_CAUSE),
    ("currency", Result.EXISTS_WITH_DIFFERENT_CURRENCY),
)

type Before = dict[str, Account | None]
"""Accounts as they were before a request touched them; None for one that it opened."""

type Mark = tuple[int, int, int, int]
"""How many accounts a batch had opened, transfers and entries it had posted and accounts it had closed."""


class Entry(Struct, frozen=True):
    """One leg of a posted transfer on one account (L7): ``amount`` is below zero where the account gives."""

    account_id: str
    version: int
    transfer_id: str
    amount: int
    previous_balance: int
    balance: int


class Batch:
    """The books while a batch is decided at one moment. Made and dropped by `diwan.core.ledger.posting.decide`."""

    def __init__(self, books: Books, now_ms: int, bots_float: Float | None) -> None:
        self.now_ms = now_ms
        self._float = bots_float
        self._refused = books.refused
        self._books = books
        self.accounts = dict(books.accounts)
        self.transfers = dict(books.transfers)
        self.holds = dict(books.holds)
        self.reversed_by = dict(books.reversed_by)
        self.short_of = dict(books.shortfalls)
        self.opened: list[AccountOpened] = []
        self.posted: list[LedgerTransfer] = []
        self.entries: list[Entry] = []
        self.refusals: dict[str, str] = {}
        self.placed: list[HoldPlaced] = []
        self.resolved: list[HoldResolved] = []
        self.freezes: list[AccountFreezeChanged] = []
        self.consents: list[TopUpConsentChanged] = []
        self.shortfalls: list[RefundShortfall] = []
        self.closed: list[str] = []
        self._tallies = dict(books.tallies)
        self._counted = 0

    # Ids

    def first_reason(self, key: str) -> str | None:
        """Return why an id was refused the first time, None if it was not."""
        return self._refused.get(key) or self.refusals.get(key)

    def known(self, asked: Transfer | Hold, *, is_amount_compared: bool = True) -> Verdict | None:
        """Return what is to be said about a transfer or hold without looking at any account, or None (L3-L5, L11).

        Transfers and holds share one space of ids.
        """
        key = asked.transfer_id if isinstance(asked, Transfer) else asked.hold_id
        if not 1 <= asked.amount <= AMOUNT_MAX:
            return Verdict(key, Result.AMOUNT_INVALID)
        if asked.debit_account == asked.credit_account:
            return Verdict(key, Result.SAME_ACCOUNT)
        there = self.transfers.get(key) or self.holds.get(key)
        if there is not None:
            return Verdict(key, _compared(there, asked, is_amount_compared=is_amount_compared))
        return self.failed_before(key)

    def failed_before(self, key: str) -> Verdict | None:
        """Return that an id was refused before, None if it was not (L5)."""
        first_reason = self.first_reason(key)
        return None if first_reason is None else Verdict(key, Result.ID_ALREADY_FAILED, first_reason)

    def refuse(self, key: str, result: Result, *, next_at_ms: int = 0, is_forgotten: bool = False) -> Outcome:
        """Refuse what one id stands for, for good where that is the rule (L5)."""
        if result in REMEMBERED and not is_forgotten and self.first_reason(key) is None:
            self.refusals[key] = result.name
        return Outcome((Verdict(key, result, next_at_ms=next_at_ms),), is_done=False)

    def rule_out(self, key: str, reason: str) -> bool:
        """See to it that no transfer of this id ever comes to be, which none has yet; False where that is so already.

        It is also where a hold has the id: transfers and holds share one space of ids, and a hold is not refused by it.
        """
        if key in self.holds or self.first_reason(key) is not None:
            return False
        self.refusals[key] = reason
        return True

    # Accounts

    def open(self, opens: Iterable[AccountOpened], before: Before) -> bool:
        """Open accounts that are not there; tell whether there were any."""
        has_opened = False
        for account in opens:
            if account.account_id in self.accounts:
                continue
            before[account.account_id] = None
            self.accounts[account.account_id] = Account(
                account.account_id, account.kind, account.owner, account.currency
            )
            self.opened.append(account)
            has_opened = True
        return has_opened

    def close(self, closes: Iterable[str], before: Before) -> bool:
        """Close accounts for ever; False, with some of them closed, if one is not empty."""
        for account_id in closes:
            account = self.accounts.get(account_id)
            if account is None or account.is_closed:
                continue
            if account.balance != 0:
                return False
            before.setdefault(account_id, account)
            self.accounts[account_id] = replace(account, is_closed=True)
            self.closed.append(account_id)
        return True

    def freeze(self, account: Account, cause: str, *, is_frozen: bool) -> None:
        """Freeze an account or set it free."""
        self.accounts[account.account_id] = replace(account, is_frozen=is_frozen)
        self.freezes.append(AccountFreezeChanged(account.account_id, is_frozen, cause))

    def undo(self, before: Before, mark: Mark) -> None:
        """Take back what a set opened, posted and closed since ``mark``."""
        for account_id, account in before.items():
            if account is None:
                del self.accounts[account_id]
            else:
                self.accounts[account_id] = account
        opened, posted, entries, closed = mark
        for transfer in self.posted[posted:]:
            del self.transfers[transfer.transfer_id]
        del self.opened[opened:], self.posted[posted:], self.entries[entries:], self.closed[closed:]

    @property
    def mark(self) -> Mark:
        """How far the batch is, for `undo`."""
        return len(self.opened), len(self.posted), len(self.entries), len(self.closed)

    # Transfers

    def unfit(self, asked: Transfer | Hold) -> Result | None:
        """Return what keeps the accounts from this movement, but for their balances."""
        debit = self.accounts.get(asked.debit_account)
        credit = self.accounts.get(asked.credit_account)
        if debit is None or credit is None:
            return Result.ACCOUNT_NOT_FOUND
        if not debit.currency == credit.currency == asked.currency:
            return Result.CURRENCY_MISMATCH
        if debit.is_closed or credit.is_closed:
            return Result.ACCOUNT_CLOSED
        if debit.is_frozen and asked.code not in GIVES_ALTHOUGH_FROZEN:
            return Result.ACCOUNT_FROZEN
        if credit.is_frozen and asked.code in WITHHELD_WHILE_FROZEN:
            return Result.ACCOUNT_FROZEN
        return None

    def post(self, transfer: Transfer, before: Before) -> Result:
        """Post a transfer, or tell why it cannot be (L1, L2, L12)."""
        if transfer.transfer_id in self.transfers:  # Twice in one set: a set cannot contain itself.
            return Result.LINKED_FAILED
        unfit = self.unfit(transfer)
        if unfit is not None:
            return unfit
        self.replenish(transfer.debit_account, transfer.amount, f"transfer/{transfer.transfer_id}", before)
        debit, credit = self.accounts[transfer.debit_account], self.accounts[transfer.credit_account]
        if not KINDS[debit.kind].may_owe and debit.available < transfer.amount:
            return Result.EXCEEDS_BALANCE
        if self.overflows(debit, credit, transfer.amount):
            return Result.OVERFLOWS_BALANCE
        self.move(transfer, before)
        return Result.CREATED

    def overflows(self, debit: Account, credit: Account, amount: int) -> bool:
        """Whether one of the balances would leave what its kind may hold or owe."""
        return debit.balance - amount < -AMOUNT_MAX or credit.balance + amount > KINDS[credit.kind].balance_max

    def move(self, transfer: Transfer, before: Before) -> None:
        """Post a transfer that nothing stands against."""
        debit, credit = transfer.debit_account, transfer.credit_account
        for account_id, amount, other in ((debit, -transfer.amount, credit), (credit, transfer.amount, debit)):
            account = self.accounts[account_id]
            before.setdefault(account_id, account)
            after = moved(account, amount, other)
            self.accounts[account_id] = after
            self.entries.append(
                Entry(account_id, after.version, transfer.transfer_id, amount, account.balance, after.balance)
            )
        self.transfers[transfer.transfer_id] = transfer
        self.posted.append(transfer.posted())

    def replenish(self, account_id: str, needed: int, cause: str, before: Before) -> None:
        """Issue a float where the bots' account is to give and would run low."""
        if account_id != BOTS.account_id or self._float is None:
            return
        bots, source = self.accounts[account_id], self.accounts.get(BOTS_ISSUANCE.account_id)
        if source is None or bots.available - needed >= self._float.low:
            return
        amount = max(self._float.amount, needed)
        if self.overflows(source, bots, amount):
            return
        # The version counts the entries without gap, so one state of the account has one id for its next float.
        transfer_id = named_id(bots.account_id, f"float/{bots.version}")
        self.move(
            Transfer(transfer_id, source.account_id, bots.account_id, amount, "bots_float", cause, bots.currency),
            before,
        )

    # Holds

    def resolve(self, hold: Hold, resolution: Resolution, amount: int, by: str, cause: str) -> None:
        """End an open hold: all of it is free again, before the part that is posted moves (L6)."""
        account = self.accounts[hold.debit_account]
        self.accounts[account.account_id] = replace(account, held=account.held - hold.amount)
        self.holds[hold.hold_id] = replace(hold, resolution=resolution, posted=amount, resolved_by=by)
        self.resolved.append(HoldResolved(hold.hold_id, resolution, amount, by, cause))

    # Policies

    def at_tables(self, account_id: str) -> int:
        """Return what stands in the sittings of an account's owner, with everything that the batch has moved so far."""
        chips = self._books.at_tables.get(account_id, 0)
        for key, account in self.accounts.items():
            if account.home == account_id:
                was = self._books.accounts.get(key)
                chips += account.balance - (was.balance if was is not None else 0)
        return chips

    def tally(self, account_id: str, code: str, *, days_ago: int = 0) -> Tally:
        """Return a tally with everything that the batch has posted so far."""
        self.count()
        return self._tallies.get((account_id, code, self.now_ms // DAY_MS - days_ago)) or Tally()

    def count(self) -> None:
        """Count what was posted since it was last counted; within a set nobody asks, so nothing counted is undone."""
        self._tallies.update(counted(self.posted[self._counted :], self.now_ms, self._tallies))
        self._counted = len(self.posted)

    def over(self, limits: Iterable[DailyLimit], transfers: tuple[Transfer, ...]) -> Result | None:
        """Return the reason of the first limit that these transfers would break."""
        for limit in limits:
            asked = sum(
                t.amount
                for t in transfers
                for side in TALLIED.get(t.code, ())
                if (tallied_on(t, side), t.code) in limit.counted
            )
            there = sum(self.tally(account_id, code).amount for account_id, code in limit.counted)
            if asked and there + asked > limit.amount_max:
                return limit.reason
        return None


def _compared(there: Transfer | Hold, asked: Transfer | Hold, *, is_amount_compared: bool) -> Result:
    if isinstance(there, Hold) != isinstance(asked, Hold):
        return Result.EXISTS_WITH_DIFFERENT_KIND
    for field, result in _COMPARED:
        if field == "amount" and not is_amount_compared:
            continue
        if getattr(there, field, "") != getattr(asked, field, ""):
            return result
    if isinstance(there, Hold) and isinstance(asked, Hold) and there.lasts_ms != asked.lasts_ms:
        return Result.EXISTS_WITH_DIFFERENT_EXPIRY
    return Result.EXISTS
