"""The page for who answers a complaint, every command of it tried at a real house, in the order in which it stands there."""

import asyncio
import json
import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

from diwan.chassis.access import Role
from diwan.cli.main import app
from diwan.client import connect
from tests.integration.stack.typing_at import Typist

PAGE = Path(__file__).parents[3] / "docs/operating/replay.md"
COMMANDS = [
    line.removeprefix("diwan ")
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
BLINDS = {"small_blind": 5, "big_blind": 10}


async def a_hand(house):
    """Amal plays a hand with bots to its end and leaves; returns its id and Amal's seat."""
    async with connect(house.places.services, house.token("test", Role.OPERATOR)) as operator:
        table = await operator.tables.create(
            {"name": "Complaints", "seats": 3, "bots_fill": 2, "pause_ms": 500, "hand": BLINDS}
        )
        async with connect(house.places.services, house.token("amal", Role.PLAYER)) as client:
            await client.wallet.open_account()
            await client.tables.sit_down(table.table_id, 200, post_at_once=True)
            async with asyncio.timeout(60), client.tables.play(table.table_id) as seat:
                async for _ in seat:
                    view = seat.table
                    if (decision := seat.decision) is not None:
                        kind = "check" if decision.can_check else "call" if decision.can_call else "fold"
                        await seat.act(decision.turn, kind)
                    is_over = view is not None and view.hand.hand_id and view.hand.street == 5
                    if is_over and any(each.player == "amal" and each.in_hand for each in view.seats):
                        break
            found = view.hand.hand_id, seat.seat
            await client.tables.stand_up(table.table_id)
        await operator.tables.close(table.table_id)
        async with asyncio.timeout(20):
            while found[0] not in [hand.hand_id async for hand in operator.audit.find_hands({"players": ["amal"]})]:  # noqa: ASYNC110  (another process knows when)
                await asyncio.sleep(0.05)
    return found


def test_every_command_of_the_page_answers_a_complaint(open_house):
    hand, seat = asyncio.run(a_hand(open_house))
    told = {}
    for command in COMMANDS:
        words = shlex.split(command.replace("HAND", hand).replace("SEAT", str(seat)).replace("flop", "preflop"))
        outcome = CliRunner().invoke(app, [*words, "--data", str(open_house.layout.root)])
        assert outcome.exit_code == 0, (command, outcome.output)
        told[command] = outcome.output
    assert len(told) >= 12
    finding = [output for command, output in told.items() if command.startswith(("find", "tables"))]
    assert all(hand in output for output in finding), "the hand is found by each way"
    public = told["replay HAND --text"]
    assert public == told["replay HAND"]
    assert "[1/" in public
    assert "??" in public
    assert "Refused requests" in public
    own = told['replay HAND --text --as SEAT --reason "complaint 4711" --case 4711']
    assert "event " in own
    assert next(line for line in own.splitlines() if line.strip().startswith(f"{seat} ")).count("??") == 0
    looked = CliRunner().invoke(app, ["find", "--flag", "looked-at", "--data", str(open_house.layout.root)])
    assert looked.exit_code == 0
    looks = [json.loads(line) for line in told["looks HAND --own --json"].splitlines()]
    assert {(one["hand"], one["reason"], one["case"]) for one in looks if not one["own"]} == {
        (hand, "complaint 4711: says the pot was wrong", "4711"),
        (hand, "complaint 4711", "4711"),
        (hand, "complaint 4711, for the auditor", "4711"),
    }
    assert told["looks HAND"].count("complaint 4711") == len([one for one in looks if not one["own"]])
    walk_through(open_house, hand, seat)


def walk_through(house, hand, seat):
    """A clerk at a terminal: on, back, to the end, to a version, out; two lenses beside each other."""
    lenses = ("--as", str(seat), "--beside", "public", "--reason", "complaint 4711")
    with Typist(house.layout.root, hand, *lenses, command="replay") as clerk:
        clerk.until(r"\[1/(\d+)\] version \d+")
        clerk.until("spectators")
        clerk.until("q quit")
        clerk.press("n")
        clerk.until(r"\[2/")
        clerk.press("b")
        clerk.until(r"\[1/")
        clerk.press("e")
        clerk.until(r"Refused requests")
        clerk.press("v")
        clerk.until("version: ")
        clerk.press("1\n")
        clerk.until("there is no such moment")
        clerk.press("q")
        assert clerk.ended() == 0
