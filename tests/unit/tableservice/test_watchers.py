"""A stream's queue: updates may give way to a snapshot, answers never do, whichever way they come."""

import pytest

from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.api.table.v1 import view_pb2
from diwan.core.decider import Rejected
from services.table.frames import UpdateFrame
from services.table.watchers import ANSWERS_MAX, FRAMES_MAX, Watcher

SNAPSHOT = pb.PlayResponse(update=pb.Update(is_snapshot=True)).SerializeToString()


def an_update(version):
    return UpdateFrame([], view_pb2.TableView(version=version).SerializeToString())


def an_answer(number):
    return pb.CommandResult(request_id=f"r{number}", last_version=number).SerializeToString()


def taken(watcher):
    messages = []
    while (frame := watcher.take()) is not None:
        messages.append(pb.PlayResponse.FromString(frame))
    return messages


def test_an_answer_goes_with_the_update_that_follows_it_and_with_no_other():
    asker, other = Watcher(lambda _: []), Watcher(lambda _: [])
    asker.tell_with_update(an_answer(7))
    for version in (7, 8):
        for watcher in (asker, other):
            watcher.update(an_update(version))

    first, second = taken(asker)
    assert (first.update.view.version, first.update.result.request_id) == (7, "r7")
    assert not second.update.HasField("result")
    assert not any(message.update.HasField("result") for message in taken(other))


def test_a_reader_who_falls_behind_loses_updates_and_no_answer():
    """P12: what carried an answer leaves it behind, in order, and a snapshot comes last."""
    watcher = Watcher(lambda _: [SNAPSHOT])
    watcher.tell_with_update(an_answer(1))
    watcher.update(an_update(1))
    watcher.tell(an_answer(2))
    for version in range(2, FRAMES_MAX + 3):
        watcher.update(an_update(version))
    watcher.tell_with_update(an_answer(3))
    watcher.update(an_update(FRAMES_MAX + 3))

    messages = taken(watcher)
    assert [message.result.request_id for message in messages[:-1]] == ["r1", "r2", "r3"]
    assert messages[-1].update.is_snapshot


def test_answers_that_come_with_updates_are_bounded_like_the_others():
    """P12: who asks and does not read is ended."""
    watcher = Watcher(lambda _: [])
    for number in range(ANSWERS_MAX):
        watcher.tell_with_update(an_answer(number))
        watcher.update(an_update(number))
    assert not watcher.is_over
    watcher.tell_with_update(an_answer(0))
    watcher.update(an_update(0))
    assert watcher.is_over


def test_a_stream_that_is_let_go_ends_behind_everything_that_was_told():
    """Who is moved to another table sees how the hand ended first."""
    moved = Rejected("MOVED_TO_ANOTHER_TABLE")
    watcher = Watcher(lambda _: [SNAPSHOT])
    watcher.update(an_update(7))
    watcher.tell(an_answer(8))
    watcher.end_behind(moved)
    watcher.end_behind(Rejected("TOO_LATE"))

    assert watcher.is_over
    assert pb.PlayResponse.FromString(watcher.take()).update.view.version == 7
    assert pb.PlayResponse.FromString(watcher.take()).result.request_id == "r8"
    with pytest.raises(Rejected) as ended:
        watcher.take()
    assert ended.value is moved


def test_a_reader_who_fell_behind_is_let_go_behind_a_snapshot():
    watcher = Watcher(lambda _: [SNAPSHOT])
    for version in range(FRAMES_MAX + 1):
        watcher.update(an_update(version))
    watcher.end_behind(Rejected("MOVED_TO_ANOTHER_TABLE"))

    assert pb.PlayResponse.FromString(watcher.take()).update.is_snapshot
    with pytest.raises(Rejected):
        watcher.take()
