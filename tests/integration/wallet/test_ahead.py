"""Commits decided on what is remembered, while the one before is still being written: L2, L3, L5, D9 hold all the same."""

import asyncio
import random  # noqa: TID251  (attacks may use chance)
from collections import Counter
from uuid import uuid4

import asyncpg
import pytest
from msgspec.structs import replace

from diwan.core.ledger.accounts import BOTS, escrow_account, player_account, pool_account
from diwan.core.ledger.books import Transfer
from diwan.core.ledger.requests import ConsentChange, DailyLimit, HoldPlacement, LinkedSet, Result
from services.wallet import statements
from services.wallet.books import commit_in, post_in
from services.wallet.ledger import AHEAD_MIN, Ledger
from services.wallet.memory import Memory
from services.wallet.works import Remembered, Work
from tests.integration.wallet.conftest import faults, moving, rich_players, running


def new_id() -> str:
    return str(uuid4())


def result(done) -> Result:
    (verdict,) = done.outcome.verdicts
    return verdict.result


@pytest.fixture
def ahead(monkeypatch):
    """Count the requests that were decided while another commit was in flight."""
    counted = Counter()
    draft = Memory.draft

    async def counting(self, connection, works, *, in_flight=0, **options):
        counted[in_flight, "tried"] += len(works)
        drafted = await draft(self, connection, works, in_flight=in_flight, **options)
        counted[in_flight, drafted is not None] += len(works)
        return drafted

    monkeypatch.setattr(Memory, "draft", counting)
    return counted


async def rival(prepared, request):
    """Commit something from a connection of its own, as another process or the settlement does."""
    connection = await asyncpg.connect(prepared.url("wallet_rw"))
    try:
        async with connection.transaction():
            (done,) = await commit_in(connection, [Work(request)])
    finally:
        await connection.close()
    return done


async def test_chips_that_a_rival_took_meanwhile_are_not_given_twice(prepared, ledger, superuser):
    """L2: what is remembered of a balance does not outlive somebody else's commit."""
    amal, dina = await rich_players(ledger, 2)
    await ledger.ask(moving(new_id(), amal, dina, 1))

    taken = await rival(prepared, moving(new_id(), amal, BOTS, 999))
    mine = await ledger.ask(moving(new_id(), amal, dina, 1))
    back = await ledger.ask(moving(new_id(), dina, amal, 1001))

    assert [result(done) for done in (taken, mine, back)] == [
        Result.CREATED,
        Result.EXCEEDS_BALANCE,
        Result.CREATED,
    ]
    assert await faults(superuser) == []


async def test_what_was_remembered_before_a_rival_is_forgotten_also_under_the_lock(prepared, ledger, superuser):
    """L2: a request with an id of its own is decided under the lock, and does not vouch for older memories."""
    amal, dina = await rich_players(ledger, 2)
    await ledger.ask(moving(new_id(), amal, dina, 1))

    await rival(prepared, moving(new_id(), amal, BOTS, 999))
    consent = ConsentChange(new_id(), dina.account_id, is_given=True, cause="c")
    await ledger.ask(consent, Remembered(new_id(), "player/dina", b"hash"))
    mine = await ledger.ask(moving(new_id(), amal, dina, 1))

    assert result(mine) is Result.EXCEEDS_BALANCE
    assert await faults(superuser) == []


async def test_an_account_that_a_rival_closed_takes_nothing(prepared, ledger, superuser):
    """Closing an empty account moves no chips, and moves the ledger's version all the same."""
    (amal,) = await rich_players(ledger, 1)
    escrow = escrow_account(new_id())
    await ledger.ask(LinkedSet((), opens=(escrow,)))
    await ledger.ask(moving(new_id(), amal, escrow, 5))
    await ledger.ask(moving(new_id(), escrow, amal, 5))

    await rival(prepared, LinkedSet((), closes=(escrow.account_id,)))
    late = await ledger.ask(moving(new_id(), amal, escrow, 5))

    assert result(late) is Result.ACCOUNT_CLOSED
    assert await faults(superuser) == []


async def test_two_wallets_that_remember_the_same_account_never_spend_a_chip_twice(prepared, superuser, ahead):
    """L2, L7: each finds out that the other moved the ledger before anything of its own is written."""
    async with running(prepared) as one, running(prepared) as other:
        amal, dina = await rich_players(one, 2)
        done = await asyncio.gather(
            *(wallet.ask(moving(new_id(), amal, dina, 10)) for _ in range(300) for wallet in (one, other))
        )

    assert Counter(map(result, done)) == {Result.CREATED: 100, Result.EXCEEDS_BALANCE: 500}
    assert ahead[0, False] > 0, "at least once one found that the other had moved the ledger"
    assert await faults(superuser) == []


async def test_a_crowd_drains_one_account_to_the_last_chip_and_no_further(ledger, superuser, ahead):
    """L2: each commit is decided on what the one in flight will leave."""
    amal, dina = await rich_players(ledger, 2)

    done = await asyncio.gather(*(ledger.ask(moving(new_id(), amal, dina, 7)) for _ in range(1000)))

    assert Counter(map(result, done)) == {Result.CREATED: 142, Result.EXCEEDS_BALANCE: 858}
    assert await superuser.fetchval("select balance from account where owner = 'player-0'") == 6
    assert ahead[1, True] > 200, ahead
    assert await faults(superuser) == []


async def test_one_id_asked_for_by_many_at_once_is_created_once(ledger, superuser, ahead):
    """L3: also where the first of them is in flight while the others wait."""
    amal, dina = await rich_players(ledger, 2)
    requests = [moving(new_id(), amal, dina, 1) for _ in range(150)]

    done = await asyncio.gather(*(ledger.ask(request) for request in (*requests, *requests, *requests)))

    assert Counter(map(result, done)) == {Result.CREATED: 150, Result.EXISTS: 300}
    assert {result(each) for each in done[:150]} == {Result.CREATED}, "the first to ask is the first to be decided"
    assert await superuser.fetchval("select count(*) from transfer where code = 'test'") == 152
    assert ahead[1, True] > 0, ahead


async def test_a_refusal_in_flight_is_known_to_who_asks_again(ledger, superuser):
    """L5."""
    amal, dina = await rich_players(ledger, 2)
    refused = moving(new_id(), amal, dina, 5000)
    others = [moving(new_id(), amal, dina, 1) for _ in range(200)]

    done = await asyncio.gather(*map(ledger.ask, (refused, *others, refused, *others)))

    assert [result(done[0]), result(done[201])] == [Result.EXCEEDS_BALANCE, Result.ID_ALREADY_FAILED]
    assert await faults(superuser) == []


class Holding:
    """A connection whose writes, once it ``is_holding``, wait until the next commit ``is_drafted``."""

    is_holding = False

    def __init__(self, connection, begun, is_drafted):
        self._connection = connection
        self._begun = begun
        self._is_drafted = is_drafted

    def __getattr__(self, name):
        return getattr(self._connection, name)

    async def fetchval(self, query, *arguments):
        if query is statements.WRITE and Holding.is_holding:
            self._begun.set()
            await asyncio.wait_for(self._is_drafted.wait(), 3)
        return await self._connection.fetchval(query, *arguments)


async def test_an_id_of_the_commit_in_flight_is_not_decided_beside_it(prepared, superuser, monkeypatch):
    """L5: the refusal is not in the books yet, and the chips that were lacking are on their way."""
    async with running(prepared) as healthy:
        amal, dina = await rich_players(healthy, 2)
    begun, is_drafted, draft = asyncio.Event(), asyncio.Event(), Memory.draft

    async def drafting(self, *arguments, in_flight=0, **options):
        drafted = await draft(self, *arguments, in_flight=in_flight, **options)
        if in_flight:
            is_drafted.set()
        return drafted

    async def connect():
        return Holding(await asyncpg.connect(prepared.url("wallet_rw")), begun, is_drafted)

    monkeypatch.setattr(Memory, "draft", drafting)
    ledger = Ledger(connect)
    refused = moving(new_id(), amal, dina, 1500)
    others = [moving(new_id(), dina, amal, 1) for _ in range(2 * AHEAD_MIN)]
    async with asyncio.TaskGroup() as group:
        group.create_task(ledger.run())
        await ledger.ask(moving(new_id(), amal, dina, 1))
        monkeypatch.setattr(Holding, "is_holding", True)
        first = [group.create_task(ledger.ask(each)) for each in (refused, moving(new_id(), dina, amal, 900))]
        await begun.wait()
        later = [group.create_task(ledger.ask(each)) for each in (*others, refused)]
        done = await asyncio.gather(*first, *later)
        await ledger.close()

    assert is_drafted.is_set()
    assert result(done[0]) is Result.EXCEEDS_BALANCE
    assert {result(each) for each in done[1:-1]} == {Result.CREATED}
    assert (result(done[-1]), done[-1].outcome.verdicts[0].first_reason) == (
        Result.ID_ALREADY_FAILED,
        "EXCEEDS_BALANCE",
    )
    assert await faults(superuser) == []


async def test_an_account_that_was_changed_past_the_ledger_is_not_written_over(ledger, superuser):
    """L7: what is remembered of an account is compared with its row, also where the ledger itself has not moved."""
    amal, dina = await rich_players(ledger, 2)
    await superuser.execute("update account set version = version + 1 where account_id = $1", amal.account_id)

    with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="is not what it was"):
        await ledger.ask(moving(new_id(), amal, dina, 1))

    assert await superuser.fetchval("select balance from account where account_id = $1", amal.account_id) == 1000
    assert await superuser.fetchval("select count(*) from transfer where code = 'test'") == 2


class Breaking:
    """A connection that breaks at every so many writes: before the server hears of them, or after they stand."""

    def __init__(self, connection, rng, broken):
        self._connection = connection
        self._rng = rng
        self._broken = broken

    def __getattr__(self, name):
        return getattr(self._connection, name)

    async def fetchval(self, query, *arguments):
        if query is not statements.WRITE:
            return await self._connection.fetchval(query, *arguments)
        how = self._rng.choice(("whole", "whole", "before", "after"))
        if how == "before":
            self._broken[how] += 1
            raise ConnectionResetError("broken before the write")
        value = await self._connection.fetchval(query, *arguments)
        if how == "after":
            self._broken[how] += 1
            raise ConnectionResetError("broken after the write")
        return value


async def test_what_was_decided_on_a_commit_that_did_not_come_to_stand_is_decided_again(prepared, superuser, ahead):
    """D9: writes are lost before and after they stand, with the next commit decided on top of them."""
    async with running(prepared) as healthy:
        players = await rich_players(healthy, 4)
    rng, broken = random.Random(3), Counter()

    async def connect():
        return Breaking(await asyncpg.connect(prepared.url("wallet_rw")), rng, broken)

    ledger = Ledger(connect)
    answers = {}

    async def transfer():
        request = moving(new_id(), *rng.sample(players, 2), rng.randrange(1, 300))
        answers[request.transfers[0].transfer_id] = result(await ledger.ask(request))

    async with asyncio.TaskGroup() as group:
        group.create_task(ledger.run())
        await asyncio.gather(*(transfer() for _ in range(1500)))
        await ledger.close()

    posted = {str(row[0]) for row in await superuser.fetch("select transfer_id from transfer where code = 'test'")}
    refused = {str(row[0]) for row in await superuser.fetch("select transfer_id from refused")}
    assert {i for i, r in answers.items() if r in {Result.CREATED, Result.EXISTS}} == posted - {
        player.account_id for player in players
    }
    assert {i for i, r in answers.items() if r in {Result.EXCEEDS_BALANCE, Result.ID_ALREADY_FAILED}} == refused
    assert len(answers) == 1500
    assert await faults(superuser) == []
    assert (broken["before"] > 0, broken["after"] > 0, ahead[1, True] > 0) == (True, True, True), (broken, ahead)


async def test_a_request_at_fault_among_those_decided_ahead_hits_nobody_else(ledger, superuser, ahead):
    amal, dina = await rich_players(ledger, 2)
    requests = [moving(new_id(), amal, dina, 1) for _ in range(400)]
    requests[250] = moving(new_id(), amal, dina, "much")
    requests[300] = moving("no id at all", amal, dina, 1)

    done = await asyncio.gather(*map(ledger.ask, requests), return_exceptions=True)

    at_fault = [number for number, each in enumerate(done) if isinstance(each, Exception)]
    assert at_fault == [250, 300]
    assert ahead[1, "tried"] > 0, ahead
    assert {result(each) for each in done if not isinstance(each, Exception)} == {Result.CREATED}
    assert await faults(superuser) == []


async def test_requests_that_wait_when_the_ledger_ends_are_told_so(prepared):
    """Whoever was decided ahead and never written is told that the outcome is unknown, like those who only waited."""
    ledger = Ledger(prepared.connect())
    await ledger.prepare()
    run = asyncio.create_task(ledger.run())
    (amal,) = await rich_players(ledger, 1)
    asked = [asyncio.create_task(ledger.ask(moving(new_id(), amal, player_account("x"), 1))) for _ in range(600)]
    await asyncio.sleep(0)

    run.cancel()
    done = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 10)

    assert len(done) == 600
    assert {type(each).__name__ for each in done} == {"UnknownOutcome"}


async def test_nothing_of_an_account_that_holds_something_back_is_decided_beside_a_commit_in_flight(prepared, ledger):
    """L6: that commit may be ending the very hold that is due; whoever gives or takes waits for its own turn."""
    amal, dina = await rich_players(ledger, 2)
    cup = pool_account("cup")
    hold = Transfer(new_id(), amal.account_id, cup.account_id, 100, "entry", "c")
    await ledger.ask(HoldPlacement(hold, 60_000, opens=(cup,)))
    memory, connection = Memory(), await prepared.connect()()
    async with connection.transaction():
        memory.keep(await post_in(connection, [Work(moving(new_id(), amal, dina, 1))]))

    async def decided(request, in_flight):
        draft = await memory.draft(connection, [Work(request)], bots_float=None, event_id=uuid4(), in_flight=in_flight)
        return draft is not None

    given, taken = moving(new_id(), amal, dina, 1), moving(new_id(), dina, amal, 1)
    assert [memory.may_go_ahead(request) for request in (given, taken)] == [False, True]
    assert [await decided(request, 1) for request in (given, taken)] == [False, False]
    assert await decided(taken, 0)
    await connection.close()


@pytest.mark.parametrize(
    "changed",
    [
        {"closes": (player_account("dina").account_id,)},
        {"is_opening": True},
        {"tops_up": new_id()},
        {"is_forgotten": True},
        {"limits": (DailyLimit(((player_account("amal").account_id, "gift"),), 5),)},
        {"transfers": moving(new_id(), player_account("amal"), player_account("dina"), 1, code="gift").transfers},
        {"transfers": moving(new_id(), player_account("amal"), player_account("dina"), 1, hold_id=new_id()).transfers},
        {"transfers": moving(new_id(), player_account("amal"), player_account("dina"), 1, reverses=new_id()).transfers},
    ],
)
def test_what_reads_more_than_accounts_is_never_decided_beside_a_commit_in_flight(changed):
    """What lies in the database may be older than the commit that is being written."""
    plain = moving(new_id(), player_account("amal"), player_account("dina"), 1)

    assert Memory().may_go_ahead(plain)
    assert not Memory().may_go_ahead(replace(plain, **changed))


async def test_the_answer_to_a_retry_tells_what_the_accounts_hold_after_a_rival_moved_them(prepared, ledger):
    """L3: nothing is written for it, so only the look at the ledger's version tells that memory is old."""
    amal, dina = await rich_players(ledger, 2)
    request = moving(new_id(), amal, dina, 1)
    await ledger.ask(request)

    await rival(prepared, moving(new_id(), amal, dina, 10))
    again = await ledger.ask(request)

    assert result(again) is Result.EXISTS
    assert [again.accounts[one.account_id].balance for one in (amal, dina)] == [989, 1011]
