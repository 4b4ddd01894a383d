"""What tables report. A report that tells nothing new gives no events; one that cannot be is refused, never believed."""

from __future__ import annotations

from diwan.core.decider import Rejected
from diwan.core.tournament import breaking, trouble
from diwan.core.tournament.batch import Batch
from diwan.core.tournament.commands import (
    ReportChipsAdded,
    ReportClock,
    ReportHand,
    ReportReleased,
    ReportRunoutHeld,
    ReportSeated,
    ReportStartMode,
    ReportTableGone,
    ReportTableReady,
    TableReport,
)
from diwan.core.tournament.events import (
    ChipsAdded,
    EntrantReleased,
    EntrantSeated,
    HandPlayed,
    MoveCancelled,
    RunoutHeld,
    RunoutsReleased,
    StartModeSet,
    TableClockSet,
    TableGone,
    TableReady,
)
from diwan.core.tournament.state import TableState


def report(batch: Batch, command: TableReport) -> None:
    """Take one report of a table."""
    table = batch.state.tables.get(command.table_no)
    if table is None:
        raise Rejected("TABLE_NOT_FOUND", table_no=command.table_no)
    if command.table_version <= table.version or table.status == "gone":
        return
    match command:
        case ReportTableReady():
            batch.add(TableReady(command.table_no, command.table_version, command.now_ms))
        case ReportSeated():
            _seated(batch, command)
        case ReportReleased():
            _released(batch, command)
        case ReportStartMode():
            _start_mode(batch, table, command)
        case ReportClock():
            if command.clock_no > table.clock_no:
                batch.add(TableClockSet(command.table_no, command.table_version, command.clock_no, command.now_ms))
        case ReportHand():
            _hand(batch, table, command)
        case ReportRunoutHeld():
            _runout_held(batch, table, command)
        case ReportChipsAdded():
            _chips_added(batch, command)
        case ReportTableGone():
            _gone(batch, table, command)


def _start_mode(batch: Batch, table: TableState, command: ReportStartMode) -> None:
    if command.start_no <= table.start_no:
        return
    event = StartModeSet(
        command.table_no,
        command.table_version,
        command.start_no,
        command.mode,
        command.running_hand_no,
        command.now_ms,
    )
    if _plays(batch):
        batch.add(event)


def _plays(batch: Batch) -> bool:
    """Say whether reports of play mean anything still: after the end, or once called off, only closed tables do."""
    return batch.state.phase in {"seating", "playing"}


def _seated(batch: Batch, command: ReportSeated) -> None:
    if not _plays(batch):
        return
    state = batch.state
    entrant = state.entrants.get(command.player)
    move = None if entrant is None else state.moves.get(entrant.move_no)
    if move is None or (move.move_id, move.to_table, move.seat) != (command.move_id, command.table_no, command.seat):
        raise Rejected("UNEXPECTED", why="nobody was to sit there", player=command.player, table_no=command.table_no)
    batch.add(
        EntrantSeated(
            command.table_no,
            command.table_version,
            command.move_id,
            command.player,
            command.seat,
            command.now_ms,
        )
    )


def _released(batch: Batch, command: ReportReleased) -> None:
    if not _plays(batch):
        return
    state = batch.state
    entrant = state.entrants.get(command.player)
    sitter = state.tables[command.table_no].sitter(command.player)
    if entrant is None or sitter is None:
        raise Rejected("UNEXPECTED", why="nobody sat there", player=command.player, table_no=command.table_no)
    if sitter.stack != command.stack:
        raise Rejected("CHIPS_DIFFER", player=command.player, known=sitter.stack, reported=command.stack)
    move = state.moves.get(entrant.move_no)
    is_ordered = entrant.removal if move is None else move.phase == "releasing" and move.move_id == command.move_id
    if not is_ordered:
        raise Rejected("UNEXPECTED", why="nobody was to be let go", player=command.player)
    batch.add(
        EntrantReleased(
            command.table_no,
            command.table_version,
            command.move_id,
            command.player,
            command.stack,
            command.destellos,
            command.time_bank_ms,
            command.now_ms,
        )
    )
    if entrant.removal:
        trouble.out_if_nowhere(batch, command.player, is_just_released=True)
    elif move is not None:
        batch.touched.add(move.to_table)


def _hand(batch: Batch, table: TableState, command: ReportHand) -> None:
    if batch.state.phase != "playing":
        if batch.state.phase in {"paying", "finished"}:
            return
        raise Rejected("OUT_OF_ORDER", why="no hand is played before play has begun")
    if command.hand_no != table.hand_no + 1:
        raise Rejected("OUT_OF_ORDER", expected=table.hand_no + 1, hand_no=command.hand_no)
    _check_chips(table, command)
    moving = [
        number
        for seat in command.seats
        if not seat.stack_after and (number := batch.state.entrants[seat.player].move_no)
    ]
    batch.add(
        HandPlayed(
            command.table_no,
            command.table_version,
            command.hand_no,
            command.is_void,
            command.button,
            command.small_blind,
            command.big_blind,
            command.seats,
            command.started_at_ms,
            command.ended_at_ms,
            command.now_ms,
        )
    )
    for number in moving:
        to_table = batch.state.moves[number].to_table
        batch.add(MoveCancelled(number, "out", command.now_ms))
        batch.touched.add(to_table)


def _check_chips(table: TableState, command: ReportHand) -> None:
    """Refuse a hand that would make chips, lose them or move them where nobody played (chips in play are constant)."""
    by_seat = {sitter.seat: sitter for sitter in table.sitters}
    for seat in command.seats:
        sitter = by_seat.get(seat.seat)
        if sitter is None or sitter.player != seat.player or sitter.stack != seat.stack_before or seat.stack_after < 0:
            known = None if sitter is None else sitter.stack
            raise Rejected("CHIPS_DIFFER", player=seat.player, known=known, reported=seat.stack_before)
    before = sum([seat.stack_before for seat in command.seats])
    after = sum([seat.stack_after for seat in command.seats])
    moved = command.is_void and any(seat.stack_before != seat.stack_after for seat in command.seats)
    if before != after or moved:
        raise Rejected("CHIPS_DIFFER", known=before, reported=after)


def _runout_held(batch: Batch, table: TableState, command: ReportRunoutHeld) -> None:
    if batch.state.phase != "playing" or command.hand_no != table.hand_no + 1:
        return
    batch.add(RunoutHeld(command.table_no, command.table_version, command.hand_no, command.until_ms, command.now_ms))
    running = batch.state.hand_for_hand
    if running is None or command.table_no not in running.tables:
        # Nobody waits for this table any more.
        batch.add(RunoutsReleased(table.round_no, (command.table_no,), command.now_ms))


def _chips_added(batch: Batch, command: ReportChipsAdded) -> None:
    if not _plays(batch):
        return
    state = batch.state
    entrant = state.entrants.get(command.player)
    extra = None if entrant is None else state.extras.get(entrant.extra_no)
    if extra is None or (extra.add_id, extra.chips) != (command.add_id, command.amount):
        raise Rejected("UNEXPECTED", why="no chips were to be added", player=command.player)
    batch.add(
        ChipsAdded(
            command.table_no,
            command.table_version,
            command.add_id,
            command.player,
            command.amount,
            command.now_ms,
        )
    )


def _gone(batch: Batch, table: TableState, command: ReportTableGone) -> None:
    batch.add(TableGone(command.table_no, command.table_version, command.now_ms))
    if _plays(batch) and (table.status != "closing" or table.sitters or table.arriving):
        breaking.reseat_gone(batch, command.table_no)
