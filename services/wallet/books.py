"""One commit of the ledger: read, decide, write.

The event, the accounts and the transfers with both legs are written together or not at all.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID, uuid4, uuid5

import asyncpg
import msgspec

from diwan.chassis.database import Connection
from diwan.chassis.store import Append, NewEvent, create_stream_in
from diwan.chassis.store.batch import append_arguments, chain_of
from diwan.core.hashing import first_prev_hash
from diwan.core.ledger.accounts import STANDING
from diwan.core.ledger.books import Account, Books, counted
from diwan.core.ledger.events import LedgerCommitted
from diwan.core.ledger.posting import Decision, decide
from diwan.core.ledger.requests import Float, LinkedSet, Outcome
from diwan.core.log import StreamKind
from diwan.wire.events import encode
from services.wallet import statements
from services.wallet.literals import literals
from services.wallet.loading import SHARD, Loaded, load_in
from services.wallet.works import Work

_CALLER: Final = "wallet"
_account_id: Final = attrgetter("account_id")


class Done(msgspec.Struct, frozen=True):
    """What became of a request, and the accounts that it named as the commit left them.

    ``is_conflict``: its id was used for a request with other content, and nothing was done.
    """

    outcome: Outcome
    accounts: Mapping[str, Account]
    is_conflict: bool = False


class Head(msgspec.Struct, frozen=True):
    """Where the ledger's stream stands."""

    version: int
    epoch: int
    head_hash: bytes
    recorded_at_ms: int


class Draft(msgspec.Struct, frozen=True):
    """A commit that was decided: what it will have come to once it is written.

    ``base`` is where it was decided; ``head`` and ``accounts`` are the ledger after it, the latter those that it read
    or changed. ``arguments`` are those of ``statement``, None where nothing is to be written.
    """

    done: list[Done]
    base: Head
    head: Head
    accounts: dict[str, Account]
    arguments: tuple[object, ...] | None
    statement: str = statements.WRITE


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
    draft = await post_in(connection, works, bots_float=bots_float, must_post=must_post, event_id=event_id)
    return draft.done


async def post_in(
    connection: Connection,
    works: Sequence[Work],
    *,
    bots_float: Float | None = None,
    must_post: bool = False,
    event_id: UUID | None = None,
) -> Draft:
    """Do what `commit_in` does under the ledger's lock; returns all that was written."""
    row = await connection.fetchrow(statements.LOCK_SHARD, SHARD)
    if row is None:
        raise LookupError("the ledger was not prepared")
    head = Head(row["version"], row["epoch"], row["head_hash"], row["recorded_at_ms"])
    answered = await _answered(connection, works)
    loaded = await _load_locked(connection, works, head)
    while loaded.is_crowded:
        expiry = drafted(head, [], loaded)
        await _write_locked(connection, expiry)
        head = expiry.head
        loaded = await _load_locked(connection, works, head)
    draft = drafted(head, works, loaded, answered=answered, bots_float=bots_float, event_id=event_id)
    if must_post and not all(done.outcome.is_done for done in draft.done):
        raise NotPosted([done.outcome for done in draft.done])
    await _write_locked(connection, draft)
    await _remember(connection, works, draft.done, answered)
    return draft


async def _load_locked(connection: Connection, works: Sequence[Work], head: Head) -> Loaded:
    return await load_in(connection, works, not_before_ms=head.recorded_at_ms, is_locked=True)


async def _write_locked(connection: Connection, draft: Draft) -> None:
    if not await write_in(connection, draft):
        raise RuntimeError("the ledger moved under its lock")


def drafted(
    head: Head,
    works: Sequence[Work],
    loaded: Loaded,
    *,
    answered: Mapping[str, asyncpg.Record] = MappingProxyType({}),
    bots_float: Float | None = None,
    event_id: UUID | None = None,
) -> Draft:
    """Decide requests on top of ``head``; those that were ``answered`` before are not decided again."""
    books, now_ms = loaded.books, max(loaded.now_ms, head.recorded_at_ms)
    decision = decide(books, [work.request for work in works if not _is_in(answered, work)], now_ms, bots_float)
    accounts = {**books.accounts, **{account.account_id: account for account in decision.accounts}}
    done = _done(works, answered, accounts, decision)
    event = decision.event
    if event is None:
        return Draft(done, head, head, accounts, None)
    append = _append(head, event, event_id or uuid4())
    hashes = chain_of(append)
    after = Head(head.version + 1, head.epoch, hashes[-1], append.recorded_at_ms)
    arguments = (*append_arguments([(append, hashes)]), *_rows(books, decision))
    more = list(_more_rows(books, decision, event))
    if not any(rows for rows, _ in more):
        return Draft(done, head, after, accounts, arguments)
    columns = (column for rows, kinds in more for column in literals(rows, kinds))
    return Draft(done, head, after, accounts, (*arguments, *columns), statements.WRITE_MORE)


async def write_in(connection: Connection, draft: Draft) -> bool:
    """Write a draft whole; False if the ledger moved on since, and then nothing was written."""
    return draft.arguments is None or bool(await connection.fetchval(draft.statement, *draft.arguments))


def _done(
    works: Sequence[Work], answered: Mapping[str, asyncpg.Record], accounts: Mapping[str, Account], decision: Decision
) -> list[Done]:
    outcomes = iter(decision.outcomes)
    done = []
    for work in works:
        touched = {name: accounts[name] for name in work.account_ids if name in accounts}
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


async def _remember(
    connection: Connection, works: Sequence[Work], done: Sequence[Done], answered: Mapping[str, asyncpg.Record]
) -> None:
    rows = [
        (work.remembered.command_id, work.remembered.caller, work.remembered.request_hash, each.outcome.has_opened)
        for work, each in zip(works, done, strict=True)
        if work.remembered is not None and each.outcome.is_done and not _is_in(answered, work)
    ]
    if rows:
        await connection.execute(statements.REMEMBER, *_columns(rows))


def _is_in(answered: Mapping[str, asyncpg.Record], work: Work) -> bool:
    return work.remembered is not None and work.remembered.command_id in answered


def _rows(books: Books, decision: Decision) -> Iterator[str]:
    """Return the columns of what a commit writes into the books, table after table.

    Accounts in the order in which they are locked. What seldom changes of one is told apart, not with every transfer.
    """
    before = books.accounts
    opened: list[tuple[object, ...]] = []
    changed: list[tuple[object, ...]] = []
    marked: list[tuple[object, ...]] = []
    for a in sorted(decision.accounts, key=_account_id):
        was = before.get(a.account_id)
        if was is None:
            opened.append((a.account_id, a.kind, a.owner, a.currency, a.balance, a.version, *_marks(a)))
            continue
        changed.append((a.account_id, was.version, a.balance, a.version))
        if (marks := _marks(a)) != _marks(was):
            marked.append((a.account_id, *marks))
    transfers, refusals = _listed(decision)
    yield from literals(opened, "ttttnnnnnn?")
    yield from literals(changed, "tnnn")
    yield from literals(marked, "tnnnn?")
    yield from literals(transfers, "ttnntnnntt")
    yield from literals(refusals, "tt")


def _marks(account: Account) -> tuple[object, ...]:
    return account.is_closed, account.held, account.is_frozen, account.has_top_up_consent, account.home or None


def _more_rows(books: Books, decision: Decision, event: LedgerCommitted) -> Iterator[tuple[Sequence[Any], str]]:
    """Return the rows of what most commits have nothing of: what transfers name, holds, tallies, shortfalls."""
    naming = [
        (t.transfer_id, t.hold_id or None, t.reverses or None) for t in event.transfers if t.hold_id or t.reverses
    ]
    placed = [msgspec.structs.astuple(hold) for hold in decision.holds if hold.hold_id not in books.holds]
    ended = [
        (hold.hold_id, hold.resolution, hold.posted, hold.resolved_by)
        for hold in decision.holds
        if hold.hold_id in books.holds
    ]
    # As differences: what was there before is added to by the database.
    tallies = [
        (*key, *msgspec.structs.astuple(tally))
        for key, tally in counted(event.transfers, event.committed_at_ms, {}).items()
    ]
    shortfalls = [msgspec.structs.astuple(shortfall) for shortfall in event.shortfalls]
    yield naming, "t??"
    yield placed, "tttntttnntnt"
    yield ended, "ttnt"
    yield tallies, "ttnnnn"
    yield shortfalls, "ttn"


def _listed(decision: Decision) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """Return a commit's transfers and refusals as rows."""
    if decision.event is None:
        return [], []
    # The entries are the legs of the transfers in their order, what is given before what is taken.
    legs = zip(decision.event.transfers, decision.entries[::2], decision.entries[1::2], strict=True)
    transfers: list[tuple[object, ...]] = [
        (
            t.transfer_id, t.debit_account, debit.version, debit.previous_balance,
            t.credit_account, credit.version, credit.previous_balance, t.amount, t.code, t.cause,
        )
        for t, debit, credit in legs
    ]  # fmt: skip
    return transfers, [(refusal.transfer_id, refusal.reason) for refusal in decision.event.refusals]


def _append(head: Head, event: LedgerCommitted, event_id: UUID) -> Append:
    encoded = encode(event, nonce=secrets.token_bytes(16))
    return Append(
        stream_id=SHARD,
        kind=StreamKind.LEDGER,
        expected_version=head.version,
        epoch=head.epoch,
        prev_hash=head.head_hash,
        command_id=uuid5(SHARD, str(head.version + 1)),
        caller=_CALLER,
        request_hash=b"",
        reply=b"",
        recorded_at_ms=event.committed_at_ms,
        events=(NewEvent(encoded.type_id, encoded.schema_v, encoded.body, event_id),),
    )


def _columns(rows: Sequence[tuple[object, ...]]) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)]
