"""Deciding a batch of what was asked of the ledger, in the order received (L1-L7)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from diwan.core.ledger.accounts import named_id
from diwan.core.ledger.batch import Batch, Before, Entry
from diwan.core.ledger.books import Account, Books, Hold, Transfer
from diwan.core.ledger.corrections import change_consent, change_freeze, refund, reverse
from diwan.core.ledger.events import LedgerCommitted, RefusedTransfer
from diwan.core.ledger.holds import expire, place_hold, post_hold, void_hold
from diwan.core.ledger.policies import examine, next_day_ms
from diwan.core.ledger.requests import (
    REMEMBERED,
    Confirmation,
    ConsentChange,
    Expiry,
    Float,
    FreezeChange,
    Grant,
    HoldPlacement,
    HoldPosting,
    HoldVoiding,
    LinkedSet,
    Outcome,
    Refund,
    Request,
    Result,
    Reversal,
    Revocation,
    Verdict,
)


class Decision(Struct, frozen=True):
    """A batch decided: outcomes in order, the event (None if nothing happened) and its entries, two a transfer.

    ``accounts`` and ``holds`` are those that it opened, placed or changed, as it left them.
    """

    outcomes: tuple[Outcome, ...]
    event: LedgerCommitted | None
    entries: tuple[Entry, ...]
    accounts: tuple[Account, ...]
    holds: tuple[Hold, ...] = ()


def decide(books: Books, requests: Sequence[Request], now_ms: int, bots_float: Float | None = None) -> Decision:
    """Decide requests one after the other, each seeing what the ones before it did.

    Holds that are due expire first. ``books`` holds at least every account, transfer, hold, tally and refused id that
    the requests name, and of the accounts that give also their holds that are due.
    """
    batch = Batch(books, now_ms, bots_float)
    expire(batch, books.holds.values())
    outcomes = tuple([_take(batch, request) for request in requests])
    return Decision(
        outcomes,
        _event(batch),
        tuple(batch.entries),
        tuple([a for key, a in batch.accounts.items() if books.accounts.get(key) is not a]),
        tuple([h for key, h in batch.holds.items() if books.holds.get(key) is not h]),
    )


def _event(batch: Batch) -> LedgerCommitted | None:
    event = LedgerCommitted(
        tuple(batch.opened),
        tuple(batch.posted),
        tuple([RefusedTransfer(key, reason) for key, reason in batch.refusals.items()]),
        batch.now_ms,
        tuple(batch.placed),
        tuple(batch.resolved),
        tuple(batch.freezes),
        tuple(batch.consents),
        tuple(batch.shortfalls),
        tuple(batch.closed),
    )
    return None if event == LedgerCommitted((), (), (), batch.now_ms) else event


def _take(batch: Batch, request: Request) -> Outcome:
    match request:
        case LinkedSet():
            return take_set(batch, request)
        case Revocation():
            return _revoke(batch, request)
        case Confirmation():
            return _confirm(batch, request)
        case HoldPlacement():
            return place_hold(batch, request)
        case HoldPosting():
            return post_hold(batch, request)
        case HoldVoiding():
            return void_hold(batch, request)
        case Expiry():
            # What is due of the holds has ended before any request was looked at.
            return Outcome((), is_done=True)
        case Grant():
            return _grant(batch, request)
        case Refund():
            return refund(batch, request)
        case Reversal():
            return reverse(batch, request)
        case FreezeChange():
            return change_freeze(batch, request)
        case ConsentChange():
            return change_consent(batch, request)


def take_set(batch: Batch, request: LinkedSet) -> Outcome:
    """Post all transfers of a set or none."""
    if request.is_opening and all(account.account_id in batch.accounts for account in request.opens):
        # What came with the first opening is settled for ever, also where a later one would bring something else.
        return Outcome(tuple([Verdict(t.transfer_id, Result.EXISTS) for t in request.transfers]), is_done=True)
    known = [batch.known(transfer) for transfer in request.transfers]
    if any(known):
        return _already(request, known)
    mark = batch.mark
    before: Before = {}
    has_opened = batch.open(request.opens, before)
    results = _post_all(batch, request, before)
    failed = bool(results) and results[-1] is not Result.CREATED
    if not failed and not batch.close(request.closes, before):
        failed = True
        results = [Result.NOT_EMPTY] * len(request.transfers)
    if not failed:
        verdicts = tuple([Verdict(t.transfer_id, Result.CREATED) for t in request.transfers])
        return Outcome(verdicts, is_done=True, has_opened=has_opened)
    batch.undo(before, mark)
    return _refuse(batch, request, results)


def _post_all(batch: Batch, request: LinkedSet, before: Before) -> list[Result]:
    """Post the transfers up to the first that cannot be."""
    over = batch.over(request.limits, request.transfers)
    if over is not None:
        return [over]
    results: list[Result] = []
    for transfer in request.transfers:
        is_seated = not request.tops_up or _is_like(batch, request.tops_up, transfer)
        results.append(batch.post(transfer, before) if is_seated else Result.SITTING_NOT_FOUND)
        if results[-1] is not Result.CREATED:
            break
    return results


def _already(request: LinkedSet, known: list[Verdict | None]) -> Outcome:
    """Answer a set of which something is known: done before, or impossible; what was never seen stays unseen."""
    verdicts = tuple(
        [
            verdict or Verdict(transfer.transfer_id, Result.LINKED_FAILED)
            for transfer, verdict in zip(request.transfers, known, strict=True)
        ]
    )
    return Outcome(verdicts, is_done=all(verdict.result is Result.EXISTS for verdict in verdicts))


def _is_like(batch: Batch, transfer_id: str, transfer: Transfer) -> bool:
    first = batch.transfers.get(transfer_id)
    return first is not None and (first.debit_account, first.credit_account, first.cause) == (
        transfer.debit_account,
        transfer.credit_account,
        transfer.cause,
    )


def _refuse(batch: Batch, request: LinkedSet, results: list[Result]) -> Outcome:
    """Refuse a whole set: the transfer that failed keeps its own reason, the others failed with it."""
    last = len(results) - 1
    verdicts: list[Verdict] = []
    for place, transfer in enumerate(request.transfers):
        result = results[last] if place == last else Result.LINKED_FAILED
        is_of_today = result in {Result.DAILY_LIMIT, Result.ISSUANCE_LIMIT}
        next_at_ms = next_day_ms(batch.now_ms) if is_of_today else 0
        verdicts.append(Verdict(transfer.transfer_id, result, next_at_ms=next_at_ms))
        if result in REMEMBERED and not request.is_forgotten:
            batch.refusals.setdefault(transfer.transfer_id, result.name)
    return Outcome(tuple(verdicts), is_done=False)


def _revoke(batch: Batch, request: Revocation) -> Outcome:
    there = batch.transfers.get(request.transfer_id)
    if there is None:
        batch.rule_out(request.transfer_id, request.reason)
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
    return take_set(batch, LinkedSet((back,)))


def _confirm(batch: Batch, request: Confirmation) -> Outcome:
    there = batch.transfers.get(request.transfer_id)
    is_there = there is not None and (there.debit_account, there.credit_account, there.amount) == (
        request.debit_account,
        request.credit_account,
        request.amount,
    )
    result = Result.EXISTS if is_there else Result.NOT_POSTED
    return Outcome((Verdict(request.transfer_id, result),), is_done=is_there)


def _grant(batch: Batch, request: Grant) -> Outcome:
    transfer = request.transfer
    known = batch.known(transfer, is_amount_compared=not request.has_set_amount)
    if known is not None:
        if known.result is not Result.EXISTS:
            return Outcome((known,), is_done=False)
        amount = batch.transfers[transfer.transfer_id].amount
        return Outcome((Verdict(transfer.transfer_id, Result.EXISTS, amount=amount),), is_done=True)
    account = batch.accounts.get(transfer.credit_account)
    if account is not None:
        today, yesterday = (batch.tally(account.account_id, transfer.code, days_ago=days) for days in (0, 1))
        has = account.balance + batch.at_tables(account.account_id) if request.policy.below else account.balance
        refused = examine(request.policy, account, has, transfer.amount, today, yesterday, batch.now_ms)
        if refused is not None:
            result, next_at_ms = refused
            key = transfer.transfer_id
            return batch.refuse(key, result, next_at_ms=next_at_ms, is_forgotten=request.is_receipt)
    outcome = take_set(batch, LinkedSet((transfer,), limits=request.limits, is_forgotten=request.is_receipt))
    if not outcome.is_done:
        return outcome
    return Outcome((Verdict(transfer.transfer_id, Result.CREATED, amount=transfer.amount),), is_done=True)
