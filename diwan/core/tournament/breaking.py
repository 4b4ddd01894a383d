"""Fewer tables: breaking one whose players fit elsewhere (TDA R10, WSOP R66), and redraws up to the final table (RP-9)."""

from __future__ import annotations

from typing import Final

from diwan.core.tournament import balancing
from diwan.core.tournament.batch import Batch
from diwan.core.tournament.events import MoveCancelled, MovePurpose, RedrawDone, RedrawOrdered, TableBreaking
from diwan.core.tournament.seating import Newcomer, open_table, place, seat_field
from diwan.core.tournament.state import TableState, TournamentState

BREAK: Final = "TDA R10"
FINAL: Final = "RP-9"
REDRAW: Final = "WSOP R68"


def capacity(state: TournamentState, tables: int) -> int:
    """Return how many so many tables can seat; one table, of a field that is known, is the final one."""
    if tables == 1 and state.is_field_known and state.table_count > 1:
        return state.config.floor.final_table_at
    return tables * state.config.table_size


def order_breaks(batch: Batch) -> None:
    """Break tables, one after the other, as long as everybody fits at one fewer."""
    while batch.state.redraw is None:
        state = batch.state
        fewer = len(state.in_play) - 1
        if fewer < 1 or state.left + state.open_entries > capacity(state, fewer):
            return
        if _is_redraw(state, fewer):
            purpose: MovePurpose = "final" if fewer == 1 else "redraw"
            rule = FINAL if fewer == 1 else REDRAW
            batch.add(RedrawOrdered(purpose, fewer, rule, batch.now_ms))
            _cancel_choices(batch)
            return
        number = _next_to_break(state)
        if number is None:
            return
        batch.add(TableBreaking(number, "break", BREAK, batch.now_ms))
        _clear_way(batch, number)


def _is_redraw(state: TournamentState, fewer: int) -> bool:
    """Say whether everybody draws anew for so many tables: the final one, or a set number in a large field."""
    if not state.is_field_known:
        return False
    floor = state.config.floor
    is_large = state.accepted >= floor.redraw_entries
    return fewer == 1 or (is_large and fewer in floor.redraw_at and fewer not in state.redrawn_at)


def _next_to_break(state: TournamentState) -> int | None:
    """Return the next table of the published order; one that somebody is just being seated at only after the others."""
    late = state.hand_for_hand.late if state.hand_for_hand is not None else ()
    candidates = [number for number in state.in_play if number not in late]
    return max(candidates, key=lambda number: (not _is_seating(state, state.tables[number]), number), default=None)


def _is_seating(state: TournamentState, table: TableState) -> bool:
    return any(state.moves[number].phase == "seating" for number in table.arriving)


def _clear_way(batch: Batch, table_no: int) -> None:
    """Undo or redirect what was on its way from or to a table that is broken."""
    table = batch.state.tables[table_no]
    for number in table.leaving:
        if batch.state.moves[number].phase == "choosing":
            batch.add(MoveCancelled(number, "table broken", batch.now_ms))
    for number in table.arriving:
        move = batch.state.moves[number]
        if move.phase == "choosing":
            batch.add(MoveCancelled(number, "table broken", batch.now_ms))
            batch.touched.add(move.from_table)
        elif move.phase != "seating":
            balancing.redirect(batch, move, BREAK)


def _cancel_choices(batch: Batch) -> None:
    """Undo moves for which nobody has been chosen: everybody draws a new seat anyway."""
    for number, move in sorted(batch.state.moves.items()):
        if move.phase == "choosing":
            batch.add(MoveCancelled(number, "redraw", batch.now_ms))


def draw_broken(batch: Batch) -> None:
    """Draw new seats for the players of broken tables that stand still."""
    if batch.state.redraw is not None:
        return
    for number in batch.state.breaking:
        table = batch.state.tables[number]
        _redirect_stranded(batch, table)
        table = batch.state.tables[number]
        if not table.is_idle or table.arriving or table.leaving or _has_removals(batch.state, table):
            continue
        newcomers = [Newcomer(sitter.player, number, 0) for sitter in table.sitters]
        place(batch, newcomers, "break", BREAK)


def _redirect_stranded(batch: Batch, table: TableState) -> None:
    """Send on who is on the way to a broken table and had nowhere else to go before."""
    for number in table.arriving:
        move = batch.state.moves[number]
        if move.phase in {"releasing", "placing"}:
            balancing.redirect(batch, move, BREAK)


def _has_removals(state: TournamentState, table: TableState) -> bool:
    return any(state.entrants[sitter.player].removal for sitter in table.sitters)


def redraw(batch: Batch) -> None:
    """Draw everybody a new seat once all tables stand still, and go on when everybody has taken it."""
    state = batch.state
    ordered = state.redraw
    if ordered is None:
        return
    if ordered.is_drawn:
        if not len(state.moves):
            batch.add(RedrawDone(batch.now_ms))
        return
    tables = [state.tables[number] for number in (*state.in_play, *state.breaking)]
    if len(state.moves) or state.removals or not all(table.is_idle and table.status != "ordered" for table in tables):
        return
    newcomers = [Newcomer(sitter.player, table.table_no, 0) for table in tables for sitter in table.sitters]
    purpose = ordered.purpose
    seat_field(batch, newcomers, ordered.tables, "final" if purpose == "final" else "redraw", purpose, ordered.rule)


def reseat_gone(batch: Batch, table_no: int) -> None:
    """Give new seats to everybody of a table that is lost, with the stacks they had before its broken hand (page e2)."""
    state = batch.state
    for number, move in sorted(state.moves.items()):
        if move.from_table == table_no and move.phase == "choosing":
            batch.add(MoveCancelled(number, "table gone", batch.now_ms))
        elif move.to_table == table_no:
            _redirect_from_gone(batch, number)
    table = batch.state.tables[table_no]
    newcomers = [Newcomer(sitter.player, table_no, sitter.stack) for sitter in table.sitters]
    if newcomers and not place(batch, newcomers, "gone", "e2"):
        tables = -(-len(newcomers) // batch.state.config.table_size)
        seat_field(batch, newcomers, tables, "late", "gone", "e2")


def _redirect_from_gone(batch: Batch, move_no: int) -> None:
    move = batch.state.moves[move_no]
    if move.phase == "choosing":
        batch.add(MoveCancelled(move_no, "table gone", batch.now_ms))
    elif not balancing.redirect(batch, move, "e2"):
        open_table(batch, "late", [0])
        balancing.redirect(batch, batch.state.moves[move_no], "e2")
