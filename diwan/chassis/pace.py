"""How often one player may change what is not play: sitting down and out, leaving, bringing chips, asking for some (P12).

Each of these is an event for ever; decisions need no such limit, since they take their turn.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from diwan.core.decider import Rejected

BURST: Final = 40
CHANGES_A_SECOND: Final = 4.0
"""More than any hand at a screen; a player who comes and goes without end fills no log."""

PLAYERS_KEPT: Final = 10_000


class Pace:
    """For every player a store of changes that fills up again with time; a stranger to it has a full one."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, player: str) -> None:
        """Count a change; raises `Rejected` with RATE_LIMITED where none is left."""
        now = self._monotonic()
        left, since = self._left.pop(player, (float(BURST), now))
        left = min(BURST, left + (now - since) * CHANGES_A_SECOND)
        is_allowed = left >= 1
        self._left[player] = (left - 1 if is_allowed else left, now)
        if len(self._left) > PLAYERS_KEPT:
            self._left.popitem(last=False)
        if not is_allowed:
            raise Rejected("RATE_LIMITED")
