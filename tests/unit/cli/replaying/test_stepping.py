"""Walking through a story by words and by keys."""

from __future__ import annotations

import os
import pty
import termios

import pytest

from diwan.cli.replaying.stepping import KEYS, Keys, Walk, asked_number, single_keys, walk_by_keys, walk_by_words
from diwan.cli.replaying.story import story_of
from tests.unit.cli.replaying.answers import answer, hand


@pytest.fixture(scope="module")
def steps():
    """A hand that came to its river."""
    for seed in range(100, 140):
        found = story_of(answer(insider=hand(seed, 1))).steps
        if {"preflop", "flop", "turn", "river"} <= {step.street for step in found}:
            return found
    raise AssertionError("no hand of these came to its river")


def test_next_and_back_stop_at_the_ends(steps):
    walk = Walk(steps)
    assert not walk.go("back")
    assert walk.go("next")
    assert walk.step is steps[1]
    assert walk.go("last")
    assert not walk.go("next")
    assert walk.go("first")
    assert walk.at == 0


def test_streets_are_gone_to_in_order_and_by_name(steps):
    walk, seen = Walk(steps), ["preflop"]
    while walk.go("street"):
        seen.append(walk.step.street)
        assert steps[walk.at - 1].street != walk.step.street
    assert seen[:4] == ["preflop", "flop", "turn", "river"]
    while walk.go("before"):
        pass
    assert walk.at == 0
    assert walk.go("street", "turn")
    assert walk.step.street == "turn"
    assert not walk.go("street", "declaring")


def test_going_before_comes_to_where_the_street_begins_first(steps):
    walk = Walk(steps)
    walk.go("street", "turn")
    begins = walk.at
    if steps[begins + 1].street == "turn":
        walk.go("next")
        assert walk.go("before")
        assert walk.at == begins
    assert walk.go("before")
    assert walk.step.street == "flop"
    assert steps[walk.at - 1].street == "preflop"


def test_a_version_is_found_in_the_moment_that_it_belongs_to(steps):
    walk = Walk(steps)
    for at, step in enumerate(steps):
        for each in step.happened:
            walk.go("version", str(each.version))
            assert walk.at == at
    for nonsense in ("", "x", str(steps[0].happened[0].version - 1), str(steps[-1].version + 1), "-4"):
        assert not walk.go("version", nonsense)


def test_words_from_a_pipe_show_each_place_and_nonsense_is_answered(steps):
    shown, said = [], []
    lines = iter(["next", "", "nothing", "version 1", "e", "g", "q", "first"])
    walk_by_words(Walk(steps), lines, shown.append, said.append, "the words", "no such")
    assert shown == [steps[0], steps[1], steps[2], steps[-1], steps[0]]
    assert said == ["the words", "no such"]


def test_keys_do_the_same(steps):
    shown, said = [], []
    keys = iter([b"\n", b"\x1b[C", b"b", b"x", b"?", b"s", b"v", b"v", b"G", b"\x1b[H", b"q"])
    numbers = iter([str(steps[3].version), "1"])
    texts = {"keys": "the keys", "no_such": "no such"}
    walk_by_keys(Walk(steps), lambda: next(keys), shown.append, said.append, lambda: next(numbers), texts)
    street = next(step for step in steps if step.street == "flop")
    assert shown == [steps[0], steps[1], steps[2], steps[1], street, steps[3], steps[-1], steps[0]]
    assert said == ["the keys", "the keys", "no such"]


def test_the_end_of_the_keyboard_ends_the_walk():
    assert KEYS[b""] == KEYS[b"\x04"] == KEYS[b"\x03"] == "quit"


def test_a_terminal_gives_single_keys_and_is_as_before_afterwards():
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    with pytest.raises(RuntimeError), single_keys(theirs) as read_key:  # noqa: PT012  (both halves are one story)
        os.write(ours, b"n")
        assert read_key() == b"n"
        raise RuntimeError
    assert termios.tcgetattr(theirs) == before
    os.close(ours)
    os.close(theirs)


def test_keys_come_one_by_one_however_fast_they_are_typed():
    chunks = iter([b"nn\x1b[C\x1b[6~q", b"v", b"12\n", b"\x1b", b""])
    keys = Keys(lambda: next(chunks))
    assert [keys() for _ in range(10)] == [b"n", b"n", b"\x1b[C", b"\x1b[6~", b"q", b"v", b"1", b"2", b"\n", b"\x1b"]
    assert keys() == b""


def test_a_number_is_typed_digit_by_digit(capsys):
    keys = iter([b"1", b"2", b"x", b"\x7f", b"4", b"\n"])
    assert asked_number(lambda: next(keys), "version: ") == "14"
    keys = iter([b"1", b"\x1b"])
    assert asked_number(lambda: next(keys), "version: ") == ""
    assert capsys.readouterr().out.startswith("version: 12")
