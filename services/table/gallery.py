"""What is shown to who holds no seat: a running hand so many events late, and all of it when it is over (S8).

The delay is counted in the log and not by a clock, so that a hand in which nobody decides tells nothing early.
"""

from collections import deque
from collections.abc import Iterable

import msgspec

from diwan.core.table.state import TableState
from services.table.frames import UpdateFrame
from services.table.watchers import Watcher


class Step(msgspec.Struct, frozen=True):
    """A committed batch as it is told: its last version, its update, and the view after it."""

    version: int
    update: UpdateFrame
    view: bytes


class Gallery:
    """How far the table has been shown to spectators, and what is held back. While nothing is, all see the same."""

    def __init__(self) -> None:
        self.version = 0
        self.view = b""
        self._held: deque[Step] = deque()
        # Who has been told more than spectators, up to which version.
        self._ahead: dict[Watcher, int] = {}

    @property
    def is_behind(self) -> bool:
        """Whether spectators see less than seats."""
        return bool(self._held)

    def reset(self, version: int = 0, view: bytes = b"", held: Iterable[Step] = ()) -> None:
        """Begin again with what is shown, and with what is held back; without a delay nothing of it matters."""
        self._held = deque(held)
        self._ahead.clear()
        self.version, self.view = version, view

    def take(self, state: TableState, step: Step) -> list[Step]:
        """Add what has just happened; return what may be shown now."""
        self._held.append(step)
        delay = state.config.spectator_delay_events if state.is_running else 0
        shown = []
        while self._held and self._held[0].version <= state.version - delay:
            shown.append(self._held.popleft())
        return shown

    def told(self, watcher: Watcher, version: int) -> None:
        """Note that a watcher has been told everything up to a version."""
        if self.is_behind:
            self._ahead[watcher] = version

    def missing(self, watcher: Watcher, shown: list[Step]) -> list[Step]:
        """Return what a watcher who may see everything has not been told; ``shown`` is what `take` returned last."""
        told = max(self._ahead.get(watcher, 0), self.version)
        return [step for step in (*shown, *self._held) if step.version > told]

    def new_to(self, watcher: Watcher, shown: list[Step]) -> list[Step]:
        """Return what is shown now to a spectator, who may have held a seat before."""
        told = self._ahead.get(watcher, 0)
        return [step for step in shown if step.version > told]

    def moved(self, shown: list[Step]) -> None:
        """Go on to what was shown, after everybody has been told."""
        if shown:
            self.version, self.view = shown[-1].version, shown[-1].view
        if not self.is_behind:
            self._ahead.clear()

    def forget(self, watcher: Watcher) -> None:
        """Let a watcher go."""
        self._ahead.pop(watcher, None)
