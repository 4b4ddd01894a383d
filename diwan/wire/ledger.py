"""Events of the ledger and their messages, field by field."""

from __future__ import annotations

from typing import Final

from diwan.api.event.v1 import ledger_pb2 as pb
from diwan.core.ledger import events as ledger
from diwan.wire.mapping import Row, known, texts

_ACCOUNT_KINDS: Final = texts(ledger.AccountKind)
_RESOLUTIONS: Final = texts(ledger.Resolution)


def _write_ledger_committed(message: pb.LedgerCommitted, event: ledger.LedgerCommitted) -> None:
    for account in event.accounts:
        message.accounts.add(
            account_id=account.account_id, kind=account.kind, owner=account.owner, currency=account.currency
        )
    for transfer in event.transfers:
        message.transfers.add(
            transfer_id=transfer.transfer_id,
            debit_account=transfer.debit_account,
            credit_account=transfer.credit_account,
            amount=transfer.amount,
            code=transfer.code,
            cause=transfer.cause,
            hold_id=transfer.hold_id,
            reverses=transfer.reverses,
        )
    for refusal in event.refusals:
        message.refusals.add(transfer_id=refusal.transfer_id, reason=refusal.reason)
    message.committed_at_ms = event.committed_at_ms
    _write_holds(message, event)
    for freeze in event.freezes:
        message.freezes.add(account_id=freeze.account_id, is_frozen=freeze.is_frozen, cause=freeze.cause)
    for consent in event.consents:
        message.consents.add(account_id=consent.account_id, is_given=consent.is_given, cause=consent.cause)
    for shortfall in event.shortfalls:
        message.shortfalls.add(
            transfer_id=shortfall.transfer_id, account_id=shortfall.account_id, amount=shortfall.amount
        )
    message.closings.extend(event.closings)


def _write_holds(message: pb.LedgerCommitted, event: ledger.LedgerCommitted) -> None:
    for hold in event.holds:
        message.holds.add(
            hold_id=hold.hold_id,
            debit_account=hold.debit_account,
            credit_account=hold.credit_account,
            amount=hold.amount,
            code=hold.code,
            cause=hold.cause,
            expires_at_ms=hold.expires_at_ms,
        )
    for resolved in event.resolutions:
        message.resolutions.add(
            hold_id=resolved.hold_id,
            resolution=resolved.resolution,
            amount=resolved.amount,
            transfer_id=resolved.transfer_id,
            cause=resolved.cause,
        )


def _read_ledger_committed(message: pb.LedgerCommitted) -> ledger.LedgerCommitted:
    return ledger.LedgerCommitted(
        accounts=tuple(
            ledger.AccountOpened(one.account_id, known(_ACCOUNT_KINDS, one.kind), one.owner, one.currency)
            for one in message.accounts
        ),
        transfers=tuple(map(_read_transfer, message.transfers)),
        refusals=tuple(ledger.RefusedTransfer(one.transfer_id, one.reason) for one in message.refusals),
        committed_at_ms=message.committed_at_ms,
        holds=tuple(map(_read_hold, message.holds)),
        resolutions=tuple(
            ledger.HoldResolved(
                one.hold_id, known(_RESOLUTIONS, one.resolution), one.amount, one.transfer_id, one.cause
            )
            for one in message.resolutions
        ),
        freezes=tuple(ledger.AccountFreezeChanged(one.account_id, one.is_frozen, one.cause) for one in message.freezes),
        consents=tuple(ledger.TopUpConsentChanged(one.account_id, one.is_given, one.cause) for one in message.consents),
        shortfalls=tuple(
            ledger.RefundShortfall(one.transfer_id, one.account_id, one.amount) for one in message.shortfalls
        ),
        closings=tuple(message.closings),
    )


def _read_transfer(one: pb.LedgerTransfer) -> ledger.LedgerTransfer:
    return ledger.LedgerTransfer(
        one.transfer_id,
        one.debit_account,
        one.credit_account,
        one.amount,
        one.code,
        one.cause,
        one.hold_id,
        one.reverses,
    )


def _read_hold(one: pb.HoldPlaced) -> ledger.HoldPlaced:
    return ledger.HoldPlaced(
        one.hold_id,
        one.debit_account,
        one.credit_account,
        one.amount,
        one.code,
        one.cause,
        one.expires_at_ms,
    )


LEDGER_ROWS: Final = (Row(ledger.LedgerCommitted, _write_ledger_committed, _read_ledger_committed),)
