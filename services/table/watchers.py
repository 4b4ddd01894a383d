"""Streams that follow a table. A reader that is slow or dead costs a bounded queue and is dropped to a snapshot."""

from collections import deque
from collections.abc import Callable
from typing import Final

from diwan.chassis.pump import Source
from diwan.core.decider import Rejected

FRAMES_MAX: Final = 128
"""Updates that may wait for a reader; some seconds of a fast table."""

ANSWERS_MAX: Final = 256
"""Answers that may wait for a reader who asks and does not read; beyond that the stream ends."""


class Watcher(Source):
    """One stream's queue.

    ``player`` is whose own cards it may carry; the seat is looked up live. ``is_seat`` says that seeds can come back.
    """

    __slots__ = ("_answers", "_end", "_frames", "_is_behind", "_is_ended", "_snapshot", "is_seat", "player")

    def __init__(
        self, snapshot: Callable[["Watcher"], list[bytes]], player: str | None = None, *, is_seat: bool = True
    ) -> None:
        super().__init__()
        self.player = player
        self.is_seat = is_seat
        self._snapshot = snapshot
        self._frames: deque[tuple[bytes, bool]] = deque()
        self._answers = 0
        self._is_behind = False
        self._is_ended = False
        self._end: Rejected | None = None

    def push(self, frame: bytes, *, wakes: bool = True) -> None:
        """Queue an update; when too many wait, they all give way to a snapshot. Without ``wakes`` `wake` must follow."""
        if self._is_behind:
            return
        if len(self._frames) - self._answers >= FRAMES_MAX:
            self._is_behind = True
            self._frames = deque(entry for entry in self._frames if entry[1])
        else:
            self._frames.append((frame, False))
        if wakes:
            self.wake()

    def tell(self, frame: bytes) -> None:
        """Queue an answer: it is never dropped."""
        if self._answers >= ANSWERS_MAX:
            self.end(Rejected("READER_TOO_SLOW"))
            return
        self._answers += 1
        self._frames.append((frame, True))
        self.wake()

    def end(self, why: Rejected | None = None) -> None:
        """End the stream after what is queued; with a refusal, at once."""
        if not self._is_ended:
            self._is_ended = True
            self._end = why
            self.wake()

    @property
    def waiting(self) -> int:
        """Frames that wait for the reader."""
        return len(self._frames)

    def take(self) -> bytes | None:
        """Return what the reader gets next, None where nothing waits; raises the refusal that the stream ends with."""
        if self._end is not None:
            raise self._end
        if not self._frames and self._is_behind:
            self._is_behind = False
            self._frames.extend((frame, False) for frame in self._snapshot(self))
        if not self._frames:
            return None
        frame, is_answer = self._frames.popleft()
        if is_answer:
            self._answers -= 1
        return frame

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes behind what is queued."""
        return self._is_ended
