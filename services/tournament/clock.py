"""The clock of a tournament's owner: the database's time, carried on by the monotonic clock (H8)."""

import asyncio
import time
from collections.abc import Callable


class OwnClock:
    """Milliseconds since the Unix epoch. A jump of the machine's wall clock moves nothing."""

    def __init__(self, database_now_ms: int) -> None:
        self._offset_ms = database_now_ms - time.monotonic() * 1000

    def now_ms(self) -> int:
        """Return the time now."""
        return int(time.monotonic() * 1000 + self._offset_ms)


class Alarm:
    """One timer: ``ring`` is called at the time it was set to last, once."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None
        self._due_ms: int | None = None

    def set(self, due_ms: int | None, now_ms: int) -> None:
        """Ring at a time, at once where it is past, and never for None."""
        if due_ms == self._due_ms and self._timer is not None:
            return
        self.stop()
        self._due_ms = due_ms
        if due_ms is not None:
            self._timer = asyncio.get_running_loop().call_later(max(0, due_ms - now_ms) / 1000, self._now)

    def stop(self) -> None:
        """Ring no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _now(self) -> None:
        self._timer = None
        self._ring()
