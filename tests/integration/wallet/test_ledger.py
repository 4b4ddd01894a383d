"""The ledger on real PostgreSQL, attacked as the invariants L1-L9 and L12 say."""

import asyncio
import random  # noqa: TID251  (attacks may use chance)
from collections import Counter
from contextlib import asynccontextmanager
from uuid import uuid4

import asyncpg
import pytest

from diwan.chassis.database import Database
from diwan.core.ledger.accounts import (
    BOTS,
    OPERATOR,
    STANDING,
    STARTING_GRANT,
    escrow_account,
    named_id,
    player_account,
)
from diwan.core.ledger.books import EMPTY, Transfer, evolve, fold
from diwan.core.ledger.posting import decide
from diwan.core.ledger.requests import Float, LinkedSet, Result
from diwan.wire.events import decode, encode
from services.wallet import statements
from services.wallet.books import commit_in
from services.wallet.ledger import Ledger
from services.wallet.loading import SHARD
from services.wallet.works import Remembered, Work, split
from tests.integration.wallet.conftest import faults, moving, rich_players, running


def new_id() -> str:
    return str(uuid4())


def result(done) -> Result:
    (verdict,) = done.outcome.verdicts
    return verdict.result


async def folded(connection):
    """Return the books as the events alone tell them."""
    rows = await connection.fetch("select type_id, schema_v, body from event order by version")
    return fold(EMPTY, [decode(*row).event for row in rows])


async def legs_by_the_events(connection):
    """Return every transfer with both legs as the events alone tell them."""
    rows = await connection.fetch("select version, type_id, schema_v, body from event order by version")
    held, counted, legs = Counter(), Counter(), {}
    for version, *stored in rows:
        event = decode(*stored).event
        for t in event.transfers:
            told = [t.amount, t.code, t.cause, version, event.committed_at_ms]
            for account, amount in ((t.debit_account, -t.amount), (t.credit_account, t.amount)):
                counted[account] += 1
                told += (account, counted[account], held[account])
                held[account] += amount
            legs[t.transfer_id] = tuple(told)
    return legs


async def balances(connection):
    rows = await connection.fetch("select account_id::text, balance, version from account")
    return {row["account_id"]: (row["balance"], row["version"]) for row in rows}


async def test_the_books_are_what_folding_the_events_gives(ledger, superuser):
    players = await rich_players(ledger, 4)
    rng = random.Random(5)
    requests = [moving(new_id(), *rng.sample(players, 2), rng.randrange(1, 900)) for _ in range(200)]

    await asyncio.gather(*map(ledger.ask, requests))

    books = await folded(superuser)
    assert {key: (a.balance, a.version) for key, a in books.accounts.items()} == await balances(superuser)
    stored = await superuser.fetch("""
        select transfer_id::text, amount, code, cause, ledger_version, posted_at_ms, debit_account::text, debit_version,
               debit_previous, credit_account::text, credit_version, credit_previous from transfer""")
    assert {row[0]: tuple(row)[1:] for row in stored} == await legs_by_the_events(superuser)
    assert set(books.refused) == {
        str(row["transfer_id"]) for row in await superuser.fetch("select transfer_id from refused")
    }
    assert await faults(superuser) == []
    commits = await superuser.fetchval("select version from stream where stream_id = $1", SHARD)
    assert commits < 100, "requests that arrive together share commits"


async def test_sixteen_writers_and_killed_backends_leave_the_sums_whole(prepared, ledger, superuser):
    """L1, L2, L7, L9: sampled all the while; every answer that was given is true afterwards."""
    players = await rich_players(ledger, 8)
    rng = random.Random(11)
    stop = asyncio.Event()
    answers: dict[str, Result] = {}
    kills = samples = 0

    async def write() -> None:
        while not stop.is_set():
            request = moving(new_id(), *rng.sample(players, 2), rng.randrange(1, 400))
            answers[request.transfers[0].transfer_id] = result(await ledger.ask(request))

    async def kill() -> None:
        nonlocal kills
        while not stop.is_set():
            await asyncio.sleep(rng.uniform(0.02, 0.2))
            kills += await superuser.fetchval(
                "select count(pg_terminate_backend(pid)) from pg_stat_activity where usename = 'wallet_rw'"
            )

    async def sample(connection: asyncpg.Connection) -> None:
        nonlocal samples
        while not stop.is_set():
            assert await faults(connection) == []
            samples += 1
            await asyncio.sleep(0.05)

    checker = await asyncpg.connect(prepared.superuser_url)
    async with asyncio.TaskGroup() as group:
        for _ in range(16):
            group.create_task(write())
        group.create_task(kill())
        group.create_task(sample(checker))
        await asyncio.sleep(6)
        # A busy machine gets its share of commits later: what counts is how much was tried.
        async with asyncio.timeout(60):
            while not (kills > 10 and samples > 10 and len(answers) > 200):  # noqa: ASYNC110 - three counts, no event
                await asyncio.sleep(0.1)
        stop.set()
    posted = {str(row[0]) for row in await superuser.fetch("select transfer_id from transfer")}
    refused = {str(row[0]) for row in await superuser.fetch("select transfer_id from refused")}
    deadlocks = await superuser.fetchval("select deadlocks from pg_stat_database where datname = current_database()")
    await checker.close()

    assert {i for i, r in answers.items() if r is Result.CREATED} == posted - {p.account_id for p in players}
    assert {i for i, r in answers.items() if r is Result.EXCEEDS_BALANCE} == refused
    assert set(answers.values()) == {Result.CREATED, Result.EXCEEDS_BALANCE}
    assert await faults(superuser) == []
    assert deadlocks == 0


async def test_twenty_buy_ins_of_the_whole_balance_leave_exactly_one(ledger, superuser):
    """L2."""
    (amal,) = await rich_players(ledger, 1)

    async def buy_in() -> Result:
        sitting = new_id()
        escrow = escrow_account(sitting)
        request = moving(sitting, amal, escrow, 1000)
        return result(await ledger.ask(LinkedSet(request.transfers, opens=(escrow,))))

    results = await asyncio.gather(*(buy_in() for _ in range(20)))

    assert sorted(results) == [Result.CREATED] + [Result.EXCEEDS_BALANCE] * 19
    assert await faults(superuser) == []
    assert await superuser.fetchval("select count(*) from account where kind = 'escrow'") == 1


async def test_two_wallets_at_once_spend_a_balance_once(prepared, superuser):
    """L2, L8: two processes' ledgers on one database, first-ever spends of fresh accounts."""
    async with running(prepared) as one, running(prepared) as other:
        players = await rich_players(one, 10)
        requests = [
            ledger.ask(moving(new_id(), player, OPERATOR, 700)) for player in players for ledger in (one, other) * 3
        ]
        results = [result(done) for done in await asyncio.gather(*requests)]

    assert results.count(Result.CREATED) == 10
    assert await faults(superuser) == []


async def test_an_account_opened_by_two_at_once_is_opened_once(prepared, superuser):
    """L8: the first-ever opening, from two processes, each with its grant and an immediate spend."""
    async with running(prepared) as one, running(prepared) as other:
        omar = player_account("omar")
        grant = moving(named_id(omar.account_id, "starting_grant"), STARTING_GRANT, omar, 10_000).transfers
        opening = LinkedSet(grant, opens=(omar,), is_opening=True)
        done = await asyncio.gather(
            *(
                ledger.ask(request)
                for ledger in (one, other)
                for request in (opening, moving(new_id(), omar, BOTS, 10_000))
            )
        )

    assert sum(each.outcome.has_opened for each in done) == 1
    assert await faults(superuser) == []
    assert await superuser.fetchval("select count(*) from transfer where code = 'test'") >= 1


async def test_the_same_id_twenty_times_at_once_is_applied_once_and_after_a_restart_too(prepared, superuser):
    """L3."""
    request_id = new_id()
    async with running(prepared) as ledger:
        amal, dina = await rich_players(ledger, 2)
        request = moving(request_id, amal, dina, 10)
        results = [result(done) for done in await asyncio.gather(*(ledger.ask(request) for _ in range(20)))]
    async with running(prepared) as restarted:
        later = result(await restarted.ask(request))

    assert sorted(results) == [Result.CREATED] + [Result.EXISTS] * 19
    assert later is Result.EXISTS
    assert (await balances(superuser))[amal.account_id][0] == 990


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"amount": 11}, Result.EXISTS_WITH_DIFFERENT_AMOUNT),
        ({"debit": 2}, Result.EXISTS_WITH_DIFFERENT_DEBIT_ACCOUNT),
        ({"credit": 2}, Result.EXISTS_WITH_DIFFERENT_CREDIT_ACCOUNT),
        ({"code": "other"}, Result.EXISTS_WITH_DIFFERENT_CODE),
        ({"cause": "other"}, Result.EXISTS_WITH_DIFFERENT_CAUSE),
        ({"currency": "MATCH"}, Result.EXISTS_WITH_DIFFERENT_CURRENCY),
    ],
)
async def test_the_same_id_with_other_content_moves_nothing(ledger, superuser, change, expected):
    """L4: one field at a time."""
    players = await rich_players(ledger, 3)
    request_id = new_id()
    await ledger.ask(moving(request_id, players[0], players[1], 10))
    before, version = await balances(superuser), await superuser.fetchval("select version from stream")
    debit, credit = players[change.pop("debit", 0)], players[change.pop("credit", 1)]

    done = await ledger.ask(moving(request_id, debit, credit, change.pop("amount", 10), **change))

    assert result(done) is expected
    assert await balances(superuser) == before
    assert await superuser.fetchval("select version from stream") == version


async def test_a_refused_id_stays_refused_when_there_are_chips(ledger, superuser):
    """L5."""
    (amal,) = await rich_players(ledger, 1)
    request = moving(new_id(), amal, BOTS, 1001)

    first = await ledger.ask(request)
    await ledger.ask(moving(new_id(), OPERATOR, amal, 5000))
    again = await ledger.ask(request)
    anew = await ledger.ask(moving(new_id(), amal, BOTS, 1001))

    assert [result(first), result(again), result(anew)] == [
        Result.EXCEEDS_BALANCE,
        Result.ID_ALREADY_FAILED,
        Result.CREATED,
    ]
    assert again.outcome.verdicts[0].first_reason == "EXCEEDS_BALANCE"
    assert await faults(superuser) == []


async def test_transfers_there_and_back_do_not_deadlock(prepared, superuser):
    """L9: from two processes, with consumers' transactions on connections of their own between them."""
    async with running(prepared) as one, running(prepared) as other:
        amal, dina = await rich_players(one, 2, 10_000)
        database = await Database.open(prepared.url("wallet_rw"))

        async def consumer(i: int) -> None:
            pair = (amal, dina) if i % 2 else (dina, amal)
            work = Work(moving(new_id(), *pair, 1))
            await database.run(lambda connection: commit_in(connection, [work]))

        requests = [one.ask(moving(new_id(), amal, dina, 1)) for _ in range(150)]
        requests += [other.ask(moving(new_id(), dina, amal, 1)) for _ in range(150)]
        await asyncio.gather(*requests, *(consumer(i) for i in range(40)))
        await database.close()
    deadlocks = await superuser.fetchval("select deadlocks from pg_stat_database where datname = current_database()")

    assert deadlocks == 0
    assert await faults(superuser) == []
    assert await superuser.fetchval("select count(*) from transfer") == 342


async def test_a_request_with_an_id_has_one_answer_for_ever(ledger):
    """DESIGN 4: the first answer again, and other content is a conflict."""
    amal, dina = player_account("amal"), player_account("dina")
    first, second = Remembered(new_id(), "amal", b"open amal"), Remembered(new_id(), "amal", b"open amal")
    opening = LinkedSet((), opens=(amal,))

    answers = await asyncio.gather(*(ledger.ask(opening, first) for _ in range(5)))
    later = await ledger.ask(opening, second)
    again = await ledger.ask(opening, first)
    other = await ledger.ask(LinkedSet((), opens=(dina,)), Remembered(first.command_id, "amal", b"open dina"))

    assert [done.outcome.has_opened for done in (*answers, later, again)] == [True] * 5 + [False, True]
    assert [done.is_conflict for done in (*answers, later, again, other)] == [False] * 7 + [True]
    assert other.accounts == {}


async def test_the_bots_account_pays_from_floats_that_the_ledger_shows(prepared, superuser):
    async with running(prepared, Float(low=1000, amount=5000)) as ledger:
        sittings = [new_id() for _ in range(12)]
        done = await asyncio.gather(
            *(
                ledger.ask(LinkedSet(moving(s, BOTS, escrow_account(s), 900).transfers, opens=(escrow_account(s),)))
                for s in sittings
            )
        )

    assert all(each.outcome.is_done for each in done)
    floats = await superuser.fetch("select amount, cause from transfer where code = 'bots_float'")
    assert sum(row["amount"] for row in floats) == 15_000
    assert await faults(superuser) == []


def test_no_request_adds_more_to_an_event_than_it_is_counted_for():
    """Whatever is decided of it: posted with a float, refused, opened; with texts of every length."""
    texts = ("", "c", "ط" * 400, "x" * 500)
    sitting = new_id()
    for cause in texts:
        for debit, credit in (
            (STARTING_GRANT, BOTS),
            (BOTS, escrow_account(sitting)),
            (BOTS, player_account("nobody")),
        ):
            opens = (credit,) if credit.kind == "escrow" else ()
            request = LinkedSet(moving(new_id(), debit, credit, 2**53 - 1, cause=cause).transfers, opens=opens)
            start = decide(EMPTY, [LinkedSet((), opens=STANDING)], 0)
            books = evolve(EMPTY, start.event)
            decision = decide(books, [request], 2**50, Float(1, 2**53 - 1))
            size = len(encode(decision.event, nonce=bytes(16)).body) - 40
            assert size <= Work(request).event_bytes
    opened = player_account("ط" * 128)
    size = len(encode(decide(EMPTY, [LinkedSet((), opens=(opened,))], 1).event, nonce=bytes(16)).body)
    assert size - 40 <= Work(LinkedSet((), opens=(opened,))).event_bytes


async def test_many_long_causes_are_cut_into_commits_that_fit_on_the_bus(ledger, superuser):
    amal, dina = await rich_players(ledger, 2)
    requests = [moving(new_id(), amal, dina, 1, cause="ط" * 400) for _ in range(300)]

    done = await asyncio.gather(*map(ledger.ask, requests))

    assert {result(each) for each in done} == {Result.CREATED}
    assert await superuser.fetchval("select max(octet_length(body)) from event") < 60_000
    assert len(split([Work(request) for request in requests])) > 5


async def test_a_commit_whose_answer_was_lost_is_answered_truly(prepared, superuser):
    """D9: the connection dies after the commit and before the client hears of it."""
    commits = lost = 0

    def heard() -> None:
        nonlocal commits, lost
        commits += 1
        if commits % 3 == 0:
            lost += 1
            raise ConnectionResetError("the answer was lost")

    class Deaf:
        """A connection that loses the answer of every third commit."""

        def __init__(self, connection: asyncpg.Connection) -> None:
            self._connection = connection

        def __getattr__(self, name):
            return getattr(self._connection, name)

        async def fetchval(self, query, *arguments):
            value = await self._connection.fetchval(query, *arguments)
            if query is statements.WRITE and not self._connection.is_in_transaction():
                heard()
            return value

        @asynccontextmanager
        async def transaction(self):
            async with self._connection.transaction():
                yield
            heard()

    async with running(prepared) as healthy:
        amal, dina = await rich_players(healthy, 2)

    async def connect():
        return Deaf(await asyncpg.connect(prepared.url("wallet_rw")))

    ledger = Ledger(connect)
    async with asyncio.TaskGroup() as group:
        group.create_task(ledger.run())
        results = [
            result(await ledger.ask(moving(new_id(), amal, dina, 1 if i % 2 else 5000)))  # one after the other
            for i in range(12)
        ]
        await ledger.close()

    assert results == [Result.EXCEEDS_BALANCE, Result.CREATED] * 6
    assert lost >= 3
    assert (await balances(superuser))[amal.account_id][0] == 994
    assert await faults(superuser) == []


async def test_a_set_that_names_a_transfer_twice_hurts_nobody_else_in_its_commit(ledger, superuser):
    amal, dina = await rich_players(ledger, 2)
    same = Transfer(new_id(), amal.account_id, dina.account_id, 1, "c", "c")

    bad, good = await asyncio.gather(ledger.ask(LinkedSet((same, same))), ledger.ask(moving(new_id(), amal, dina, 1)))

    assert (bad.outcome.is_done, good.outcome.is_done) == (False, True)
    assert await faults(superuser) == []


async def test_a_fault_of_the_programs_own_hits_only_the_request_that_has_it(ledger, superuser):
    """One request that no check foresaw fails alone; those that shared its commit are answered, and so is who comes later."""
    amal, dina = await rich_players(ledger, 2)
    bad = LinkedSet((Transfer(new_id(), amal.account_id, dina.account_id, 1, "c", "a \0 in a text"),))
    worse = LinkedSet((Transfer("no id at all", amal.account_id, dina.account_id, 1, "c", "c"),))

    first, second, good = await asyncio.gather(
        *(ledger.ask(request) for request in (bad, worse, moving(new_id(), amal, dina, 1))), return_exceptions=True
    )
    later = await ledger.ask(moving(new_id(), amal, dina, 1))

    assert isinstance(first, Exception)
    assert isinstance(second, Exception)
    assert [result(good), result(later)] == [Result.CREATED] * 2
    assert await faults(superuser) == []


async def test_a_request_that_the_core_cannot_decide_does_not_end_the_ledger(ledger, superuser):
    amal, dina = await rich_players(ledger, 2)
    nonsense = LinkedSet((Transfer(new_id(), amal.account_id, dina.account_id, "much", "c", "c"),))

    first, good = await asyncio.gather(
        ledger.ask(nonsense), ledger.ask(moving(new_id(), amal, dina, 1)), return_exceptions=True
    )

    assert isinstance(first, TypeError)
    assert result(good) is Result.CREATED
    assert await faults(superuser) == []


async def test_what_arrives_while_a_commit_gathers_shares_it(prepared, superuser, monkeypatch):
    """However few have come so far: as long as the loop has requests in its hands the commit does not begin."""
    gathering, may_begin = asyncio.Event(), asyncio.Event()

    async def gathered(_is_enough):
        gathering.set()
        await may_begin.wait()

    async with running(prepared) as ledger:
        amal, dina = await rich_players(ledger, 2)
        before = await superuser.fetchval("select version from stream where stream_id = $1", SHARD)
        monkeypatch.setattr("services.wallet.ledger.gathered", gathered)
        asked = [asyncio.create_task(ledger.ask(moving(new_id(), amal, dina, 1)))]
        await gathering.wait()
        asked += [asyncio.create_task(ledger.ask(moving(new_id(), dina, amal, 1))) for _ in range(9)]
        await asyncio.sleep(0)
        may_begin.set()
        done = await asyncio.gather(*asked)

    assert {result(each) for each in done} == {Result.CREATED}
    assert await superuser.fetchval("select version from stream where stream_id = $1", SHARD) == before + 1
