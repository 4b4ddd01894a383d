"""What the ledger sets aside and freezes, followed by its events alone (L6).

Every hold ends once, by what it was for, and chips that are set aside or frozen are not given to anybody else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from diwan.chassis.database import Connection
from diwan.core.ledger.accounts import AMOUNT_MAX, MAY_OWE
from diwan.core.ledger.books import Account
from diwan.core.ledger.events import HoldPlaced, HoldResolved, LedgerCommitted, LedgerTransfer
from diwan.core.ledger.moves import GIVES_ALTHOUGH_FROZEN, WITHHELD_WHILE_FROZEN
from services.audit import statements

type Found = Iterable[tuple[str, str]]
"""Kinds and details of findings."""


class KeptHold(msgspec.Struct, frozen=True):
    """A hold as the events tell it; ``resolution`` is empty as long as it is open."""

    hold_id: str
    debit_account: str
    credit_account: str
    amount: int
    expires_at_ms: int
    resolution: str = ""


async def holds_in(connection: Connection, commits: Sequence[LedgerCommitted]) -> dict[str, KeptHold]:
    """Return what is known of the holds that commits name."""
    ids = {placed.hold_id for commit in commits for placed in commit.holds}
    ids |= {end.hold_id for commit in commits for end in commit.resolutions}
    ids |= {posted.hold_id for commit in commits for posted in commit.transfers if posted.hold_id}
    if not ids:
        return {}
    rows = await connection.fetch(statements.HOLDS, list(ids))
    return {row["hold_id"]: KeptHold(**dict(row)) for row in rows}


async def keep_in(connection: Connection, holds: Iterable[KeptHold]) -> None:
    """Keep holds as they stand now."""
    await connection.executemany(statements.KEEP_HOLD, [msgspec.structs.astuple(hold) for hold in holds])


def accounts_of(commit: LedgerCommitted, holds: dict[str, KeptHold]) -> set[str]:
    """Return the accounts that a commit's holds and freezes are about."""
    placed = {side for hold in commit.holds for side in (hold.debit_account, hold.credit_account)}
    ended = {holds[end.hold_id].debit_account for end in commit.resolutions if end.hold_id in holds}
    return placed | ended | {freeze.account_id for freeze in commit.freezes}


def check_holds(accounts: dict[str, Account], holds: dict[str, KeptHold], commit: LedgerCommitted) -> Found:
    """Yield what a commit may not do with what is held and frozen; ``accounts`` and ``holds`` move on with it.

    ``accounts`` are as the commit's transfers leave them. The order among transfers, holds and freezes of one commit is
    not in its event: what is set aside must be there at its end, and an account counts as frozen where it was before and
    the commit says nothing else of it.
    """
    changed = {freeze.account_id for freeze in commit.freezes}
    frozen = {key for key, account in accounts.items() if account.is_frozen and key not in changed}
    yield from _check_frozen(frozen, commit)
    for placed in commit.holds:
        yield from _place(accounts, holds, placed)
    posted = {transfer.hold_id: transfer for transfer in commit.transfers if transfer.hold_id}
    for end in commit.resolutions:
        yield from _end(accounts, holds, end, posted.pop(end.hold_id, None), commit.committed_at_ms)
    for transfer in posted.values():
        yield (
            "HOLD_AT_ODDS",
            f"transfer {transfer.transfer_id} posts hold {transfer.hold_id}, which does not end with it",
        )
    for freeze in commit.freezes:
        if freeze.account_id in accounts:
            accounts[freeze.account_id] = replace(accounts[freeze.account_id], is_frozen=freeze.is_frozen)
        else:
            yield "ACCOUNT_UNKNOWN", f"account {freeze.account_id} is frozen or set free, and was not opened"
    givers = {transfer.debit_account for transfer in commit.transfers} | {hold.debit_account for hold in commit.holds}
    for account in [accounts[key] for key in sorted(givers) if key in accounts]:
        if account.kind not in MAY_OWE and 0 <= account.balance < account.held:
            yield (
                "HELD_CHIPS_GIVEN",
                f"account {account.account_id} has {account.balance}, of which {account.held} are held",
            )


def _check_frozen(frozen: set[str], commit: LedgerCommitted) -> Found:
    # What was set aside before goes where it was promised to.
    moves: list[tuple[str, str, LedgerTransfer | HoldPlaced]]
    moves = [("transfer", each.transfer_id, each) for each in commit.transfers if not each.hold_id]
    moves += [("hold", each.hold_id, each) for each in commit.holds]
    for what, key, each in moves:
        gives = each.debit_account in frozen and each.code not in GIVES_ALTHOUGH_FROZEN
        if gives or (each.credit_account in frozen and each.code in WITHHELD_WHILE_FROZEN):
            yield "ACCOUNT_FROZEN", f"{what} {key} ({each.code}) moves chips of a frozen account"


def _place(accounts: dict[str, Account], holds: dict[str, KeptHold], placed: HoldPlaced) -> Found:
    if placed.hold_id in holds:
        yield "HOLD_AT_ODDS", f"hold {placed.hold_id} was placed before"
        return
    account = accounts.get(placed.debit_account)
    if account is None or placed.credit_account not in accounts or not 1 <= placed.amount <= AMOUNT_MAX:
        yield "HOLD_AT_ODDS", f"hold {placed.hold_id} of {placed.amount} is not between two accounts that were opened"
        return
    accounts[account.account_id] = replace(account, held=account.held + placed.amount)
    holds[placed.hold_id] = KeptHold(
        placed.hold_id, placed.debit_account, placed.credit_account, placed.amount, placed.expires_at_ms
    )


def _end(
    accounts: dict[str, Account], holds: dict[str, KeptHold], end: HoldResolved, by: LedgerTransfer | None, at_ms: int
) -> Found:
    hold = holds.get(end.hold_id)
    if hold is None or hold.resolution:
        yield "HOLD_AT_ODDS", f"hold {end.hold_id} is {end.resolution}, and was not open"
        return
    holds[hold.hold_id] = replace(hold, resolution=end.resolution)
    account = accounts.get(hold.debit_account)
    if account is not None:
        accounts[account.account_id] = replace(account, held=account.held - hold.amount)
    is_over = 0 < hold.expires_at_ms <= at_ms
    if is_over != (end.resolution == "expired"):
        yield "HOLD_AT_ODDS", f"hold {hold.hold_id} is {end.resolution} at {at_ms} and expires at {hold.expires_at_ms}"
    if end.resolution != "posted":
        if by is not None or end.amount:
            yield "HOLD_AT_ODDS", f"hold {hold.hold_id} is {end.resolution}, and {end.amount} of it is posted"
        return
    found = None if by is None else (by.transfer_id, by.debit_account, by.credit_account, by.amount)
    if found != (end.transfer_id, hold.debit_account, hold.credit_account, end.amount) or end.amount > hold.amount:
        yield "HOLD_AT_ODDS", f"hold {hold.hold_id} of {hold.amount} is posted by {end.amount}, and no transfer is that"
