"""`diwan reconcile`: both feeds folded beside the wallet's own word, over gRPC, against a running wallet."""

import asyncio
import json
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from diwan.chassis.access import Role
from diwan.cli.reconcile import command
from diwan.cli.reconcile.gather import Checked, reconcile
from diwan.client import connect
from diwan.core.ledger.accounts import escrow_account
from tests.integration.wallet.sabotage import forge, owner_of


@asynccontextmanager
async def an_operator(room):
    token = room.key.mint("operator", Role.OPERATOR, ["wallet", "table"])
    async with connect({"wallet": room.address, "table": room.side.address}, token) as client:
        yield client


async def found(room):
    async with an_operator(room) as client:
        return await reconcile(client)


def faults(checked):
    return [(each.by, each.name, each.where) for each in checked if not each.holds]


async def a_table(room, hands=3):
    table = await room.new_table()
    for number in range(3):
        player = f"player-{uuid4().hex[:6]}"
        await room.open_account(player)
        await room.sit(table, number, player, 1000)
    await room.sit(table, 5, "bot", 500, is_bot=True)
    for _ in range(hands):
        await table.play()
    return table


async def test_a_house_in_play_adds_up_by_both_ways(room):
    """While hands are played and the wallet is behind, with chips on their way, with chips gone home."""
    table = await a_table(room)
    at_once = await found(room)
    task = asyncio.create_task(a_table(room, hands=10))
    during = [await found(room) for _ in range(3)]
    await task
    seat = table.seats[0]
    top_up = await table.ask_top_up(seat, 70)
    await room.fund(table, top_up, seat.player, 70, sitting=seat.sitting, code="top_up")
    on_its_way = await found(room)
    await table.topped_up(seat, top_up, 70)
    await table.play(is_void=True)
    await table.leave(table.seats[1])
    await room.caught_up()
    settled = await found(room)

    assert [faults(each) for each in (at_once, *during, on_its_way, settled)] == [[]] * 6
    (seats,) = [each for each in settled if each.name == "seats"]
    assert seats.detail.startswith("14 hands, ")


async def test_a_chip_moved_between_seats_is_named_by_table_hand_and_seat(room, prepared):
    """Event, chain, rows, balances and what the wallet remembers of the table are all mended: the table feed tells."""
    table = await a_table(room)
    await room.caught_up()
    giver, taker = sorted(table.seats, key=lambda seat: -seat.stack)[:2]
    cause = f"table/{table.table_id}/{table.version}"
    async with owner_of(prepared, is_kept=True) as owner:
        version = await forge(owner, *(escrow_account(seat.sitting).account_id for seat in (giver, taker)), 1, cause)
        for seat, change in ((giver, -1), (taker, 1)):
            await owner.execute(
                "update table_seats set state = replace(state, $1, $2)",
                *(f'"seat":{seat.number},"player":"{seat.player}","is_bot":{str(seat.is_bot).lower()},"stack":{stack}'
                  for stack in (seat.stack, seat.stack + change)),
            )  # fmt: skip

    checked = await found(room)

    own = [each for each in faults(checked) if each[0] == "wallet"]
    place = f"table {table.table_id}, version {table.version} "
    hand = f", hand {table.hand_ids[-1]}, seat "
    first = next(each for each in checked if not each.holds)
    assert own == []
    assert first.name == "seats"
    assert first.where.startswith(place)
    assert hand in first.where
    assert first.where.endswith((f"seat {giver.number}", f"seat {taker.number}"))
    assert f"at ledger version {version}" in first.detail or "the ledger posted" in first.detail


async def test_a_changed_balance_is_named_by_its_account_and_entry(room, prepared):
    table = await a_table(room)
    await room.caught_up()
    async with owner_of(prepared, is_kept=True) as owner:
        row = await owner.fetchrow(
            "update account set balance = balance + 9 where owner = $1 returning *", table.seats[0].player
        )

    checked = await found(room)

    by_wallet = next(each for each in checked if each.name == "balances")
    by_feeds = next(each for each in checked if each.name == "accounts")
    assert not by_wallet.holds
    assert by_wallet.account_id == str(row["account_id"])
    assert by_feeds.where.startswith(f"{by_wallet.where} ")
    assert f"the wallet says {row['balance']}" in by_feeds.detail


async def test_chips_moved_in_a_tables_name_for_nothing_are_named(room, prepared):
    table = await a_table(room)
    await room.caught_up()
    giver, taker = sorted(table.seats, key=lambda seat: -seat.stack)[:2]
    accounts = [escrow_account(seat.sitting).account_id for seat in (giver, taker)]
    async with owner_of(prepared, is_kept=True) as owner:
        version = await forge(owner, *accounts, 1, f"table/{table.table_id}/2")

    checked = await found(room)

    wheres = [each.where for each in checked if each.name == "seats" and not each.holds]
    assert f"ledger version {version}" in wheres


def test_the_command_exits_with_1_and_names_the_event(monkeypatch, capsys):
    checked = [
        Checked("wallet", "sum", holds=True, detail="12 looked at"),
        Checked(
            "feeds", "seats", holds=False, detail="the hand brought 5, the ledger posted 4", where="table t, seat 3"
        ),
    ]
    monkeypatch.setattr(command, "as_operator", lambda *_: checked)

    with pytest.raises(command.typer.Exit) as ended:
        command.run()
    told = capsys.readouterr().out
    with pytest.raises(command.typer.Exit):
        command.run(as_json=True)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert ended.value.exit_code == 1
    assert "FAULT  seats: table t, seat 3: the hand brought 5, the ledger posted 4" in told
    assert [line["holds"] for line in lines] == [True, False]
