"""Capsa in the scenario runner, beyond the public file: several hands, clocks, refusals, reserve (FORMAT 'Capsa')."""

import json

import pytest

from diwan.scenarios.runner import run_line

DECK = "AsAhAcKdQsKhKcQh9hJsQd8hJhQc7sTsTd7d8sTc6s8d9c6c8c6h5h7h6d5d5s3h5c4s3d4d3s2c2d"
A = {"front": "KdKc7h", "middle": "JsJh8d8c4s", "back": "AsTs8s5s3s"}
B = {"front": "AhQd9c", "middle": "TdTc6h6d2c", "back": "QsQhQc3h3d"}
C = {"front": "AcKh4d", "middle": "5h5c7d6c2d", "back": "9h8h7s6s5d"}
SETS = [{"seat": seat, "set": rows} for seat, rows in enumerate((A, B, C))]
PLAYS = [{"seat": seat, "declare": "play"} for seat in range(3)]
BASE = {
    "id": "t",
    "game": "capsa",
    "rules": {"unit": 10},
    "stacks": [5000, 5000, 5000],
    "button": 2,
    "deck": DECK,
    "steps": [*SETS, *PLAYS],
    "end": {"payoffs": [60, 0, -60], "stacks": [5060, 5000, 4940], "result": "showdown", "button_next": 0},
}


def failures(**changes):
    scenario = {key: value for key, value in (BASE | changes).items() if value is not None}
    return [str(failure) for failure in run_line(json.dumps(scenario)).failures]


def test_the_plain_hand_passes_and_a_wrong_end_is_found():
    assert failures() == []
    assert failures(end={"units": [5, 0, -5]}) == ["end: units: expected [5, 0, -5], found [6, 0, -6]"]
    assert failures(end={"royalties": {"0": {"front": 1, "middle": 0, "back": 0}}})
    assert failures(end={"pairs": []})


def test_the_course_can_be_looked_at():
    steps = [
        {"expect": {"street": "setting", "to_act": None, "stacks": [5000, 5000, 5000]}},
        *SETS,
        {"expect": {"street": "declaring", "to_act": 0, "hole": {"0": "AsKdKcJsJhTs8d8s8c7h5s4s3s"}}},
        *PLAYS,
        {"expect": {"street": "over", "to_act": None}},
    ]
    assert failures(steps=steps) == []


def test_hands_follow_each_other_with_stacks_and_button():
    """CS-3: the button moves one seat clockwise."""
    first = {"deck": DECK, "steps": BASE["steps"], "end": BASE["end"]}
    # The same cards go one seat further with the button on seat 0.
    second = {
        "deck": DECK,
        "start": {"button": 0, "stacks": [5060, 5000, 4940]},
        "steps": [
            *[{"seat": (seat + 1) % 3, "set": rows} for seat, rows in enumerate((A, B, C))],
            *[{"seat": seat, "declare": "play"} for seat in (1, 2, 0)],
        ],
        "end": {"payoffs": [-60, 60, 0], "stacks": [5000, 5060, 4940], "button_next": 1},
    }
    plain = {key: value for key, value in BASE.items() if key not in {"deck", "steps", "end"}}
    assert [str(f) for f in run_line(json.dumps(plain | {"hands": [first, second]})).failures] == []
    second["end"]["payoffs"] = [0, 0, 0]
    assert [f.where for f in run_line(json.dumps(plain | {"hands": [first, second]})).failures] == ["hand 1, end"]


def test_a_seat_without_the_reserve_is_dealt_out_between_hands():
    """CS-65: two players get the cards; the third keeps its chips."""
    assert failures(
        stacks=[5000, 279, 5000],
        deck="AsAcKdKhKc9hJs8hJh7sTs6s8d4d8s5h8c5c7h7d5s6c4s2d3s5d",
        steps=[SETS[0], SETS[2], PLAYS[0], PLAYS[2], {"seat": 1, "declare": "play", "error": "HAND_OVER"}],
        end={"payoffs": [40, 0, -40], "stacks": [5040, 279, 4960], "button_next": 0},
    ) == []  # fmt: skip


@pytest.mark.parametrize("named", [[0], [0, 1, 2], [2]])
def test_the_setting_clock_may_be_named_by_one_late_seat_or_by_all(named):
    """CS-21, CS-28: it is one clock for all."""
    late = [{"timeout": seat} for seat in named]
    assert failures(steps=[*late, {"expect": {"street": "declaring"}}, *PLAYS], end={"status": {"0": "set"}}) == []
    assert failures(steps=[SETS[0], *[{"timeout": 1}, {"timeout": 2}], *PLAYS], end={}) == []


def test_the_clock_answers_play_and_ends_a_hand_without_answers():
    """CS-31."""
    late = [{"timeout": seat} for seat in range(3)]
    assert failures(steps=[*SETS, {"timeout": 1, "error": "NOT_ASKED"}, *late]) == []
    rules = {"unit": 10, "surrender": {"allowed": False}, "timeout_policy": "foul"}
    assert failures(steps=[SETS[0], SETS[1], {"timeout": 2}], rules=rules, end={"payoffs": [60, 20, -80]}) == []
    assert failures(steps=[SETS[0], {"timeout": 1}], rules=rules, end={"status": {"2": "fouled"}}) == []


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([{"seat": 0, "set": {**A, "front": "KdKc"}}], "BAD_SET"),
        ([{"seat": 0, "set": {**A, "front": "KdKcAh"}}], "BAD_SET"),
        ([{"seat": 0, "set": {**A, "front": "KdKdKc"}}], "BAD_SET"),
        ([{"seat": 0, "set": {"front": "AsTs8s", "middle": "JsJh8d8c4s", "back": "KdKc7h5s3s"}}], "FOULED_SET"),
        ([SETS[0], SETS[0]], "ALREADY_LOCKED"),
        ([*SETS, SETS[1]], "ALREADY_LOCKED"),
        ([{"seat": 4, "set": A}], "NOT_ASKED"),
        ([PLAYS[0]], "NOT_ASKED"),
        ([*SETS, PLAYS[1]], "NOT_ASKED"),
        ([*SETS, *PLAYS, PLAYS[0]], "HAND_OVER"),
        ([*SETS, *PLAYS, {"seat": 0, "do": "fold"}], "HAND_OVER"),
        ([*SETS, *PLAYS, {"timeout": 0}], "HAND_OVER"),
    ],
)
def test_refusals_have_their_reasons(steps, reason):
    *before, last = steps
    assert failures(steps=[*before, {**last, "error": reason}], end=None) == []
    assert failures(steps=[*before, {**last, "error": "SEAT_TAKEN"}])[0].startswith(f"step {len(before)}: refusal")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rules": {"units": 10}}, "unknown key 'units' in rules"),
        ({"rules": {"unit": 0}}, "SETTING_INVALID setting=unit"),
        ({"rules": {"royalties": {"back": {"pair": 1}}}}, "unknown field `pair`"),
        ({"steps": [{"seat": 0, "set": {"front": "Xx"}}]}, "'Xx' is no row of cards"),
        ({"steps": [{"seat": 0, "set": {"top": "As"}}]}, "unknown key 'top' in set"),
    ],
)
def test_what_cannot_be_read_is_said(changes, message):
    [failure] = failures(**changes)
    assert message in failure
