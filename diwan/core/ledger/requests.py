"""What may be asked of the ledger, and what comes of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal

from msgspec import Struct

from diwan.core.ledger.books import Transfer
from diwan.core.ledger.events import AccountOpened


class Result(StrEnum):
    """What became of one transfer or hold. Everything but ``created`` and ``exists`` is a refusal."""

    CREATED = "created"
    EXISTS = "exists"
    EXISTS_WITH_DIFFERENT_DEBIT_ACCOUNT = "exists_with_different_debit_account"
    EXISTS_WITH_DIFFERENT_CREDIT_ACCOUNT = "exists_with_different_credit_account"
    EXISTS_WITH_DIFFERENT_AMOUNT = "exists_with_different_amount"
    EXISTS_WITH_DIFFERENT_CODE = "exists_with_different_code"
    EXISTS_WITH_DIFFERENT_CAUSE = "exists_with_different_cause"
    EXISTS_WITH_DIFFERENT_CURRENCY = "exists_with_different_currency"
    EXISTS_WITH_DIFFERENT_HOLD = "exists_with_different_hold"
    EXISTS_WITH_DIFFERENT_REVERSES = "exists_with_different_reverses"
    EXISTS_WITH_DIFFERENT_EXPIRY = "exists_with_different_expiry"
    EXISTS_WITH_DIFFERENT_KIND = "exists_with_different_kind"
    ID_ALREADY_FAILED = "id_already_failed"
    AMOUNT_INVALID = "amount_invalid"
    SAME_ACCOUNT = "same_account"
    ACCOUNT_NOT_FOUND = "account_not_found"
    ACCOUNT_CLOSED = "account_closed"
    ACCOUNT_FROZEN = "account_frozen"
    CURRENCY_MISMATCH = "currency_mismatch"
    EXCEEDS_BALANCE = "exceeds_balance"
    OVERFLOWS_BALANCE = "overflows_balance"
    SITTING_NOT_FOUND = "sitting_not_found"
    LINKED_FAILED = "linked_failed"
    NOT_POSTED = "not_posted"
    NOT_EMPTY = "not_empty"
    HOLD_NOT_FOUND = "hold_not_found"
    HOLD_ALREADY_POSTED = "hold_already_posted"
    HOLD_ALREADY_VOIDED = "hold_already_voided"
    HOLD_ALREADY_EXPIRED = "hold_already_expired"
    EXCEEDS_HOLD = "exceeds_hold"
    TRANSFER_NOT_FOUND = "transfer_not_found"
    ALREADY_REVERSED = "already_reversed"
    NOT_REVERSIBLE = "not_reversible"
    PURCHASE_REFUNDED = "purchase_refunded"
    ON_BEHALF_OF_NOT_ALLOWED = "on_behalf_of_not_allowed"
    TOP_UP_NOT_BELOW = "top_up_not_below"
    CONSENT_REQUIRED = "consent_required"
    TOO_SOON = "too_soon"
    DAILY_LIMIT = "daily_limit"
    ISSUANCE_LIMIT = "issuance_limit"

    @property
    def is_posted(self) -> bool:
        """Whether what was asked for stands in the ledger as it was asked for."""
        return self in {Result.CREATED, Result.EXISTS}


REMEMBERED: Final = frozenset({
    Result.ACCOUNT_NOT_FOUND,
    Result.ACCOUNT_CLOSED,
    Result.ACCOUNT_FROZEN,
    Result.CURRENCY_MISMATCH,
    Result.EXCEEDS_BALANCE,
    Result.OVERFLOWS_BALANCE,
    Result.SITTING_NOT_FOUND,
    Result.LINKED_FAILED,
    Result.NOT_EMPTY,
    Result.HOLD_NOT_FOUND,
    Result.HOLD_ALREADY_POSTED,
    Result.HOLD_ALREADY_VOIDED,
    Result.HOLD_ALREADY_EXPIRED,
    Result.EXCEEDS_HOLD,
    Result.TRANSFER_NOT_FOUND,
    Result.ALREADY_REVERSED,
    Result.NOT_REVERSIBLE,
    Result.PURCHASE_REFUNDED,
    Result.TOP_UP_NOT_BELOW,
    Result.CONSENT_REQUIRED,
    Result.TOO_SOON,
    Result.DAILY_LIMIT,
    Result.ISSUANCE_LIMIT,
})  # fmt: skip
"""Refusals whose ids stay refused (L5). The others are told from the request alone, or name an id that is taken."""


class DailyLimit(Struct, frozen=True):
    """At most ``amount_max`` chips a UTC day over the tallies of these accounts and codes together."""

    counted: tuple[tuple[str, str], ...]
    amount_max: int
    reason: Literal[Result.DAILY_LIMIT, Result.ISSUANCE_LIMIT] = Result.ISSUANCE_LIMIT


class LinkedSet(Struct, frozen=True):
    """Transfers that are posted all or none, with the accounts that they open and close.

    ``opens`` come first and are harmless where they exist; with ``is_opening`` the transfers belong to the opening, so
    they are posted only if one of the accounts was not there. ``closes`` must be empty afterwards. ``tops_up`` names a
    transfer that must be there, between the same accounts and for the same cause as each of the set: a buy-in.
    ``is_forgotten``: a refusal leaves the ids free (L5), since they follow from something that must not be lost.
    """

    transfers: tuple[Transfer, ...]
    opens: tuple[AccountOpened, ...] = ()
    closes: tuple[str, ...] = ()
    is_opening: bool = False
    tops_up: str = ""
    limits: tuple[DailyLimit, ...] = ()
    is_forgotten: bool = False


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


class HoldPlacement(Struct, frozen=True):
    """Set chips aside: the transfer's id names the hold, ``lasts_ms`` runs from the commit on (0: for ever)."""

    transfer: Transfer
    lasts_ms: int
    opens: tuple[AccountOpened, ...] = ()


class HoldPosting(Struct, frozen=True):
    """Turn a hold into a transfer of ``amount`` chips (0: all of it); the rest is set free (L6)."""

    transfer_id: str
    hold_id: str
    amount: int
    cause: str


class HoldVoiding(Struct, frozen=True):
    """Give a hold up; ``request_id`` names the request (L6)."""

    request_id: str
    hold_id: str
    cause: str


class Expiry(Struct, frozen=True):
    """End those of these holds that are due; nobody waits for it, as a due hold counts as expired anyway (L6)."""

    hold_ids: tuple[str, ...]


class Policy(Struct, frozen=True):
    """What one player may get of one code. 0 or False stands for no such rule.

    ``below``: only who has less, stacks at tables included. ``needs_consent``: only who consents to what nobody asked for one by one.
    """

    count_a_day: int = 0
    amount_a_day: int = 0
    cool_down_ms: int = 0
    below: int = 0
    needs_consent: bool = False


class Grant(Struct, frozen=True):
    """A transfer to a player from an issuance account under a policy.

    ``is_receipt``: the id follows from a provider's receipt, which a refusal must not use up, so it leaves the id free.
    ``has_set_amount``: the amount is the house's, so that a retry after it changed is still the same request.
    """

    transfer: Transfer
    policy: Policy
    limits: tuple[DailyLimit, ...] = ()
    is_receipt: bool = False
    has_set_amount: bool = False


class Refund(Struct, frozen=True):
    """Take a purchase back as far as its chips are still there; what is not is recorded and the account is frozen.

    ``players``: the id prefix of those whose purchases the caller may take back, empty for any.
    """

    purchase_id: str
    cause: str
    players: str = ""


class Reversal(Struct, frozen=True):
    """Take a transfer back by a new one that names it."""

    transfer_id: str
    reverses: str
    cause: str


class FreezeChange(Struct, frozen=True):
    """Freeze an account or set it free; ``request_id`` names the request."""

    request_id: str
    account_id: str
    is_frozen: bool
    cause: str


class ConsentChange(Struct, frozen=True):
    """Give or withdraw standing consent to top-ups; ``request_id`` names the request."""

    request_id: str
    account_id: str
    is_given: bool
    cause: str


type TableRequest = LinkedSet | Revocation | Confirmation
"""What the events of tables come to."""

type Request = (
    LinkedSet
    | Revocation
    | Confirmation
    | HoldPlacement
    | HoldPosting
    | HoldVoiding
    | Expiry
    | Grant
    | Refund
    | Reversal
    | FreezeChange
    | ConsentChange
)


class Verdict(Struct, frozen=True):
    """One transfer's result.

    ``first_reason`` says with ``id_already_failed`` why it was refused the first time, ``amount`` how many chips it
    moves where it stands, ``next_at_ms`` when a refusal of today would be none any more (0: not by waiting).
    """

    transfer_id: str
    result: Result
    first_reason: str = ""
    amount: int = 0
    next_at_ms: int = 0


class Outcome(Struct, frozen=True):
    """What became of one request: a verdict for each transfer, whether all of it stands, whether it opened an account.

    ``shortfall``: what a refund could not take back. ``expires_at_ms``: of a hold.
    """

    verdicts: tuple[Verdict, ...]
    is_done: bool
    has_opened: bool = False
    shortfall: int = 0
    expires_at_ms: int = 0


class Float(Struct, frozen=True):
    """How the bots' account is kept able to pay: below ``low`` chips, or short of a transfer, ``amount`` is issued."""

    low: int
    amount: int
