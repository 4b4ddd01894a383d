"""What a request's fields must look like before anything is asked of the ledger; each raises `Rejected`."""

import re
from typing import Final, get_args

from diwan.api.wallet.v1 import wallet_service_pb2 as pb
from diwan.chassis.access import PLAYER_ID_CHARACTERS_MAX, Caller, Role
from diwan.core.decider import Rejected
from diwan.core.ledger.accounts import AMOUNT_MAX, KINDS, PURPOSES, account_of
from diwan.core.ledger.books import Transfer
from diwan.core.ledger.events import AccountKind, AccountOpened
from diwan.core.ledger.moves import may_ask

REASON_CHARACTERS_MAX: Final = 500
CASE_CHARACTERS_MAX: Final = 64
RECEIPT_CHARACTERS_MAX: Final = 200
CAUSE_CHARACTERS_MAX: Final = 200

_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch
_UUID4: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}").fullmatch
_RECEIPT: Final = re.compile(rf"[!-~]{{1,{RECEIPT_CHARACTERS_MAX}}}").fullmatch
_PROVIDER: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}").fullmatch
_KINDS: Final[tuple[AccountKind, ...]] = get_args(AccountKind.__value__)

# Causes by which the ledger itself tells whose word something was.
_RESERVED_CAUSES: Final = ("operator/", "table/", "player/", "backend/")


def request_id(text: str) -> str:
    """Return a request's id."""
    if not _UUID4(text):
        raise Rejected("REQUEST_ID_INVALID")
    return text


def any_id(text: str, field: str) -> str:
    """Return an id of whatever version."""
    if not _UUID(text):
        raise Rejected("ID_INVALID", field=field)
    return text


def random_id(text: str, field: str = "transfer_id") -> str:
    """Return an id that was drawn: nobody outside the house may hit upon one that follows from something."""
    if not _UUID4(text):
        raise Rejected("ID_INVALID", field=field)
    return text


def amount(chips: int, field: str = "amount") -> int:
    """Return an amount that a transfer can have (L11)."""
    if not 1 <= chips <= AMOUNT_MAX:
        raise Rejected("AMOUNT_INVALID", field=field)
    return chips


def player(text: str) -> str:
    """Return a player's id."""
    if not 0 < len(text) <= PLAYER_ID_CHARACTERS_MAX or not text.isprintable():
        raise Rejected("FIELD_INVALID", field="player", why="not a player id")
    return text


def reason(text: str, caller: Caller, case_id: str | None = None) -> str:
    """Return the cause that an operator's act is recorded with: who, why, and the case where there must be one."""
    text = text.strip()
    if not text:
        raise Rejected("REASON_REQUIRED")
    if len(text) > REASON_CHARACTERS_MAX or not text.isprintable():
        raise Rejected("FIELD_INVALID", field="reason", why=f"at most {REASON_CHARACTERS_MAX} printable characters")
    said = f"{caller.role}/{caller.subject}: {text}"
    if case_id is None:
        return said
    if not 0 < len(case_id) <= CASE_CHARACTERS_MAX or not case_id.isprintable():
        raise Rejected("FIELD_INVALID", field="case_id", why=f"1 to {CASE_CHARACTERS_MAX} printable characters")
    return f"{said} (case {case_id})"


def cause(text: str, caller: Caller) -> str:
    """Return what a movement is recorded to come from: a service's own words, an operator's name and reason."""
    if caller.role is not Role.SERVICE:
        return reason(text, caller)
    if not 0 < len(text) <= CAUSE_CHARACTERS_MAX or not text.isprintable():
        raise Rejected("FIELD_INVALID", field="cause", why=f"1 to {CAUSE_CHARACTERS_MAX} printable characters")
    if text.startswith(_RESERVED_CAUSES):
        raise Rejected("FIELD_INVALID", field="cause", why=f"begins with none of {', '.join(_RESERVED_CAUSES)}")
    return text


def provider(text: str) -> str:
    """Return a provider's short name."""
    if not _PROVIDER(text):
        raise Rejected("FIELD_INVALID", field="provider", why="1 to 32 of a-z, 0-9, _ and -")
    return text


def receipt(text: str) -> str:
    """Return a provider's id of a receipt: without blanks or letters that look alike, so that one receipt has one name."""
    if not _RECEIPT(text):
        why = f"1 to {RECEIPT_CHARACTERS_MAX} visible ASCII characters"
        raise Rejected("FIELD_INVALID", field="receipt_id", why=why)
    return text


def account_name(name: pb.AccountName, field: str) -> AccountOpened:
    """Return the account that a name stands for, whether it was opened or not."""
    kind = next((each for each in _KINDS if each == name.kind), None)
    if kind is None:
        raise Rejected("FIELD_INVALID", field=f"{field}.kind", why=f"one of {', '.join(_KINDS)}")
    if KINDS[kind].has_one:
        is_owner = name.owner == ""
    elif kind == "player":
        is_owner = 0 < len(name.owner) <= PLAYER_ID_CHARACTERS_MAX and name.owner.isprintable()
    elif kind == "issuance":
        is_owner = name.owner in PURPOSES
    else:
        is_owner = bool(_UUID(name.owner))
    if not is_owner:
        raise Rejected("FIELD_INVALID", field=f"{field}.owner", why=f"not whom an account of kind {kind} belongs to")
    return account_of(kind, name.owner)


def movement(asked: pb.Movement, caller: Caller, *, has_gifts: bool) -> tuple[Transfer, tuple[AccountOpened, ...]]:
    """Return the transfer that a movement asks for and the accounts that it opens, if it is one that the caller may ask."""
    role = str(caller.role)
    transfer_id = (any_id if caller.role is Role.SERVICE else random_id)(asked.transfer_id, "transfer_id")
    debit, credit = account_name(asked.debit, "debit"), account_name(asked.credit, "credit")
    is_allowed = may_ask(asked.code, debit.kind, credit.kind, role) and (has_gifts or asked.code != "gift")
    if not is_allowed:
        raise Rejected("MOVE_NOT_ALLOWED", code=asked.code, debit=debit.kind, credit=credit.kind)
    transfer = Transfer(
        transfer_id,
        debit.account_id,
        credit.account_id,
        amount(asked.amount),
        asked.code,
        cause(asked.cause, caller),
    )
    return transfer, (credit,) if KINDS[credit.kind].opens_by_itself else ()
