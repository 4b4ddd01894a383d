"""Even tables: who moves from the longest to the shortest, and to which seat (TDA R11, WSOP R67).

A move is made between hands at both ends: the longest table stops after its hand, then the player is chosen; the player
is released; the shortest table stops after its hand, then the seat is chosen. So both choices are made from tables that
stand still, and the next big blind is what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from diwan.core.hand.events import Seat
from diwan.core.ledger.accounts import named_id
from diwan.core.limits import SEATS_MAX
from diwan.core.tournament.batch import Batch
from diwan.core.tournament.events import (
    BalancingOrdered,
    MoveCancelled,
    MoverCandidate,
    MoverChosen,
    MoveRedirected,
    SeatCandidate,
    SeatChosen,
    TableHalted,
)
from diwan.core.tournament.seating import free_seats, room
from diwan.core.tournament.state import NO_SEAT, Move, TableState, TournamentState

BALANCE: Final = "TDA R11-A"
HALT: Final = "TDA R11-D"
_ON_THE_WAY: Final = 2
"""By so many, at most, more may sit at a table than are counted to it in order to be halted for: they are to move."""


def gap(state: TournamentState) -> int:
    """Return the difference between longest and shortest table that is let be."""
    floor = state.config.floor
    return floor.gap_few if len(state.in_play) <= floor.few_tables else floor.gap_many


def longest(state: TournamentState) -> int:
    """Return the size of the longest table."""
    return max([size for size, count in enumerate(state.sizes) if count], default=0)


def shortest(state: TournamentState) -> int:
    """Return the size of the shortest table."""
    return min([size for size, count in enumerate(state.sizes) if count], default=0)


def order_moves(batch: Batch) -> None:
    """Order as many moves as it takes for tables to differ by no more than is let be."""
    while not batch.state.breaking and batch.state.redraw is None:
        state = batch.state
        most, least = longest(state), shortest(state)
        if most - least <= gap(state):
            return
        source, target = _pair(state, most, least)
        if source is None or target is None:
            return
        undone = _opposite_move(state, source, target)
        if undone is not None:
            batch.add(MoveCancelled(undone, "even without it", batch.now_ms))
            continue
        number = state.move_count + 1
        batch.add(BalancingOrdered(number, source, target, most, least, BALANCE, batch.now_ms))
        batch.touched.add(source)


def _pair(state: TournamentState, most: int, least: int) -> tuple[int | None, int | None]:
    """Return from which table to which: that which is broken first gives, that which is broken last takes.

    So a player is less likely to be moved again soon. Tables that play a late hand are left alone.
    """
    late = state.hand_for_hand.late if state.hand_for_hand is not None else ()
    sources: list[int] = []
    targets: list[int] = []
    for number in state.in_play:
        table = state.tables[number]
        if number in late:
            continue
        if table.size == most and _can_give(state, table):
            sources.append(number)
        elif table.size == least and room(state, table) > 0:
            targets.append(number)
    return max(sources, default=None), min(targets, default=None)


def _can_give(state: TournamentState, table: TableState) -> bool:
    """Say whether one more could be moved from here: who is on the way out, or removed, is nobody to move."""
    entrants = [state.entrants[sitter.player] for sitter in table.sitters]
    movable = sum([not each.move_no and not each.removal for each in entrants])
    unchosen = sum([state.moves[number].phase == "choosing" for number in table.leaving])
    return movable > unchosen


def _opposite_move(state: TournamentState, source: int, target: int) -> int | None:
    """Return a move, nobody chosen for it yet, away from the shortest table or to the longest: undoing it moves nobody."""
    for number in (*state.tables[target].leaving, *state.tables[source].arriving):
        if state.moves[number].phase == "choosing":
            return number
    return None


def continue_moves(batch: Batch, table_no: int) -> None:
    """Take the steps of moves that a table's standing still allows."""
    table = batch.state.tables.get(table_no)
    if table is None or table.status not in {"open", "breaking"} or not table.is_idle:
        return
    for number in table.leaving:
        move = batch.state.moves[number]
        if move.phase == "choosing" and move.is_confirmed_by(table):
            _choose_mover(batch, move)
    if any(batch.state.entrants[sitter.player].removal for sitter in table.sitters):
        return  # Whoever is removed there would change who has which blind.
    if batch.state.tables[table_no].leaving:
        return  # And so would whoever is still to leave.
    for number in table.arriving:
        move = batch.state.moves[number]
        if move.phase == "placing" and move.is_confirmed_by(table):
            _choose_seat(batch, move)


def _choose_mover(batch: Batch, move: Move) -> None:
    state = batch.state
    source, target = state.tables[move.from_table], state.tables[move.to_table]
    # With this move undone, are the two still uneven?
    if (source.size + 1) - (target.size - 1) <= 1 or target.status not in {"ordered", "open"}:
        batch.add(MoveCancelled(move.move_no, "even without it", batch.now_ms))
        return
    candidates = mover_candidates(state, source)
    if not candidates:
        batch.add(MoveCancelled(move.move_no, "nobody can move", batch.now_ms))
        return
    chosen = min(candidates, key=_least_moved_then_next)
    move_id = named_id(state.tournament_id, f"move/{move.move_no}")
    batch.add(MoverChosen(move.move_no, move_id, chosen.player, candidates, BALANCE, batch.now_ms))


def _least_moved_then_next(candidate: MoverCandidate) -> tuple[int, int]:
    return candidate.balanced, candidate.hands_to_big_blind


def mover_candidates(state: TournamentState, table: TableState) -> tuple[MoverCandidate, ...]:
    """Return who could be moved from a table that stands still, the next big blind first."""
    order = big_blind_order(table, [sitter.seat for sitter in table.sitters])
    by_seat = {sitter.seat: sitter for sitter in table.sitters}
    candidates: list[MoverCandidate] = []
    for hands, seat in enumerate(order):
        entrant = state.entrants[by_seat[seat].player]
        if not entrant.move_no and not entrant.removal:
            candidates.append(MoverCandidate(entrant.player, seat, hands, entrant.balanced))
    return tuple(candidates)


def big_blind_order(table: TableState, seats: Sequence[Seat]) -> list[Seat]:
    """Return seats in the order in which they will have the big blind (B5: it moves to the next player)."""
    if table.big_blind != NO_SEAT:
        return clockwise(seats, table.big_blind)
    order = clockwise(seats, table.first_button)
    return order if len(order) == 2 else [*order[1:], *order[:1]]


def clockwise(seats: Sequence[Seat], after: Seat) -> list[Seat]:
    """Return seats from the first one left of ``after`` on; ``after`` itself comes last."""
    return sorted(seats, key=lambda seat: (seat - after - 1) % SEATS_MAX)


def _choose_seat(batch: Batch, move: Move) -> None:
    table = batch.state.tables[move.to_table]
    candidates = seat_candidates(batch.state, table)
    takeable = [each for each in candidates if each.may_take] or list(candidates)
    if not takeable:
        _redirect_or_wait(batch, move)
        return
    chosen = min(takeable, key=lambda each: each.hands_to_big_blind)
    batch.add(SeatChosen(move.move_no, table.table_no, chosen.seat, candidates, BALANCE, batch.now_ms))


def seat_candidates(state: TournamentState, table: TableState) -> tuple[SeatCandidate, ...]:
    """Return the free seats of a table that stands still, from the left of the last big blind on."""
    coming = [state.moves[number].seat for number in table.arriving]
    taken = [sitter.seat for sitter in table.sitters] + [seat for seat in coming if seat != NO_SEAT]
    after = table.first_button if table.big_blind == NO_SEAT else table.big_blind
    candidates: list[SeatCandidate] = []
    for seat in clockwise(free_seats(state, table), after):
        order = big_blind_order(table, [*taken, seat])
        candidates.append(SeatCandidate(seat, order.index(seat), seat != _small_blind(table, order)))
    return tuple(candidates)


def _small_blind(table: TableState, order: Sequence[Seat]) -> Seat:
    """Return the place of the next small blind: where the big blind was, even where nobody sits (B5)."""
    if len(order) == 2:
        return order[1]
    return order[-1] if table.big_blind == NO_SEAT else table.big_blind


def _redirect_or_wait(batch: Batch, move: Move) -> None:
    redirect(batch, move, "TDA R11-C")


def redirect(batch: Batch, move: Move, rule: str) -> bool:
    """Send a move to the shortest other table that has room; where none has, it waits where it is."""
    state = batch.state
    others = [
        (state.tables[number].size, number)
        for number in state.in_play
        if number not in {move.to_table, move.from_table} and room(state, state.tables[number]) > 0
    ]
    if not others:
        return False
    _, number = min(others)
    batch.add(MoveRedirected(move.move_no, number, rule, batch.now_ms))
    batch.touched.add(number)
    return True


def halt(batch: Batch, table_no: int) -> None:
    """Stop a table that is three or more short until its players come (TDA R11-D)."""
    table = batch.state.tables.get(table_no)
    if table is None or table_no not in batch.state.in_play or table.is_halted:
        return
    if _short_by(batch.state, table) >= batch.state.config.floor.halt_short and _is_awaited(table):
        batch.add(TableHalted(table_no, is_halted=True, rule=HALT, at_ms=batch.now_ms))


def unhalt(batch: Batch) -> None:
    """Let halted tables deal again that are short no longer, or that nobody comes to."""
    for number in batch.state.halted:
        table = batch.state.tables[number]
        if _short_by(batch.state, table) < batch.state.config.floor.halt_short or not _is_awaited(table):
            batch.add(TableHalted(number, is_halted=False, rule=HALT, at_ms=batch.now_ms))


def _is_awaited(table: TableState) -> bool:
    return bool(table.arriving)


def _short_by(state: TournamentState, table: TableState) -> int:
    """Return how many players a table lacks to the longest, by who sits there now."""
    present = len(table.sitters)
    if longest(state) + _ON_THE_WAY - present < state.config.floor.halt_short:
        return 0  # The usual case, and the cheap one: nowhere can so many more be sitting.
    return max([len(state.tables[number].sitters) for number in state.in_play]) - present
