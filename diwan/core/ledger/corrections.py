"""Corrections: nothing posted is ever changed, so what was wrong is answered by a new posting that says so."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from diwan.core.ledger.accounts import KINDS, PURCHASE, named_id
from diwan.core.ledger.batch import Batch, Before
from diwan.core.ledger.books import Transfer
from diwan.core.ledger.events import RefundShortfall, TopUpConsentChanged
from diwan.core.ledger.moves import REVERSAL, is_reversible
from diwan.core.ledger.requests import ConsentChange, FreezeChange, Outcome, Refund, Result, Reversal, Verdict

REFUNDED: Final = "purchase_refunded"


def reverse(batch: Batch, request: Reversal) -> Outcome:
    """Take a transfer back by a new one from where it went to where it came from; each can be taken back once."""
    old = batch.transfers.get(request.reverses)
    there = batch.transfers.get(request.transfer_id)
    if there is not None and there.reverses != request.reverses:
        return batch.refuse(request.transfer_id, Result.EXISTS_WITH_DIFFERENT_REVERSES)
    if request.transfer_id in batch.holds:
        return batch.refuse(request.transfer_id, Result.EXISTS_WITH_DIFFERENT_KIND)
    if old is None:
        failed_before = batch.failed_before(request.transfer_id)
        if failed_before is not None:
            return Outcome((failed_before,), is_done=False)
        return batch.refuse(request.transfer_id, Result.TRANSFER_NOT_FOUND)
    back = Transfer(
        request.transfer_id,
        old.credit_account,
        old.debit_account,
        old.amount,
        REVERSAL,
        request.cause,
        old.currency,
        reverses=old.transfer_id,
    )
    known = batch.known(back)
    if known is not None:
        return Outcome((replace(known, amount=old.amount),), is_done=known.result is Result.EXISTS)
    if old.transfer_id in batch.reversed_by or old.transfer_id in batch.short_of:
        return batch.refuse(request.transfer_id, Result.ALREADY_REVERSED)
    debit, credit = batch.accounts[old.debit_account], batch.accounts[old.credit_account]
    if not is_reversible(old.code, debit.kind, credit.kind):
        return batch.refuse(request.transfer_id, Result.NOT_REVERSIBLE)
    before: Before = {}
    mark = batch.mark
    result = batch.post(back, before)
    if result is not Result.CREATED:
        batch.undo(before, mark)
        return batch.refuse(request.transfer_id, result)
    batch.reversed_by[old.transfer_id] = back.transfer_id
    return Outcome((Verdict(back.transfer_id, Result.CREATED, amount=back.amount),), is_done=True)


def refund(batch: Batch, request: Refund) -> Outcome:
    """Take a purchase back as far as its chips can be; what was spent is on record, and the account is frozen for it.

    A purchase that was never credited never will be: its refund came first.
    """
    key = named_id(request.purchase_id, "refunded")
    if key in batch.holds:
        return batch.refuse(key, Result.EXISTS_WITH_DIFFERENT_KIND)
    purchase = batch.transfers.get(request.purchase_id)
    if purchase is not None and not batch.accounts[purchase.credit_account].owner.startswith(request.players):
        return batch.refuse(key, Result.ON_BEHALF_OF_NOT_ALLOWED)
    there, short = batch.transfers.get(key), batch.short_of.get(request.purchase_id)
    if there is not None or short is not None:
        verdict = Verdict(key, Result.EXISTS, amount=0 if there is None else there.amount)
        return Outcome((verdict,), is_done=True, shortfall=0 if short is None else short.amount)
    if purchase is None:
        is_new = batch.rule_out(request.purchase_id, Result.PURCHASE_REFUNDED.name)
        return Outcome((Verdict(key, Result.CREATED if is_new else Result.EXISTS),), is_done=True)
    if purchase.transfer_id in batch.reversed_by:
        # Told from what stands for ever: there is nothing to remember for the refund's own id.
        return batch.refuse(key, Result.ALREADY_REVERSED, is_forgotten=True)
    account = batch.accounts[purchase.credit_account]
    amount = min(purchase.amount, account.available)
    if amount:
        source = PURCHASE.account_id
        back = Transfer(
            key,
            account.account_id,
            source,
            amount,
            REFUNDED,
            request.cause,
            purchase.currency,
            reverses=purchase.transfer_id,
        )
        batch.move(back, {})
        batch.reversed_by[purchase.transfer_id] = key
    shortfall = purchase.amount - amount
    if shortfall:
        record = RefundShortfall(purchase.transfer_id, account.account_id, shortfall)
        batch.shortfalls.append(record)
        batch.short_of[purchase.transfer_id] = record
        batch.freeze(batch.accounts[account.account_id], request.cause, is_frozen=True)
    return Outcome((Verdict(key, Result.CREATED, amount=amount),), is_done=True, shortfall=shortfall)


def change_freeze(batch: Batch, request: FreezeChange) -> Outcome:
    """Freeze a player's account or set it free; said again it is on record again, with its own reason and case."""
    account = batch.accounts.get(request.account_id)
    if account is None or not KINDS[account.kind].may_freeze:
        return batch.refuse(request.request_id, Result.ACCOUNT_NOT_FOUND, is_forgotten=True)
    batch.freeze(account, request.cause, is_frozen=request.is_frozen)
    return Outcome((Verdict(request.request_id, Result.CREATED),), is_done=True)


def change_consent(batch: Batch, request: ConsentChange) -> Outcome:
    """Give or withdraw standing consent to automatic top-ups; what stands already leaves no trace."""
    account = batch.accounts.get(request.account_id)
    if account is None:
        return batch.refuse(request.request_id, Result.ACCOUNT_NOT_FOUND, is_forgotten=True)
    if account.has_top_up_consent == request.is_given:
        return Outcome((Verdict(request.request_id, Result.EXISTS),), is_done=True)
    batch.accounts[account.account_id] = replace(account, has_top_up_consent=request.is_given)
    batch.consents.append(TopUpConsentChanged(account.account_id, request.is_given, request.cause))
    return Outcome((Verdict(request.request_id, Result.CREATED),), is_done=True)
