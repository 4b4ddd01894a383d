"""Notices when this process itself stood still: frozen, paused with its machine, or held up by one long computation."""

import time
from collections.abc import Callable
from typing import Final

BEAT_SECONDS: Final = 0.25
STALL_MS: Final = 1_000
"""An outage of ours from this length on gives open decisions their time back (O7)."""


class Pulse:
    """Beats while the process runs. ``stalled`` is told of each gap, in milliseconds, before anything else happens.

    Whoever is about to judge by the clock looks first: after a pause it is chance which timer comes first.
    """

    def __init__(self, stalled: Callable[[int], None], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._stalled = stalled
        self._monotonic = monotonic
        self._beat_at: float | None = None

    def beat(self) -> None:
        """Look, and be alive now; to be called every `BEAT_SECONDS`."""
        self.look()
        self._beat_at = self._monotonic()

    def look(self) -> None:
        """Tell of a gap since the last beat, once."""
        if self._beat_at is None:
            return
        now = self._monotonic()
        gap_ms = int((now - self._beat_at) * 1000)
        if gap_ms >= STALL_MS:
            self._beat_at = now
            self._stalled(gap_ms)
