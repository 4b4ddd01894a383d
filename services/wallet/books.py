"""One commit of the ledger inside a database transaction: lock, read, decide, write.

The event, the accounts and the transfers with both legs are written together or not at all.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID, uuid4, uuid5

import asyncpg
import msgspec

from diwan.chassis.database import Connection
from diwan.chassis.store import Append, NewEvent, append_in, create_stream_in
from diwan.core.hashing import first_prev_hash
from diwan.core.ledger.accounts import BOTS, BOTS_ISSUANCE, NAMESPACE, STANDING, named_id
from diwan.core.ledger.books import Account, Books, Transfer
from diwan.core.ledger.events import LedgerCommitted
from diwan.core.ledger.posting import (
    Confirmation,
    Decision,
    Float,
    LinkedSet,
    Outcome,
    Request,
    Revocation,
    decide,
)
from diwan.core.log import StreamKind
from diwan.wire.events import encode
from services.wallet import statements

SHARD: Final = UUID(named_id(NAMESPACE, "ledger/1"))
"""The ledger's one stream: one event a commit."""

EVENT_BYTES_MAX: Final = 48 * 1024
"""A commit's event fits into a bus message of 64 KiB; what does not fit goes into the next commit."""

# A transfer's three ids and its amount take 131 bytes beside its texts, an opened account's id and kind 62 beside its
# owner; a refusal takes less than the transfer that it refuses.
_TRANSFER_BYTES: Final = 140
_ACCOUNT_BYTES: Final = 80
_FLOAT_BYTES: Final = 200
_REVOCATION_BYTES: Final = 300

_CALLER: Final = "wallet"


class Remembered(msgspec.Struct, frozen=True):
    """A request that has an id of its own: asked again, it gets its first answer."""

    command_id: str
    caller: str
    request_hash: bytes


class Work(msgspec.Struct, frozen=True):
    """One request to the ledger."""

    request: Request
    remembered: Remembered | None = None

    @property
    def event_bytes(self) -> int:
        """An upper bound of what it adds to a commit's event, a float of the bots' account included."""
        if not isinstance(self.request, LinkedSet):
            return _REVOCATION_BYTES
        size = sum(_ACCOUNT_BYTES + len(account.owner.encode()) for account in self.request.opens)
        for transfer in self.request.transfers:
            size += _TRANSFER_BYTES + len(transfer.code.encode()) + len(transfer.cause.encode())
            if transfer.debit_account == BOTS.account_id:
                size += _FLOAT_BYTES
        return size


class Done(msgspec.Struct, frozen=True):
    """What became of a request, and the accounts that it named as the commit left them.

    ``is_conflict``: its id was used for a request with other content, and nothing was done.
    """

    outcome: Outcome
    accounts: Mapping[str, Account]
    is_conflict: bool = False


class NotPosted(Exception):  # noqa: N818  (an answer about the caller's log, not a fault)
    """Something that must be posted was refused, so nothing of the commit was written."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        refused = [v for outcome in outcomes if not outcome.is_done for v in outcome.verdicts]
        told = ", ".join(f"{v.transfer_id} {v.result} {v.first_reason}".rstrip() for v in refused)
        super().__init__(told or "an account that should be empty is not")


async def prepare_in(connection: Connection) -> None:
    """Make the shard and the accounts that every ledger has; harmless where they are."""
    await create_stream_in(connection, SHARD, StreamKind.LEDGER, first_prev_hash(SHARD.bytes, StreamKind.LEDGER))
    await commit_in(connection, [Work(LinkedSet((), opens=STANDING))])


async def is_committed_in(connection: Connection, event_id: UUID) -> bool:
    """Tell for certain whether a commit stands: one still in flight is waited for."""
    await connection.fetchrow(statements.LOCK_SHARD, SHARD)
    return bool(await connection.fetchval(statements.IS_COMMITTED, event_id))


def split(works: Iterable[Work]) -> list[list[Work]]:
    """Cut requests into commits whose events are small enough, in order."""
    commits: list[list[Work]] = [[]]
    size = 0
    for work in works:
        if commits[-1] and size + work.event_bytes > EVENT_BYTES_MAX:
            commits.append([])
            size = 0
        commits[-1].append(work)
        size += work.event_bytes
    return commits


async def commit_in(
    connection: Connection,
    works: Sequence[Work],
    *,
    bots_float: Float | None = None,
    must_post: bool = False,
    event_id: UUID | None = None,
) -> list[Done]:
    """Decide requests in order and write what comes of them; the caller's transaction commits it.

    With ``must_post`` a refusal raises `NotPosted` before anything is written. Remembered requests that were answered
    before are not decided again; no two of ``works`` may have the same id.
    """
    head = await connection.fetchrow(statements.LOCK_SHARD, SHARD)
    if head is None:
        raise LookupError("the ledger was not prepared")
    answered = await _answered(connection, works)
    fresh = [work for work in works if work.remembered is None or work.remembered.command_id not in answered]
    books = await _load(connection, [work.request for work in works])
    now_ms = max(head["now_ms"], head["recorded_at_ms"])
    decision = decide(books, [work.request for work in fresh], now_ms, bots_float)
    if must_post and not all(outcome.is_done for outcome in decision.outcomes):
        raise NotPosted(decision.outcomes)
    await _write(connection, head, books, decision, now_ms, event_id or uuid4())
    await _remember(connection, fresh, decision.outcomes)
    return _done(works, answered, books, decision)


def _done(
    works: Sequence[Work], answered: Mapping[str, asyncpg.Record], books: Books, decision: Decision
) -> list[Done]:
    accounts = {**books.accounts, **{account.account_id: account for account in decision.accounts}}
    outcomes = iter(decision.outcomes)
    done = []
    for work in works:
        _, named = _named(work.request)
        touched = {name: accounts[name] for name in named if name in accounts}
        known = None if work.remembered is None else answered.get(work.remembered.command_id)
        if known is None or work.remembered is None:
            done.append(Done(next(outcomes), touched))
            continue
        outcome = Outcome((), is_done=True, has_opened=known["has_opened"])
        done.append(Done(outcome, touched, is_conflict=known["request_hash"] != work.remembered.request_hash))
    return done


async def _answered(connection: Connection, works: Sequence[Work]) -> dict[str, asyncpg.Record]:
    ids = [work.remembered.command_id for work in works if work.remembered is not None]
    if not ids:
        return {}
    return {row["command_id"]: row for row in await connection.fetch(statements.ANSWERED, ids)}


async def _remember(connection: Connection, fresh: Sequence[Work], outcomes: Sequence[Outcome]) -> None:
    rows = [
        (work.remembered.command_id, work.remembered.caller, work.remembered.request_hash, outcome.has_opened)
        for work, outcome in zip(fresh, outcomes, strict=True)
        if work.remembered is not None and outcome.is_done
    ]
    if rows:
        await connection.execute(statements.REMEMBER, *_columns(rows))


def _named(request: Request) -> tuple[list[str], list[str]]:
    """Return the transfers and the accounts that a decision about a request reads."""
    match request:
        case LinkedSet(transfers=transfers, opens=opens, closes=closes, tops_up=tops_up):
            accounts = [account.account_id for account in opens]
            accounts += closes
            for transfer in transfers:
                accounts += (transfer.debit_account, transfer.credit_account)
            return [*(transfer.transfer_id for transfer in transfers), *([tops_up] if tops_up else [])], accounts
        case Revocation(transfer_id=transfer_id):
            return [transfer_id, named_id(transfer_id, "returned")], []
        case Confirmation(transfer_id=transfer_id):
            return [transfer_id], []


async def _load(connection: Connection, requests: Sequence[Request]) -> Books:
    transfer_ids: list[str] = []
    account_ids: set[str] = set()
    for request in requests:
        transfers_named, accounts_named = _named(request)
        transfer_ids += transfers_named
        account_ids.update(accounts_named)
    transfers: dict[str, Transfer] = {}
    refused: dict[str, str] = {}
    for row in await connection.fetch(statements.KNOWN, transfer_ids) if transfer_ids else ():
        if row["reason"] is not None:
            refused[row["transfer_id"]] = row["reason"]
        else:
            transfers[row["transfer_id"]] = Transfer(*row[:7])
    # What is revoked goes back to where it came from.
    account_ids.update(account for t in transfers.values() for account in (t.debit_account, t.credit_account))
    if BOTS.account_id in account_ids:
        account_ids.add(BOTS_ISSUANCE.account_id)
    rows = await connection.fetch(statements.LOCK_ACCOUNTS, list(account_ids)) if account_ids else ()
    return Books({row["account_id"]: Account(*row) for row in rows}, transfers, refused)


async def _write(
    connection: Connection, head: asyncpg.Record, books: Books, decision: Decision, now_ms: int, event_id: UUID
) -> None:
    if decision.event is not None:
        await append_in(connection, _append(head, decision.event, now_ms, event_id))
    elif not decision.accounts:
        return
    opened = [
        (a.account_id, a.kind, a.owner, a.currency, a.balance, a.version, a.is_closed)
        for a in decision.accounts
        if a.account_id not in books.accounts
    ]
    moved = [
        (a.account_id, books.accounts[a.account_id].version, a.balance, a.version, a.is_closed)
        for a in decision.accounts
        if a.account_id in books.accounts
    ]
    transfers, refusals = _listed(books, decision)
    written = await connection.fetchval(
        statements.WRITE,
        *(head["version"] + 1, now_ms),
        *(
            *_columns(opened, 7),
            *_columns(moved, 5),
            *_columns(transfers, 11),
            *_columns(refusals, 2),
        ),
    )
    if written != len(moved):
        raise RuntimeError("an account moved under its lock")


def _listed(books: Books, decision: Decision) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """Return a commit's transfers and refusals as rows; a transfer's currency is that of its accounts."""
    if decision.event is None:
        return [], []
    currencies = {a.account_id: a.currency for a in (*books.accounts.values(), *decision.accounts)}
    # The entries are the legs of the transfers in their order, what is given before what is taken.
    legs = zip(decision.event.transfers, decision.entries[::2], decision.entries[1::2], strict=True)
    transfers: list[tuple[object, ...]] = [
        (
            *(t.transfer_id, t.debit_account, debit.version, debit.previous_balance),
            *(t.credit_account, credit.version, credit.previous_balance),
            *(currencies[t.debit_account], t.amount, t.code, t.cause),
        )
        for t, debit, credit in legs
    ]
    return transfers, [(refusal.transfer_id, refusal.reason) for refusal in decision.event.refusals]


def _append(head: asyncpg.Record, event: LedgerCommitted, now_ms: int, event_id: UUID) -> Append:
    encoded = encode(event, nonce=secrets.token_bytes(16))
    return Append(
        stream_id=SHARD,
        kind=StreamKind.LEDGER,
        expected_version=head["version"],
        epoch=head["epoch"],
        prev_hash=head["head_hash"],
        command_id=uuid5(SHARD, str(head["version"] + 1)),
        caller=_CALLER,
        request_hash=b"",
        reply=b"",
        recorded_at_ms=now_ms,
        events=(NewEvent(encoded.type_id, encoded.schema_v, encoded.body, event_id),),
    )


def _columns(rows: Sequence[tuple[object, ...]], width: int = 0) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]
