"""A story as text: complete, the same every time, and with every phrase in both languages."""

from __future__ import annotations

import re
import string
from pathlib import Path

import diwan.cli.replaying
from diwan.cli.replaying.story import story_of
from diwan.cli.replaying.telling import _catalogue, positions_text, story_lines
from tests.unit.cli.replaying.answers import answer, hand


def text(lens="spectator", beside=None, **options):
    other = None if beside is None else story_of(answer(beside))
    return "\n".join(story_lines(story_of(answer(lens)), other, **options))


def test_a_ticket_holds_every_event_of_the_hand_and_is_the_same_every_time():
    story = story_of(answer())
    told = text()
    for step in story.steps:
        assert f"version {step.version}  " in told
        for each in step.happened:
            assert each.what in told
    assert told == text()
    assert story.hand_id in told
    assert told.splitlines()[0].endswith("as spectators saw it")
    assert "Refused requests: none" in told


def test_a_ticket_says_who_was_waited_for_and_who_knew_what():
    told = text()
    assert "waiting for seat" in told
    assert "positions known to everybody: -; seat" in told
    assert "by the player" in told or "BY THE CLOCK" in told


def test_a_look_and_a_destroyed_secret_are_told_of():
    made = answer("auditor")
    made.is_secret_destroyed = True
    told = "\n".join(story_lines(story_of(made)))
    assert "event 99 of the table" in told
    assert "destroyed" in told


def test_spectators_who_saw_it_later_or_not_yet_are_told_of():
    made = answer()
    made.moments[0].spectators_at_version = made.moments[2].version
    made.moments[1].spectators_at_version = 0
    told = "\n".join(story_lines(story_of(made)))
    assert f"spectators were shown this at version {made.moments[2].version}" in told
    assert "have not been shown this yet" in told


def test_two_lenses_stand_beside_each_other_with_what_only_one_was_told():
    seat = str(hand().table.core[hand().start()].seats[0].seat)
    told = text(seat, "spectator")
    assert told.splitlines()[1] == "and beside it as spectators saw it"
    assert told.count(f"-- seat {seat}") == told.count("-- spectators") == len(story_of(answer()).steps)
    assert "??" in told


def test_arabic_lines_keep_their_direction_and_carry_the_same_facts():
    told = text(language="ar")
    assert all(line.startswith("\u200f") for line in told.splitlines() if line)
    story = story_of(answer())
    assert all(str(step.version) in told for step in story.steps)
    assert "المقعد" in told


def test_every_phrase_is_there_in_both_languages_with_the_same_facts_and_is_used():
    used = "".join(path.read_text() for path in Path(diwan.cli.replaying.__file__).parent.glob("*.py"))
    named = {"preflop", "flop", "turn", "river", "over", "setting", "declaring", "showdown", "uncontested", "void"}
    for key, texts in _catalogue().items():
        facts = [{name for _, name, _, _ in string.Formatter().parse(texts[lang]) if name} for lang in ("en", "ar")]
        assert facts[0] == facts[1], key
        assert re.search(r"[\u0600-\u06ff]", texts["ar"]), key
        assert key in named or key.startswith("by_") or re.search(f"[\"']{key}[\"']", used), key


def test_many_positions_are_counted():
    assert positions_text(()) == "-"
    assert positions_text((4, 5, 6)) == "4 5 6"
    assert positions_text(tuple(range(13))) == "13 of 52"
