"""Accounts: which kinds there are, which of them may owe, and the ids that follow from whom they belong to."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha1
from typing import Final

from msgspec import Struct

from diwan.core.hashing import uuid_bytes, uuid_text
from diwan.core.ledger.events import AccountKind, AccountOpened

CHIP: Final = "CHIP"
"""The only currency of the wallet. Match and tournament chips are no currency here (L12)."""

AMOUNT_MAX: Final = 2**53 - 1
"""Largest amount and largest balance either way: exact in every client's number type (L11)."""


class Kind(Struct, frozen=True):
    """What accounts of one kind may do.

    ``may_owe``: the balance may be below zero. ``may_freeze``: an operator may freeze it. ``has_one``: there is only one
    of it, which needs no owner to be named. ``opens_by_itself``: its first credit or hold opens it.
    """

    may_owe: bool = False
    balance_max: int = AMOUNT_MAX
    may_freeze: bool = False
    has_one: bool = False
    opens_by_itself: bool = False


KINDS: Final[dict[AccountKind, Kind]] = {
    "player": Kind(may_freeze=True),
    "escrow": Kind(),
    "issuance": Kind(may_owe=True, balance_max=0),
    "bots": Kind(has_one=True),
    "house": Kind(has_one=True),
    "pool": Kind(opens_by_itself=True),
    "pot": Kind(opens_by_itself=True),
}
"""The limits of every kind. An issuance account owes what it has brought into play, and is never owed anything."""

MAY_OWE: Final[frozenset[AccountKind]] = frozenset(name for name, kind in KINDS.items() if kind.may_owe)
"""Kinds whose balance may be below zero: what they owe is what is in play (L2)."""

NAMESPACE: Final = "6f1c8f0e-2f6b-5d5a-9a52-3b0f4c1d7e90"
"""Under it stand the ids of all accounts: an account's id says whom it belongs to, and is never chosen twice."""


def named_id(namespace: str, name: str) -> str:
    """Return the UUID of version 5 (RFC 9562) of a name in a namespace, both as text."""
    digest = bytearray(sha1(uuid_bytes(namespace) + name.encode(), usedforsecurity=False).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x50
    digest[8] = digest[8] & 0x3F | 0x80
    return uuid_text(bytes(digest))


LEDGER_STREAM: Final = named_id(NAMESPACE, "ledger/1")
"""The ledger's one stream: commits that stand anywhere else move no chips, whatever they say."""


@lru_cache(maxsize=65_536)
def account_of(kind: AccountKind, owner: str) -> AccountOpened:
    """Return the account of a kind that belongs to an owner; a kind that has only one account names itself."""
    if KINDS[kind].has_one:
        return AccountOpened(named_id(NAMESPACE, kind), kind, kind, CHIP)
    return AccountOpened(named_id(NAMESPACE, f"{kind}/{owner}"), kind, owner, CHIP)


def player_account(player: str) -> AccountOpened:
    """Return a player's main account."""
    return account_of("player", player)


def escrow_account(sitting: str) -> AccountOpened:
    """Return the account that holds the chips of one sitting at a table."""
    return account_of("escrow", sitting)


def issuance_account(purpose: str) -> AccountOpened:
    """Return the account out of which chips enter for one purpose."""
    return account_of("issuance", purpose)


def pool_account(tournament: str) -> AccountOpened:
    """Return the account that gathers a tournament's entries and pays its prizes."""
    return account_of("pool", tournament)


def pot_account(table: str) -> AccountOpened:
    """Return the account of what a table keeps: what its void hands carry over (A6), or the entries of its match."""
    return account_of("pot", table)


BOTS: Final = account_of("bots", "")
HOUSE: Final = account_of("house", "")
STARTING_GRANT: Final = issuance_account("starting_grant")
OPERATOR: Final = issuance_account("operator")
BOTS_ISSUANCE: Final = issuance_account("bots")
PURCHASE: Final = issuance_account("purchase")
AD_REWARD: Final = issuance_account("ad_reward")
TOP_UP: Final = issuance_account("top_up")
PROMOTION: Final = issuance_account("promotion")

STANDING: Final = (
    BOTS,
    HOUSE,
    STARTING_GRANT,
    OPERATOR,
    BOTS_ISSUANCE,
    PURCHASE,
    AD_REWARD,
    TOP_UP,
    PROMOTION,
)
"""The accounts that every ledger has from its first commit on."""

PURPOSES: Final = frozenset(account.owner for account in STANDING if account.kind == "issuance")
"""What chips may be brought into play for: there is no other way in."""
