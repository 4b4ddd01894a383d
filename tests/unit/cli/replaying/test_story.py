"""What is told of a replay, and what is refused to be told (P10, F3, H2)."""

from __future__ import annotations

import pytest

from diwan.api.table.v1 import replay_pb2
from diwan.cli.replaying.story import ReplayFailedError, story_of
from tests.unit.cli.replaying.answers import answer, hand


def seats_of(insider):
    return [seat.seat for seat in insider.table.core[insider.start()].seats]


def test_a_story_has_a_moment_a_command_with_every_event_of_the_hand():
    one = hand()
    story = story_of(answer())
    versions = [each.version for step in story.steps for each in step.happened]
    assert versions == [event.version for event in one.events[one.start() :]][: len(versions)]
    assert versions[-1] >= one.events[one.end()].version
    assert [step.number for step in story.steps] == list(range(1, len(story.steps) + 1))
    assert story.lens == "spectator"
    assert story.game == "holdem"


def test_a_spectator_knows_no_hidden_card_a_seat_its_own_and_an_auditor_all():
    seats = seats_of(hand())
    for lens, known in (("spectator", set()), (str(seats[0]), {seats[0]}), ("auditor", set(seats))):
        first = story_of(answer(lens)).steps[0]
        assert {each.seat for each in first.seats if None not in each.cards} == known
        assert all(len(each.cards) == 2 for each in first.seats)


def test_decisions_say_who_decided_and_what_was_left():
    acts = [each for step in story_of(answer()).steps for each in step.happened if each.kind == "Acted"]
    assert acts
    assert all(each.decided_by and each.time_left_ms is not None for each in acts)


def test_refused_requests_are_told_in_both_languages():
    made = answer()
    made.refusals.add(seat=3, reason="NOT_YOUR_TURN", count=4)
    made.refusals.add(seat=3, reason="OF_THE_FUTURE", count=1)
    made.refusals_version = 77
    story = story_of(made)
    assert (story.refused[0].seat, story.refused[0].count) == (3, 4)
    assert story.refused[0].message == "It is not your turn."
    assert story.refused[0].message_ar
    assert story.refused[1].message == ""


def change_card(made):
    made.moments[0].private[0].reveals[0].card ^= 1


def change_body(made):
    event = made.moments[1].events[0].event
    event.body = event.body[:-1] + bytes([event.body[-1] ^ 1])


def leave_out(made):
    del made.moments[1]


def show_more(made):
    seat = next(each for each in made.moments[0].view.seats if each.in_hand)
    seat.shown_cards.extend([1, 2])


def turn_up_another(made):
    made.moments[0].view.hand.board.append(7)


def be_of_another_hand(made):
    made.hand_id = "00000000-0000-5000-8000-000000000000"


@pytest.mark.parametrize(
    ("forge", "words"),
    [
        (change_card, "not the one that was dealt"),
        (change_body, "the log does not hold"),
        (leave_out, "VERSION_GAP"),
        (show_more, "no event had turned up"),
        (turn_up_another, "no event had turned up"),
        (be_of_another_hand, "tells of hand"),
    ],
)
def test_what_does_not_hold_is_not_told(forge, words):
    """H2, F3: the chain, the deck's root and the events stand above what the answer says."""
    made = replay_pb2.GetReplayResponse()
    made.CopyFrom(answer("auditor"))
    forge(made)
    with pytest.raises(ReplayFailedError, match=words):
        story_of(made)


def test_an_answer_without_moments_is_told_so():
    with pytest.raises(ReplayFailedError, match="no moment"):
        story_of(replay_pb2.GetReplayResponse(hand_id="x"))
