"""When a tournament next looks after itself."""

import asyncio
from collections.abc import Callable


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
