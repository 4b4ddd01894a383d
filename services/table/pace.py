"""Commands that a player may give only so often (P12): what a pace counts at a table."""

from collections.abc import Callable

from diwan.chassis.pace import Pace
from diwan.core.table.commands import TableCommand
from diwan.core.table.state import TableState
from services.table.asking import Build


def paced[S](pace: Pace, building: Callable[[S, str, int], Build]) -> Callable[[S, str, int], Build]:
    """Return what makes a command that its player may give only so often; counted when it is built, so a retry is free."""

    def slowly(said: S, player: str, received_at_ms: int) -> Build:
        build = building(said, player, received_at_ms)

        def counted(state: TableState) -> TableCommand:
            pace.take(player)
            return build(state)

        return counted

    return slowly
