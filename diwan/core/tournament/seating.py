"""Who sits where by draw: at the start, late, from a broken or a lost table (TDA R7, R8, R10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from diwan.core.hand.events import Chips, Seat
from diwan.core.ledger.accounts import named_id
from diwan.core.tournament import spin
from diwan.core.tournament.batch import Batch
from diwan.core.tournament.events import (
    MovePurpose,
    MultiplierDrawn,
    SeatGiven,
    SeatsDrawn,
    TableOpened,
    TablePurpose,
)
from diwan.core.tournament.ladders import with_level_length
from diwan.core.tournament.seeds import drawn_for
from diwan.core.tournament.settings import Ladder
from diwan.core.tournament.state import NO_SEAT, TableState, TournamentState

PLACES_LABEL: Final = "places/v1"
SEATS_LABEL: Final = "seats/v1"
BUTTON_LABEL: Final = "button/v1"


class Newcomer(Struct, frozen=True):
    """Somebody to be given a seat, from which table (0: from nowhere) and with how much (0: the table will tell)."""

    player: str
    from_table: int
    stack: Chips


def starting_stack(state: TournamentState) -> Chips:
    """Return the stack that everybody begins with; a Spin's multiplier may say another."""
    line = state.config.multipliers[state.line] if state.line != NO_SEAT else None
    return (line.starting_stack if line is not None else 0) or state.config.starting_stack


def level_ms_of(state: TournamentState) -> int:
    """Return the length of all levels that a Spin's multiplier sets, else 0."""
    return 0 if state.line == NO_SEAT else state.config.multipliers[state.line].level_ms


def ladder_of(state: TournamentState) -> Ladder:
    """Return the ladder that is played."""
    return with_level_length(state.config.ladder, level_ms_of(state))


def seats_of(state: TournamentState, table: TableState) -> int:
    """Return how many seats a table has: the final table may have one more than the others (WSOP R68)."""
    size = state.config.table_size
    return max(size, state.config.floor.final_table_at) if table.purpose == "final" else size


def free_seats(state: TournamentState, table: TableState) -> list[Seat]:
    """Return the seats that nobody sits on or is on the way to."""
    taken = {sitter.seat for sitter in table.sitters} | {state.moves[number].seat for number in table.arriving}
    return [seat for seat in range(seats_of(state, table)) if seat not in taken]


def room(state: TournamentState, table: TableState) -> int:
    """Return how many more may be sent to a table: its free seats, but for those who have no seat yet on their way."""
    unseated = sum([state.moves[number].seat == NO_SEAT for number in table.arriving])
    return len(free_seats(state, table)) - unseated


def open_table(batch: Batch, purpose: TablePurpose, seats: Sequence[Seat]) -> int:
    """Order a table; its first button is drawn among the seats that will be taken."""
    number = batch.state.table_count + 1
    table_id = named_id(batch.state.tournament_id, f"table/{number}")
    button = seats[batch.one(BUTTON_LABEL, [1] * len(seats))]
    batch.add(TableOpened(number, table_id, purpose, button, batch.now_ms))
    return number


def give(batch: Batch, table_no: int, purpose: MovePurpose, rule: str, given: Sequence[tuple[Newcomer, Seat]]) -> None:
    """Record who sits where at one table."""
    first = batch.state.move_count + 1
    seats = tuple(
        [
            SeatGiven(
                number,
                named_id(batch.state.tournament_id, f"move/{number}"),
                newcomer.player,
                newcomer.from_table,
                seat,
                newcomer.stack,
            )
            for number, (newcomer, seat) in enumerate(given, first)
        ]
    )
    batch.add(SeatsDrawn(table_no, purpose, rule, seats, batch.now_ms))
    batch.touched.update(each.from_table for each in seats if each.from_table)


def seat_field(
    batch: Batch,
    newcomers: Sequence[Newcomer],
    tables: int,
    table_purpose: TablePurpose,
    purpose: MovePurpose,
    rule: str,
) -> None:
    """Draw everybody's table and seat at new tables of even size (TDA R7)."""
    order = [newcomers[index] for index in batch.order(PLACES_LABEL, len(newcomers))]
    size = batch.state.config.table_size
    if table_purpose == "final":
        size = max(size, batch.state.config.floor.final_table_at)
    plans: list[list[tuple[Newcomer, Seat]]] = []
    for number in range(tables):
        own = order[number::tables]
        seats = batch.order(SEATS_LABEL, size)[: len(own)]
        plans.append(list(zip(own, seats, strict=True)))
    numbers = [open_table(batch, table_purpose, sorted([seat for _, seat in plan])) for plan in plans]
    for table_no, plan in zip(numbers, plans, strict=True):
        give(batch, table_no, purpose, rule, plan)


def start(batch: Batch) -> None:
    """Draw the multiplier of a Spin and everybody's seat, by the secret committed to before registration opened."""
    state = batch.state
    if state.config.kind == "spin":
        weights = spin.weights_of(state.config.multipliers)
        line = batch.one(spin.LABEL, weights)
        chosen = state.config.multipliers[line]
        batch.add(MultiplierDrawn(line, chosen.times, chosen.weight, sum(weights), batch.now_ms))
    stack = starting_stack(batch.state)
    newcomers = [Newcomer(entry.player, 0, stack) for entry in drawn_for(state)]
    tables = -(-len(newcomers) // state.config.table_size)
    late = [entry.player for _, entry in sorted(state.entries.items()) if entry.status == "accepted" and entry.is_late]
    seat_field(batch, newcomers, tables, "start", "start", "TDA R7")
    for player in late:
        seat_late(batch, player)


def seat_late(batch: Batch, player: str) -> None:
    """Seat a late entry with a full stack by the same draw as all others (TDA R8): at a shortest table, on any free seat."""
    newcomer = Newcomer(player, 0, starting_stack(batch.state))
    if not place(batch, [newcomer], "late", "TDA R8"):
        seat_field(batch, [newcomer], 1, "late", "late", "TDA R8")


def place(batch: Batch, newcomers: Sequence[Newcomer], purpose: MovePurpose, rule: str) -> bool:
    """Draw seats at the tables in play, the shortest first, and say whether there was room for all; else nobody is placed.

    First the tables are found that get somebody, then who goes where is drawn, then the seat there (TDA R10).
    """
    places = _shortest_places(batch.state, len(newcomers))
    if len(places) < len(newcomers):
        return False
    order = [newcomers[index] for index in batch.order(PLACES_LABEL, len(newcomers))]
    by_table: dict[int, list[Newcomer]] = {}
    for table_no, newcomer in zip(places, order, strict=True):
        by_table.setdefault(table_no, []).append(newcomer)
    for table_no, own in by_table.items():
        free = free_seats(batch.state, batch.state.tables[table_no])
        seats = [free[index] for index in batch.order(SEATS_LABEL, len(free))[: len(own)]]
        give(batch, table_no, purpose, rule, list(zip(own, seats, strict=True)))
    return True


def _shortest_places(state: TournamentState, count: int) -> list[int]:
    """Return the tables that the next so many go to, one after the other to the shortest that has room."""
    rooms: dict[int, int] = {}
    by_size: dict[int, list[int]] = {}
    for number in sorted(state.in_play):
        table = state.tables[number]
        by_size.setdefault(table.size, []).append(number)
    places: list[int] = []
    for size in range(len(state.sizes)):
        going_up: list[int] = []
        for number in sorted(by_size.get(size, ())):
            if number not in rooms:
                rooms[number] = room(state, state.tables[number])
            if rooms[number] > 0:
                rooms[number] -= 1
                places.append(number)
                going_up.append(number)
                if len(places) == count:
                    return places
        by_size.setdefault(size + 1, []).extend(going_up)
    return places
