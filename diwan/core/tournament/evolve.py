"""What every event means for the tournament: a record without rules. ``version`` counts every event."""

from __future__ import annotations

from msgspec.structs import replace

from diwan.core.tournament.events import (
    BalancingOrdered,
    BotsWanted,
    ChipsAdded,
    ClockSet,
    Drawn,
    EntrantReleased,
    EntrantSeated,
    EntryAccepted,
    EntryEnded,
    EntryRequested,
    EntryWithdrawn,
    ExtraEnded,
    ExtraPaid,
    ExtraRequested,
    HandForHandBegan,
    HandForHandEnded,
    HandPlayed,
    LevelBegan,
    MoveCancelled,
    MoverChosen,
    MoveRedirected,
    MultiplierDrawn,
    PaymentDue,
    PaymentOverdue,
    PaymentSettled,
    PlayBegan,
    PlayersOut,
    PoolFixed,
    RedrawDone,
    RedrawOrdered,
    RegistrationClosed,
    RegistrationOpened,
    RemovalOrdered,
    RoundEnded,
    RoundGranted,
    RunoutHeld,
    RunoutsReleased,
    SeatChosen,
    SeatsDrawn,
    SeedOpened,
    SeedsAsked,
    StartModeSet,
    TableBreaking,
    TableClockSet,
    TableGone,
    TableHalted,
    TableOpened,
    TableReady,
    TablesLate,
    TournamentCancelled,
    TournamentCreated,
    TournamentEvent,
    TournamentFinished,
    TournamentPaused,
    TournamentResumed,
    TournamentWon,
)
from diwan.core.tournament.folding import entering, floor, playing
from diwan.core.tournament.state import Clock, TournamentState


def evolve(state: TournamentState | None, event: TournamentEvent) -> TournamentState:
    """Return the tournament after one more event; the first must be ``TournamentCreated``."""
    if state is None:
        assert isinstance(event, TournamentCreated), "a tournament's stream begins with TournamentCreated"  # noqa: S101
        return TournamentState(
            tournament_id=event.tournament_id,
            config=event.config,
            version=1,
            created_at_ms=event.at_ms,
            commitment=event.commitment,
        )
    return replace(_after(state, event), version=state.version + 1)


def _after(state: TournamentState, event: TournamentEvent) -> TournamentState:
    match event:
        case HandPlayed():
            return playing.hand_played(state, event)
        case PlayersOut():
            return playing.players_out(state, event)
        case StartModeSet() | TableClockSet() | TableReady() | EntrantSeated() | EntrantReleased() | TableGone():
            return floor.table_reported(state, event)
        case TableOpened() | SeatsDrawn() | TableHalted() | TableBreaking() | RedrawOrdered() | RedrawDone():
            return floor.tables_changed(state, event)
        case BalancingOrdered() | MoverChosen() | SeatChosen() | MoveCancelled() | MoveRedirected():
            return floor.moves_changed(state, event)
        case HandForHandBegan() | RoundGranted() | RunoutHeld() | RunoutsReleased() | TablesLate() | RoundEnded():
            return playing.round_changed(state, event)
        case HandForHandEnded():
            return replace(state, hand_for_hand=None)
        case EntryRequested() | EntryAccepted() | EntryWithdrawn() | EntryEnded() | RegistrationOpened() | BotsWanted():
            return entering.entry_changed(state, event)
        case SeedsAsked() | SeedOpened():
            return entering.seeds_changed(state, event)
        case PaymentDue() | PaymentSettled() | PaymentOverdue():
            return entering.payment_changed(state, event)
        case ExtraRequested() | ExtraPaid() | ExtraEnded():
            return entering.extra_changed(state, event)
        case ChipsAdded():
            return playing.chips_added(state, event)
        case RegistrationClosed() | Drawn() | MultiplierDrawn() | PoolFixed() | PlayBegan() | LevelBegan() | ClockSet():
            return _course_changed(state, event)
        case RemovalOrdered():
            entrant = replace(state.entrants[event.player], removal=event.reason)
            removals = (*state.removals, event.player)
            return replace(state, entrants=state.entrants.put(event.player, entrant), removals=removals)
        case TournamentPaused() | TournamentResumed():
            return replace(state, is_paused=isinstance(event, TournamentPaused))
        case TournamentCancelled():
            return floor.all_closing(
                replace(state, phase="paying", cancelled=event.cause, is_open=False, is_closed=True)
            )
        case TournamentWon():
            return floor.all_closing(replace(state, phase="paying", winner=event.player))
        case TournamentFinished():
            return replace(state, phase="finished")
        case TournamentCreated():
            raise AssertionError("a tournament is created once")


type _Course = RegistrationClosed | Drawn | MultiplierDrawn | PoolFixed | PlayBegan | LevelBegan | ClockSet


def _course_changed(state: TournamentState, event: _Course) -> TournamentState:
    match event:
        case RegistrationClosed():
            return replace(state, is_open=False, is_closed=True, breaking_order=event.breaking_order)
        case Drawn():
            return replace(
                state, draw_no=event.draw_no + 1, commitment=event.next_commitment, seeds_until_ms=0, seeds_missing=0
            )
        case MultiplierDrawn():
            return replace(state, line=event.line)
        case PoolFixed():
            return replace(state, prizes=event.prizes)
        case PlayBegan():
            clock = Clock(event.clock_no, event.clock_base_ms)
            return replace(state, phase="playing", clock=clock, began_at_ms=event.at_ms)
        case LevelBegan():
            ends_ms = event.ends_at_ms and event.ends_at_ms - state.clock.base_ms
            return replace(state, level_no=event.level_no, is_break=event.is_break, level_ends_ms=ends_ms)
        case ClockSet():
            return replace(state, clock=Clock(event.clock_no, event.base_ms, event.paused_at_ms))
