"""Deciding a batch of what was asked of the ledger, in the order received: the double entry itself (L1-L5, L7)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.ledger.accounts import AMOUNT_MAX, BOTS, BOTS_ISSUANCE, MAY_OWE, named_id
from diwan.core.ledger.books import Account, Books, Transfer, moved
from diwan.core.ledger.events import AccountOpened, LedgerCommitted, LedgerTransfer, RefusedTransfer


class Result(StrEnum):
    """What became of one transfer. Everything but ``created`` and ``exists`` is a refusal."""

    CREATED = "created"
    EXISTS = "exists"
    EXISTS_WITH_DIFFERENT_DEBIT_ACCOUNT = "exists_with_different_debit_account"
    EXISTS_WITH_DIFFERENT_CREDIT_ACCOUNT = "exists_with_different_credit_account"
    EXISTS_WITH_DIFFERENT_AMOUNT = "exists_with_different_amount"
    EXISTS_WITH_DIFFERENT_CODE = "exists_with_different_code"
    EXISTS_WITH_DIFFERENT_CAUSE = "exists_with_different_cause"
    EXISTS_WITH_DIFFERENT_CURRENCY = "exists_with_different_currency"
    ID_ALREADY_FAILED = "id_already_failed"
    AMOUNT_INVALID = "amount_invalid"
    SAME_ACCOUNT = "same_account"
    ACCOUNT_NOT_FOUND = "account_not_found"
    ACCOUNT_CLOSED = "account_closed"
    CURRENCY_MISMATCH = "currency_mismatch"
    EXCEEDS_BALANCE = "exceeds_balance"
    OVERFLOWS_BALANCE = "overflows_balance"
    SITTING_NOT_FOUND = "sitting_not_found"
    LINKED_FAILED = "linked_failed"
    NOT_POSTED = "not_posted"
    NOT_EMPTY = "not_empty"

    @property
    def is_posted(self) -> bool:
        """Whether the transfer stands in the ledger as it was asked for."""
        return self in {Result.CREATED, Result.EXISTS}


_REMEMBERED: Final = frozenset({
    Result.ACCOUNT_NOT_FOUND,
    Result.ACCOUNT_CLOSED,
    Result.CURRENCY_MISMATCH,
    Result.EXCEEDS_BALANCE,
    Result.OVERFLOWS_BALANCE,
    Result.SITTING_NOT_FOUND,
    Result.LINKED_FAILED,
    Result.NOT_EMPTY,
})  # fmt: skip
"""Refusals that another moment might have answered otherwise: their ids stay refused (L5). The others are told from
the request alone, or name an id that is already taken."""

_COMPARED: Final = (
    ("debit_account", Result.EXISTS_WITH_DIFFERENT_DEBIT_ACCOUNT),
    ("credit_account", Result.EXISTS_WITH_DIFFERENT_CREDIT_ACCOUNT),
    ("amount", Result.EXISTS_WITH_DIFFERENT_AMOUNT),
    ("code", Result.EXISTS_WITH_DIFFERENT_CODE),
    ("cause", Result.EXISTS_WITH_DIFFERENT_CAUSE),
    ("currency", Result.EXISTS_WITH_DIFFERENT_CURRENCY),
)


class LinkedSet(Struct, frozen=True):
    """Transfers that are posted all or none, with the accounts that they open and close.

    ``opens`` come first and are harmless where they exist; with ``is_opening`` the transfers belong to the opening, so
    they are posted only if one of the accounts was not there. ``closes`` must be empty afterwards. ``tops_up`` names a
    transfer that must be there, between the same accounts and for the same cause as each of the set: a buy-in.
    """

    transfers: tuple[Transfer, ...]
    opens: tuple[AccountOpened, ...] = ()
    closes: tuple[str, ...] = ()
    is_opening: bool = False
    tops_up: str = ""


class Revocation(Struct, frozen=True):
    """The caller has given a transfer up: it never happens, or goes back by a transfer of its own if it had happened."""

    transfer_id: str
    reason: str
    cause: str


class Confirmation(Struct, frozen=True):
    """The caller holds that this transfer is posted; nothing is moved."""

    transfer_id: str
    debit_account: str
    credit_account: str
    amount: int


type Request = LinkedSet | Revocation | Confirmation


class Verdict(Struct, frozen=True):
    """One transfer's result; ``first_reason`` says with ``id_already_failed`` why it was refused the first time."""

    transfer_id: str
    result: Result
    first_reason: str = ""


class Outcome(Struct, frozen=True):
    """What became of one request: a verdict for each transfer, whether all of it stands, whether it opened an account."""

    verdicts: tuple[Verdict, ...]
    is_done: bool
    has_opened: bool = False


class Entry(Struct, frozen=True):
    """One leg of a posted transfer on one account (L7): ``amount`` is below zero where the account gives."""

    account_id: str
    version: int
    transfer_id: str
    amount: int
    previous_balance: int
    balance: int


class Float(Struct, frozen=True):
    """How the bots' account is kept able to pay: below ``low`` chips, or short of a transfer, ``amount`` is issued."""

    low: int
    amount: int


class Decision(Struct, frozen=True):
    """A batch decided: outcomes in order, the event (None if nothing happened), its entries, the accounts it left."""

    outcomes: tuple[Outcome, ...]
    event: LedgerCommitted | None
    entries: tuple[Entry, ...]
    accounts: tuple[Account, ...]


def decide(books: Books, requests: Sequence[Request], now_ms: int, bots_float: Float | None = None) -> Decision:
    """Decide requests one after the other, each seeing what the ones before it did.

    ``books`` holds at least every account, transfer and refused id that the requests name.
    """
    batch = _Batch(books, bots_float)
    outcomes = tuple(batch.take(request) for request in requests)
    event = None
    if batch.opened or batch.posted or batch.refusals:
        refusals = tuple(RefusedTransfer(transfer_id, reason) for transfer_id, reason in batch.refusals.items())
        event = LedgerCommitted(tuple(batch.opened), tuple(batch.posted), refusals, now_ms)
    changed = tuple(a for key, a in batch.accounts.items() if books.accounts.get(key) is not a)
    return Decision(outcomes, event, tuple(batch.entries), changed)


class _Batch:
    """The books while a batch is decided. Never leaves this module."""

    def __init__(self, books: Books, bots_float: Float | None) -> None:
        self._float = bots_float
        self._refused = books.refused
        self.accounts = dict(books.accounts)
        self.transfers = dict(books.transfers)
        self.opened: list[AccountOpened] = []
        self.posted: list[LedgerTransfer] = []
        self.entries: list[Entry] = []
        self.refusals: dict[str, str] = {}

    def take(self, request: Request) -> Outcome:
        match request:
            case LinkedSet():
                return self._take_set(request)
            case Revocation():
                return self._revoke(request)
            case Confirmation():
                return self._confirm(request)

    def _take_set(self, request: LinkedSet) -> Outcome:
        if request.is_opening and all(account.account_id in self.accounts for account in request.opens):
            # What came with the first opening is settled for ever, also where a later one would bring something else.
            return Outcome(tuple(Verdict(t.transfer_id, Result.EXISTS) for t in request.transfers), is_done=True)
        known = [self._known(transfer) for transfer in request.transfers]
        if any(known):
            return self._already(request, known)
        mark = (len(self.opened), len(self.posted), len(self.entries))
        before: dict[str, Account | None] = {}
        has_opened = self._open(request.opens, before)
        results: list[Result] = []
        for transfer in request.transfers:
            is_seated = not request.tops_up or self._is_like(request.tops_up, transfer)
            results.append(self._post(transfer, before) if is_seated else Result.SITTING_NOT_FOUND)
            if results[-1] is not Result.CREATED:
                break
        failed = bool(results) and results[-1] is not Result.CREATED
        if not failed and not self._close(request.closes, before):
            failed = True
            results = [Result.NOT_EMPTY] * len(request.transfers)
        if not failed:
            return Outcome(_verdicts(request.transfers, results), is_done=True, has_opened=has_opened)
        self._undo(before, mark)
        return self._refuse(request.transfers, results)

    def _known(self, transfer: Transfer) -> Verdict | None:
        """Return what is to be said about a transfer without looking at any account, or None."""
        if not 1 <= transfer.amount <= AMOUNT_MAX:
            return Verdict(transfer.transfer_id, Result.AMOUNT_INVALID)
        if transfer.debit_account == transfer.credit_account:
            return Verdict(transfer.transfer_id, Result.SAME_ACCOUNT)
        if (there := self.transfers.get(transfer.transfer_id)) is not None:
            for field, result in _COMPARED:
                if getattr(there, field) != getattr(transfer, field):
                    return Verdict(transfer.transfer_id, result)
            return Verdict(transfer.transfer_id, Result.EXISTS)
        first_reason = self._refused.get(transfer.transfer_id) or self.refusals.get(transfer.transfer_id)
        if first_reason is not None:
            return Verdict(transfer.transfer_id, Result.ID_ALREADY_FAILED, first_reason)
        return None

    def _already(self, request: LinkedSet, known: list[Verdict | None]) -> Outcome:
        """Answer a set of which something is known: done before, or impossible; what was never seen stays unseen."""
        verdicts = tuple(
            verdict or Verdict(transfer.transfer_id, Result.LINKED_FAILED)
            for transfer, verdict in zip(request.transfers, known, strict=True)
        )
        return Outcome(verdicts, is_done=all(verdict.result is Result.EXISTS for verdict in verdicts))

    def _open(self, opens: tuple[AccountOpened, ...], before: dict[str, Account | None]) -> bool:
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

    def _post(self, transfer: Transfer, before: dict[str, Account | None]) -> Result:
        if transfer.transfer_id in self.transfers:  # Twice in one set: a set cannot contain itself.
            return Result.LINKED_FAILED
        debit = self.accounts.get(transfer.debit_account)
        credit = self.accounts.get(transfer.credit_account)
        if debit is None or credit is None:
            return Result.ACCOUNT_NOT_FOUND
        if not debit.currency == credit.currency == transfer.currency:
            return Result.CURRENCY_MISMATCH
        if debit.is_closed or credit.is_closed:
            return Result.ACCOUNT_CLOSED
        if debit.account_id == BOTS.account_id and self._float is not None:
            self._replenish(debit, transfer, self._float, before)
            debit, credit = self.accounts[debit.account_id], self.accounts[credit.account_id]
        if debit.kind not in MAY_OWE and debit.balance < transfer.amount:
            return Result.EXCEEDS_BALANCE
        if debit.balance - transfer.amount < -AMOUNT_MAX or credit.balance + transfer.amount > AMOUNT_MAX:
            return Result.OVERFLOWS_BALANCE
        self._move(transfer, debit, credit, before)
        return Result.CREATED

    def _is_like(self, transfer_id: str, transfer: Transfer) -> bool:
        first = self.transfers.get(transfer_id)
        return first is not None and (first.debit_account, first.credit_account, first.cause) == (
            transfer.debit_account,
            transfer.credit_account,
            transfer.cause,
        )

    def _replenish(self, bots: Account, transfer: Transfer, rule: Float, before: dict[str, Account | None]) -> None:
        source = self.accounts.get(BOTS_ISSUANCE.account_id)
        if source is None or bots.balance - transfer.amount >= rule.low:
            return
        amount = max(rule.amount, transfer.amount)
        if source.balance - amount < -AMOUNT_MAX or bots.balance + amount > AMOUNT_MAX:
            return
        # The version counts the entries without gap, so one state of the account has one id for its next float.
        transfer_id = named_id(bots.account_id, f"float/{bots.version}")
        cause = f"transfer/{transfer.transfer_id}"
        self._move(
            Transfer(transfer_id, source.account_id, bots.account_id, amount, "bots_float", cause, bots.currency),
            source,
            bots,
            before,
        )

    def _move(self, transfer: Transfer, debit: Account, credit: Account, before: dict[str, Account | None]) -> None:
        for account, amount in ((debit, -transfer.amount), (credit, transfer.amount)):
            before.setdefault(account.account_id, account)
            after = moved(account, amount)
            self.accounts[account.account_id] = after
            self.entries.append(
                Entry(account.account_id, after.version, transfer.transfer_id, amount, account.balance, after.balance)
            )
        self.transfers[transfer.transfer_id] = transfer
        self.posted.append(transfer.posted())

    def _close(self, closes: tuple[str, ...], before: dict[str, Account | None]) -> bool:
        for account_id in closes:
            account = self.accounts.get(account_id)
            if account is None:
                continue
            if account.balance != 0:
                return False
            before.setdefault(account_id, account)
            self.accounts[account_id] = replace(account, is_closed=True)
        return True

    def _undo(self, before: dict[str, Account | None], mark: tuple[int, int, int]) -> None:
        for account_id, account in before.items():
            if account is None:
                del self.accounts[account_id]
            else:
                self.accounts[account_id] = account
        opened, posted, entries = mark
        for transfer in self.posted[posted:]:
            del self.transfers[transfer.transfer_id]
        del self.opened[opened:], self.posted[posted:], self.entries[entries:]

    def _refuse(self, transfers: tuple[Transfer, ...], results: list[Result]) -> Outcome:
        """Refuse a whole set: the transfer that failed keeps its own reason, the others failed with it."""
        last = len(results) - 1
        own = [results[last] if i == last else Result.LINKED_FAILED for i in range(len(transfers))]
        for transfer, result in zip(transfers, own, strict=True):
            if result in _REMEMBERED:
                self.refusals.setdefault(transfer.transfer_id, result.name)
        return Outcome(_verdicts(transfers, own), is_done=False)

    def _revoke(self, request: Revocation) -> Outcome:
        there = self.transfers.get(request.transfer_id)
        if there is None:
            if request.transfer_id not in self._refused:
                self.refusals.setdefault(request.transfer_id, request.reason)
            return Outcome((), is_done=True)
        back = Transfer(
            named_id(request.transfer_id, "returned"),
            there.credit_account,
            there.debit_account,
            there.amount,
            f"{there.code}_returned",
            request.cause,
            there.currency,
        )
        return self._take_set(LinkedSet((back,)))

    def _confirm(self, request: Confirmation) -> Outcome:
        there = self.transfers.get(request.transfer_id)
        is_there = there is not None and (there.debit_account, there.credit_account, there.amount) == (
            request.debit_account,
            request.credit_account,
            request.amount,
        )
        result = Result.EXISTS if is_there else Result.NOT_POSTED
        return Outcome((Verdict(request.transfer_id, result),), is_done=is_there)


def _verdicts(transfers: tuple[Transfer, ...], results: list[Result]) -> tuple[Verdict, ...]:
    return tuple(Verdict(t.transfer_id, result) for t, result in zip(transfers, results, strict=True))
