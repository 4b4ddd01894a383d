"""What events of tables and moves record. `put_table` keeps the count of tables by size beside every change."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from diwan.core.hand.events import Seat
from diwan.core.limits import PLAYERS_MIN
from diwan.core.tournament.events import (
    BalancingOrdered,
    EntrantReleased,
    EntrantSeated,
    MoveCancelled,
    MoverChosen,
    MoveRedirected,
    RedrawDone,
    RedrawOrdered,
    SeatChosen,
    SeatGiven,
    SeatsDrawn,
    StartModeSet,
    TableBreaking,
    TableClockSet,
    TableGone,
    TableHalted,
    TableOpened,
    TableReady,
)
from diwan.core.tournament.state import (
    NO_SEAT,
    Move,
    Redraw,
    Sitter,
    TableState,
    TournamentState,
)

type ReportEvent = StartModeSet | TableClockSet | TableReady | EntrantSeated | EntrantReleased | TableGone
type TablesEvent = TableOpened | SeatsDrawn | TableHalted | TableBreaking | RedrawOrdered | RedrawDone
type MovesEvent = BalancingOrdered | MoverChosen | SeatChosen | MoveCancelled | MoveRedirected


def put_table(state: TournamentState, table: TableState) -> TournamentState:
    """Return the tournament with a table's record in place, and the count of sizes in step with it."""
    before = state.tables.get(table.table_no)
    sizes = state.sizes
    if before is not None and before.size != table.size and table.table_no in state.in_play:
        sizes = _counted(_counted(sizes, before.size, -1), table.size, 1)
    return replace(state, tables=state.tables.put(table.table_no, table), sizes=sizes)


def _counted(sizes: tuple[int, ...], size: int, by: int) -> tuple[int, ...]:
    size = min(size, len(sizes) - 1)
    return (*sizes[:size], sizes[size] + by, *sizes[size + 1 :])


def _into_play(state: TournamentState, table_no: int) -> TournamentState:
    size = state.tables[table_no].size
    return replace(state, in_play=(*state.in_play, table_no), sizes=_counted(state.sizes, size, 1))


def out_of_play(state: TournamentState, table_no: int) -> TournamentState:
    """Return the tournament without a table among those that are played at."""
    if table_no not in state.in_play:
        return state
    in_play = tuple([each for each in state.in_play if each != table_no])
    return replace(state, in_play=in_play, sizes=_counted(state.sizes, state.tables[table_no].size, -1))


def without(numbers: Iterable[int], number: int) -> tuple[int, ...]:
    """Return the numbers but one."""
    return tuple([each for each in numbers if each != number])


def _put_move(state: TournamentState, move: Move) -> TournamentState:
    return replace(state, moves=state.moves.put(move.move_no, move), move_count=max(state.move_count, move.move_no))


def dropped_move(state: TournamentState, move_no: int) -> TournamentState:
    """Return the tournament without a move, also in the records of its tables and its player."""
    move = state.moves[move_no]
    for number in {move.from_table, move.to_table}:
        table = state.tables.get(number)
        if table is not None:
            arriving, leaving = without(table.arriving, move_no), without(table.leaving, move_no)
            state = put_table(state, replace(table, arriving=arriving, leaving=leaving))
    entrant = state.entrants.get(move.player)
    if entrant is not None and entrant.move_no == move_no:
        state = replace(state, entrants=state.entrants.put(move.player, replace(entrant, move_no=0)))
    state = replace(state, moves=state.moves.drop(move_no))
    # A broken table that only waited for whoever is not coming any more has nobody left to draw a seat for.
    for number in {move.from_table, move.to_table}:
        state = drained(state, number)
    return state


def tables_changed(state: TournamentState, event: TablesEvent) -> TournamentState:
    """Record what was decided about tables."""
    match event:
        case TableOpened():
            return _opened(state, event)
        case SeatsDrawn():
            return _drawn(state, event)
        case TableHalted():
            table = replace(state.tables[event.table_no], is_halted=event.is_halted)
            halted = without(state.halted, event.table_no)
            return put_table(replace(state, halted=(*halted, event.table_no) if event.is_halted else halted), table)
        case TableBreaking():
            state = put_table(state, replace(state.tables[event.table_no], status="breaking", is_halted=False))
            state = out_of_play(state, event.table_no)
            halted = without(state.halted, event.table_no)
            return drained(replace(state, breaking=(*state.breaking, event.table_no), halted=halted), event.table_no)
        case RedrawOrdered():
            return replace(state, redraw=Redraw(event.purpose, event.tables, event.rule))
        case RedrawDone():
            return replace(state, redraw=None)


def _opened(state: TournamentState, event: TableOpened) -> TournamentState:
    table = TableState(event.table_no, event.table_id, event.purpose, event.button)
    state = replace(
        state,
        tables=state.tables.put(event.table_no, table),
        table_numbers=state.table_numbers.put(event.table_id, event.table_no),
        table_count=event.table_no,
        phase="seating" if state.phase == "registering" else state.phase,
    )
    return _into_play(state, event.table_no)


def _drawn(state: TournamentState, event: SeatsDrawn) -> TournamentState:
    for given in event.seats:
        state = _given(state, event, given)
    if event.purpose in {"redraw", "final"} and state.redraw is not None and not state.redraw.is_drawn:
        state = _all_to_new_tables(state)
    return state


def _given(state: TournamentState, event: SeatsDrawn, given: SeatGiven) -> TournamentState:
    source = state.tables.get(given.from_table)
    is_sitting = source is not None and source.status != "gone" and source.sitter(given.player) is not None
    move = Move(
        given.move_no,
        given.move_id,
        event.purpose,
        given.from_table,
        event.table_no,
        "releasing" if is_sitting else "seating",
        event.rule,
        given.player,
        given.seat,
        given.stack,
    )
    if source is not None and is_sitting:
        state = put_table(state, replace(source, leaving=(*source.leaving, given.move_no)))
    elif source is not None:
        sitters = tuple([each for each in source.sitters if each.player != given.player])
        state = put_table(state, replace(source, sitters=sitters))
    target = state.tables[event.table_no]
    state = put_table(state, replace(target, arriving=(*target.arriving, given.move_no)))
    entrant = replace(state.entrants[given.player], move_no=given.move_no)
    is_new = event.purpose in {"start", "late"}
    if not is_new:
        entrant = replace(entrant, moves=entrant.moves + 1)
    elif entrant.standing == "registered":
        entry = replace(state.entries[entrant.entry_no], status="playing")
        entrant = replace(entrant, standing="playing")
        chips = state.chips_in_play + given.stack
        state = replace(state, entries=state.entries.put(entrant.entry_no, entry), chips_in_play=chips)
    state = replace(state, entrants=state.entrants.put(given.player, entrant))
    return drained(_put_move(state, move), given.from_table)


def drained(state: TournamentState, table_no: int) -> TournamentState:
    """Return the tournament with a broken table on its way to be closed, once a seat is drawn for everybody there."""
    table = state.tables.get(table_no)
    if table is None or table.status != "breaking" or table.arriving:
        return state
    if any(state.entrants[each.player].move_no not in table.leaving for each in table.sitters):
        return state
    state = put_table(state, replace(table, status="closing"))
    return replace(state, breaking=without(state.breaking, table_no))


def _all_to_new_tables(state: TournamentState) -> TournamentState:
    """Record that everybody plays on at the tables opened last, of which the first draw of a redraw tells."""
    redraw = state.redraw
    assert redraw is not None, "a redraw was ordered"  # noqa: S101
    new = state.table_count - redraw.tables
    for number in (*state.in_play, *state.breaking):
        if number <= new:
            state = out_of_play(state, number)
            table = state.tables[number]
            if table.status != "gone":
                state = put_table(state, replace(table, status="closing", is_halted=False))
    return replace(
        state,
        redraw=replace(redraw, is_drawn=True),
        breaking=(),
        halted=(),
        redrawn_at=(*state.redrawn_at, redraw.tables),
        has_final_table=redraw.purpose == "final",
    )


def moves_changed(state: TournamentState, event: MovesEvent) -> TournamentState:
    """Record a step of a move."""
    match event:
        case BalancingOrdered():
            source, target = state.tables[event.from_table], state.tables[event.to_table]
            move = Move(event.move_no, "", "balance", event.from_table, event.to_table, "choosing", event.rule)
            move = replace(move, start_no=source.start_no)
            state = put_table(state, replace(source, leaving=(*source.leaving, event.move_no)))
            state = put_table(state, replace(target, arriving=(*target.arriving, event.move_no)))
            return _put_move(state, move)
        case MoverChosen():
            move = replace(state.moves[event.move_no], move_id=event.move_id, player=event.player, phase="releasing")
            entrant = state.entrants[event.player]
            entrant = replace(entrant, move_no=event.move_no, moves=entrant.moves + 1, balanced=entrant.balanced + 1)
            return _put_move(replace(state, entrants=state.entrants.put(event.player, entrant)), move)
        case SeatChosen():
            return _put_move(state, replace(state.moves[event.move_no], seat=event.seat, phase="seating"))
        case MoveCancelled():
            return dropped_move(state, event.move_no)
        case MoveRedirected():
            return _redirected(state, event)


def _redirected(state: TournamentState, event: MoveRedirected) -> TournamentState:
    move = state.moves[event.move_no]
    before = state.tables[move.to_table]
    state = put_table(state, replace(before, arriving=without(before.arriving, event.move_no)))
    after = state.tables[event.to_table]
    state = put_table(state, replace(after, arriving=(*after.arriving, event.move_no)))
    phase = "placing" if move.phase == "seating" else move.phase
    moved = replace(
        move, to_table=event.to_table, seat=NO_SEAT, phase=phase, purpose="balance", start_no=after.start_no
    )
    return drained(_put_move(state, moved), move.to_table)


def table_reported(state: TournamentState, event: ReportEvent) -> TournamentState:
    """Record what a table has confirmed."""
    table = replace(state.tables[event.table_no], version=event.table_version)
    match event:
        case TableReady():
            return put_table(state, replace(table, status="open" if table.status == "ordered" else table.status))
        case TableClockSet():
            return put_table(state, replace(table, clock_no=event.clock_no))
        case StartModeSet():
            running = event.running_hand_no if event.running_hand_no > table.hand_no else 0
            return put_table(state, replace(table, start_no=event.start_no, mode=event.mode, running_hand_no=running))
        case EntrantSeated():
            return _seated(state, table, event)
        case EntrantReleased():
            return _released(state, table, event)
        case TableGone():
            return _gone(state, table)


def _seated(state: TournamentState, table: TableState, event: EntrantSeated) -> TournamentState:
    entrant = state.entrants[event.player]
    move = state.moves[entrant.move_no]
    sitter = Sitter(event.seat, event.player, entrant.entry_no, move.stack)
    sitters = tuple(sorted([*table.sitters, sitter], key=_by_seat))
    table = replace(table, sitters=sitters, arriving=without(table.arriving, move.move_no))
    entrant = replace(entrant, table_no=table.table_no, seat=event.seat, move_no=0)
    state = replace(
        put_table(state, table),
        moves=state.moves.drop(move.move_no),
        entrants=state.entrants.put(event.player, entrant),
    )
    return drained(state, table.table_no)


def _by_seat(sitter: Sitter) -> Seat:
    return sitter.seat


def _released(state: TournamentState, table: TableState, event: EntrantReleased) -> TournamentState:
    entrant = state.entrants[event.player]
    sitters = tuple([each for each in table.sitters if each.player != event.player])
    table = replace(table, sitters=sitters)
    if len(sitters) < PLAYERS_MIN and table.round_done < table.round_no:
        # Nobody is left to play the granted hand with.
        table = replace(table, round_done=table.round_no)
        state = round_hand_in(state, table.table_no)
    entrant = replace(entrant, table_no=0, seat=NO_SEAT)
    state = replace(state, entrants=state.entrants.put(event.player, entrant))
    move = state.moves.get(entrant.move_no)
    if move is None:  # Removed by an operator: the chips leave play.
        state = replace(state, chips_in_play=state.chips_in_play - event.stack)
        return drained(put_table(state, table), table.table_no)
    phase = "seating" if move.seat != NO_SEAT else "placing"
    state = put_table(state, replace(table, leaving=without(table.leaving, move.move_no)))
    kept = event.destellos if _keeps_destellos(state) else 0
    start_no = state.tables[move.to_table].start_no
    move = replace(
        move, phase=phase, stack=event.stack, destellos=kept, time_bank_ms=event.time_bank_ms, start_no=start_no
    )
    return _put_move(state, move)


def _keeps_destellos(state: TournamentState) -> bool:
    naiko = state.config.hand.naiko
    return naiko is not None and naiko.destellos_follow_forced_move


def _gone(state: TournamentState, table: TableState) -> TournamentState:
    """Record a table that is closed. Who sat there stands nowhere, with the last reported stack in their move or none."""
    state = out_of_play(put_table(state, table), table.table_no)
    for move_no in table.leaving:
        move = state.moves[move_no]
        sitter = table.sitter(move.player)
        if sitter is not None:
            phase = "seating" if move.seat != NO_SEAT else "placing"
            start_no = state.tables[move.to_table].start_no
            state = _put_move(state, replace(move, phase=phase, stack=sitter.stack, start_no=start_no))
    for sitter in table.sitters:
        entrant = replace(state.entrants[sitter.player], table_no=0, seat=NO_SEAT)
        state = replace(state, entrants=state.entrants.put(sitter.player, entrant))
    sitters = tuple([each for each in table.sitters if not state.entrants[each.player].move_no])
    state = put_table(state, replace(table, status="gone", leaving=(), sitters=sitters))
    state = round_hand_in(state, table.table_no)
    return replace(
        state,
        breaking=without(state.breaking, table.table_no),
        halted=without(state.halted, table.table_no),
    )


def round_hand_in(state: TournamentState, table_no: int) -> TournamentState:
    """Return the tournament with nobody waiting for this table's hand of hand-for-hand any more."""
    running = state.hand_for_hand
    if running is None:
        return state
    running = replace(
        running,
        tables=without(running.tables, table_no),
        late=without(running.late, table_no),
        held=without(running.held, table_no),
    )
    return replace(state, hand_for_hand=running)


def all_closing(state: TournamentState) -> TournamentState:
    """Return the tournament with every table on its way to be closed: nobody plays any more."""
    for table in [each for each in state.tables.values() if each.status != "gone"]:
        state = put_table(out_of_play(state, table.table_no), replace(table, status="closing", is_halted=False))
    return replace(state, breaking=(), halted=(), redraw=None, hand_for_hand=None)
