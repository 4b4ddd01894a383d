"""Streams that follow a table. A reader that is slow or dead costs a bounded queue and is dropped to a snapshot."""

from collections import deque
from collections.abc import Callable
from typing import Final

from diwan.chassis.pump import Source
from diwan.core.decider import Rejected
from services.table.frames import UpdateFrame, result_frame

FRAMES_MAX: Final = 128
"""Updates that may wait for a reader; some seconds of a fast table."""

ANSWERS_MAX: Final = 256
"""Answers that may wait for a reader who asks and does not read; beyond that the stream ends."""


HEARTBEAT_SECONDS: Final = 5.0
READER_SECONDS: Final = 30.0
"""A reader that takes nothing for so long, or whose seat says nothing at all, is held to be dead."""

_BEATS_MAX: Final = round(READER_SECONDS / HEARTBEAT_SECONDS)


class Watcher(Source):
    """One stream's queue.

    ``player`` is whose own cards it may carry; the seat is looked up live. ``is_seat`` says that seeds can come back.
    """

    __slots__ = (
        "_answers",
        "_beats_unanswered",
        "_beats_untaken",
        "_end",
        "_frames",
        "_is_behind",
        "_is_end_behind",
        "_is_ended",
        "_result",
        "_snapshot",
        "is_bot",
        "is_seat",
        "player",
    )

    def __init__(
        self,
        snapshot: Callable[["Watcher"], list[bytes]],
        player: str | None = None,
        *,
        is_seat: bool = True,
        is_bot: bool = False,
    ) -> None:
        super().__init__()
        self.player = player
        self.is_bot = is_bot
        self.is_seat = is_seat
        self._snapshot = snapshot
        # Each with the answer that it is or carries, which is sent whatever becomes of the updates.
        self._frames: deque[tuple[bytes, bytes | None]] = deque()
        self._answers = 0
        self._result: bytes | None = None
        self._is_behind = False
        self._is_ended = False
        self._is_end_behind = False
        self._end: Rejected | None = None
        self._beats_untaken = self._beats_unanswered = 0

    def push(self, frame: bytes, *, wakes: bool = True) -> None:
        """Queue a frame; when too many wait, they all give way to a snapshot. Without ``wakes`` `wake` must follow."""
        if self._has_room():
            self._frames.append((frame, None))
        if wakes:
            self.wake()

    def update(self, update: UpdateFrame, *, wakes: bool = True) -> None:
        """Queue an update, and with it the answer to whoever asked for it."""
        result, self._result = self._result, None
        if result is None:
            self.push(update.frame, wakes=wakes)
        elif self._has_room():
            self._answered(update.answering(result), result_frame(result), wakes=wakes)
        else:
            self._answered(result_frame(result), result_frame(result), wakes=wakes)

    def tell(self, result: bytes) -> None:
        """Queue an answer, a serialised CommandResult: it is never dropped."""
        self._answered(result_frame(result), result_frame(result))

    def tell_with_update(self, result: bytes) -> None:
        """Keep an answer for the `update` that follows before anything else happens."""
        self._result = result

    def settle(self) -> None:
        """Give the answer that was kept for an update, where this stream is not told of the update."""
        result, self._result = self._result, None
        if result is not None:
            self.tell(result)

    def _answered(self, frame: bytes, answer: bytes, *, wakes: bool = True) -> None:
        if self._answers >= ANSWERS_MAX:
            self.end(Rejected("READER_TOO_SLOW"))
            return
        self._answers += 1
        self._frames.append((frame, answer))
        if wakes:
            self.wake()

    def _has_room(self) -> bool:
        """Say whether an update may be queued; where too many wait they are dropped, and nothing of their answers."""
        if not self._is_behind and len(self._frames) - self._answers >= FRAMES_MAX:
            self._is_behind = True
            self._frames = deque((answer, answer) for _, answer in self._frames if answer is not None)
        return not self._is_behind

    def heard(self) -> None:
        """Note that the seat has said something: it is alive."""
        self._beats_unanswered = 0

    def is_dead(self) -> bool:
        """Say whether the reader is to be given up; asked at every heartbeat, and at no other time."""
        if not self._frames:
            self._beats_untaken = 0
        self._beats_untaken += 1
        self._beats_unanswered += 1
        return self._beats_untaken > _BEATS_MAX or (self.is_seat and self._beats_unanswered > _BEATS_MAX)

    def end(self, why: Rejected | None = None) -> None:
        """End the stream after what is queued; with a refusal, at once."""
        if not self._is_ended:
            self._is_ended = True
            self._end = why
            self.wake()
            if why is not None:
                # Also where a write waits for a reader who will not read.
                self.cut(why)

    def end_behind(self, why: Rejected) -> None:
        """End the stream with a refusal, after what is queued: the reader gets to know how it came to that."""
        if not self._is_ended:
            self._is_ended = self._is_end_behind = True
            self._end = why
            self.wake()

    @property
    def waiting(self) -> int:
        """Frames that wait for the reader."""
        return len(self._frames)

    def take(self) -> bytes | None:
        """Return what the reader gets next, None where nothing waits; raises the refusal that the stream ends with."""
        if self._end is not None and not (self._is_end_behind and (self._frames or self._is_behind)):
            raise self._end
        if not self._frames and self._is_behind:
            self._is_behind = False
            self._frames.extend((frame, None) for frame in self._snapshot(self))
        if not self._frames:
            return None
        self._beats_untaken = 0
        frame, answer = self._frames.popleft()
        if answer is not None:
            self._answers -= 1
        return frame

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes behind what is queued."""
        return self._is_ended
