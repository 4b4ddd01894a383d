"""Holds on a real PostgreSQL: each ends once, whoever comes first and whoever dies meanwhile (L2, L6)."""

import asyncio
import random  # noqa: TID251  (attacks may use chance)
from collections import Counter
from uuid import uuid4

import asyncpg
import pytest

from diwan.chassis.database import Database
from diwan.core.ledger.accounts import player_account, pool_account
from diwan.core.ledger.books import EMPTY, Transfer, fold
from diwan.core.ledger.events import AccountOpened
from diwan.core.ledger.requests import HoldPlacement, HoldPosting, HoldVoiding, LinkedSet, Result
from diwan.wire.events import decode
from services.wallet.books import commit_in
from services.wallet.expiring import AT_ONCE, Expiring
from services.wallet.loading import DUE_MAX, SHARD
from services.wallet.works import Work
from tests.integration.wallet.conftest import faults, moving, rich_players, running, unlike_the_events

POOL = pool_account("cup")
LONG = 3_600_000


def holding(hold_id: str, debit: AccountOpened, amount: int, lasts_ms: int = LONG) -> HoldPlacement:
    transfer = Transfer(hold_id, debit.account_id, POOL.account_id, amount, "entry", "test")
    return HoldPlacement(transfer, lasts_ms, opens=(POOL,))


def new_id() -> str:
    return str(uuid4())


async def resolutions(connection) -> list[str]:
    rows = await connection.fetch(
        "select type_id, schema_v, body from event where stream_id = $1 order by version", SHARD
    )
    events = [decode(row["type_id"], row["schema_v"], row["body"]).event for row in rows]
    return [resolved.hold_id for event in events for resolved in event.resolutions]


async def balances(connection, *accounts: AccountOpened) -> list[int]:
    return [
        await connection.fetchval("select balance from account where account_id = $1::uuid", account.account_id)
        for account in accounts
    ]


async def test_two_hundred_holds_raced_for_by_two_wallets_end_once_each(prepared, ledger, superuser):
    """L6: post, void and the clock at once, at two writers of one database."""
    (amal,) = await rich_players(ledger, 1, 1_000)
    rng = random.Random(3)
    holds = [new_id() for _ in range(200)]
    async with running(prepared) as rival:
        for start in range(0, len(holds), 50):
            # Some are over while they are raced for.
            await asyncio.gather(
                *(ledger.ask(holding(hold, amal, 5, rng.choice([30, LONG]))) for hold in holds[start : start + 50])
            )

            async def race(hold: str) -> list[Result]:
                asked = [HoldPosting(new_id(), hold, 0, "c") for _ in range(2)]
                asked += [HoldVoiding(new_id(), hold, "c") for _ in range(2)]
                rng.shuffle(asked)
                await asyncio.sleep(rng.uniform(0, 0.05))
                done = await asyncio.gather(*(rng.choice([ledger, rival]).ask(each) for each in asked))
                return [each.outcome.verdicts[0].result for each in done]

            for results in await asyncio.gather(*map(race, holds[start : start + 50])):
                assert results.count(Result.CREATED) <= 1
    async with asyncio.timeout(10):
        while await superuser.fetchval("select count(*) from hold where resolution = ''"):
            await ended_by_the_clock(prepared, ledger)

    assert Counter(await resolutions(superuser)) == Counter(holds)
    posted = await superuser.fetchval("select count(*) from hold where resolution = 'posted'")
    kinds = {row[0] for row in await superuser.fetch("select distinct resolution from hold")}
    assert kinds == {"posted", "voided", "expired"}
    assert await balances(superuser, amal, POOL) == [1_000 - 5 * posted, 5 * posted]
    assert await faults(superuser) == []


async def ended_by_the_clock(prepared, ledger) -> int:
    database = await Database.open(prepared.url("wallet_rw"))
    try:
        return await Expiring(ledger, database).expire()
    finally:
        await database.close()


async def test_chips_of_holds_that_are_over_can_be_spent_at_once_however_many_they_are(ledger, superuser):
    """L2, L6: more than end in one event; nobody is refused because the clock's work is not written yet."""
    (amal,) = await rich_players(ledger, 1, 1_000)
    (dina,) = [player_account("dina")]
    await ledger.ask(LinkedSet((), opens=(dina,)))
    count = 2 * DUE_MAX + 50
    await asyncio.gather(*(ledger.ask(holding(new_id(), amal, 4, 1)) for _ in range(count)))
    await asyncio.sleep(0.01)

    done = await ledger.ask(moving(new_id(), amal, dina, 1_000))

    assert done.outcome.is_done
    assert await superuser.fetchval("select count(*) from hold where resolution = 'expired'") == count
    assert len(set(await resolutions(superuser))) == count
    assert max(await superuser.fetchval("select max(length(body)) from event"), 0) < 48 * 1024
    assert await faults(superuser) == []


async def test_a_commit_of_many_requests_over_many_dead_holds_is_decided_alike(prepared, ledger, superuser):
    """The clock ends what is due before any of the requests is looked at, also in another's transaction."""
    players = await rich_players(ledger, 5, 100)
    for player in players:
        await asyncio.gather(*(ledger.ask(holding(new_id(), player, 1, 1)) for _ in range(60)))
    await asyncio.sleep(0.01)
    connection = await asyncpg.connect(prepared.url("wallet_rw"))

    async with connection.transaction():
        works = [Work(moving(new_id(), player, POOL, 100, code="entry")) for player in players]
        done = await commit_in(connection, works)
    await connection.close()

    assert all(each.outcome.is_done for each in done)
    assert await balances(superuser, POOL) == [500]
    assert await faults(superuser) == []


async def test_the_clock_ends_everything_that_is_due_and_nothing_else(prepared, ledger, superuser):
    (amal,) = await rich_players(ledger, 1, 1_000)
    count = AT_ONCE + 20
    await asyncio.gather(*(ledger.ask(holding(new_id(), amal, 1, 1)) for _ in range(count)))
    kept = new_id()
    await ledger.ask(holding(kept, amal, 7))
    await asyncio.sleep(0.01)

    # Placing the last one has ended some of them already.
    await ended_by_the_clock(prepared, ledger)

    open_ones = [str(row[0]) for row in await superuser.fetch("select hold_id from hold where resolution = ''")]
    assert open_ones == [kept]
    assert await ended_by_the_clock(prepared, ledger) == 0
    assert await superuser.fetchval("select held from account where owner = 'player-0'") == 7
    assert await faults(superuser) == []


async def test_a_hold_and_its_end_are_the_same_after_a_restart(prepared, superuser):
    """L3: retries after a death."""
    hold, post = new_id(), new_id()
    async with running(prepared) as ledger:
        (amal,) = await rich_players(ledger, 1)
        first = await ledger.ask(holding(hold, amal, 300))
    async with running(prepared) as ledger:
        again = await ledger.ask(holding(hold, amal, 300))
        await ledger.ask(HoldPosting(post, hold, 100, "c"))
    async with running(prepared) as ledger:
        last = await ledger.ask(HoldPosting(post, hold, 100, "c"))

    assert again.outcome.verdicts[0].result is Result.EXISTS
    assert again.outcome.expires_at_ms == first.outcome.expires_at_ms
    assert last.outcome.verdicts[0].result is Result.EXISTS
    assert await balances(superuser, amal, POOL) == [900, 100]


async def test_holds_under_fire_end_once_and_the_events_tell_all_of_it(ledger, superuser):
    """L1, L2, L6, L7: sixteen writers, backends killed; then the events alone make the same books."""
    players = await rich_players(ledger, 8, 500)
    stop = asyncio.Event()
    kills = 0

    async def write(seed: int) -> None:
        rng = random.Random(seed)
        while not stop.is_set():
            player, hold = rng.choice(players), new_id()
            placed = await ledger.ask(holding(hold, player, rng.randint(1, 200), rng.choice([1, 20, LONG])))
            if placed.outcome.is_done:
                end = rng.choice([HoldPosting(new_id(), hold, 0, "c"), HoldVoiding(new_id(), hold, "c"), None])
                if end is not None:
                    done = await ledger.ask(end)
                    again = await ledger.ask(end)
                    assert again.outcome.is_done == done.outcome.is_done
            if rng.random() < 0.3:
                await ledger.ask(moving(new_id(), POOL, player, rng.randint(1, 300), code="prize"))

    async def murder() -> None:
        nonlocal kills
        rng = random.Random(5)
        while not stop.is_set():
            await asyncio.sleep(rng.uniform(0.05, 0.2))
            kills += await superuser.fetchval(
                "select count(pg_terminate_backend(pid)) from pg_stat_activity"
                " where usename = 'wallet_rw' and datname = current_database()"
            )
            assert await faults(superuser) == []

    async with asyncio.TaskGroup() as group:
        for seed in range(16):
            group.create_task(write(seed))
        group.create_task(murder())
        await asyncio.sleep(6)
        stop.set()

    ended = await resolutions(superuser)
    assert len(ended) == len(set(ended)) > 50
    assert kills > 5
    rows = await superuser.fetch(
        "select type_id, schema_v, body from event where stream_id = $1 order by version", SHARD
    )
    books = fold(EMPTY, [decode(row["type_id"], row["schema_v"], row["body"]).event for row in rows])
    assert await unlike_the_events(superuser) == []
    holds = {
        (str(row["hold_id"]), row["amount"], row["resolution"], row["posted"], row["resolved_by"], row["lasts_ms"])
        for row in await superuser.fetch("select * from hold")
    }
    assert {
        (h.hold_id, h.amount, h.resolution, h.posted, h.resolved_by, h.lasts_ms) for h in books.holds.values()
    } == holds
    assert await faults(superuser) == []


ATTACKS = [
    (
        "L6 a hold ended twice",
        "update hold set resolution = 'posted', posted = 1, resolved_by = 'x', resolved_version = 1",
    ),
    ("L6 a hold opened again", "update hold set resolution = '', posted = 0, resolved_version = null"),
    ("a hold made larger", "update hold set amount = amount + 1"),
    ("a hold removed", "delete from hold"),
    ("L2 more held than there is", "update account set held = balance + 1 where kind = 'player'"),
    ("held below nothing", "update account set held = -1"),
    ("a house frozen", "update account set is_frozen = true where kind = 'house'"),
    ("a tally removed", "delete from tally"),
    ("a shortfall rewritten", "update shortfall set amount = 1"),
]


@pytest.mark.parametrize("role", ["wallet_rw", "postgres"])
async def test_the_database_itself_keeps_holds_as_they_were(prepared, ledger, superuser, role):
    """L2, L6: by direct SQL, as the service's role and as the server's superuser."""
    (amal,) = await rich_players(ledger, 1)
    hold = new_id()
    await ledger.ask(holding(hold, amal, 300))
    await ledger.ask(HoldVoiding(new_id(), hold, "c"))
    connection = await asyncpg.connect(prepared.superuser_url if role == "postgres" else prepared.url(role))

    let_through = []
    for name, attack in ATTACKS:
        try:
            await connection.execute(attack)
        except asyncpg.PostgresError:
            continue
        let_through.append(name)
    await connection.close()

    assert let_through == []
    assert await faults(superuser) == []
