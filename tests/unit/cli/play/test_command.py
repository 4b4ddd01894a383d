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


def test_where_no_house_runs_it_is_said_how_to_start_one(tmp_path):
    code, output = said("--data", str(tmp_path / "nowhere"))
    assert code == 2
    assert "start one with" in " ".join(output.replace("│", " ").split())
