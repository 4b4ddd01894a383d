"""Every scenario of a game that the core plays, as FORMAT.md beside this file describes them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from diwan.cli.scenarios import app
from diwan.core.games import GAMES
from diwan.scenarios.runner import run_line, run_paths

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.jsonl"))

HAND = {
    "id": "test/fold",
    "game": "holdem",
    "rules": {"small_blind": 5, "big_blind": 10},
    "stacks": [100, 100],
    "button": 0,
    "hole": {},
    "steps": [{"expect": {"to_act": 0}}, {"seat": 0, "do": "fold"}],
    "end": {"won": [0, 10]},
}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_scenario_of_a_known_game_passes(file):
    reports = [report for report in run_paths([file]) if report.game in {*GAMES, "capsa"}]
    assert [f"{report.id}: {failure}" for report in reports for failure in report.failures] == []


def test_all_holdem_scenarios_are_there():
    assert sum(report.game == "holdem" for report in run_paths(FILES)) == 1570


def test_all_omaha_scenarios_are_there():
    assert sum(report.game == "omaha" for report in run_paths(FILES)) == 20


def test_all_naiko_scenarios_are_there():
    assert sum(report.game == "naiko" for report in run_paths(FILES)) == 63


def test_all_capsa_scenarios_are_there():
    assert sum(report.game == "capsa" for report in run_paths(FILES)) == 27


def test_all_sarab_scenarios_are_there():
    assert sum(report.game == "sarab" for report in run_paths(FILES)) == 64


def failures_of(**changes):
    return [str(failure) for failure in run_line(json.dumps(HAND | changes)).failures]


def test_a_wrong_expectation_is_reported_with_its_step():
    assert failures_of(steps=[{"expect": {"to_act": 1, "pot": 15}}]) == ["step 0: to_act: expected 1, found 0"]


def test_a_wrong_end_is_reported():
    assert failures_of(end={"won": [10, 0]}) == ["end: won: expected [10, 0], found [0, 10]"]


def test_an_end_before_the_hand_is_over_is_reported():
    assert failures_of(steps=[]) == ["end: the hand is not over: expected 'over', found 'preflop'"]


def test_a_refusal_that_nobody_expected_is_reported():
    found = failures_of(steps=[{"seat": 1, "do": "fold"}])
    assert found == ["step 0: refusal: expected 'accepted', found 'NOT_YOUR_TURN seat=1'"]


def test_an_expected_refusal_that_does_not_come_is_reported():
    found = failures_of(steps=[{"seat": 0, "do": "fold", "error": "*"}])
    assert found == ["step 0: refusal: expected '*', found 'accepted'"]


def test_another_reason_than_the_expected_one_is_reported():
    found = failures_of(steps=[{"seat": 0, "do": "check", "error": "HAND_OVER"}])
    assert found == ["step 0: refusal: expected 'HAND_OVER', found 'CHECK_NOT_ALLOWED to_call=5'"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colour": 1}, "unknown key 'colour' in the scenario"),
        ({"steps": [{"seat": 0, "do": "fold", "x": 1}]}, "unknown key 'x' in step 0"),
        ({"steps": [{"expect": {"x": 1}}]}, "unknown key 'x' in step 0"),
        ({"steps": [{"expect": {"legal": {"x": 1}}}]}, "unknown key 'x' in step 0"),
        ({"end": {"x": 1}}, "unknown key 'x' in end"),
        ({"rules": {"x": 1}}, "unknown key 'x' in rules"),
        ({"steps": [{"seat": 0, "do": "jump"}]}, "step 0: do is never 'jump'"),
        ({"steps": [{"seat": 0, "do": "raise"}]}, "step 0: 'to' belongs to a bet or a raise"),
        ({"steps": [{"seat": 0}]}, "step 0 is no step: it has nothing to do"),
        ({"steps": [{"do": "fold"}]}, "step 0 lacks 'seat'"),
        ({"stacks": [100, "x"]}, "stacks: 'x' is no whole number"),
        ({"button": 5}, "button: there is no seat 5"),
        ({"hole": {"0": "AsAs"}}, "cards: As is named twice in 'AsAs'"),
        ({"hole": {"0": "AsKs"}, "deck": "As"}, "cards: one card stands in two places"),
        ({"game": "bridge"}, "unknown game 'bridge'"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(changes, message):
    assert failures_of(**changes) == [f"the scenario: unreadable: {message}"]


def test_a_showdown_with_unknown_cards_is_reported():
    steps = [{"seat": 0, "do": "all_in"}, {"seat": 1, "do": "call"}]
    found = failures_of(steps=steps, end={})
    assert found == ["step 1: the card at position 0 is unknown to the scenario, and it came to a showdown"]


def test_cards_behind_the_prefix_are_not_needed():
    steps = [{"seat": 0, "do": "call"}, {"seat": 1, "do": "check"}, {"seat": 1, "do": "fold"}]
    assert failures_of(steps=steps, end={"won": [20, 0]}, deck="2c") == []


def run_command(tmp_path, *lines, options=()):
    file = tmp_path / "some.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    return CliRunner().invoke(app, ["run", str(file), *options])


def test_the_command_closes_with_one_line_and_succeeds(tmp_path):
    result = run_command(tmp_path, json.dumps(HAND), json.dumps(HAND))
    assert (result.exit_code, result.stdout) == (0, "2 passed, 0 failed\n")


def test_the_command_fails_for_a_difference(tmp_path):
    result = run_command(tmp_path, json.dumps(HAND), json.dumps(HAND | {"end": {"won": [1, 1]}}))
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "1 passed, 1 failed")


@pytest.mark.parametrize("line", ["{", "[]", '{"id": "a"}'])
def test_the_command_fails_for_what_it_cannot_read(tmp_path, line):
    result = run_command(tmp_path, line)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "0 passed, 1 failed")


def test_the_command_fails_for_a_missing_file(tmp_path):
    result = CliRunner().invoke(app, ["run", str(tmp_path / "none.jsonl")])
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "0 passed, 1 failed")


def test_the_command_fails_where_there_is_no_scenario(tmp_path):
    result = run_command(tmp_path, "")
    assert (result.exit_code, result.stdout) == (1, "0 passed, 0 failed\n")


def test_one_game_can_be_chosen(tmp_path):
    lines = [json.dumps(HAND), json.dumps(HAND | {"game": "capsa"})]
    result = run_command(tmp_path, *lines, options=["--game", "holdem"])
    assert (result.exit_code, result.stdout) == (0, "1 passed, 0 failed\n")


def test_json_is_one_object_a_scenario(tmp_path):
    result = run_command(
        tmp_path, json.dumps(HAND), json.dumps(HAND | {"id": "b", "end": {"won": [0, 0]}}), options=["--json"]
    )
    first, second = map(json.loads, result.stdout.splitlines())
    assert first["passed"]
    assert second["failures"] == [{"where": "end", "what": "won", "expected": [0, 0], "found": [0, 10]}]


NAIKO = HAND | {"game": "naiko", "carousel": ["hidden_glance", "sleeve_trick", "short_anchor"]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rules": {"activations_per_round": -1}}, "SETTING_INVALID setting=activations_per_round"),
        ({"rules": {"void_rule": "off"}}, "unknown key 'void_rule' in rules"),
        ({"rules": {"naiko": {}}}, "unknown key 'naiko' in rules"),
        ({"carousel": ["hidden_glance", "luck"]}, "carousel: Invalid enum value 'luck'"),
        ({"destellos": [3]}, "destellos: one number a seat is needed"),
        ({"steps": [{"seat": 0, "power": "sleeve_trick", "discard": 7}]}, "discard in step 0: 7 is no card"),
    ],
)
def test_what_makes_no_sense_in_naiko_is_unreadable(changes, message):
    (failure,) = [str(failure) for failure in run_line(json.dumps(NAIKO | changes)).failures]
    assert failure.startswith("the scenario: unreadable: ")
    assert message in failure


def test_a_naiko_hand_without_destellos_begins_with_the_gain_of_its_deal():
    """C1; a carousel that cannot be begins no hand."""
    steps = [{"expect": {"destellos": [1, 1]}}, {"seat": 0, "do": "fold"}]
    assert [str(each) for each in run_line(json.dumps(NAIKO | {"steps": steps})).failures] == []
    wrong = NAIKO | {"carousel": ["hidden_glance", "sleeve_trick", "seal_shield"]}
    assert "SETTING_INVALID setting=carousel" in str(run_line(json.dumps(wrong)).failures[0])
