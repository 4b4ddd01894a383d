"""Writes to a stream what others make for it, without a task in between.

A task that waits for a message and then for grpc is woken twice for each, through all coroutines that it stands in.
Nine seats a decision made that a quarter of a table's processor time. Here a write is begun where the message is made,
and goes on where grpc reports that it has taken it.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any

type Write = Callable[[bytes], Coroutine[Any, Any, None]]


def _nobody() -> None:
    pass


def _nobody_at_all(_error: Exception) -> None:
    pass


class Source(ABC):
    """A stream's messages as bytes, made by others than its own task: a servicer's generator yields it once."""

    __slots__ = ("cut", "wake")

    def __init__(self) -> None:
        self.wake: Callable[[], None] = _nobody
        """To be called when there is something to take; it never raises."""
        self.cut: Callable[[Exception], None] = _nobody_at_all
        """To be called where the stream must end although its reader takes nothing; it never raises."""

    @abstractmethod
    def take(self) -> bytes | None:
        """Return the next message, None where there is none now; raises the `Rejected` that ends the stream."""

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """Whether nothing more comes once `take` has returned None."""


class Pump:
    """Writes all that a source has, one message after another: the next is taken when grpc has room for it.

    ``written`` is called behind each.
    """

    __slots__ = ("_end", "_source", "_waits_for", "_write", "_writing", "_written")

    def __init__(self, source: Source, write: Write, written: Callable[[], None]) -> None:
        self._source = source
        self._write = write
        self._written = written
        self._writing: Coroutine[Any, Any, None] | None = None
        self._waits_for: asyncio.Future[Any] | None = None
        self._end: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Write until the source is over; raises its refusal, or what writing raises."""
        self._source.wake, self._source.cut = self._wake, self._cut
        self._wake()
        try:
            await self._end
        finally:
            self._source.wake, self._source.cut = _nobody, _nobody_at_all
            if self._waits_for is not None:
                self._waits_for.cancel()
            if self._writing is not None:
                self._writing.close()

    def _wake(self) -> None:
        if self._writing is None:
            self._go_on(None)

    def _cut(self, error: Exception) -> None:
        if not self._end.done():
            self._end.set_exception(error)

    def _go_on(self, waited_for: asyncio.Future[Any] | None) -> None:
        """Step through the writes up to where grpc has to be waited for: a task's work, without the task's turn."""
        if waited_for is not self._waits_for or self._end.done():
            return
        try:
            # A stream may be cut by what it is told in between.
            while not self._end.done():
                if self._writing is None:
                    message = self._source.take()
                    if message is None:
                        break
                    self._writing = self._write(message)
                if self._waits(self._writing):
                    return
                self._writing = None
                self._written()
            if self._source.is_over and not self._end.done():
                self._end.set_result(None)
        except Exception as error:
            # It belongs to the stream, not to whoever had something to say to it.
            self._cut(error)

    def _waits(self, writing: Coroutine[Any, Any, None]) -> bool:
        self._waits_for = None
        try:
            waits_for = writing.send(None)
        except StopIteration:
            return False
        # What a task does with a future that its coroutine awaits.
        waits_for._asyncio_future_blocking = False  # noqa: SLF001  (named private, and the protocol of every future)
        waits_for.add_done_callback(self._go_on)
        self._waits_for = waits_for
        return True
