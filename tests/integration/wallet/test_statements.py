"""Statements and balances at a time, compared with the transfers as they were asked for (L7)."""

import asyncio
import json
import random  # noqa: TID251  (attacks may use chance)
from bisect import bisect_right
from uuid import uuid4

import pytest

from services.wallet import statements
from services.wallet.projections import BalanceAt, balance_at_in, entries_in
from tests.integration.wallet.conftest import moving, rich_players


async def whole_statement(database, account_id, size):
    lines, token = [], ""
    while True:
        page = await database.run(lambda c: entries_in(c, account_id, size, token))  # noqa: B023  (awaited at once)
        lines += page.lines
        token = page.next_token
        if not token:
            return lines


@pytest.mark.parametrize("size", [1, 7, 500])
async def test_a_statement_tells_every_leg_once_newest_first(ledger, database, size):
    players = await rich_players(ledger, 3)
    rng = random.Random(size)
    asked = [moving(str(uuid4()), *rng.sample(players, 2), rng.randrange(1, 9), cause=f"c/{n}") for n in range(60)]
    for request in asked:
        await ledger.ask(request)

    for player in players:
        lines = await whole_statement(database, player.account_id, size)
        legs = [
            (t.transfer_id, -t.amount if t.debit_account == player.account_id else t.amount, t.cause)
            for t in (request.transfers[0] for request in asked)
            if player.account_id in {t.debit_account, t.credit_account}
        ]
        assert [(line.transfer_id, line.amount, line.cause) for line in lines[-2::-1]] == legs
        assert [line.version for line in lines] == list(range(len(legs) + 1, 0, -1))
        assert all(line.previous_balance + line.amount == line.balance for line in lines)
        assert [line.previous_balance for line in lines[:-1]] == [line.balance for line in lines[1:]]


async def test_a_balance_at_a_time_is_that_of_the_last_entry_by_then(ledger, database):
    """Before the first entry, between entries, in a millisecond that has many, and after the last."""
    players = await rich_players(ledger, 4)
    rng = random.Random(4)
    for _ in range(12):
        await asyncio.gather(
            *(ledger.ask(moving(str(uuid4()), *rng.sample(players, 2), rng.randrange(1, 50))) for _ in range(20))
        )
        await asyncio.sleep(0.002)

    for player in players:
        lines = (await whole_statement(database, player.account_id, 500))[::-1]
        times = [line.posted_at_ms for line in lines]
        assert len(set(times)) < len(times), "several entries share a moment"
        for at_ms in {moment + off for moment in times for off in (-1, 0, 1)}:
            there = bisect_right(times, at_ms)
            expected = BalanceAt(there, lines[there - 1].balance) if there else BalanceAt(0, 0)
            found = await database.run(lambda c, a=player.account_id, t=at_ms: balance_at_in(c, a, t))
            assert found == expected


async def test_there_is_no_balance_of_an_account_that_is_not_there(database):
    assert await database.run(lambda c: balance_at_in(c, str(uuid4()), 2**50)) is None


async def test_every_statement_of_a_commit_and_of_a_page_finds_its_rows_by_key(ledger, superuser):
    """Also while the tables are so small that reading them whole would be cheaper, as the ledger's connection asks."""
    (amal,) = await rich_players(ledger, 1)
    await superuser.execute("set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off")

    for statement, arguments in (
        (statements.KNOWN, (uuid4(), [str(uuid4())])),
        (statements.ACCOUNTS, ([amal.account_id],)),
        (statements.ENTRIES, (amal.account_id, 10, 50)),
        (statements.BALANCE_AT, (amal.account_id, 10)),
    ):
        plan = json.loads(await superuser.fetchval(f"explain (format json) {statement}", *arguments))
        assert "Seq Scan" not in json.dumps(plan), statement
