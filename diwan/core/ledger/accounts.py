"""Accounts: which kinds there are, which of them may owe, and the ids that follow from whom they belong to."""

from __future__ import annotations

from hashlib import sha1
from typing import Final

from diwan.core.hashing import uuid_bytes, uuid_text
from diwan.core.ledger.events import AccountKind, AccountOpened

CHIP: Final = "CHIP"
"""The only currency of the wallet. Match and tournament chips are no currency here (L12)."""

AMOUNT_MAX: Final = 2**53 - 1
"""Largest amount and largest balance either way: exact in every client's number type (L11)."""

MAY_OWE: Final[frozenset[AccountKind]] = frozenset({"issuance"})
"""Kinds whose balance may be below zero: what they owe is what is in play (L2)."""

NAMESPACE: Final = "6f1c8f0e-2f6b-5d5a-9a52-3b0f4c1d7e90"
"""Under it stand the ids of all accounts: an account's id says whom it belongs to, and is never chosen twice."""


def named_id(namespace: str, name: str) -> str:
    """Return the UUID of version 5 (RFC 9562) of a name in a namespace, both as text."""
    digest = bytearray(sha1(uuid_bytes(namespace) + name.encode(), usedforsecurity=False).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x50
    digest[8] = digest[8] & 0x3F | 0x80
    return uuid_text(bytes(digest))


def player_account(player: str) -> AccountOpened:
    """Return a player's main account."""
    return AccountOpened(named_id(NAMESPACE, f"player/{player}"), "player", player, CHIP)


def escrow_account(sitting: str) -> AccountOpened:
    """Return the account that holds the chips of one sitting at a table."""
    return AccountOpened(named_id(NAMESPACE, f"escrow/{sitting}"), "escrow", sitting, CHIP)


def issuance_account(purpose: str) -> AccountOpened:
    """Return the account out of which chips enter for one purpose."""
    return AccountOpened(named_id(NAMESPACE, f"issuance/{purpose}"), "issuance", purpose, CHIP)


BOTS: Final = AccountOpened(named_id(NAMESPACE, "bots"), "bots", "bots", CHIP)
STARTING_GRANT: Final = issuance_account("starting_grant")
OPERATOR: Final = issuance_account("operator")
BOTS_ISSUANCE: Final = issuance_account("bots")

STANDING: Final = (BOTS, STARTING_GRANT, OPERATOR, BOTS_ISSUANCE)
"""The accounts that every ledger has from its first commit on."""
