"""The clock of a table's owner: the database's time at the claim, carried on by the monotonic clock (H8)."""

import time


class TableClock:
    """Milliseconds since the Unix epoch. A jump of the machine's wall clock moves nothing."""

    def __init__(self, database_now_ms: int) -> None:
        self._offset_ms = database_now_ms - time.monotonic() * 1000

    def now_ms(self) -> int:
        """Return the time now."""
        return int(time.monotonic() * 1000 + self._offset_ms)
