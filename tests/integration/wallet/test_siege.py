"""L1-L11 over gRPC against two wallet processes on one database, under fire."""

import asyncio
import random  # noqa: TID251  (attacks may use chance)
from collections import Counter
from uuid import uuid4

import asyncpg
import pytest
import pytest_asyncio

from diwan.api.wallet.v1 import wallet_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.core.ledger.accounts import escrow_account
from tests.integration.wallet.conftest import faults, make
from tests.integration.wallet.room import Refused
from tests.integration.wallet.siege import Siege, besieged

WRITERS = 16
PLAYERS = 10

# The processes are started once: each attack finds them as the one before has left them.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def prepared(postgres, template):
    prepared = asyncio.run(make(postgres, "wallet_siege", template))
    yield prepared
    postgres.drop_database(prepared.name)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def siege(postgres, prepared, tmp_path_factory):
    async with besieged(postgres, prepared, tmp_path_factory.mktemp("siege"), seed=20261130) as siege:
        yield siege


@pytest_asyncio.fixture(loop_scope="module")
async def superuser(prepared):
    connection = await asyncpg.connect(prepared.superuser_url)
    yield connection
    await connection.close()


def new_id():
    return str(uuid4())


async def people(siege: Siege, count: int, chips: int = 0) -> list[str]:
    """Open accounts; with ``chips`` beside the starting grant."""
    players = [f"player-{uuid4().hex[:8]}" for _ in range(count)]
    await asyncio.gather(*map(siege.open_account, players))
    if chips:
        await asyncio.gather(
            *(siege.transfer("Issue", an_issue(player, chips), Role.OPERATOR, "op") for player in players)
        )
    return players


def an_issue(player, amount, transfer_id=""):
    return pb.IssueRequest(transfer_id=transfer_id or new_id(), player=player, amount=amount, reason="siege")


def a_buy_in(player, amount, sitting="", table_id=""):
    sitting = sitting or new_id()
    return pb.FundSeatRequest(
        transfer_id=sitting, player=player, sitting=sitting, table_id=table_id or new_id(), amount=amount, code="buy_in"
    )


POOL = pb.AccountName(kind="pool", owner="00000000-0000-4000-8000-000000000001")


def of(player):
    return pb.AccountName(kind="player", owner=player)


def a_movement(debit, credit, amount, code):
    return pb.Movement(transfer_id=new_id(), debit=debit, credit=credit, amount=amount, code=code, cause="siege")


async def write(siege: Siege, players: list[str], rng: random.Random) -> None:
    """Do one thing after the other until the siege is over, and ask again what was asked before."""
    while not siege.stop.is_set():
        await rng.choices((issue, buy_in, enter, win, enter_linked, hold, ask_again), (4, 3, 4, 2, 2, 3, 3))[0](
            siege, players, rng
        )


async def issue(siege, players, rng):
    await siege.transfer("Issue", an_issue(rng.choice(players), rng.randrange(1, 500)), Role.OPERATOR, "op")


async def buy_in(siege, players, rng):
    await siege.transfer("FundSeat", a_buy_in(rng.choice(players), rng.randrange(1, 3_000)), Role.SERVICE, "table")


async def enter(siege, players, rng):
    movement = a_movement(of(rng.choice(players)), POOL, rng.randrange(1, 900), "entry")
    await siege.movement(pb.TransferRequest(movement=movement))


async def win(siege, players, rng):
    movement = a_movement(POOL, of(rng.choice(players)), rng.randrange(1, 2_500), "prize")
    await siege.movement(pb.TransferRequest(movement=movement))


async def enter_linked(siege, players, rng):
    """All or none: two players enter together, and one of them may lack the chips."""
    movements = [a_movement(of(player), POOL, rng.randrange(1, 1_500), "entry") for player in rng.sample(players, 2)]
    await siege.linked(pb.TransferLinkedRequest(movements=movements))


async def hold(siege, players, rng):
    """Set chips aside, then let several give them and several free them at once, about when it expires (L6)."""
    movement = a_movement(of(rng.choice(players)), POOL, rng.randrange(1, 1_500), "entry")
    lasts_ms = rng.choice((20, 100, 60_000))
    placed = await siege.ask("PlaceHold", pb.PlaceHoldRequest(movement=movement, lasts_ms=lasts_ms), Role.SERVICE, "t")
    siege.figures.answers[placed.reason if isinstance(placed, Refused) else "held"] += 1
    if isinstance(placed, Refused):
        return
    await asyncio.sleep(rng.uniform(0, 0.15))
    posts = [
        siege.post(pb.PostHoldRequest(transfer_id=new_id(), hold_id=movement.transfer_id, cause="siege"))
        for _ in range(2)
    ]
    voids = [
        siege.ask("VoidHold", pb.VoidHoldRequest(request_id=new_id(), hold_id=movement.transfer_id, cause="siege"),
                  Role.SERVICE, "t")
        for _ in range(2)
    ]  # fmt: skip
    ends = [*posts, *voids]
    rng.shuffle(ends)
    ended = [end for end in await asyncio.gather(*ends) if not isinstance(end, Refused)]
    assert len(ended) <= 1, ended
    siege.figures.holds += 1


async def ask_again(siege, _players, rng):
    """Ask with an id that has its answer: unchanged it gets the same one (L3, L5), changed it moves nothing (L4)."""
    if not siege.known:
        return
    known = siege.known[rng.choice(list(siege.known))]
    request = type(known.request)()
    request.CopyFrom(known.request)
    is_changed = rng.random() < 0.5
    if is_changed:
        content = request.movement if isinstance(request, pb.TransferRequest) else request
        content.amount += 1
    answered = await siege.ask(known.method, request, known.role, known.subject)
    answer = answered.reason if isinstance(answered, Refused) else answered.result
    siege.figures.answers[f"{answer} (again)"] += 1
    if known.answer == "created":
        assert answer == ("EXISTS_WITH_DIFFERENT_AMOUNT" if is_changed else "exists")
    else:
        first = answered.metadata.get("first_reason") if isinstance(answered, Refused) else None
        assert (answer, first) == ("ID_ALREADY_FAILED", known.answer)


async def storm(siege: Siege, superuser, seconds: float, kill_every: float) -> None:
    """Sixteen writers and three tables under fire, then everything compared."""
    before = await siege.asked_for(superuser)
    players = await people(siege, PLAYERS)
    writers = [lambda: write(siege, players, random.Random(siege.rng.random())) for _ in range(WRITERS)]
    dealers = [lambda: siege.deal(players) for _ in range(3)]
    await siege.run(seconds, [*writers, *dealers], kill_every=kill_every)
    totals = await siege.rooms[0].caught_up()
    escrows = {s.sitting: s.balance for s in totals.sittings}
    seated = {sitting: chips for table in siege.tables for sitting, chips in table.escrows().items()}
    deadlocks = await superuser.fetchval("select deadlocks from pg_stat_database where datname = current_database()")
    print(f"\n{seconds:.0f} s: {siege.figures}")

    assert await faults(superuser) == []
    assert await siege.reconcile() == []
    assert await siege.untrue_answers(superuser, before) == []
    assert {sitting: escrows[sitting] for sitting in seated} == seated
    assert list(totals.quarantined_tables) == []
    assert deadlocks == 0


@pytest.mark.parametrize(
    ("seconds", "kill_every"),
    [pytest.param(6, 1.5, id="short"), pytest.param(600, 5, id="ten-minutes", marks=pytest.mark.soak)],
)
@pytest.mark.timeout(1200)
async def test_sixteen_writers_two_wallets_and_whatever_can_be_killed(siege, superuser, seconds, kill_every):
    """L1, L2, L3, L4, L5, L7, L9, L10: sampled throughout; every answer that was given is true afterwards."""
    await storm(siege, superuser, seconds, kill_every)

    assert siege.figures.backend_kills > seconds
    assert siege.figures.process_kills > 0
    assert siege.figures.samples > seconds
    assert siege.figures.hands > seconds


async def at_both(siege: Siege, method, requests, role, subject):
    """Ask all at once, of the two processes in turn; returns the results and reasons."""
    answers = await asyncio.gather(
        *(siege.once(siege.rooms[i % 2], method, request, role, subject) for i, request in enumerate(requests)),
        return_exceptions=True,
    )
    assert all(isinstance(answer, Refused) or hasattr(answer, "DESCRIPTOR") for answer in answers), answers
    return [answer.reason if isinstance(answer, Refused) else getattr(answer, "result", "done") for answer in answers]


async def test_twenty_buy_ins_of_the_whole_balance_at_two_wallets_leave_one(siege, superuser):
    """L2."""
    (player,) = await people(siege, 1)
    requests = [a_buy_in(player, 10_000) for _ in range(20)]

    results = await at_both(siege, "FundSeat", requests, Role.SERVICE, "table")

    assert sorted(results) == ["EXCEEDS_BALANCE"] * 19 + ["created"]
    assert await siege.rooms[0].balance(player) == 0
    assert await faults(superuser) == []


async def test_one_id_twenty_times_at_two_wallets_is_applied_once_and_after_their_death_too(siege, superuser):
    """L3."""
    (player,) = await people(siege, 1)
    request = an_issue(player, 7)

    results = await at_both(siege, "Issue", [request] * 20, Role.OPERATOR, "op")
    await siege.processes[0].kill()
    await siege.processes[0].start()
    later = await at_both(siege, "Issue", [request] * 2, Role.OPERATOR, "op")

    assert sorted(results) == ["created"] + ["exists"] * 19
    assert later == ["exists", "exists"]
    assert await siege.rooms[0].balance(player) == 10_007
    assert await faults(superuser) == []


async def test_one_id_with_many_contents_at_once_is_one_of_them(siege, superuser):
    """L4: whoever comes first is right, at two wallets at once; nobody else moves anything."""
    players = await people(siege, 2)
    transfer_id = new_id()
    requests = [an_issue(players[i % 2], 5 + i % 3, transfer_id) for i in range(18)]

    results = await at_both(siege, "Issue", requests, Role.OPERATOR, "op")

    moved = sum([await siege.rooms[0].balance(player) for player in players]) - 20_000
    first = requests[results.index("created")]
    same = [request == first for request in requests]
    assert results.count("created") == 1
    assert [result in {"created", "exists"} for result in results] == same
    assert {result for result, is_same in zip(results, same, strict=True) if not is_same} <= {
        *("EXISTS_WITH_DIFFERENT_CREDIT_ACCOUNT", "EXISTS_WITH_DIFFERENT_AMOUNT")
    }
    assert moved == first.amount
    assert await faults(superuser) == []


async def test_a_refused_id_is_refused_by_the_other_wallet_too(siege, superuser):
    """L5: also when there are chips by then, and after a death."""
    (player,) = await people(siege, 1)
    request = a_buy_in(player, 10_001)

    first = await at_both(siege, "FundSeat", [request], Role.SERVICE, "table")
    await siege.transfer("Issue", an_issue(player, 5_000), Role.OPERATOR, "op")
    await siege.processes[1].kill()
    await siege.processes[1].start()
    again = await at_both(siege, "FundSeat", [request, request], Role.SERVICE, "table")
    anew = await at_both(siege, "FundSeat", [a_buy_in(player, 10_001)], Role.SERVICE, "table")

    assert (first, again, anew) == (["EXCEEDS_BALANCE"], ["ID_ALREADY_FAILED"] * 2, ["created"])
    assert await faults(superuser) == []


async def test_the_first_ever_spends_of_two_at_once_find_one_account(siege, superuser):
    """L8: opened and spent at both wallets in the same moment; the escrow is opened by two as well."""
    player, sitting = f"player-{uuid4().hex[:8]}", new_id()
    openings = [pb.OpenAccountRequest(request_id=new_id(), on_behalf_of=player) for _ in range(10)]
    buy_ins = [a_buy_in(player, 6_000, sitting) for _ in range(6)] + [a_buy_in(player, 6_000) for _ in range(4)]

    _, results = await asyncio.gather(
        at_both(siege, "OpenAccount", openings, Role.SERVICE, "table"),
        at_both(siege, "FundSeat", buy_ins, Role.SERVICE, "table"),
    )

    balance = await siege.rooms[1].balance(player)
    accounts = await superuser.fetchval("select count(*) from account where owner = any($1)", [player, sitting])
    assert results.count("created") <= 1
    assert balance == 10_000 - 6_000 * results.count("created")
    assert accounts in {1, 2}
    assert await faults(superuser) == []


@pytest.mark.parametrize("lasts_ms", [30, 60_000])
async def test_a_hold_ends_once_whoever_asks_and_whatever_the_clock_says(siege, superuser, lasts_ms):
    """L6: posted, voided and expired at once at both wallets; the chips are in the pool or free, never both or neither."""
    (player,) = await people(siege, 1)
    before = await siege.rooms[0].balance(player)
    movements = [a_movement(of(player), POOL, 100, "entry") for _ in range(10)]
    ends: list[tuple[str, object]] = []
    for movement in movements:
        placed = await siege.ask(
            "PlaceHold", pb.PlaceHoldRequest(movement=movement, lasts_ms=lasts_ms), Role.SERVICE, "t"
        )
        assert not isinstance(placed, Refused), placed
        hold_id = movement.transfer_id
        ends += [("PostHold", pb.PostHoldRequest(transfer_id=new_id(), hold_id=hold_id, cause="c")) for _ in range(3)]
        ends += [("VoidHold", pb.VoidHoldRequest(request_id=new_id(), hold_id=hold_id, cause="c")) for _ in range(3)]
    siege.rng.shuffle(ends)

    answers = await asyncio.gather(*(siege.ask(method, request, Role.SERVICE, "t") for method, request in ends))
    done = Counter(
        request.hold_id for (_, request), answer in zip(ends, answers, strict=True) if not isinstance(answer, Refused)
    )
    await asyncio.sleep(1.5 if lasts_ms == 30 else 0)  # Whatever was ended by the clock alone is ended by an event.
    rows = await superuser.fetch(
        "select hold_id::text, resolution, posted from hold where hold_id = any($1)", [m.transfer_id for m in movements]
    )
    posted = sum(row["posted"] for row in rows)
    account = (await siege.rooms[0].call("GetAccount", pb.GetAccountRequest(), Role.PLAYER, player)).account

    assert max(done.values(), default=0) <= 1
    assert {row["hold_id"] for row in rows if row["resolution"] in {"posted", "voided"}} == set(done)
    assert {row["resolution"] for row in rows} <= {"posted", "voided", "expired"}
    assert (account.balance, account.held, account.available) == (before - posted, 0, before - posted)
    assert await faults(superuser) == []
    assert await siege.reconcile() == []


async def test_amounts_that_are_none_are_refused_by_both_and_leave_no_row(siege, superuser):
    """L11: 0, below, beyond 2^53 - 1; the contract's type takes nothing else."""
    (player,) = await people(siege, 1)
    before = await superuser.fetchrow("select (select count(*) from transfer), (select count(*) from refused)")
    amounts = [0, -1, -(2**63), 2**53, 2**63 - 1]

    issued = await at_both(siege, "Issue", [an_issue(player, a) for a in amounts], Role.OPERATOR, "op")
    funded = await at_both(siege, "FundSeat", [a_buy_in(player, a) for a in amounts], Role.SERVICE, "table")

    after = await superuser.fetchrow("select (select count(*) from transfer), (select count(*) from refused)")
    assert issued == funded == ["AMOUNT_INVALID"] * len(amounts)
    assert after == before


@pytest.mark.usefixtures("siege")
async def test_no_role_of_the_service_can_write_another_currency(prepared):
    """L12: by direct SQL with the service's own rights, while it runs."""
    connection = await asyncpg.connect(prepared.url("wallet_rw"))
    account_id = escrow_account(new_id()).account_id
    refusals = []
    for statement in (
        f"insert into account (account_id, kind, owner, currency, opened_at_ms) values ('{account_id}', 'player', 'x', 'MATCH', 0)",
        "insert into currency values ('MATCH')",
        "update account set currency = 'MATCH'",
        (
            "insert into transfer (transfer_id, debit_account, debit_version, debit_previous, credit_account, credit_version,"
            " credit_previous, currency, amount, code, cause, ledger_version, posted_at_ms)"
            " select gen_random_uuid(), a.account_id, a.version + 1, a.balance, b.account_id, b.version + 1, b.balance,"
            " 'MATCH', 1, 'c', 'c', 1, 0 from account a, account b where a.account_id < b.account_id limit 1"
        ),
    ):
        with pytest.raises((asyncpg.IntegrityConstraintViolationError, asyncpg.InsufficientPrivilegeError)) as refused:
            await connection.execute(statement)
        refusals.append(refused.value.sqlstate)
    await connection.close()

    assert len(refusals) == 4
