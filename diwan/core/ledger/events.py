"""What happened in the ledger. Field by field the same as ``diwan/api/event/v1/ledger.proto``."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

type AccountKind = Literal["player", "escrow", "issuance", "bots", "house", "pool", "pot"]
type Resolution = Literal["posted", "voided", "expired"]


class AccountOpened(Struct, frozen=True):
    """An account was opened."""

    account_id: str
    kind: AccountKind
    owner: str
    currency: str


class LedgerTransfer(Struct, frozen=True):
    """A posted transfer: the debit account gives, the credit account takes.

    ``hold_id`` names the hold that it resolves, ``reverses`` the transfer that it takes back; mostly both are empty.
    """

    transfer_id: str
    debit_account: str
    credit_account: str
    amount: int
    code: str
    cause: str
    hold_id: str = ""
    reverses: str = ""


class HoldPlaced(Struct, frozen=True):
    """Chips were set aside on the debit account; from ``expires_at_ms`` on (0: never) the hold counts as expired."""

    hold_id: str
    debit_account: str
    credit_account: str
    amount: int
    code: str
    cause: str
    expires_at_ms: int


class HoldResolved(Struct, frozen=True):
    """The one end of a hold (L6): ``amount`` of it was posted by ``transfer_id``, the rest was set free."""

    hold_id: str
    resolution: Resolution
    amount: int
    transfer_id: str
    cause: str


class AccountFreezeChanged(Struct, frozen=True):
    """An account was frozen or set free."""

    account_id: str
    is_frozen: bool
    cause: str


class TopUpConsentChanged(Struct, frozen=True):
    """A player's standing consent to top-ups that nobody asked for one by one was given or withdrawn."""

    account_id: str
    is_given: bool
    cause: str


class RefundShortfall(Struct, frozen=True):
    """What the refund of a purchase could not take back, because it was spent."""

    transfer_id: str
    account_id: str
    amount: int


class RefusedTransfer(Struct, frozen=True):
    """A transfer that was refused and stays refused (L5)."""

    transfer_id: str
    reason: str


class LedgerCommitted(Struct, frozen=True, tag=True):
    """One commit of the ledger: what it opened, posted, refused, held and changed, each in order.

    ``closings`` are the accounts that are closed for ever behind all of it, each of them empty.
    """

    accounts: tuple[AccountOpened, ...]
    transfers: tuple[LedgerTransfer, ...]
    refusals: tuple[RefusedTransfer, ...]
    committed_at_ms: int
    holds: tuple[HoldPlaced, ...] = ()
    resolutions: tuple[HoldResolved, ...] = ()
    freezes: tuple[AccountFreezeChanged, ...] = ()
    consents: tuple[TopUpConsentChanged, ...] = ()
    shortfalls: tuple[RefundShortfall, ...] = ()
    closings: tuple[str, ...] = ()
