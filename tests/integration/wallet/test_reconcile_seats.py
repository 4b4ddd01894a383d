"""Escrow = stack at the same place of the table feed, seat by seat, asked of a running wallet over gRPC."""

import asyncio
from uuid import uuid4

import pytest
import pytest_asyncio

from diwan.api.wallet.v1 import wallet_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.core.ledger.accounts import escrow_account
from tests.integration.wallet.conftest import make
from tests.integration.wallet.room import Refused, a_room
from tests.integration.wallet.sabotage import broken, forge, look_through, owner_of

# One room for all of these tests: what spoils its books is rolled back.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def prepared(postgres, template):
    prepared = asyncio.run(make(postgres, "wallet_reconcile_seats", template))
    yield prepared
    postgres.drop_database(prepared.name)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def room(postgres, prepared, tmp_path_factory):
    async with a_room(postgres, prepared, tmp_path_factory.mktemp("seats")) as room:
        yield room


async def reconciled(room, role=Role.AUDITOR):
    response = await room.call("Reconcile", pb.ReconcileRequest(), role, "auditor")
    assert [check.name for check in response.checks] == [
        *("sum", "balances", "versions", "held", "escrows", "pools", "issuance", "events")
    ]
    return {check.name: check for check in response.checks}, response


def not_held(checks):
    return {name: check.first_ledger_version for name, check in checks.items() if not check.holds}


async def a_table(room, names=("amal", "dina", "omar")):
    table = await room.new_table()
    for number, name in enumerate(names):
        player = f"{name}-{uuid4().hex[:6]}"
        await room.open_account(player)
        await room.sit(table, number, player, 1000)
    return table


async def test_a_house_in_play_adds_up_at_every_moment(room):
    """Asked again and again while seats are taken, hands are played and chips go home."""
    stop = asyncio.Event()
    samples = []

    async def sample():
        while not stop.is_set():
            _, response = await reconciled(room)
            findings = [check.finding for check in response.checks if not check.holds]
            samples.append((findings, response.table_feed_cursor))

    task = asyncio.create_task(sample())
    for _ in range(2):
        table = await a_table(room)
        await room.sit(table, 5, "bot", 500, is_bot=True)
        await room.caught_up()
        for _ in range(15):
            await table.play()
            for seat in [seat for seat in table.seats if not seat.stack][:1]:
                await table.leave(seat)
        top_up = await table.ask_top_up(table.seats[0], 70)
        await room.fund(table, top_up, table.seats[0].player, 70, sitting=table.seats[0].sitting, code="top_up",
                        is_bot=table.seats[0].is_bot)  # fmt: skip
        await table.topped_up(table.seats[0], top_up, 70)
        await table.play()
        for seat in list(table.seats)[:2]:
            await table.leave(seat)
        await room.caught_up()
    stop.set()
    await task
    checks, _ = await reconciled(room)

    assert [found for found, _ in samples if found] == []
    assert len({cursor for _, cursor in samples}) > 3
    assert not_held(checks) == {}
    assert checks["escrows"].checked == sum(1 for _ in (await room.totals()).sittings)


async def test_a_funding_that_runs_ahead_of_the_feed_is_no_finding(room):
    """The table has asked by a call and not said so yet: buy-in and top-up."""
    table = await a_table(room)
    await room.caught_up()
    seat = table.seats[0]
    await room.fund(table, str(uuid4()), seat.player, 30, sitting=seat.sitting, code="top_up")
    await room.fund(table, str(uuid4()), table.seats[1].player, 100)

    assert not_held((await reconciled(room))[0]) == {}


async def test_an_escrow_off_by_one_is_found_though_everything_else_was_mended(room, prepared):
    """The event, its hash, the rows, the versions and the sum all fit: only the seats' stacks do not."""
    table = await a_table(room)
    await table.play()
    await room.caught_up()
    giver, taker = sorted(table.seats, key=lambda seat: -seat.stack)[:2]
    accounts = [escrow_account(seat.sitting).account_id for seat in (giver, taker)]
    async with owner_of(prepared) as owner:
        version = await forge(owner, *accounts, 1)
        report = await look_through(owner)

    assert broken(report) == {"escrows": version}
    finding = report.first("escrows")
    assert finding.account_id in accounts
    assert "'table/forged/7' moved 1, which is no event of its table" in finding.text


async def test_a_changed_stack_is_found(room, prepared):
    table = await a_table(room)
    await table.play()
    await room.caught_up()
    stack = table.seats[0].stack
    async with owner_of(prepared) as owner:
        await owner.execute(
            "update table_seats set state = replace(state, $1, $2)", f'"stack":{stack}', f'"stack":{stack + 1}'
        )
        report = await look_through(owner)

    assert list(broken(report)) == ["escrows"]
    assert f"its stack is {stack + 1}" in report.first("escrows").text


async def test_a_closed_account_that_holds_something_is_found(room, prepared):
    table = await a_table(room)
    seat = table.seats[0]
    await table.leave(seat)
    await room.caught_up()
    account_id = escrow_account(seat.sitting).account_id
    async with owner_of(prepared) as owner:
        await owner.execute("alter table account drop constraint account_closes_empty")
        await owner.execute("update account set balance = 3 where account_id = $1 and is_closed", account_id)
        report = await look_through(owner)

    assert list(broken(report)) == ["sum", "balances", "escrows", "pools"]
    assert report.first("pools").account_id == account_id


@pytest.mark.parametrize("is_closed", [True, False])
async def test_an_account_whose_end_is_no_event_or_in_no_row_is_found(room, prepared, is_closed):
    """Whether an account is closed is told by its events, so a row that says otherwise is a row that was changed."""
    table = await a_table(room)
    seat = table.seats[0]
    await table.leave(seat)
    await room.caught_up()
    account_id = escrow_account(seat.sitting if not is_closed else table.seats[1].sitting).account_id
    async with owner_of(prepared) as owner:
        assert not (await look_through(owner)).findings
        await owner.execute("alter table account drop constraint account_closes_empty")
        await owner.execute("update account set is_closed = $2 where account_id = $1", account_id, is_closed)
        report = await look_through(owner)

    assert report.first("events").account_id == account_id
    assert f"is_closed {is_closed}, its events say {not is_closed}" in report.first("events").text


async def test_a_pot_that_is_not_what_its_table_carries_is_found(room, prepared):
    table = await a_table(room)
    await room.caught_up()
    async with owner_of(prepared) as owner:
        await owner.execute(
            "update table_seats set state = replace(state, '\"carried\":0', '\"carried\":8') where table_id = $1",
            table.table_id,
        )
        report = await look_through(owner)

    assert list(broken(report)) == ["pools"]
    assert f"table {table.table_id} holds 0, the table keeps 8 in it" in report.first("pools").text


async def test_entries_of_a_match_that_are_not_in_its_tables_pot_are_found(room, prepared):
    table = await a_table(room)
    await room.caught_up()
    async with owner_of(prepared) as owner:
        await owner.execute(
            "update table_seats set state = replace(state, '\"pool\":0', '\"pool\":300') where table_id = $1",
            table.table_id,
        )
        report = await look_through(owner)

    assert list(broken(report)) == ["pools"]
    assert f"table {table.table_id} holds 0, the table keeps 300 in it" in report.first("pools").text


async def test_adding_up_is_for_staff_and_services(room):
    for role in (Role.PLAYER, Role.BACKEND, Role.BOT):
        for method, request in (("Reconcile", pb.ReconcileRequest()), ("ListAccounts", pb.ListAccountsRequest())):
            with pytest.raises(Refused) as told:
                await room.call(method, request, role, "bot:somebody" if role is Role.BOT else "somebody")
            assert told.value.reason == "PERMISSION_DENIED"


async def pages(room, **fields):
    token, accounts = "", []
    while True:
        request = pb.ListAccountsRequest(page_token=token, **fields)
        page = await room.call("ListAccounts", request, Role.AUDITOR, "auditor")
        accounts += page.accounts
        token = page.next_page_token
        if not token:
            return accounts


async def test_accounts_are_listed_page_by_page(room):
    table = await a_table(room)
    gone = table.seats[0]
    await table.leave(gone)
    await room.caught_up()

    everything, some = await pages(room, with_closed=True), await pages(room, with_closed=True, page_size=2)
    still_open = await pages(room)
    escrows = await pages(room, kind="escrow", page_size=1)

    ids = [account.account_id for account in everything]
    assert some == everything
    assert ids == sorted(set(ids))
    assert sum(account.balance for account in everything) == 0
    assert [account for account in everything if not account.is_closed] == still_open
    assert escrow_account(gone.sitting).account_id in {a.account_id for a in everything if a.is_closed}
    assert {seat.sitting for seat in table.seats} <= {account.owner for account in escrows}
    assert {account.kind for account in escrows} == {"escrow"}


async def test_a_listing_that_makes_no_sense_is_refused(room):
    for fields, reason in (
        ({"page_size": -1}, "PAGE_SIZE_INVALID"),
        ({"page_token": "no token"}, "PAGE_TOKEN_INVALID"),
        ({"page_token": "AAAA"}, "PAGE_TOKEN_INVALID"),
        ({"kind": "purse"}, "FIELD_INVALID"),
    ):
        with pytest.raises(Refused) as told:
            await room.call("ListAccounts", pb.ListAccountsRequest(**fields), Role.AUDITOR, "auditor")
        assert told.value.reason == reason
