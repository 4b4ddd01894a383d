"""Who of a table's players is there, and until when the seats of the others are kept (CL-3, CL-4, G2).

Presence is no event: it is a fact about connections, which end with this process. What follows from it is one: a player
who does not come back in time is stood up.
"""

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from diwan.api.table.v1 import view_pb2
from diwan.core.table.playing import live_of
from diwan.core.table.state import TableState

if TYPE_CHECKING:
    from services.table.actor import Actor


class Presence:
    """The absent players of one table."""

    def __init__(self, actor: "Actor") -> None:
        self._actor = actor
        self._absent_since_ms: dict[str, int] = {}

    def came(self, player: str) -> None:
        """Forget that a player was away."""
        self._absent_since_ms.pop(player, None)

    def left(self, player: str) -> None:
        """Keep an absent player's seat for the reserved time: neither clock nor bet is touched (CL-3, CL-4)."""
        if self._actor.state.seat_of(player) is not None:
            self._absent_since_ms[player] = self._actor.clock.now_ms()

    def forget(self, player: str) -> None:
        """Keep no seat for a player any more."""
        self._absent_since_ms.pop(player, None)

    def begin(self) -> None:
        """Expect back whoever was here under the table's former owner: its streams ended with it.

        A seat's seed in the last deck shows that it had a stream; who only makes calls is not waited for.
        """
        live = live_of(self._actor.state.hand)
        seeded = () if live is None else [seed.seat for seed in live.deal.started.seeds]
        sittings = {} if live is None else {seat.seat: seat.sitting for seat in live.deal.started.seats}
        for seat in self._actor.state.seats:
            if seat.seat in seeded and seat.sitting == sittings[seat.seat]:
                self._absent_since_ms.setdefault(seat.player, self._actor.clock.now_ms())

    def stalled(self, gap_ms: int) -> None:
        """Count no time in which nobody could come back."""
        self._absent_since_ms = {player: since + gap_ms for player, since in self._absent_since_ms.items()}

    def given_up_ms(self, state: TableState) -> int | None:
        """Return when the next seat is given up, None where nobody is awaited."""
        if not self._absent_since_ms:
            return None
        return min(self._absent_since_ms.values()) + _reserve_ms(state)

    def given_up(self, state: TableState, now: int) -> list[str]:
        """Return the players who did not come back in time."""
        reserve_ms = _reserve_ms(state)
        return [player for player, since in self._absent_since_ms.items() if now >= since + reserve_ms]

    def message(self, state: TableState, present: AbstractSet[str]) -> view_pb2.Presence:
        """Return who is there, for everybody to see; ``present`` are the players with a stream of their seat."""
        message = view_pb2.Presence()
        for seat in state.seats:
            since = self._absent_since_ms.get(seat.player, 0)
            message.seats.add(
                seat=seat.seat,
                player=seat.player,
                is_connected=seat.player in present,
                disconnected_since_ms=since,
                reserved_until_ms=since + _reserve_ms(state) if since else 0,
            )
        return message


def _reserve_ms(state: TableState) -> int:
    return state.config.reserve_seconds * 1000
