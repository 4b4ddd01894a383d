"""The second implementation, written from the reference pages alone, agrees with ours on honest and on forged bundles."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.verifier.games import GAMES
from tests.unit.verifier.registers import WITNESSES, log_key
from tests.unit.verifier.test_bundle_mutations import FORGERIES, Case
from tests.unit.verifier.test_bundles import hands_of, house_of, small_bundle

SCRIPT = Path(__file__).parents[3] / "docs" / "auditing" / "independent_check.py"
LOGS = [log_key(feed_id).verifier.text for feed_id in (1, 2)]
WITNESS_KEYS = [key.verifier.text for key in WITNESSES.values()]

BETTING = {
    "a_decision_comes_after_its_deadline",
    "the_clock_decides_too_early",
    "the_room_decides_for_somebody_who_stays",
    "a_late_decision_is_called_an_operators",
    "a_deadline_is_shortened",
    "a_batch_is_split_over_two_commands",
    "rules_are_named_that_nobody_knows",
}
"""What is only seen by whoever knows the rules of betting and the clock, which the script does not (it says so)."""


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("independent_check", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_imports_nothing_of_ours():
    imported = set()
    for node in ast.walk(ast.parse(SCRIPT.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {name.name.split(".")[0] for name in node.names}
        if isinstance(node, ast.ImportFrom):
            imported.add(node.module.split(".")[0])
    assert imported - set(sys.stdlib_module_names) == {"cryptography"}


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("lens", ["public", "auditor", "seat"])
def test_it_agrees_on_honest_bundles(script, game, lens):
    for seed in range(4):
        house = house_of(game, seed)
        for hand_id in hands_of(house):
            table = next(iter(house.tables.values()))
            started = next(event for event in table.core if getattr(event, "hand_id", "") == hand_id)
            seat = started.seats[0].seat if lens == "seat" else None
            script.check(house.bundle(hand_id, lens=lens, seat=seat), LOGS, WITNESS_KEYS, 2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.bundle", "--log", LOGS[0]], "none.bundle"),
        (["none.bundle"], "--log KEY"),
        (["none.bundle", "--log", "nonsense"], "not a key, NAME+ID+KEY: nonsense"),
        (["none.bundle", "--log", LOGS[0], "--witness", WITNESS_KEYS[0][:-4]], "has another id"),
    ],
)
def test_it_says_nothing_of_a_bundle_that_it_was_not_given_with_keys(script, monkeypatch, capsys, arguments, said):
    monkeypatch.setattr(sys, "argv", ["independent_check.py", *arguments])
    with pytest.raises(SystemExit) as ended:
        script.main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


HOLDEM = [name for name, one in FORGERIES.items() if "holdem" in one.games]


@pytest.mark.parametrize("name", HOLDEM[::3])
def test_it_agrees_on_forged_bundles(script, name):
    agree(script, name)


@pytest.mark.soak
@pytest.mark.parametrize("name", HOLDEM)
def test_it_agrees_on_every_kind_of_forged_bundle(script, name):
    agree(script, name)


def agree(script, name):
    """All that the page of the script claims is caught by it too; what needs the rules of betting is not, and it says so."""
    for seed in range(40):
        try:
            lines, _ = FORGERIES[name].forge(Case("holdem", seed))
        except (LookupError, StopIteration):
            continue
        if name in BETTING:
            script.check(lines, LOGS, WITNESS_KEYS, 2)
        else:
            with pytest.raises(script.Wrong):
                script.check(lines, LOGS, WITNESS_KEYS, 2)
        return
    pytest.fail("no hand allowed this forgery")


def test_it_runs_as_a_program(tmp_path):
    """Anybody runs it with a file and keys; a flipped byte ends in words, not in a traceback."""
    whole = b"".join(small_bundle())
    keys = [word for key in LOGS for word in ("--log", key)]
    keys += [word for key in WITNESS_KEYS for word in ("--witness", key)] + ["--need", "2"]
    path = tmp_path / "hand.bundle"
    path.write_bytes(whole)
    told = subprocess.run([sys.executable, SCRIPT, path, *keys], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.startswith("verified: 1 hand(s) of house.test, as auditor")
    for offset in range(11, len(whole), len(whole) // 4):
        path.write_bytes(whole[:offset] + bytes((whole[offset] ^ 1,)) + whole[offset + 1 :])
        told = subprocess.run([sys.executable, SCRIPT, path, *keys], capture_output=True, text=True, check=False)
        assert told.returncode == 1
        assert told.stderr.startswith("not verified: ")


def test_flips_are_caught_by_it_too(script):
    whole = b"".join(small_bundle())
    for offset in range(0, len(whole), len(whole) // 60):
        flipped = bytearray(whole)
        flipped[offset] ^= 1
        with pytest.raises((script.Wrong, ValueError, KeyError, TypeError, IndexError, AttributeError)):
            script.check(bytes(flipped).splitlines(keepends=True), LOGS, WITNESS_KEYS, 2)
