"""Holds: chips set aside, and the one end of each: posted, voided or expired (L6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from diwan.core.ledger.accounts import AMOUNT_MAX, KINDS
from diwan.core.ledger.batch import Batch, Before
from diwan.core.ledger.books import Hold, Transfer
from diwan.core.ledger.requests import HoldPlacement, HoldPosting, HoldVoiding, Outcome, Result, Verdict

EXPIRY: Final = "expiry"
"""The cause of a hold's end by the clock."""

_ENDED: Final = {
    "posted": Result.HOLD_ALREADY_POSTED,
    "voided": Result.HOLD_ALREADY_VOIDED,
    "expired": Result.HOLD_ALREADY_EXPIRED,
}


def expire(batch: Batch, holds: Iterable[Hold]) -> None:
    """End every hold that is due: nothing that follows finds it open."""
    for hold in holds:
        if hold.is_due(batch.now_ms):
            batch.resolve(hold, "expired", 0, "", EXPIRY)


def place_hold(batch: Batch, request: HoldPlacement) -> Outcome:
    """Set chips aside on the debit account; the accounts must be fit for the transfer that it is to become (L2)."""
    asked = request.transfer
    hold = Hold(
        asked.transfer_id,
        asked.debit_account,
        asked.credit_account,
        asked.amount,
        asked.code,
        asked.cause,
        asked.currency,
        request.lasts_ms,
        batch.now_ms + request.lasts_ms if request.lasts_ms else 0,
    )
    known = batch.known(hold)
    if known is not None:
        there = batch.holds.get(hold.hold_id)
        is_there = known.result is Result.EXISTS and there is not None
        return Outcome((known,), is_done=is_there, expires_at_ms=there.expires_at_ms if there is not None else 0)
    before: Before = {}
    mark = batch.mark
    has_opened = batch.open(request.opens, before)
    result = batch.unfit(hold)
    if result is None:
        batch.replenish(hold.debit_account, hold.amount, f"hold/{hold.hold_id}", before)
        debit = batch.accounts[hold.debit_account]
        # Chips that may not be there cannot be set aside, so an account that may owe has no holds.
        if KINDS[debit.kind].may_owe or debit.available < hold.amount:
            result = Result.EXCEEDS_BALANCE
    if result is not None:
        batch.undo(before, mark)
        return batch.refuse(hold.hold_id, result)
    batch.accounts[debit.account_id] = replace(debit, held=debit.held + hold.amount)
    batch.holds[hold.hold_id] = hold
    batch.placed.append(hold.placed())
    verdict = Verdict(hold.hold_id, Result.CREATED, amount=hold.amount)
    return Outcome((verdict,), is_done=True, has_opened=has_opened, expires_at_ms=hold.expires_at_ms)


def post_hold(batch: Batch, request: HoldPosting) -> Outcome:
    """Move what is held, or a part of it; the rest is free again.

    An account that was frozen since gives it all the same: the chips were promised before, and whoever was promised
    them may have acted on it. An operator who wants them kept voids the hold.
    """
    if not 0 <= request.amount <= AMOUNT_MAX:
        return batch.refuse(request.transfer_id, Result.AMOUNT_INVALID)
    hold = batch.holds.get(request.hold_id)
    there = batch.transfers.get(request.transfer_id)
    if there is not None:
        return _posted_before(there, hold, request)
    if request.transfer_id in batch.holds:
        return batch.refuse(request.transfer_id, Result.EXISTS_WITH_DIFFERENT_KIND)
    failed_before = batch.failed_before(request.transfer_id)
    if failed_before is not None:
        return Outcome((failed_before,), is_done=False)
    if hold is None:
        return batch.refuse(request.transfer_id, Result.HOLD_NOT_FOUND)
    if hold.resolution:
        return batch.refuse(request.transfer_id, _ENDED[hold.resolution])
    amount = request.amount or hold.amount
    if amount > hold.amount:
        return batch.refuse(request.transfer_id, Result.EXCEEDS_HOLD)
    debit, credit = batch.accounts[hold.debit_account], batch.accounts[hold.credit_account]
    if credit.is_closed:
        return batch.refuse(request.transfer_id, Result.ACCOUNT_CLOSED)
    if batch.overflows(debit, credit, amount):
        return batch.refuse(request.transfer_id, Result.OVERFLOWS_BALANCE)
    batch.resolve(hold, "posted", amount, request.transfer_id, request.cause)
    batch.move(
        Transfer(
            request.transfer_id,
            hold.debit_account,
            hold.credit_account,
            amount,
            hold.code,
            request.cause,
            hold.currency,
            hold.hold_id,
        ),
        {},
    )
    return Outcome((Verdict(request.transfer_id, Result.CREATED, amount=amount),), is_done=True)


def _posted_before(there: Transfer, hold: Hold | None, request: HoldPosting) -> Outcome:
    result = Result.EXISTS
    if there.hold_id != request.hold_id or hold is None:
        result = Result.EXISTS_WITH_DIFFERENT_HOLD
    elif there.amount != (request.amount or hold.amount):
        result = Result.EXISTS_WITH_DIFFERENT_AMOUNT
    elif there.cause != request.cause:
        result = Result.EXISTS_WITH_DIFFERENT_CAUSE
    verdict = Verdict(request.transfer_id, result, amount=there.amount)
    return Outcome((verdict,), is_done=result is Result.EXISTS)


def void_hold(batch: Batch, request: HoldVoiding) -> Outcome:
    """Set what is held free again."""
    hold = batch.holds.get(request.hold_id)
    if hold is not None and (hold.resolution, hold.resolved_by) == ("voided", request.request_id):
        return Outcome((Verdict(request.request_id, Result.EXISTS),), is_done=True)
    if request.request_id in batch.transfers or request.request_id in batch.holds:
        return batch.refuse(request.request_id, Result.EXISTS_WITH_DIFFERENT_KIND)
    failed_before = batch.failed_before(request.request_id)
    if failed_before is not None:
        return Outcome((failed_before,), is_done=False)
    if hold is None:
        return batch.refuse(request.request_id, Result.HOLD_NOT_FOUND)
    if hold.resolution:
        return batch.refuse(request.request_id, _ENDED[hold.resolution])
    batch.resolve(hold, "voided", 0, request.request_id, request.cause)
    return Outcome((Verdict(request.request_id, Result.CREATED),), is_done=True)
