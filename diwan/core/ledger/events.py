"""What happened in the ledger. Field by field the same as ``diwan/api/event/v1/ledger.proto``."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

type AccountKind = Literal["player", "escrow", "issuance", "bots", "house"]


class AccountOpened(Struct, frozen=True):
    """An account was opened."""

    account_id: str
    kind: AccountKind
    owner: str
    currency: str


class LedgerTransfer(Struct, frozen=True):
    """A posted transfer: the debit account gives, the credit account takes."""

    transfer_id: str
    debit_account: str
    credit_account: str
    amount: int
    code: str
    cause: str


class RefusedTransfer(Struct, frozen=True):
    """A transfer that was refused and stays refused (L5)."""

    transfer_id: str
    reason: str


class LedgerCommitted(Struct, frozen=True, tag=True):
    """One commit of the ledger: what it opened, posted and refused, in order."""

    accounts: tuple[AccountOpened, ...]
    transfers: tuple[LedgerTransfer, ...]
    refusals: tuple[RefusedTransfer, ...]
    committed_at_ms: int
