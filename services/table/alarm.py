"""When a table next looks after itself."""

import asyncio
from collections.abc import Callable


class Alarm:
    """One timer: ``ring`` is called at the earliest of the times it was set to, once."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None
        self._due_ms = 0

    def set(self, due_ms: int, now_ms: int) -> None:
        """Ring at a time, or at once where it is past; an earlier time that is set already stays."""
        if self._timer is not None:
            if self._due_ms <= due_ms:
                return
            self._timer.cancel()
        self._due_ms = due_ms
        self._timer = asyncio.get_running_loop().call_later(max(0, due_ms - now_ms) / 1000, self._now)

    def stop(self) -> None:
        """Ring no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _now(self) -> None:
        self._timer = None
        self._ring()
