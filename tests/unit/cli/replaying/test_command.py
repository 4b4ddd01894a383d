"""``diwan replay``: options, files, terminals (P10, S4)."""

from __future__ import annotations

import io
import json

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from diwan.chassis.access import Role
from diwan.cli.replaying import command
from diwan.cli.replaying.command import Told, as_builtins, chosen, drawing, wanted_hand
from diwan.cli.replaying.story import ReplayFailedError, story_of
from diwan.cli.replaying.telling import Teller
from tests.unit.cli.replaying.answers import answer, hand

HAND = "7f0c4a52-95b4-5b52-9b0e-3a4f5d6c7b8a"


def run(*arguments, told=None, monkeypatch=None, stdin=""):
    app = typer.Typer()
    app.command()(command.replay)
    if told is not None:

        async def asked(wanted, *_):
            told.wanted = wanted
            stories = [
                story_of(answer("spectator" if lens.eyes == "spectator" else str(lens.seat))) for lens in wanted.lenses
            ]
            return Told(stories[0], stories[1] if len(stories) > 1 else None)

        monkeypatch.setattr(command, "_asked", asked)
        monkeypatch.setattr(command, "access", lambda *_: ("nowhere", None))
    return CliRunner().invoke(app, [HAND, *arguments], env={"DIWAN_TOKEN": ""}, input=stdin)


class Noted:
    wanted = None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--as", "dealer"], "public, auditor, own or a seat"),
        (["--beside", "dealer"], "public, auditor, own or a seat"),
        (["--as", "auditor"], "says why"),
        (["--as", "3"], "says why"),
        (["--beside", "3"], "says why"),
        (["--as", "own"], "whose --token it is"),
        (["--street", "fourth"], "one of preflop"),
        (["--lang", "fr"], "en or ar"),
        (["--by", "bot:me"], "not a name"),
        (["--address", "127.0.0.1:1"], "a token is needed"),
        (["--data", "/nowhere/at/all"], "no stack runs"),
    ],
)
def test_bad_options_are_told_clearly(arguments, words):
    outcome = run(*arguments)
    assert outcome.exit_code == 2
    assert words in " ".join(outcome.output.replace("│", " ").split())


def test_operators_look_through_seats_auditors_through_all_and_the_record_has_a_name():
    wanted = wanted_hand(HAND, "3", "auditor", "dispute", "C-1", "amal")
    assert [each.role for each in wanted.lenses] == [Role.OPERATOR, Role.AUDITOR]
    assert (wanted.looker, wanted.reason, wanted.case_id) == ("amal", "dispute", "C-1")
    assert wanted_hand(HAND, "public", "", "", "", "").looker


def test_through_a_pipe_it_is_the_whole_text(monkeypatch):
    outcome = run(told=Noted, monkeypatch=monkeypatch)
    assert outcome.exit_code == 0
    story = story_of(answer())
    assert all(f"version {step.version}  " in outcome.output for step in story.steps)


def test_a_street_a_moment_and_a_second_lens_are_picked(monkeypatch):
    story = story_of(answer())
    outcome = run("--step", "2", told=Noted, monkeypatch=monkeypatch)
    assert outcome.output.count("version ") == 1 + outcome.output.count("at version ")
    assert f"[2/{len(story.steps)}]" in outcome.output
    seat = str(hand().table.core[hand().start()].seats[0].seat)
    outcome = run("--as", seat, "--beside", "public", "--reason", "x", told=Noted, monkeypatch=monkeypatch)
    assert f"-- seat {seat}" in outcome.output
    assert "-- spectators" in outcome.output
    outcome = run("--street", "setting", told=Noted, monkeypatch=monkeypatch)
    assert outcome.exit_code == 1
    assert "no such moment" in outcome.output


def test_words_from_a_pipe_walk(monkeypatch):
    outcome = run("--walk", told=Noted, monkeypatch=monkeypatch, stdin="next\nlast\nquit\n")
    story = story_of(answer())
    assert outcome.output.count(f"/{len(story.steps)}]") == 3
    assert f"[{len(story.steps)}/" in outcome.output


def test_json_names_cards_and_leaves_unknown_ones_null(monkeypatch):
    seat = hand().table.core[hand().start()].seats[0].seat
    outcome = run(
        "--json", "--as", str(seat), "--reason", "x", "--beside", "public", told=Noted, monkeypatch=monkeypatch
    )
    made = json.loads(outcome.output)
    cards = {each["seat"]: each["cards"] for each in made["steps"][0]["seats"]}
    assert None not in cards[seat]
    assert all(found == [None, None] for other, found in cards.items() if other != seat)
    assert made["beside"]["lens"] == "spectator"
    assert made["moments_in_all"] == len(made["steps"])
    assert {"version", "kind", "seat", "what", "decided_by", "time_left_ms", "hash"} == set(
        made["steps"][0]["happened"][0]
    )


def test_a_wide_terminal_shows_two_lenses_beside_each_other_and_a_narrow_one_below():
    seat = str(hand().table.core[hand().start()].seats[0].seat)
    told = Told(story_of(answer(seat)), story_of(answer()))
    for width, is_wide in ((160, True), (80, False)):
        out = io.StringIO()
        console = Console(file=out, force_terminal=True, width=width, color_system=None)
        console.print(drawing(told, told.story.steps[0], Teller(), width))
        lines = out.getvalue().splitlines()
        assert any(f"seat {seat}" in line and "spectators" in line for line in lines) == is_wide


def test_a_moment_that_is_not_there_is_told_so():
    story = story_of(answer())
    with pytest.raises(ReplayFailedError, match=f"it has {len(story.steps)}, of"):
        chosen(story, "", len(story.steps) + 1)


def test_json_of_some_moments_holds_those_alone():
    story = story_of(answer())
    made = as_builtins(Told(story, story), story.steps[1:2])
    assert [step["number"] for step in made["steps"]] == [2]
    assert [step["number"] for step in made["beside"]["steps"]] == [2]
