"""``diwan phh check`` at the command line."""

import json

from typer.testing import CliRunner

from diwan.cli.main import app
from tests.unit.phh.histories import OMAHA, SHOWDOWN, with_field


def run(*arguments):
    return CliRunner().invoke(app, ["phh", *map(str, arguments)])


def test_check_counts_agreeing_hands_of_files_and_folders(tmp_path):
    (tmp_path / "deeper").mkdir()
    (tmp_path / "one.phh").write_text(SHOWDOWN)
    (tmp_path / "deeper" / "two.phhs").write_text(
        f"[1]{SHOWDOWN}\n[2]{OMAHA}\n[3]{with_field(OMAHA, 'variant', "'FB'")}"
    )
    (tmp_path / "no history.txt").write_text("nothing")

    done = run("check", tmp_path, tmp_path / "one.phh")

    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1] == "4 hands agree, 0 differ, 1 not covered"


def test_check_names_what_differs_and_fails(tmp_path):
    path = tmp_path / "many.phhs"
    path.write_text(f"[1]{SHOWDOWN}\n[2]{with_field(SHOWDOWN, 'finishing_stacks', '[1, 2, 497]')}")

    done = run("check", path)

    assert done.exit_code == 1
    assert (
        f"{path}[2]: finishing_stacks of p1: another amount, history [1, 2, 497], rules [238, 198, 64]" in done.stdout
    )
    assert done.stdout.splitlines()[-1] == "1 hands agree, 1 differ, 0 not covered"


def test_check_tells_every_hand_as_json(tmp_path):
    path = tmp_path / "many.phhs"
    path.write_text(f"[1]{SHOWDOWN}\n[2]{with_field(SHOWDOWN, 'finishing_stacks', '[1, 2, 497]')}")

    done = run("check", "--json", path)

    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["hand"], one["verdict"]) for one in told] == [(f"{path}[1]", "agrees"), (f"{path}[2]", "differs")]


def test_check_fails_where_nothing_is_found_or_can_be_read(tmp_path):
    (tmp_path / "broken.phh").write_text("variant = ")

    assert run("check", tmp_path / "none").exit_code == 1
    assert run("check", tmp_path).exit_code == 1
    (tmp_path / "broken.phh").unlink()
    assert run("check", tmp_path).exit_code == 1
