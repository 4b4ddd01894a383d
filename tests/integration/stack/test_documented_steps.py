"""The page for who writes a client, run from top to bottom against a real house, and then at a table of every game."""

import ast
import asyncio
import inspect
import re
from pathlib import Path

from diwan.chassis.access import Role
from diwan.client import connect
from diwan.client.messages import TableFilter

PAGE = Path(__file__).parents[3] / "docs/coding/step-by-step.md"
STEPS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
LEAVES = next(number for number, step in enumerate(STEPS) if "stand_up" in step)
BLINDS = {"small_blind": 5, "big_blind": 10}
GAMES = {
    "holdem": {"hand": {"game": "holdem", **BLINDS}},
    "omaha": {"hand": {"game": "omaha", "limit": "pot_limit", **BLINDS}},
    "naiko": {"hand": {"game": "naiko", **BLINDS}},
    "sarab": {"hand": {"game": "sarab", "big_blind": 10}},
    "capsa": {"capsa": {"unit": 10}},
}
QUICK = {"seats": 4, "bots_fill": 3, "pause_ms": 500}


async def run(step, names):
    """Run a block as ``python -m asyncio`` does: what it names stays for the next one."""
    code = compile(step, str(PAGE), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    done = eval(code, names)  # noqa: S307  (our own page)
    if inspect.isawaitable(done):
        await done


async def in_the_lobby(operator, table_ids):
    """Wait until the lobby tells of the tables, each with a free seat: it may be some tenths of a second old."""
    wanted = TableFilter(free_seats_min=1)
    async with asyncio.timeout(20):
        while not table_ids <= {line.table_id async for line in operator.tables.lobby(wanted)}:  # noqa: ASYNC110  (another process knows when)
            await asyncio.sleep(0.05)


async def read_through(house, names):
    async with connect(house.places.services, house.token("test", Role.OPERATOR)) as operator:
        opened = [await operator.tables.create({"name": game, **QUICK, **config}) for game, config in GAMES.items()]
        try:
            await in_the_lobby(operator, {table.table_id for table in opened})
            for step in STEPS[:LEAVES]:
                await run(step, names)
            for game, table_id in names["tables"].items():
                if game != "naiko":
                    await sit_and_play(names, table_id)
            for step in STEPS[LEAVES:]:
                await run(step, names)
        finally:
            for table in opened:
                await operator.tables.close(table.table_id)


async def sit_and_play(names, table_id):
    """What the page wrote for one game plays the others."""
    tables = names["client"].tables
    await tables.sit_down(table_id, (await tables.conditions(table_id)).buy_in_min, post_at_once=True)
    own, shown = await names["play_a_hand"](table_id)
    assert own >= 2
    assert shown >= 0
    await tables.stand_up(table_id)


def test_the_page_runs_from_top_to_bottom_and_its_client_plays_every_game(open_house, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path(".data").symlink_to(open_house.layout.root)
    Path("token").write_text(open_house.token("amal", Role.PLAYER) + "\n")
    names = {}

    asyncio.run(read_through(open_house, names))

    assert set(names["tables"]) >= set(GAMES)
    assert names["again"].result.is_replayed
    assert names["reason"] in {"STALE_TURN", "HAND_OVER"}  # whether a hand is being played just then
    told = capsys.readouterr().out
    assert told.startswith("amal\n")
    assert "True" in told
