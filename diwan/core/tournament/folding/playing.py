"""What hands, rounds of hand-for-hand and extra chips record. A hand costs its table and whoever went out in it."""

from __future__ import annotations

from msgspec.structs import replace

from diwan.core.tournament.events import (
    ChipsAdded,
    HandForHandBegan,
    HandPlayed,
    OutPlayer,
    PlayersOut,
    RoundEnded,
    RoundGranted,
    RunoutHeld,
    RunoutsReleased,
    TablesLate,
)
from diwan.core.tournament.folding.floor import drained, dropped_move, put_table, round_hand_in, without
from diwan.core.tournament.state import NO_SEAT, Bust, HandForHand, TableState, TournamentState

type RoundEvent = HandForHandBegan | RoundGranted | RunoutHeld | RunoutsReleased | TablesLate | RoundEnded


def hand_played(state: TournamentState, event: HandPlayed) -> TournamentState:
    """Record a hand: stacks, places, who has nothing left."""
    table = state.tables[event.table_no]
    stacks = {each.player: each.stack_after for each in event.seats}
    sitters = tuple(
        [
            each if each.player not in stacks else replace(each, stack=stacks[each.player])
            for each in table.sitters
            if stacks.get(each.player, 1)
        ]
    )
    is_granted = table.round_done < table.round_no
    table = replace(
        table,
        version=event.table_version,
        hand_no=event.hand_no,
        sitters=sitters,
        button=event.button,
        small_blind=event.small_blind,
        big_blind=event.big_blind,
        running_hand_no=0,
        round_done=table.round_no,
        held_hand_no=0,
        is_run_out=False,
    )
    before = state.tables[event.table_no]
    state = put_table(state, table)
    if is_granted:
        state = round_hand_in(state, event.table_no)
    for each in event.seats:
        if not each.stack_after:
            entry_no = state.entrants[each.player].entry_no
            out = OutPlayer(each.player, entry_no, event.table_no, each.stack_before)
            state = _busted(state, Bust(before.round_no * is_granted, state.version, out))
    return drained(state, event.table_no)


def _busted(state: TournamentState, bust: Bust) -> TournamentState:
    player = bust.player.player
    entrant = replace(state.entrants[player], standing="busted", table_no=0, seat=NO_SEAT)
    return replace(
        state,
        entrants=state.entrants.put(player, entrant),
        left=state.left - 1,
        busts=(*state.busts, bust),
        removals=without_text(state.removals, player),
    )


def without_text(texts: tuple[str, ...], text: str) -> tuple[str, ...]:
    """Return the texts but one; the same tuple where it is not among them."""
    return tuple([each for each in texts if each != text]) if text in texts else texts


def players_out(state: TournamentState, event: PlayersOut) -> TournamentState:
    """Record a rank: it was decided for all of them together."""
    for each in event.players:
        entrant = state.entrants[each.player]
        if entrant.move_no:
            move = state.moves[entrant.move_no]
            lost = move.stack if event.cause == "removed" else 0
            state = replace(dropped_move(state, move.move_no), chips_in_play=state.chips_in_play - lost)
        left = state.left - (entrant.standing == "playing")
        entry = replace(state.entries[each.entry_no], status="out", out_first=event.out_first, out_last=event.out_last)
        entrant = replace(entrant, standing="out", table_no=0, seat=NO_SEAT, move_no=0)
        state = replace(
            state,
            left=left,
            entries=state.entries.put(each.entry_no, entry),
            entrants=state.entrants.put(each.player, entrant),
            removals=without_text(state.removals, each.player),
        )
    gone = {each.player for each in event.players}
    busts = tuple([bust for bust in state.busts if bust.player.player not in gone])
    return replace(state, out_count=event.out_last, busts=busts)


def round_changed(state: TournamentState, event: RoundEvent) -> TournamentState:
    """Record a step of hand-for-hand."""
    if isinstance(event, HandForHandBegan):
        return replace(state, hand_for_hand=HandForHand())
    if isinstance(event, RunoutHeld):
        table = replace(state.tables[event.table_no], version=event.table_version, held_hand_no=event.hand_no)
        state = put_table(state, table)
    if isinstance(event, RunoutsReleased):
        for number in event.tables:
            state = put_table(state, replace(state.tables[number], is_run_out=True))
    running = state.hand_for_hand
    if running is None:
        return state
    match event:
        case RunoutHeld():
            held = running.held
            if event.table_no in running.tables:
                held = (*without(held, event.table_no), event.table_no)
            return replace(state, hand_for_hand=replace(running, held=held))
        case RoundGranted():
            return _granted(state, running, event)
        case RunoutsReleased():
            return replace(state, hand_for_hand=replace(running, held=()))
        case TablesLate():
            late = (*running.late, *event.tables)
            tables = tuple([each for each in running.tables if each not in event.tables])
            return replace(state, hand_for_hand=replace(running, tables=tables, late=late))
        case RoundEnded():
            return replace(state, hand_for_hand=replace(running, is_playing=False))


def _granted(state: TournamentState, running: HandForHand, event: RoundGranted) -> TournamentState:
    for number in event.tables:
        table: TableState = state.tables[number]
        state = put_table(state, replace(table, round_no=event.round_no))
    running = replace(
        running,
        elapsed_ms=state.clock.elapsed_ms(event.at_ms),
        round_no=event.round_no,
        is_playing=True,
        tables=event.tables,
        held=(),
        limit_at_ms=event.limit_at_ms,
    )
    return replace(state, hand_for_hand=running, round_no=event.round_no)


def chips_added(state: TournamentState, event: ChipsAdded) -> TournamentState:
    """Record extra chips in front of a player."""
    table = state.tables[event.table_no]
    sitters = tuple(
        [
            replace(each, stack=each.stack + event.amount) if each.player == event.player else each
            for each in table.sitters
        ]
    )
    entrant = state.entrants[event.player]
    return replace(
        put_table(state, replace(table, version=event.table_version, sitters=sitters)),
        extras=state.extras.drop(entrant.extra_no),
        entrants=state.entrants.put(event.player, replace(entrant, extra_no=0)),
        chips_in_play=state.chips_in_play + event.amount,
    )
