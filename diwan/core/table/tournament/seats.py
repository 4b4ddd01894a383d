"""What a tournament's orders mean for the seats of its table: a record without rules."""

from __future__ import annotations

from msgspec.structs import replace

from diwan.core.table.state import SeatState
from diwan.core.table.tournament.events import ChipsAdded, EntrantReleased, EntrantReleaseOrdered, EntrantSeated
from diwan.core.table.tournament.state import Release

type Seats = tuple[SeatState, ...]
type EntrantEvent = EntrantSeated | EntrantReleaseOrdered | EntrantReleased | ChipsAdded


def seats_after(seats: Seats, event: EntrantEvent) -> Seats:
    """Return the taken seats, by number, after one more event."""
    match event:
        case EntrantSeated():
            return tuple(sorted((*seats, _seated(event)), key=lambda each: each.seat))
        case EntrantReleaseOrdered():
            release = Release(event.move_id, event.cause)
            return tuple([replace(each, release=release) if each.seat == event.seat else each for each in seats])
        case EntrantReleased():
            return tuple([each for each in seats if each.seat != event.seat])
        case ChipsAdded():
            added = event.amount
            return tuple(
                [replace(each, stack=each.stack + added) if each.seat == event.seat else each for each in seats]
            )


def _seated(event: EntrantSeated) -> SeatState:
    return SeatState(
        event.seat,
        event.player,
        event.is_bot,
        event.move_id,
        post_at_once=False,
        stack=event.stack,
        is_funded=True,
        destellos=event.destellos,
        time_bank_ms=event.time_bank_ms,
    )
