"""`diwan demo` as a command: every line that it promises, and its exit status (README "Two commands")."""

import os
import re
import signal
import subprocess
import sys
from functools import partial

import asyncpg
import pytest
from typer.testing import CliRunner

from diwan.cli.demo import command, floor
from diwan.cli.main import app
from diwan.cli.stack.stack import superuser_database_url
from diwan.core.hand.events import HandEnded, HandStarted
from diwan.wire.events import decode

pytestmark = pytest.mark.timeout(240)

WIDE = {"COLUMNS": "200"}
CHECKS = (
    r"every hand replayed from its log to its digest: \d+ hands, \d+ events",
    r"every act decided again by the rules: \d+ acts",
    r"every commitment and shown card proved: \d+ cards",
    r"ledger sums to zero and every seat's escrow is its stack: \d+ escrows at 2 moments",
    r"the bus copy read back equals the store: \d+ messages of 3 feeds",
    r"the independent audit agrees: \d+ hands verified",
    r"every event is in the register, under a witness's signature: \d+ events in 2 logs",
)


@pytest.fixture(autouse=True)
def _own_signals(monkeypatch):
    """The command sets handlers for a process of its own; this one goes on after it."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)


def test_the_demo_plays_checks_tells_a_hand_and_ends_well():
    result = CliRunner().invoke(app, ["demo", "--hands", "12", "--tables", "4"], env=WIDE)

    assert result.exit_code == 0, result.output
    for check in CHECKS:
        assert re.search("holds  " + check, result.output), check
    for game in ("hold'em", "Omaha", "Naiko", "Sarab"):
        assert re.search(rf"  {game} +([3-9]|\d\d+) hands, \d+ actions", result.output), game
    assert "One hand, step by step:" in result.output
    assert int(re.search(r"(\d+) hands, \d+ acts; played at", result.output)[1]) >= 12
    assert "Everything holds." in result.output
    assert "FAULT" not in result.output


FLOOR_CHECKS = (
    r"every decision of the floor made again from its log: \d+ decisions of 3 tournaments",
    r"every draw recomputed from the secret committed to: \d+ draws",
    r"replay of each log equals what was told live: \d+ views of 3 tournaments",
    r"prizes paid are those of the places, exact to the chip: \d+ prizes",
    r"the pools' statements are the tournaments' payments, and the pools are empty: \d+ transfers of 3 pools",
    r"the ledger sums to zero, and tournament chips never touch it: no escrow was opened",
    r"the independent audit verified every tournament: 3 tournaments",
)


def test_the_demo_of_tournaments_plays_three_to_paid_prizes_checks_and_ends_well(monkeypatch):
    """TR-1 to TR-3: as people call it, but with an evening of two tables and short levels."""
    monkeypatch.setattr(floor, "scheduled", partial(floor.scheduled, players=12, level_ms=1_000))

    result = CliRunner().invoke(app, ["demo", "--tournaments"], env=WIDE)

    assert result.exit_code == 0, result.output
    for check in FLOOR_CHECKS:
        assert re.search("holds  " + check, result.output), check
    for name in (
        r"Sit & Go: 6 entries, pool 600",
        r"Spin: 3 entries, pool \d+, multiplier \d+x",
        r"Evening: 12 entries",
    ):
        assert re.search(name, result.output), name
    assert "Everything holds." in result.output
    assert "FAULT" not in result.output


@pytest.mark.soak
def test_the_demo_of_tournaments_takes_less_than_two_minutes():
    """The whole command as it is shipped, four tables, in a process of its own."""
    program = "from diwan.cli.entry import main; main()"
    asked = [sys.executable, "-c", program, "demo", "--tournaments"]

    result = subprocess.run(asked, capture_output=True, text=True, timeout=120, env=os.environ | WIDE, check=False)

    assert result.returncode == 0, result.stdout + result.stderr
    assert "Evening: 24 entries" in result.stdout
    assert "Everything holds." in result.stdout


async def flip_a_byte(spoiled, stack):
    """Flip the last byte of the first hand's end, as only the database's superuser could; note which hand that is."""
    connection = await asyncpg.connect(superuser_database_url(stack.places, "diwan_table"))
    await connection.execute("set session_replication_role = replica")
    rows = await connection.fetch("select * from event order by stream_id, version")
    for row in rows:
        event = decode(row["type_id"], row["schema_v"], row["body"]).event
        if isinstance(event, HandStarted):
            hand_id = event.hand_id
        if isinstance(event, HandEnded):
            body = bytes([*row["body"][:-1], row["body"][-1] ^ 1])
            place = (row["stream_id"], row["version"])
            await connection.execute("update event set body = $3 where stream_id = $1 and version = $2", *place, body)
            spoiled.append(hand_id)
            break
    await connection.close()


def test_a_spoiled_house_ends_with_1_and_names_the_hand(monkeypatch):
    spoiled = []
    spoiling = partial(command.run_demo, before_checks=partial(flip_a_byte, spoiled))
    monkeypatch.setattr(command, "run_demo", spoiling)

    result = CliRunner().invoke(app, ["demo", "--hands", "4", "--tables", "1"], env=WIDE)

    assert result.exit_code == 1, result.output
    assert "FAULT  every hand replayed from its log to its digest" in result.output
    assert f"hand {spoiled[0]}: " in result.output
    assert "Everything holds." not in result.output
