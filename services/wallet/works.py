"""One request to the ledger as a commit takes it: what deciding it reads, and how large it makes the commit's event."""

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from diwan.core.ledger.accounts import BOTS, PURCHASE, named_id
from diwan.core.ledger.books import Transfer
from diwan.core.ledger.events import AccountOpened
from diwan.core.ledger.requests import (
    Confirmation,
    ConsentChange,
    DailyLimit,
    Expiry,
    FreezeChange,
    Grant,
    HoldPlacement,
    HoldPosting,
    HoldVoiding,
    LinkedSet,
    Refund,
    Request,
    Reversal,
    Revocation,
)

EVENT_BYTES_MAX: Final = 48 * 1024
"""A commit's event fits into a bus message of 64 KiB; what does not fit goes into the next commit."""

CODES_OF_HANDS: Final = frozenset({"hand", "line", "carried", "carried_won"})
"""What a hand's end moves chips by."""

HANDS_APART_MAX: Final = 32
"""Hands that one batch of the tables' feed pays apart. A commit costs some milliseconds, and all of a batch holds the ledger."""

# A transfer's three ids and its amount take 131 bytes beside its texts, its hold or what it reverses 38 more, an opened
# account's id and kind 62 beside its owner; a refusal takes less than the transfer that it refuses.
_TRANSFER_BYTES: Final = 140
_ACCOUNT_BYTES: Final = 80
_FLOAT_BYTES: Final = 200
_REVOCATION_BYTES: Final = 300
_HOLD_END_BYTES: Final = 100
_CLOSING_BYTES: Final = 40
_CODE_BYTES: Final = 32
_CORRECTION_BYTES: Final = 450


class Remembered(msgspec.Struct, frozen=True):
    """A request that has an id of its own: asked again, it gets its first answer."""

    command_id: str
    caller: str
    request_hash: bytes


class Named(NamedTuple):
    """What a decision about a request reads: transfers and holds by id, accounts, tallies by account and code."""

    ids: list[str]
    account_ids: list[str]
    tallies: list[tuple[str, str]]


class Work:
    """One request to the ledger.

    ``ids`` (of transfers and holds), ``account_ids`` and ``tallies`` are what a decision about it reads, in order.
    ``event_bytes`` is an upper bound of what it adds to a commit's event, a float of the bots' account included.
    """

    __slots__ = ("account_ids", "event_bytes", "ids", "remembered", "request", "tallies")

    def __init__(self, request: Request, remembered: Remembered | None = None) -> None:
        self.request = request
        self.remembered = remembered
        self.ids, self.account_ids, self.tallies = _named(request)
        self.event_bytes = _event_bytes(request)


def split(works: Iterable[Work]) -> list[list[Work]]:
    """Cut requests into commits whose events are small enough, in order.

    What pays a hand is a commit of its own: whoever is shown the proof of one hand is shown nothing of others. Who has to
    catch up with more than `HANDS_APART_MAX` at once pays them together.
    """
    commits: list[list[Work]] = [[]]
    size = 0
    is_after_hand = False
    waiting = list(works)
    is_apart = sum(_pays_a_hand(work.request) for work in waiting) <= HANDS_APART_MAX
    for work in waiting:
        is_hand = is_apart and _pays_a_hand(work.request)
        if commits[-1] and (is_hand or is_after_hand or size + work.event_bytes > EVENT_BYTES_MAX):
            commits.append([])
            size = 0
        commits[-1].append(work)
        size += work.event_bytes
        is_after_hand = is_hand
    return commits


def _pays_a_hand(request: Request) -> bool:
    return isinstance(request, LinkedSet) and any(transfer.code in CODES_OF_HANDS for transfer in request.transfers)


def _named(request: Request) -> Named:
    match request:
        case LinkedSet():
            return _named_by_set(request)
        case HoldPlacement(transfer=transfer):
            accounts = [*[account.account_id for account in request.opens], *_sides(transfer)]
            return Named([transfer.transfer_id], accounts, [])
        case HoldPosting():
            return Named([request.transfer_id, request.hold_id], [], [])
        case HoldVoiding():
            return Named([request.request_id, request.hold_id], [], [])
        case Expiry():
            return Named(list(request.hold_ids), [], [])
        case Grant(transfer=transfer):
            own = (transfer.credit_account, transfer.code)
            return Named([transfer.transfer_id], [*_sides(transfer)], [own, *_counted(request.limits)])
        case Refund(purchase_id=purchase_id):
            return Named([purchase_id, named_id(purchase_id, "refunded")], [PURCHASE.account_id], [])
        case Reversal():
            return Named([request.transfer_id, request.reverses], [], [])
        case FreezeChange() | ConsentChange():
            return Named([], [request.account_id], [])
        case Revocation(transfer_id=transfer_id):
            return Named([transfer_id, named_id(transfer_id, "returned")], [], [])
        case Confirmation(transfer_id=transfer_id):
            return Named([transfer_id], [], [])


def _named_by_set(request: LinkedSet) -> Named:
    ids = [transfer.transfer_id for transfer in request.transfers]
    if request.tops_up:
        ids.append(request.tops_up)
    account_ids = [account.account_id for account in request.opens]
    account_ids += request.closes
    for transfer in request.transfers:
        account_ids += (transfer.debit_account, transfer.credit_account)
    return Named(ids, account_ids, _counted(request.limits))


def _sides(transfer: Transfer) -> tuple[str, str]:
    return transfer.debit_account, transfer.credit_account


def _counted(limits: tuple[DailyLimit, ...]) -> list[tuple[str, str]]:
    return [key for limit in limits for key in limit.counted]


def _event_bytes(request: Request) -> int:
    match request:
        case LinkedSet(transfers=transfers, opens=opens, closes=closes):
            return _set_bytes(transfers, opens) + _CLOSING_BYTES * len(closes)
        case HoldPlacement(transfer=transfer, opens=opens):
            return _set_bytes((transfer,), opens)
        case Grant(transfer=transfer):
            return _set_bytes((transfer,), ())
        case HoldPosting(cause=cause):
            return _TRANSFER_BYTES + _HOLD_END_BYTES + _CODE_BYTES + 2 * _bytes(cause)
        case HoldVoiding(cause=cause):
            return _HOLD_END_BYTES + _bytes(cause)
        case Expiry(hold_ids=hold_ids):
            return _HOLD_END_BYTES * len(hold_ids)
        case Refund(cause=cause) | Reversal(cause=cause):
            return _CORRECTION_BYTES + 2 * _bytes(cause)
        case FreezeChange(cause=cause) | ConsentChange(cause=cause):
            return _ACCOUNT_BYTES + _bytes(cause)
        case Revocation() | Confirmation():
            return _REVOCATION_BYTES


def _set_bytes(transfers: tuple[Transfer, ...], opens: tuple[AccountOpened, ...]) -> int:
    size = 0
    for account in opens:
        size += _ACCOUNT_BYTES + _bytes(account.owner)
    for transfer in transfers:
        size += _TRANSFER_BYTES + _bytes(transfer.code) + _bytes(transfer.cause)
        if transfer.debit_account == BOTS.account_id:
            size += _FLOAT_BYTES
    return size


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
