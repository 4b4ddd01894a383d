"""The books spoiled behind the wallet's back: as the database's owner, with every trigger off."""

import asyncio
import random  # noqa: TID251  (attacks may use chance)
import secrets
from contextlib import asynccontextmanager
from uuid import uuid4

import asyncpg
from msgspec import structs

from diwan.core.hashing import event_hash
from diwan.core.ledger.events import LedgerTransfer
from diwan.wire.events import decode, encode
from services.wallet.loading import SHARD
from services.wallet.reconcile.findings import CHECKS
from services.wallet.reconcile.passing import Pass
from tests.integration.wallet.conftest import moving, rich_players


async def a_history(ledger):
    """Let four players move chips to and fro over many commits, with refusals; returns them."""
    players = await rich_players(ledger, 4)
    rng = random.Random(3)
    for _ in range(20):
        requests = [moving(str(uuid4()), *rng.sample(players, 2), rng.randrange(1, 700)) for _ in range(4)]
        await asyncio.gather(*map(ledger.ask, requests))
    await ledger.ask(moving(str(uuid4()), players[0], players[1], 10**9))
    return players


async def look(prepared, after=0):
    """Return one pass over the books, as the wallet makes it."""
    connection = await asyncpg.connect(prepared.url("wallet_rw"))
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            return await Pass(connection, "settlement").run(after)
    finally:
        await connection.close()


async def look_through(owner, after=0):
    """Return one pass over the books as they are inside the owner's transaction."""
    return await Pass(owner, "settlement").run(after)


def broken(report):
    """Return what does not hold, with the event that is named."""
    return {check: first.ledger_version for check in CHECKS if (first := report.first(check)) is not None}


async def middle(connection):
    """Return a transfer between players in the middle of the history."""
    return await connection.fetchrow(
        "select * from transfer where code = 'test' and debit_version > 1 order by ledger_version offset 30 limit 1"
    )


@asynccontextmanager
async def owner_of(prepared, *, is_kept=False):
    """Connect as whoever owns the server; no trigger guards the tables any more. It is undone at the end, or kept."""
    connection = await asyncpg.connect(prepared.superuser_url)
    try:
        await connection.execute("begin isolation level repeatable read")
        await connection.execute("set session_replication_role = replica")
        yield connection
        if is_kept:
            await connection.execute("commit")
    finally:
        await connection.close()


async def last_commit_of(connection, account_id):
    """Return the newest commit that moved an account, from the books."""
    return await connection.fetchval(
        "select max(ledger_version) from transfer where debit_account = $1 or credit_account = $1", account_id
    )


async def put(connection, version, body, *, rehash):
    """Put another body in place of an event's; with ``rehash`` the chain behind it is mended."""
    rows = await connection.fetch("select * from event where version >= $1 order by version", version)
    before = rows[0]["prev_hash"]
    for row in rows if rehash else rows[:1]:
        content = body if row["version"] == version else row["body"]
        digest = row["hash"]
        if rehash:
            place = (SHARD.bytes, row["version"], row["type_id"], row["schema_v"])
            digest = event_hash(before, *place, row["recorded_at_ms"], row["command_id"].bytes, content)
        await connection.execute(
            "update event set body = $2, prev_hash = $3, hash = $4 where version = $1",
            row["version"], content, before if rehash else row["prev_hash"], digest,
        )  # fmt: skip
        before = digest
    if rehash:
        await connection.execute("update stream set head_hash = $1", before)


async def forge(owner, debit, credit, amount, cause="table/forged/7"):
    """Put a transfer between two escrows into the last commit: event, chain, rows and balances, all consistent."""
    event = await owner.fetchrow("select * from event order by version desc limit 1")
    commit = decode(event["type_id"], event["schema_v"], event["body"]).event
    made_up = LedgerTransfer(str(uuid4()), debit, credit, amount, "hand", cause)
    commit = structs.replace(commit, transfers=(*commit.transfers, made_up))
    await put(owner, event["version"], encode(commit, nonce=secrets.token_bytes(16)).body, rehash=True)
    await owner.execute(
        "insert into transfer (transfer_id, debit_account, debit_version, debit_previous, credit_account,"
        " credit_version, credit_previous, currency, amount, code, cause, ledger_version, posted_at_ms)"
        " select $1, d.account_id, d.version + 1, d.balance, c.account_id, c.version + 1, c.balance, 'CHIP', $4,"
        " 'hand', $5, $6, 0 from account d, account c where d.account_id = $2 and c.account_id = $3",
        made_up.transfer_id, debit, credit, amount, made_up.cause, event["version"],
    )  # fmt: skip
    for account_id, change in ((debit, -amount), (credit, amount)):
        await owner.execute(
            "update account set balance = balance + $2, version = version + 1 where account_id = $1", account_id, change
        )
    return event["version"]
