"""Reconciling: an honest ledger adds up at every moment, a spoiled one is found and its first event is named."""

import asyncio
import secrets

import pytest
import pytest_asyncio
from msgspec.structs import replace

from diwan.core.ledger.accounts import OPERATOR, player_account
from diwan.wire.events import decode, encode
from services.wallet.reconcile import passing
from tests.integration.wallet.conftest import make, running
from tests.integration.wallet.sabotage import (
    a_history,
    broken,
    last_commit_of,
    look,
    look_through,
    middle,
    owner_of,
    put,
)

# One ledger for all of these tests. What spoils it does so in a transaction that is rolled back, and looks from inside it.
pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("played")]


@pytest.fixture(scope="module")
def prepared(postgres, template):
    prepared = asyncio.run(make(postgres, "wallet_reconcile", template))
    yield prepared
    postgres.drop_database(prepared.name)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def played(prepared):
    """A ledger with a history: grants, transfers to and fro, refusals, over many commits."""
    async with running(prepared) as ledger:
        return await a_history(ledger)


@pytest_asyncio.fixture(loop_scope="module")
async def owner(prepared):
    async with owner_of(prepared) as owner:
        yield owner


async def test_an_honest_ledger_holds_at_every_version(prepared):
    full = await look(prepared)
    resumed = [await look(prepared, after) for after in range(1, full.ledger_version + 1)]

    assert broken(full) == {}
    assert full.checked["events"] == full.ledger_version > 20
    assert full.checked["versions"] > 100
    assert [broken(report) for report in resumed] == [{}] * full.ledger_version
    assert [report.checked["events"] for report in resumed] == list(reversed(range(full.ledger_version)))


async def test_a_changed_balance_is_found(owner, played):
    await owner.execute("update account set balance = balance + 5 where account_id = $1", played[2].account_id)
    last = await last_commit_of(owner, played[2].account_id)

    report = await look_through(owner)

    assert broken(report) == {"balances": last, "sum": last}
    assert report.first("balances").account_id == played[2].account_id
    assert "sum to 5" in report.first("sum").text


async def test_chips_moved_between_balances_are_found_though_the_sum_is_zero(owner, played):
    for player, amount in ((played[0], 1), (played[1], -1)):
        await owner.execute(
            "update account set balance = balance + $2 where account_id = $1", player.account_id, amount
        )
    last = min([await last_commit_of(owner, player.account_id) for player in played[:2]])

    assert broken(await look_through(owner)) == {"balances": last}


@pytest.mark.parametrize("column", ["debit_previous", "credit_previous"])
async def test_a_changed_entry_is_found_at_its_event(owner, column):
    row = await middle(owner)
    await owner.execute(f"update transfer set {column} = {column} + 1 where transfer_id = $1", row["transfer_id"])

    assert broken(await look_through(owner)) == {"balances": row["ledger_version"]}


async def test_a_changed_amount_is_found_at_its_event(owner):
    row = await middle(owner)
    await owner.execute("update transfer set amount = amount + 1 where transfer_id = $1", row["transfer_id"])

    report = await look_through(owner)

    assert broken(report) == {"events": row["ledger_version"]}
    assert f"amount {row['amount'] + 1} instead of {row['amount']}" in report.first("events").text


async def test_a_removed_entry_is_found_at_its_event(owner):
    row = await middle(owner)
    await owner.execute("delete from transfer where transfer_id = $1", row["transfer_id"])

    assert broken(await look_through(owner)) == {"events": row["ledger_version"], "versions": row["ledger_version"]}


async def test_a_skipped_version_is_found_at_its_event(owner):
    row = await middle(owner)
    account_id = row["debit_account"]
    for side in ("debit", "credit"):
        # From the last entry down, as the versions are unique.
        for each in await owner.fetch(
            f"select transfer_id from transfer where {side}_account = $1 and {side}_version >= $2"
            f" order by {side}_version desc",
            account_id,
            row["debit_version"],
        ):
            await owner.execute(
                f"update transfer set {side}_version = {side}_version + 1 where transfer_id = $1", each[0]
            )
    await owner.execute("update account set version = version + 1 where account_id = $1", account_id)

    report = await look_through(owner)

    assert broken(report) == {"versions": row["ledger_version"]}
    assert report.first("versions").account_id == str(account_id)


async def test_a_version_counted_on_is_found(owner, played):
    await owner.execute("update account set version = version + 1 where account_id = $1", played[3].account_id)
    last = await last_commit_of(owner, played[3].account_id)

    assert broken(await look_through(owner)) == {"versions": last}


POST = """
insert into transfer (transfer_id, debit_account, debit_version, debit_previous, credit_account, credit_version,
                      credit_previous, currency, amount, code, cause, ledger_version, posted_at_ms)
select $1, d.account_id, d.version + 1, d.balance, c.account_id, c.version + 1, c.balance, 'CHIP', $4, 'test', 'test',
       $5, 0
from account d, account c where d.account_id = $2 and c.account_id = $3
"""
MOVE = "update account set balance = balance + $2, version = version + 1 where account_id = $1"


async def test_a_refused_id_that_was_posted_is_found(owner, played):
    """L5: the books are consistent in themselves, balances and versions too."""
    refused = await owner.fetchrow("select * from refused order by ledger_version limit 1")
    debit, credit = OPERATOR.account_id, played[0].account_id
    await owner.execute(POST, refused["transfer_id"], debit, credit, 7, refused["ledger_version"])
    await owner.execute(MOVE, debit, -7)
    await owner.execute(MOVE, credit, 7)
    last = await last_commit_of(owner, credit)

    report = await look_through(owner)

    found = broken(report)
    assert found["events"] == refused["ledger_version"]
    assert "in the books and not in the event" in report.first("events").text
    assert any("was refused" in finding.text for finding in report.findings)
    assert found["balances"] <= last
    assert found["issuance"] > 0


async def test_a_refused_id_that_a_forged_event_posts_is_found(owner):
    """The chain is mended, the rows are there: only that the id was refused gives it away."""
    refused = await owner.fetchval("select transfer_id from refused order by ledger_version limit 1")
    row = await owner.fetchrow("select * from transfer where code = 'test' order by ledger_version desc limit 1")
    version = row["ledger_version"]
    event = await owner.fetchrow("select * from event where version = $1", version)
    commit = decode(event["type_id"], event["schema_v"], event["body"]).event
    transfers = tuple(
        replace(t, transfer_id=str(refused)) if t.transfer_id == str(row["transfer_id"]) else t
        for t in commit.transfers
    )
    body = encode(replace(commit, transfers=transfers), nonce=secrets.token_bytes(16)).body
    await put(owner, version, body, rehash=True)
    await owner.execute("update transfer set transfer_id = $1 where transfer_id = $2", refused, row["transfer_id"])

    report = await look_through(owner)

    assert broken(report) == {"events": version}
    assert "was refused (EXCEEDS_BALANCE) and is posted" in report.first("events").text


async def test_a_changed_issuance_is_found(owner):
    await owner.execute("update account set balance = balance - 100 where account_id = $1", OPERATOR.account_id)
    last = await last_commit_of(owner, OPERATOR.account_id)

    report = await look_through(owner)

    assert broken(report) == {"balances": last, "sum": last, "issuance": last}
    assert "operator issued 4000, its account says 4100" in report.first("issuance").text


async def test_a_forgotten_refusal_and_a_made_up_one_are_found(owner):
    row = await owner.fetchrow("delete from refused where ctid = (select min(ctid) from refused) returning *")
    await owner.execute("insert into refused values (gen_random_uuid(), 'EXCEEDS_BALANCE', 999999)")

    report = await look_through(owner)

    assert broken(report) == {"events": row["ledger_version"]}
    assert any("commit 999999" in finding.text for finding in report.findings)


async def test_an_account_that_no_event_opened_and_one_that_is_gone_are_found(owner, played):
    ghost = player_account("ghost")
    await owner.execute(
        "insert into account (account_id, kind, owner, currency, opened_at_ms) values ($1, 'player', $2, 'CHIP', 0)",
        ghost.account_id,
        ghost.owner,
    )
    await owner.execute("delete from account where account_id = $1", played[1].account_id)

    found = {finding.account_id: finding.text for finding in (await look_through(owner)).findings}

    assert "was opened by no event" in found[ghost.account_id]
    assert "is not in the books" in found[played[1].account_id]


@pytest.mark.parametrize("rehash", [False, True])
async def test_an_altered_event_is_found(owner, rehash):
    """H2; also where whoever did it mended the chain behind it: then the books tell."""
    row = await middle(owner)
    version = row["ledger_version"]
    event = await owner.fetchrow("select * from event where version = $1", version)
    commit = decode(event["type_id"], event["schema_v"], event["body"]).event
    altered = replace(commit.transfers[0], amount=commit.transfers[0].amount + 1)
    commit = replace(commit, transfers=(altered, *commit.transfers[1:]))
    await put(owner, version, encode(commit, nonce=secrets.token_bytes(16)).body, rehash=rehash)

    report = await look_through(owner)

    assert broken(report)["events"] == version
    assert ("HASH_DIFFERS" in report.first("events").text) is not rehash


async def test_a_removed_event_is_found(owner):
    version = (await middle(owner))["ledger_version"]
    await owner.execute("delete from event where version = $1", version)

    assert broken(await look_through(owner))["events"] in {version, version + 1}


async def test_what_comes_after_a_checked_version_is_found_by_the_next_look(owner):
    """A pass that goes on finds what is new, and leaves what is old to the full one."""
    checked = (await look_through(owner)).ledger_version - 3
    old = await middle(owner)
    await owner.execute("update transfer set amount = amount + 1 where transfer_id = $1", old["transfer_id"])
    clean = await look_through(owner, checked)
    row = await owner.fetchrow("select * from transfer order by ledger_version desc, debit_version desc limit 1")
    await owner.execute("delete from transfer where transfer_id = $1", row["transfer_id"])
    spoiled = await look_through(owner, checked)

    assert broken(clean) == {}
    assert broken(spoiled) == {"events": row["ledger_version"], "versions": row["ledger_version"]}
    assert broken(await look_through(owner))["events"] == old["ledger_version"]


@pytest.mark.parametrize("after", [0, 5], ids=["full", "resumed"])
async def test_in_however_small_steps_a_pass_goes_it_looks_at_the_same_and_finds_the_same(
    owner, played, monkeypatch, after
):
    await owner.execute("update account set balance = balance + 5 where account_id = $1", played[3].account_id)
    at_once = await look_through(owner, after)
    monkeypatch.setattr(passing, "ROWS_WANTED", 1)
    step_by_step = await look_through(owner, after)

    assert "balances" in broken(at_once)
    assert step_by_step == at_once


async def test_a_ledger_that_went_back_is_found(prepared):
    """D4: an older backup was restored under a running wallet."""
    report = await look(prepared, 10**6)

    assert broken(report) == {"events": report.ledger_version}
