"""`diwan play` before anybody sits: what cannot be is said clearly."""

import pytest
from typer.testing import CliRunner

from diwan.cli.main import app


def said(*arguments):
    done = CliRunner().invoke(app, ["play", *arguments], env={"COLUMNS": "200"})
    return done.exit_code, done.output


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--game", "chess"], "chess is not played here: holdem, omaha, naiko, sarab, capsa"),
        (["--lang", "fr"], "fr is not spoken here: en, ar"),
    ],
)
def test_a_game_or_a_language_that_there_is_not_is_named(arguments, text):
    code, output = said(*arguments)
    assert code == 2
    assert text in " ".join(output.replace("│", " ").split())


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["play", "some-table", "--tournament", "spin"], "either a table or a tournament"),
        (["tables", "open", "X", "--game", "chess"], "chess is not played here: holdem, omaha, naiko, sarab, capsa"),
        (["tournaments", "list", "--kind", "spinn"], "spinn is none of sit_and_go, spin, scheduled"),
        (["tournaments", "list", "--game", "capsa"], "capsa is none of holdem, omaha, naiko, sarab"),
    ],
)
def test_what_there_is_not_is_answered_with_what_there_is(arguments, text):
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert text in " ".join(done.output.replace("│", " ").split())


def test_arabic_in_a_terminal_that_cannot_write_it_is_refused_with_the_way_out():
    runner = CliRunner(charset="ascii")
    done = runner.invoke(app, ["play", "--lang", "ar"], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert "use a UTF-8 locale" in done.output


def test_where_no_house_runs_it_is_said_how_to_start_one(tmp_path):
    code, output = said("--data", str(tmp_path / "nowhere"))
    assert code == 2
    assert "start one with" in " ".join(output.replace("│", " ").split())
