"""`diwan wallet` against a running wallet: what it prints, what it refuses, what it leaves in the ledger."""

import asyncio
import json
import re
import shlex
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio
import structlog
import typer
from grpc import StatusCode
from typer.testing import CliRunner

from diwan.api.wallet.v1 import wallet_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.cli import running
from diwan.cli.main import app
from diwan.client import DiwanError
from diwan.client.connection import Connection
from tests.integration.wallet.conftest import make
from tests.integration.wallet.room import a_room

PAGE = Path(__file__).parents[3] / "docs" / "operating" / "wallet.md"
WHY = ("--reason", "wrong prize", "--case", "4712")

# One wallet for all of these tests.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def prepared(postgres, template):
    prepared = asyncio.run(make(postgres, "wallet_commands", template))
    yield prepared
    postgres.drop_database(prepared.name)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def room(postgres, prepared, tmp_path_factory):
    # The wallet runs in this very process: its log is no part of what the command prints.
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    async with a_room(postgres, prepared, tmp_path_factory.mktemp("commands")) as room:
        yield room
    structlog.reset_defaults()


@pytest.fixture
def diwan(room, monkeypatch):
    """Call the command as from a shell, in a thread: it runs a loop of its own."""

    class Found:
        services = {"wallet": room.address, "table": room.side.address}  # noqa: RUF012

    def own_token(_layout, subject, role, **_):
        return room.key.mint(subject, role, ["wallet", "table"])

    monkeypatch.setattr(running, "running_stack", lambda _: (None, Found))
    monkeypatch.setattr(running, "own_token", own_token)

    async def call(*arguments):
        result = await asyncio.to_thread(CliRunner().invoke, app, [*map(str, arguments)])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return call


@pytest_asyncio.fixture(loop_scope="module")
async def amal(room):
    name = f"amal-{uuid4().hex[:6]}"
    await room.open_account(name)
    return name


def facts(result):
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


async def test_an_account_is_shown_by_player_or_by_name(diwan, amal):
    told = await diwan("wallet", "show", amal)
    (account,) = facts(await diwan("wallet", "show", f"player/{amal}", "--json"))
    (house,) = facts(await diwan("wallet", "show", "house", "--json"))
    nobody = await diwan("wallet", "show", "nobody")

    assert told.stdout.startswith(f"player/{amal}  10000 chips\n")
    assert (account["owner"], account["balance"], account["available"]) == (amal, 10_000, 10_000)
    assert house["kind"] == house["owner"] == "house"
    assert (nobody.exit_code, nobody.stdout) == (1, "")
    assert nobody.stderr.strip().endswith("(ACCOUNT_NOT_FOUND)")


async def test_a_transfer_is_made_once_by_its_id_and_taken_back_once(diwan, amal):
    chosen = str(uuid4())
    transfer = ("wallet", "transfer", amal, "house", 200, *WHY, "--id", chosen)
    (first,), (again,) = facts(await diwan(*transfer, "--json")), facts(await diwan(*transfer, "--json"))
    other = await diwan("wallet", "transfer", amal, "house", 201, *WHY, "--id", chosen)
    back = await diwan("wallet", "reverse", chosen, *WHY)
    twice = await diwan("wallet", "reverse", chosen, *WHY)
    (found,) = facts(await diwan("wallet", "find", chosen, "--json"))
    (reversal,) = facts(await diwan("wallet", "find", found["reversed_by"], "--json"))

    assert (first["result"], again["result"]) == ("created", "exists")
    assert first["accounts"][0]["balance"] == 9_800
    assert (other.exit_code, twice.exit_code) == (1, 1)
    assert "(EXISTS_WITH_DIFFERENT_AMOUNT)" in other.stderr
    assert "(ALREADY_REVERSED)" in twice.stderr
    assert f"takes back {chosen}" in back.stdout
    assert found["cause"] == "operator/cli: wrong prize (case 4712)"
    assert (reversal["reverses"], reversal["code"]) == (chosen, "reversal")


async def test_a_statement_tells_each_entry_with_its_cause(diwan, amal):
    facts(await diwan("wallet", "issue", amal, 500, *WHY, "--json"))
    entries = facts(await diwan("wallet", "statement", amal, "--json"))
    (newest,) = facts(await diwan("wallet", "statement", amal, "--json", "--limit", 1))
    told = (await diwan("wallet", "statement", amal)).stdout
    none = (await diwan("wallet", "statement", "pot/00000000-0000-4000-8000-000000000009")).stderr

    assert [(entry["amount"], entry["balance"], entry["code"]) for entry in entries] == [
        (500, 10_500, "issue"),
        (10_000, 10_000, "starting_grant"),
    ]
    assert newest == entries[0]
    assert "+500" in told
    assert "operator/cli: wrong prize (case 4712)" in told
    assert "(ACCOUNT_NOT_FOUND)" in none


async def test_what_an_account_held_is_told_by_the_moment(diwan, amal):
    (before,) = facts(await diwan("wallet", "balance-at", amal, "2026-01-01T00:00:00", "--json"))
    (after,) = facts(await diwan("wallet", "balance-at", amal, "2099-01-01T00:00:00", "--json"))

    assert (before["balance"], before["version"]) == (0, 0)
    assert (after["balance"], after["version"]) == (10_000, 1)


async def test_a_player_sees_the_own_account_as_operators_do_and_no_other(diwan, amal):
    """With a player's rights, which name no account."""
    for command in (("show", amal), ("statement", amal), ("balance-at", amal, "2099-01-01T00:00:00")):
        own, staffs = [facts(await diwan("wallet", *command, "--json", *more)) for more in (("--as-player",), ())]
        assert own == staffs
        assert own
    strangers = await diwan("wallet", "show", "house", "--as-player")
    nobody = await diwan("wallet", "show", "nobody", "--as-player")

    assert (strangers.exit_code, nobody.exit_code) == (2, 1)
    assert "--as-player" in strangers.stderr
    assert "(ACCOUNT_NOT_FOUND)" in nobody.stderr


@pytest.mark.parametrize("command", [("transfer", "a", "house", 1, *WHY), ("top-up", "a")])
async def test_who_got_no_answer_is_told_how_to_ask_again(diwan, monkeypatch, command):
    """L3: the same id, whoever chose it."""

    async def unary(*_, **__):
        raise DiwanError("UNKNOWN_OUTCOME", code=StatusCode.UNAVAILABLE)

    monkeypatch.setattr(Connection, "unary", unary)
    chosen = str(uuid4())

    given = await diwan("wallet", *command, "--id", chosen)
    made = await diwan("wallet", *command)

    assert f"Repeat the command with --id {chosen}\n" in given.stderr
    assert re.search(r"Repeat the command with --id [0-9a-f]{8}-", made.stderr)


async def test_a_frozen_account_gives_nothing_until_it_is_set_free(diwan, room, amal):
    (frozen,) = facts(await diwan("wallet", "freeze", amal, *WHY, "--json"))
    sitting = str(uuid4())
    request = pb.FundSeatRequest(
        transfer_id=sitting, player=amal, sitting=sitting, table_id=str(uuid4()), amount=10, code="buy_in"
    )
    refused = None
    try:
        await room.call("FundSeat", request)
    except Exception as error:
        refused = error.reason
    taken = await diwan("wallet", "transfer", amal, "house", 9_500, *WHY)
    top_up = await diwan("wallet", "top-up", amal)
    (free,) = facts(await diwan("wallet", "unfreeze", amal, *WHY, "--json"))
    topped_up = await diwan("wallet", "top-up", amal)

    assert (frozen["is_frozen"], free["is_frozen"]) == (True, False)
    assert refused == "ACCOUNT_FROZEN"
    assert taken.exit_code == 0
    assert "(ACCOUNT_FROZEN)" in top_up.stderr
    assert topped_up.stdout.startswith("created: transfer ")
    assert f"player/{amal}  2500 chips" in topped_up.stdout


async def test_a_hold_is_given_up(diwan, room, amal):
    movement = pb.Movement(
        transfer_id=str(uuid4()), debit=pb.AccountName(kind="player", owner=amal),
        credit=pb.AccountName(kind="pool", owner=str(uuid4())), amount=300, code="entry", cause="test",
    )  # fmt: skip
    await room.call("PlaceHold", pb.PlaceHoldRequest(movement=movement), Role.SERVICE, "t")
    held = await diwan("wallet", "show", amal)
    (of_it,) = facts(await diwan("wallet", "hold", movement.transfer_id, "--json"))
    voided = await diwan("wallet", "void-hold", movement.transfer_id, *WHY)
    (free,) = facts(await diwan("wallet", "show", amal, "--json"))
    ended = await diwan("wallet", "hold", movement.transfer_id)

    assert f"player/{amal}  10000 chips, 300 of them set aside" in held.stdout
    assert voided.stdout.strip() == "created"
    assert (free["held"], free["available"]) == (0, 10_000)
    assert (of_it["state"], of_it["amount"], of_it["posted"]) == ("open", 300, 0)
    assert f"hold {movement.transfer_id}  300 chips  entry  voided" in ended.stdout


async def test_what_a_table_posted_is_not_reversible(diwan, room):
    table = await room.new_table()
    name = f"dina-{uuid4().hex[:6]}"
    await room.open_account(name)
    seat = await room.sit(table, 0, name, 1_000)
    refused = await diwan("wallet", "reverse", seat.sitting, *WHY)

    assert refused.exit_code == 1
    assert "(NOT_REVERSIBLE)" in refused.stderr


@pytest.mark.parametrize("missing", ["--reason", "--case"])
@pytest.mark.parametrize(
    "command",
    [
        ("transfer", "a", "house", "1"),
        ("issue", "a", "1"),
        ("reverse", "x"),
        ("freeze", "a"),
        ("unfreeze", "a"),
        ("void-hold", "x"),
    ],
)
async def test_no_correction_goes_without_reason_and_case(diwan, command, missing):
    why = [option for pair in (WHY[:2], WHY[2:]) if pair[0] != missing for option in pair]

    refused = await diwan("wallet", *command, *why)

    assert refused.exit_code == 2
    assert missing in refused.stderr


async def test_accounts_are_listed_by_kind(diwan, amal):
    every = facts(await diwan("wallet", "list", "--kind", "player", "--limit", 500, "--json"))
    some = facts(await diwan("wallet", "list", "--kind", "player", "--limit", 1, "--json"))
    wrong = await diwan("wallet", "list", "--kind", "purse")

    assert amal in {account["owner"] for account in every}
    assert {account["kind"] for account in every} == {"player"}
    assert some == every[:1]
    assert "(FIELD_INVALID)" in wrong.stderr


async def test_the_ledger_adds_up_after_all_of_it(diwan, room):
    await room.caught_up()
    told = await diwan("reconcile")
    lines = facts(await diwan("reconcile", "--json"))

    assert told.exit_code == 0
    assert told.stdout.endswith("Everything adds up.\n")
    assert all(line["holds"] for line in lines)


def shown_commands():
    blocks = re.findall(r"```\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for line in "\n".join(blocks).splitlines():
        if line.startswith("diwan "):
            yield re.split(r" {4,}", line)[0]


@pytest.mark.parametrize("line", sorted(set(shown_commands())))
async def test_every_command_of_the_page_is_understood(line):
    """Its options and arguments are those of the program."""
    command = typer.main.get_command(app)
    words = shlex.split(line)[1:]
    context = command.make_context("diwan", [words[0]], resilient_parsing=True)
    while hasattr(command, "get_command"):
        command = command.get_command(context, words.pop(0))
        assert command is not None, line

    command.make_context(line, words)
