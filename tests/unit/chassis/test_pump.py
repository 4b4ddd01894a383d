"""A stream's frames are written by hand, not by a task: in order, one at a time, and nobody else pays for its end."""

import asyncio
from collections import deque

import pytest

from diwan.chassis.pump import Pump, Source
from diwan.core.decider import Rejected


class Frames(Source):
    """What was said and not taken yet."""

    def __init__(self):
        super().__init__()
        self.waiting = deque()
        self.over = False
        self.refusal = None

    def say(self, *frames):
        self.waiting.extend(frames)
        self.wake()

    def end(self, refusal=None):
        self.over, self.refusal = True, refusal
        self.wake()

    def take(self):
        if self.refusal is not None:
            raise self.refusal
        return self.waiting.popleft() if self.waiting else None

    @property
    def is_over(self):
        return self.over


class Wire:
    """Takes a frame when it is told to; ``fails`` is what the next one meets."""

    def __init__(self, *, is_open=False):
        self.begun = []
        self.written = []
        self.fails = None
        self.cancelled = 0
        self.counted = 0
        self._waiting = None
        self._is_open = is_open

    async def write(self, frame):
        self.begun.append(frame)
        if not self._is_open:
            self._waiting = asyncio.get_running_loop().create_future()
            try:
                await self._waiting
            except GeneratorExit:
                self.cancelled += 1
                raise
        if self.fails is not None:
            raise self.fails
        self.written.append(frame)

    def count(self):
        self.counted += 1

    async def take_one(self):
        self._waiting.set_result(None)
        await asyncio.sleep(0)


@pytest.fixture
async def frames():
    return Frames()


@pytest.fixture
async def wire():
    return Wire()


@pytest.fixture
async def running(frames, wire):
    task = asyncio.create_task(Pump(frames, wire.write, wire.count).run())
    await asyncio.sleep(0)
    yield task
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_frame_is_begun_where_it_is_made_and_the_next_when_it_is_taken(frames, wire, running):
    frames.say(b"1", b"2")
    assert wire.begun == [b"1"], "before anybody else has had a turn"
    frames.say(b"3")
    assert wire.begun == [b"1"], "one at a time"
    for _ in range(3):
        await wire.take_one()
    assert wire.begun == wire.written == [b"1", b"2", b"3"]
    assert wire.counted == 3
    assert not running.done()


async def test_what_was_said_before_the_pump_ran_is_written_first(frames, wire):
    frames.say(b"early")
    frames.end()
    task = asyncio.create_task(Pump(frames, wire.write, wire.count).run())
    await asyncio.sleep(0)
    await wire.take_one()
    await task
    assert wire.written == [b"early"]


async def test_the_stream_ends_behind_the_last_frame(frames, wire, running):
    frames.say(b"last")
    frames.end()
    await asyncio.sleep(0)
    assert not running.done()
    await wire.take_one()
    await running
    assert wire.written == [b"last"]


async def test_a_refusal_ends_the_stream_with_it(frames, wire, running):
    frames.end(Rejected("TABLE_MOVED"))
    with pytest.raises(Rejected, match="TABLE_MOVED"):
        await running
    assert wire.begun == []


async def test_what_writing_raises_is_the_streams_and_not_the_tables(frames, wire, running):
    """P12: one dead reader costs a table nothing."""
    wire.fails = ConnectionError("gone")
    frames.say(b"1", b"2")
    await wire.take_one()
    with pytest.raises(ConnectionError, match="gone"):
        await running
    frames.say(b"3")
    assert wire.begun == [b"1"]


async def test_a_write_that_fails_at_once_is_the_streams_too(frames):
    wire = Wire(is_open=True)
    wire.fails = ConnectionError("gone before")
    task = asyncio.create_task(Pump(frames, wire.write, wire.count).run())
    await asyncio.sleep(0)
    frames.say(b"1")
    with pytest.raises(ConnectionError, match="gone before"):
        await task


async def test_frames_that_need_no_waiting_are_written_in_one_go(frames):
    wire = Wire(is_open=True)
    task = asyncio.create_task(Pump(frames, wire.write, wire.count).run())
    await asyncio.sleep(0)
    frames.say(b"1", b"2", b"3")
    assert wire.written == [b"1", b"2", b"3"]
    frames.end()
    await task


async def test_a_stream_that_is_cancelled_lets_its_write_go_and_takes_nothing_more(frames, wire, running):
    """A5: what a stream holds is let go with its caller."""
    frames.say(b"1", b"2")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    frames.say(b"3")
    await asyncio.sleep(0)
    assert wire.cancelled == 1
    assert wire.begun == [b"1"]
    assert wire.written == []
    assert wire.counted == 0


async def test_a_stream_is_cut_also_where_its_reader_takes_nothing():
    """P12: given a write that waits for ever, when the source is cut, then the stream ends with that refusal."""
    source, wire = Frames(), Wire()
    running = asyncio.create_task(Pump(source, wire.write, wire.count).run())
    await asyncio.sleep(0)
    source.say(b"1", b"2")
    source.cut(Rejected("READER_SILENT"))
    with pytest.raises(Rejected, match="READER_SILENT"):
        await running
    assert (wire.begun, wire.written, wire.cancelled) == ([b"1"], [], 1)
    source.cut(Rejected("READER_SILENT"))


async def test_a_stream_that_is_cut_by_what_a_write_brings_ends_with_that():
    source = Frames()
    wire = Wire(is_open=True)

    def cut():
        source.cut(Rejected("READER_TOO_SLOW"))

    source.waiting.extend([b"1", b"2"])
    with pytest.raises(Rejected, match="READER_TOO_SLOW"):
        await Pump(source, wire.write, cut).run()

    assert wire.begun == [b"1"]
