"""Events of the ledger and their messages, field by field."""

from __future__ import annotations

from typing import Final

from diwan.api.event.v1 import ledger_pb2 as pb
from diwan.core.ledger import events as ledger
from diwan.wire.mapping import Row, known, texts

_ACCOUNT_KINDS: Final = texts(ledger.AccountKind)


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
        )
    for refusal in event.refusals:
        message.refusals.add(transfer_id=refusal.transfer_id, reason=refusal.reason)
    message.committed_at_ms = event.committed_at_ms


def _read_ledger_committed(message: pb.LedgerCommitted) -> ledger.LedgerCommitted:
    return ledger.LedgerCommitted(
        accounts=tuple(
            ledger.AccountOpened(one.account_id, known(_ACCOUNT_KINDS, one.kind), one.owner, one.currency)
            for one in message.accounts
        ),
        transfers=tuple(
            ledger.LedgerTransfer(
                one.transfer_id, one.debit_account, one.credit_account, one.amount, one.code, one.cause
            )
            for one in message.transfers
        ),
        refusals=tuple(ledger.RefusedTransfer(one.transfer_id, one.reason) for one in message.refusals),
        committed_at_ms=message.committed_at_ms,
    )


LEDGER_ROWS: Final = (Row(ledger.LedgerCommitted, _write_ledger_committed, _read_ledger_committed),)
